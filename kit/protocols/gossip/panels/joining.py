"""An operation by gossip: nodes with what they hold, and what each of them knows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kit.errors import counted
from kit.protocols.gossip.facts import joining as facts
from kit.protocols.gossip.facts.joining import ViewRow
from kit.protocols.gossip.facts.moment import spot
from kit.views.declared import NONE, Badges, Column, Table, of_state, panel_of, status
from kit.views.node_boxes import NodeBox, ring_panel
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views

PHASES = {
    "out": "not there",
    "shadow": "shadow round",
    "boot": "BOOT",
    "streamed": "streamed",
    "member": "member",
    "down": "down",
    "removing": "drives removal",
    "restored": "drives, streamed",
}
UP = ("member", "removing", "restored")


def _boxes(scene: Scene) -> Iterator[NodeBox]:
    """Each node with how far it is and the writes that it holds; who is no member is dashed."""
    for row in scene.of(facts.views):
        phase = PHASES[row.phase]
        holds = f"write {', '.join(map(str, row.holds))}" if row.holds else "no write"
        title = f"{row.name}: {phase}, {holds}{', cut off' if row.cut_off else ''}"
        lines = f"{row.name} · {phase}", holds
        yield NodeBox(spot(row.name), row.name, lines, title, row.phase not in UP)


def _cut(scene: Scene) -> str:
    return f"{scene.state.cut_off} is cut off" if scene.state.cut_off else ""


def _columns(scene: Scene) -> list[Column]:
    """What each has heard of who joins or goes; how far it is stands in the picture."""
    return [
        Column("node", "name"),
        *(
            Column(f"heard of {name}", partial(_said, at))
            for at, name in enumerate(scene.model.changing)
        ),
        Column("reads from", "reads"),
        Column("writes to, too", "pending"),
    ]


def _said(at: int, row: ViewRow) -> str:
    return row.says[at]


def _lines(scene: Scene) -> Iterator[str]:
    for row in scene.of(facts.views):
        pairs = zip(scene.model.changing, row.says, strict=True)
        said = ", ".join(f"{name} {status}" for name, status in pairs if status)
        more = f", writes to {', '.join(row.pending)}, too" if row.pending else ""
        heard = f"has heard {said}; " if said else ""
        yield f"{row.name}: {heard}reads from {', '.join(row.reads) or NONE}{more}"


def _badges(scene: Scene) -> Badges:
    """How many views are behind, how often data were streamed, what was acknowledged."""
    behind, state = len(scene.of(facts.unheard)), scene.state
    yield "heard", f"{behind} not heard yet" if behind else "all have heard", "busy" * bool(behind)
    yield "streams", f"{counted(state.streams, 'stream')} so far", ""
    yield "writes", f"{counted(state.acknowledged.bit_count(), 'write')} acknowledged", ""
    yield "cut", _cut(scene), "broken"


VIEWS = Views(
    (
        status(_badges, "badges"),
        ring_panel("ring", "Nodes of the ring", _boxes, middle=_cut, wide=140.0),
        panel_of(
            "views",
            "What each node knows",
            Table(
                of_state(facts.views),
                "view:{0.name}",
                _columns,
                caption="What each node knows (status, generation)",
                of="{0.name}",
                lines=_lines,
            ),
            still=True,
            tab="Views",
        ),
        LAMPS,
    ),
    evidence=("views",),
    picture="ring",
    table="views",
    badges="badges",
)
