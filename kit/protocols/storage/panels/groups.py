"""The range's read and write group at each committed epoch, and who knows which epoch."""

from __future__ import annotations

from collections.abc import Sequence

from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts import solo as facts_solo
from kit.protocols.storage.facts.moment import EpochRow
from kit.protocols.storage.solo import Replica
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import Mark, chip, heads, moved, scroll, signed

MOST_ROWS = 10


def chips(now: Sequence[str], before: Sequence[str], other: Sequence[str], key: str) -> list[Frag]:
    """Draw a group: who came since the epoch before has a plus, who went follows with a minus.

    Members that the ``other`` group of the same epoch lacks are drawn with a double border.
    """
    drawn = []
    for name in now:
        came: list[Mark] = ["added"] if name not in before else []
        marks: list[Mark] = came or ([] if name in other else ["pending"])
        drawn.append(chip(name, "small", *marks, key=f"{key}:{name}"))
    removed = [name for name in before if name not in now]
    return drawn + [chip(name, "small", "removed", key=f"{key}:{name}") for name in removed]


def _signed(now: Sequence[str], before: Sequence[str]) -> str:
    """Write a group with the signs of its chips."""
    came = [name for name in now if name not in before]
    return signed(now, came, [name for name in before if name not in now])


def _pairs(scene: Scene) -> list[tuple[EpochRow, EpochRow]]:
    """Every epoch beside the one before it, newest last."""
    epochs_of = facts_solo.epochs if isinstance(scene.model, Replica) else facts.epochs
    rows = epochs_of(scene.model, scene.state)
    return list(zip(rows, (rows[0], *rows), strict=False))


def draw_views(scene: Scene) -> Frag:
    """Draw a row per epoch; where the event changed the range's row, that is marked."""
    pairs, unit = _pairs(scene), scene.model.history.unit
    shown = pairs[-MOST_ROWS:]
    return scroll(
        f"the range at each {unit}",
        h(
            "table",
            h("caption", f"Range {facts.label(scene.model)}; who knows no newer {unit}"),
            heads(unit, "reads", "writes", "known to"),
            h("tbody", [_row(row, before) for row, before in reversed(shown)]),
            class_="groups",
        ),
        h("p", f"{len(pairs) - len(shown)} earlier {unit}s are not listed.", class_="soft")
        if len(shown) < len(pairs)
        else None,
        _late(scene),
        kind="tall",
    )


def _late(scene: Scene) -> Frag | None:
    """Copies of earlier steps that may still arrive, where there may be any."""
    late = facts.late_copies(scene.model, scene.state)
    if not late:
        return None
    return h(
        "div",
        h("h4", "Copies of earlier steps that may still arrive"),
        h("ul", [h("li", words, k=f"late:{i}") for i, words in enumerate(late)]),
        k="late-copies",
    )


def _row(row: EpochRow, before: EpochRow) -> Frag:
    key = row.key
    return h(
        "tr",
        h(
            "th",
            h("b", str(row.epoch)),
            h("small", row.title.partition(" (")[0]),
            h("small", "row as before", class_="soft")
            if not row.changed and row is not before
            else None,
            scope="row",
        ),
        h("td", chips(row.reads, before.reads, row.writes, f"{key}:r")),
        h("td", chips(row.writes, before.writes, row.reads, f"{key}:w")),
        h("td", [h("span", f"{name} ", k=f"{key}:known:{name}") for name in row.knows]),
        k=key,
        class_=moved(row.changed),
    )


def views_text(scene: Scene) -> str:
    """Write a line per epoch; ``*`` marks where the range's row changed."""
    rows = [
        f"{'*' if row.changed else ' '} {row.epoch}  {row.title}: "
        f"reads {_signed(row.reads, before.reads)}; writes {_signed(row.writes, before.writes)}; "
        f"newest known to {', '.join(row.knows) or 'nobody'}"
        for row, before in _pairs(scene)
    ]
    late = facts.late_copies(scene.model, scene.state)
    return "\n".join([*rows, *(f"  may still arrive: {words}" for words in late)])


VIEWS = Panel(
    "views", "The range, epoch by epoch", draw_views, views_text, still=True, tab="Epochs"
)
