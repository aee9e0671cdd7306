"""An operation by gossip: nodes with what they hold, and what each of them knows."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.gossip.facts import joining as facts
from kit.protocols.gossip.facts.flows import spot
from kit.protocols.gossip.facts.joining import ViewRow
from kit.views.fragment import Frag, h
from kit.views.node_boxes import NodeBox, draw_ring
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import badge, badge_row, changed_row, heads, scroll
from kit.views.promises import LAMPS
from kit.views.registry import Views

NONE = "–"
BOX_WIDE = 140.0
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


def _rows(scene: Scene) -> tuple[ViewRow, ...]:
    rows: tuple[ViewRow, ...] = scene.once("views", lambda: facts.views(scene.model, scene.state))
    return rows


def draw_picture(scene: Scene) -> Frag:
    """Draw each node with how far it is and the writes that it holds; who is no member dashed."""
    boxes = [
        NodeBox(
            spot(row.name),
            row.name,
            (f"{row.name} · {PHASES[row.phase]}", _holds(row)),
            _line(row),
            row.phase not in UP,
        )
        for row in _rows(scene)
    ]
    cut = f"{scene.state.cut_off} is cut off" if scene.state.cut_off else ""
    words = alternative("nodes of the ring", picture_text(scene))
    return draw_ring(boxes, words, middle=cut, wide=BOX_WIDE)


def _holds(row: ViewRow) -> str:
    return f"write {', '.join(map(str, row.holds))}" if row.holds else "no write"


def _line(row: ViewRow) -> str:
    cut = ", cut off" if row.cut_off else ""
    return f"{row.name}: {PHASES[row.phase]}, {_holds(row)}{cut}"


def picture_text(scene: Scene) -> str:
    """Write a line for each node."""
    return "\n".join(f"  {_line(row)}" for row in _rows(scene))


def draw_views(scene: Scene) -> Frag:
    """Draw a row for each node: what it has heard of who joins or goes, whom it reads and writes.

    How far it is and what it holds stand in the picture.
    """
    before = {} if scene.before is None else _by_name(scene)
    changing = [f"heard of {name}" for name in scene.model.changing]
    return scroll(
        "views",
        h(
            "table",
            h("caption", "What each node knows (status, generation)"),
            heads("node", *changing, "reads from", "writes to, too"),
            h("tbody", [_row(row, before.get(row.name, row)) for row in _rows(scene)]),
        ),
    )


def _by_name(scene: Scene) -> dict[str, ViewRow]:
    return {row.name: row for row in facts.views(scene.model, scene.before)}


def _cells(row: ViewRow) -> list[str]:
    said = [each or NONE for each in row.says]
    where = [", ".join(names) or NONE for names in (row.reads, row.pending)]
    return [*said, *where]


def _row(row: ViewRow, was: ViewRow) -> Frag:
    return changed_row(f"view:{row.name}", row.name, row.name, _cells(row), _cells(was))


def views_text(scene: Scene) -> str:
    """Write a line for each node."""
    lines = []
    for row in _rows(scene):
        said = [
            f"{name} {status}"
            for name, status in zip(scene.model.changing, row.says, strict=True)
            if status
        ]
        more = f", writes to {', '.join(row.pending)}, too" if row.pending else ""
        heard = f"has heard {', '.join(said)}; " if said else ""
        lines.append(f"  {row.name}: {heard}reads from {', '.join(row.reads) or NONE}{more}")
    return "\n".join(lines)


def draw_badges(scene: Scene) -> Frag:
    """Draw how many views are behind, how often data were streamed, what was acknowledged."""
    state = scene.state
    unheard = facts.unheard(scene.model, state)
    return badge_row(
        badge("heard", f"{len(unheard)} not heard yet", "busy")
        if unheard
        else badge("heard", "all have heard"),
        badge("streams", f"{counted(state.streams, 'stream')} so far"),
        badge("writes", f"{counted(state.acknowledged.bit_count(), 'write')} acknowledged"),
        badge("cut", f"{state.cut_off} is cut off", "broken") if state.cut_off else None,
    )


PICTURE = Panel("ring", "Nodes of the ring", draw_picture, picture_text, still=True)
VIEWS_TABLE = Panel(
    "views", "What each node knows", draw_views, views_text, still=True, tab="Views"
)
BADGES = Panel("badges", "Status", draw_badges, still=True)
VIEWS = Views(
    (BADGES, PICTURE, VIEWS_TABLE, LAMPS),
    evidence=("views",),
    picture="ring",
    table="views",
    badges="badges",
)
