"""Long tables of things mostly alike: what stands out is listed, the others are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from kit.views.fragment import Frag, h

MOST_ROWS = 48
"""Rows that a table lists; of longer ones only those that stand out."""

Row = TypeVar("Row")
Look = TypeVar("Look", bound=Hashable)


class ToldApart(Struct, Generic[Row, Look], frozen=True):
    """The rows to list, in their order, and how many others there are of each look."""

    listed: tuple[Row, ...]
    others: tuple[tuple[Look, int], ...]


def told_apart(
    rows: Sequence[Row], look: Callable[[Row], Look], keep: Callable[[Row], bool]
) -> ToldApart[Row, Look]:
    """All rows, where they are few; else those to ``keep`` and those of an uncommon ``look``.

    Of more than ``MOST_ROWS`` such rows the first are listed, those to keep before all others.
    """
    if len(rows) <= MOST_ROWS:
        return ToldApart(tuple(rows), ())
    looks = [look(row) for row in rows]
    counts = Counter(looks)
    common = max(counts, key=lambda each: counts[each])
    ranks = {at: 0 if keep(row) else 1 for at, row in enumerate(rows)}
    apart = [at for at, each in enumerate(looks) if each != common or not ranks[at]]
    shown = sorted(sorted(apart, key=lambda at: ranks[at])[:MOST_ROWS])
    counts.subtract(looks[at] for at in shown)
    return ToldApart(
        tuple(rows[at] for at in shown),
        tuple((each, count) for each, count in counts.most_common() if count),
    )


def others_lines(others: Iterable[tuple[tuple[str, ...], int]]) -> list[str]:
    """Write what is not listed, a line for each look: ``950 more: normal, version 3``."""
    return [f"{count:,} more: {', '.join(filter(None, look))}" for look, count in others]


def draw_others(others: Iterable[tuple[tuple[str, ...], int]]) -> list[Frag]:
    """Draw the same as paragraphs."""
    return [h("p", line, class_="soft") for line in others_lines(others)]
