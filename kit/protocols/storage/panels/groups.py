"""The range's read and write group at each committed epoch, and who knows which epoch."""

from __future__ import annotations

from collections.abc import Sequence

from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts import solo as facts_solo
from kit.protocols.storage.facts.moment import EpochRow
from kit.protocols.storage.solo import Replica
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene

MOST_ROWS = 10


def chips(now: Sequence[str], before: Sequence[str], other: Sequence[str], key: str) -> list[Frag]:
    """Draw a group: who came since the epoch before has a plus, who went follows with a minus.

    Members that the ``other`` group of the same epoch lacks are drawn with a double border.
    """
    drawn = []
    for name in (*now, *(one for one in before if one not in now)):
        sign, kind = "", "chip small"
        if name not in before:
            sign, kind = "+", "chip small added"
        elif name not in now:
            sign, kind = "−", "chip small removed"
        elif name not in other:
            kind = "chip small pending"
        drawn.append(h("span", f"{sign}{name}", k=f"{key}:{name}", class_=kind, data_of=name))
    return drawn


def signed(now: Sequence[str], before: Sequence[str]) -> str:
    """Write a group with its signs: ``B, C, +X, −A``."""
    came = [name if name in before else f"+{name}" for name in now]
    return ", ".join([*came, *(f"−{name}" for name in before if name not in now)])


def _pairs(scene: Scene) -> list[tuple[EpochRow, EpochRow]]:
    """Every epoch beside the one before it, newest last."""
    found = facts_solo.epochs if isinstance(scene.model, Replica) else facts.epochs
    rows = found(scene.model, scene.state)
    return list(zip(rows, (rows[0], *rows), strict=False))


def draw_views(scene: Scene) -> Frag:
    """Draw a row an epoch; where the event changed the range's row, that is marked."""
    pairs = _pairs(scene)
    shown = pairs[-MOST_ROWS:]
    heads = ("epoch", "reads", "writes", "known to")
    return h(
        "div",
        h(
            "table",
            h("caption", f"Range {facts.label(scene.model)}; who knows no newer epoch"),
            h("thead", h("tr", [h("th", word, scope="col") for word in heads])),
            h("tbody", [_row(row, before) for row, before in reversed(shown)]),
            class_="groups",
        ),
        h("p", f"{len(pairs) - len(shown)} earlier epochs are not listed.", class_="soft")
        if len(shown) < len(pairs)
        else None,
        class_="scroll tall",
        tabindex=0,
        role="region",
        aria_label="the range at each epoch",
    )


def _row(row: EpochRow, before: EpochRow) -> Frag:
    key = f"view:{row.epoch}"
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
        class_="moved" if row.changed else None,
    )


def views_text(scene: Scene) -> str:
    """Write a line an epoch; ``*`` marks where the range's row changed."""
    return "\n".join(
        f"{'*' if row.changed else ' '} {row.epoch}  {row.title}: "
        f"reads {signed(row.reads, before.reads)}; writes {signed(row.writes, before.writes)}; "
        f"newest known to {', '.join(row.knows) or 'nobody'}"
        for row, before in _pairs(scene)
    )


VIEWS = Panel("views", "The range, epoch by epoch", "side", draw_views, views_text, still=True)
