"""The tab of the kinds of transitions: one is chosen, and its way is shown stage by stage.

Source: Topology over Raft, "Tablet transitions".
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind, onward
from kit.protocols.topology.rules.machines import BOUNDARY, StateRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads

MEANINGS: dict[TransitionKind, str] = {
    "migration": "A replica moves to a shard of another node.",
    "intranode_migration": "A replica moves to another shard of its node, by hard links.",
    "rebuild": "A replica is made from all that stay; an old one may be dropped afterwards.",
    "rebuild_v2": "The replicas are made equal; then a new one is streamed from one of them.",
    "repair": "The replicas are made equal; none comes or goes.",
}


def draw_kinds(scene: Scene) -> Frag:
    """Draw a drop-down of kinds, and the stages of the chosen one where no work fails."""
    options = [h("option", kind, value=kind) for kind in KINDS]
    return h(
        "div",
        h("label", "kind ", h("select", options, data_choose="kind"), class_="choose"),
        [_kind(scene, kind) for kind in KINDS],
    )


def _kind(scene: Scene, kind: TransitionKind) -> Frag:
    return h(
        "div",
        h("p", MEANINGS[kind]),
        h(
            "table",
            heads("stage", "reads", "writes", "work"),
            h("tbody", [_stage(row) for row in stages_of(scene, kind)]),
        ),
        k=f"kind:{kind}",
        data_choice=json.dumps(["kind", kind]),
        hidden=kind != KINDS[0],
    )


def _stage(row: StateRow) -> Frag:
    cells = (row.reads, row.writes, ", ".join(work.name for work in row.work))
    return h("tr", h("th", row.name, scope="row"), [h("td", words) for words in cells])


def stages_of(scene: Scene, kind: TransitionKind) -> Iterator[StateRow]:
    """The stages of a kind, one after the other, where no work fails."""
    table = TRANSITIONS[scene.model.parameters.edition][kind]
    stage = onward(table, BOUNDARY).target
    while stage != BOUNDARY:
        yield table.state(stage)
        stage = onward(table, stage).target


def kinds_text(scene: Scene) -> str:
    """Write a line for each kind."""
    return "\n".join(
        f"  {kind}: {MEANINGS[kind]} {' → '.join(row.name for row in stages_of(scene, kind))}"
        for kind in KINDS
    )


KINDS_TAB = Panel(
    "kinds", "Kinds of transitions", draw_kinds, kinds_text, optional=True, tab="Kinds"
)
