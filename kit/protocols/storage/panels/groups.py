"""The range's read and write group at each committed epoch, who knows which; the status line.

And the committed drawing of the two ways to count a write's answers while a replica is on its way.
"""

from collections.abc import Iterator, Sequence

from kit.masks import mask_of
from kit.model.flows import as_timeuuid
from kit.protocols.storage import facts
from kit.protocols.storage.facts import EpochRow
from kit.protocols.storage.rules.levels import AnswerQuota, write_quotas
from kit.protocols.storage.rules.view import Acknowledgement, View
from kit.views.declared import Badges, Column, Drawn, Note, Table, panel_of, status
from kit.views.diagrams import Cell, table_source
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
    yield m.history.unit, f"{m.history.unit} {m.newest_epoch(s)}", "plain"
    rest = ("reads equal writes", "") if facts.stable(m, s) else ("in transition", "busy")
    yield "rest", *rest
    if session := facts.session(m, s):
        yield "session", f"session {session} open", "busy", as_timeuuid(session)


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
            f"{scene.model.history.unit}. "
            f"Placements computed: {facts.computed(scene.model, scene.state)}."
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


# -- the two ways to count the answers of a write, as a drawing ------------------------------------

NAMES = "ABCX"
"""A gives up its place and X takes it, so both groups are neighbours in this order."""
ANSWERS = ("BC", "AB", "ABX")
RULES: tuple[Acknowledgement, ...] = ("union", "joint")


def graphs() -> Iterator[tuple[str, str]]:
    """Yield the drawing: (name, DOT text). Each block is a set of answers, judged by both rules."""
    old, new = _mask("ABC"), _mask("BCX")
    view = View(reads=old, writes=old | new, old_replicas=old, new_replicas=new)
    rows: list[list[Cell]] = [[Cell("answers of"), *map(Cell, NAMES)]]
    for answers in ANSWERS:
        given = [Cell(name, fill="changed") if name in answers else Cell("–") for name in NAMES]
        rows += [[Cell()], [Cell(), *given]]
        for rule in RULES:
            for quota in write_quotas("QUORUM", view, (), 0, rule):
                rows.append([Cell(rule), *_bracket(quota, _mask(answers))])
    yield "quorums-union-joint", table_source(rows, [70, *[80] * len(NAMES)])


def _mask(names: str) -> int:
    return mask_of(map(NAMES.index, names))


def _bracket(quota: AnswerQuota, answered: int) -> Iterator[Cell]:
    first = (quota.replicas & -quota.replicas).bit_length() - 1
    have, of = (quota.replicas & answered).bit_count(), quota.replicas.bit_count()
    enough = have >= quota.needed
    words = f"{have} of {of}: {'enough' if enough else f'{quota.needed} needed'}"
    yield from [Cell()] * first
    yield Cell(words, of, "added" if enough else "removed")
