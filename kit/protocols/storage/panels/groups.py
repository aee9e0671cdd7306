"""The range's read and write group at each committed epoch, who knows which; the status line."""

from collections.abc import Sequence

from kit.model.flows import as_timeuuid
from kit.protocols.storage import facts
from kit.protocols.storage.facts import EpochRow
from kit.views.declared import Badges, Column, Drawn, Note, Table, panel_of, status
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import Mark, chip, moved

MOST_ROWS = 10
Pair = tuple[EpochRow, EpochRow]
"""An epoch beside the one before it."""


def _chips(now: Sequence[str], before: Sequence[str], other: Sequence[str], key: str) -> list[Frag]:
    drawn = []
    for name in now:
        came: list[Mark] = ["added"] if name not in before else []
        marks: list[Mark] = came or ([] if name in other else ["pending"])
        drawn.append(chip(name, "small", *marks, key=f"{key}:{name}"))
    removed = [name for name in before if name not in now]
    return drawn + [chip(name, "small", "removed", key=f"{key}:{name}") for name in removed]


def _pairs(scene: Scene) -> list[Pair]:
    rows = facts.epochs(scene.model, scene.state)
    return list(zip(rows, (rows[0], *rows), strict=False))


def _epoch(pair: Pair) -> list[Kid]:
    row, before = pair
    same = not row.changed and row is not before
    return [
        h("b", str(row.epoch)),
        h("small", row.title.partition(" (")[0]),
        h("small", "row as before", class_="soft") if same else None,
    ]


def _reads(pair: Pair) -> list[Frag]:
    row, before = pair
    return _chips(row.reads, before.reads, row.writes, f"{row.key}:r")


def _writes(pair: Pair) -> list[Frag]:
    row, before = pair
    return _chips(row.writes, before.writes, row.reads, f"{row.key}:w")


def _known(pair: Pair) -> list[Frag]:
    return [h("span", f"{name} ", k=f"{pair[0].key}:known:{name}") for name in pair[0].knows]


KNOWN = Column("reads", _reads), Column("writes", _writes), Column("known to", _known)


def _earlier(scene: Scene) -> str:
    earlier = len(_pairs(scene)) - MOST_ROWS
    return f"Earlier {scene.model.history.unit}s not listed: {earlier}." * (earlier > 0)


def _late(scene: Scene) -> Frag | None:
    late = facts.late_copies(scene.model, scene.state)
    title = h("h4", "Copies from earlier steps that may still arrive")
    listed = h("ul", [h("li", words, k=f"late:{i}") for i, words in enumerate(late)])
    return h("div", title, listed, k="late-copies") if late else None


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    yield m.history.unit, f"{m.history.unit} {facts.epoch(m, s)}", "plain"
    words = f"placements: {facts.computed(m, s)}"
    yield "computed", words, "plain", "how many times placements were computed"
    yield "rest", *(("= stable", "") if facts.stable(m, s) else ("… moving", "busy"))
    session = facts.session(m, s)
    words = "" if session is None else f"session {session or '–'}"
    yield "session", words, "plain", as_timeuuid(session) if session else ""


STATUS = status(_badges)
VIEWS = panel_of(
    "views",
    "The range, epoch by epoch",
    Table(
        lambda scene: _pairs(scene)[-MOST_ROWS:][::-1],
        "{0[0].key}",
        lambda scene: (Column(scene.model.history.unit, _epoch), *KNOWN),
        caption=lambda scene: (
            f"Range {scene.model.history.label}. “Known to” lists the nodes that know no newer "
            f"{scene.model.history.unit}."
        ),
        kind=lambda pair: moved(pair[0].changed),
        marked=False,
        look="groups",
    ),
    Note(_earlier),
    Drawn(_late),
    still=True,
    tab="Epochs",
)
