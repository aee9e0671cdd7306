"""The kinds of transitions: a state diagram for each table of stages that differs, and the tab that
shows the way of a chosen kind, stage by stage. Source: Topology over Raft, "Tablet transitions".
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind, onward
from kit.protocols.topology.panels.states import machine_diagram
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, Edition, Machine, StateRow
from kit.views.declared import Choice, Column, Note, Part, Table, panel_of
from kit.views.diagrams import StateDiagram
from kit.views.panel import Scene


def diagram(kind: TransitionKind, edition: Edition) -> StateDiagram:
    """The stages of a kind; kinds with the same table share a drawing, named after the first."""
    table = TRANSITIONS[edition][kind]
    first = next(name for name, other in TRANSITIONS[edition].items() if _same(other, table))
    return machine_diagram(table, f"state-tablet-{first}-{edition}", f"stages of a {first}")


def _same(table: Machine, other: Machine) -> bool:
    return (table.states, table.edges) == (other.states, other.edges)


def diagrams() -> Iterator[StateDiagram]:
    """Every table of stages of both editions, those that kinds share once."""
    drawn = (diagram(kind, edition) for edition in EDITIONS for kind in TRANSITIONS[edition])
    yield from {each.name: each for each in drawn}.values()


MEANINGS: dict[TransitionKind, str] = {
    "migration": "A replica moves to a shard of another node.",
    "intranode_migration": "A replica moves to another shard of its node, by hard links.",
    "rebuild": "A replica is made from all that stay; an old one may be dropped afterwards.",
    "rebuild_v2": "The replicas are made equal; then a new one is streamed from one of them.",
    "repair": "The replicas are made equal; none comes or goes.",
}


def _kind(scene: Scene, kind: TransitionKind) -> Iterator[Part]:
    """What a kind is for, and its stages."""
    yield Note(MEANINGS[kind], look=None)
    yield Table(lambda scene: _stages(scene, kind), "", STAGES, marked=False)


STAGES = (
    Column("stage", "name"),
    Column("reads", "reads"),
    Column("writes", "writes"),
    Column("work", lambda row: tuple(work.name for work in row.work), none=""),
)


def _stages(scene: Scene, kind: TransitionKind) -> Iterator[StateRow]:
    """The stages of a kind, one after the other, where no work fails."""
    table = TRANSITIONS[scene.model.parameters.edition][kind]
    stage = onward(table, BOUNDARY).target
    while stage != BOUNDARY:
        yield table.state(stage)
        stage = onward(table, stage).target


def _words(scene: Scene) -> Iterator[str]:
    for kind in KINDS:
        way = " → ".join(row.name for row in _stages(scene, kind))
        yield f"{kind}: {MEANINGS[kind]} {way}"


KINDS_TAB = panel_of(
    "kinds",
    "Kinds of transitions",
    Choice("kind", "kind", lambda scene: KINDS, _kind, _words),
    optional=True,
    tab="Kinds",
)
