"""Rows of a grade that both procedures have: two groups at once, lost entries, data meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from kit.engine.drill import DrillMoment, GradeRow, judged
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.facts import DataRangeRow
from kit.protocols.storage.rules.levels import Level

TOLD: tuple[Level, ...] = ("ONE", "QUORUM")


def one_group(now: DrillMoment) -> GradeRow:
    """Whether no state of the run had two nodes that talked while in different groups."""
    wrong: list[str] = []
    for step in now.run:
        pair = step.state.in_two_groups()
        if pair is not None:
            m, nodes = now.model, step.state.nodes
            said = (f"{m.names[i]} in {m.group_name(nodes[i].group)}" for i in pair)
            wrong.append(f"{' and '.join(said)} talked as one cluster")
            break
    return judged("one group", wrong, "no two groups ever talked as one cluster")


def missing_entries(had: int, known: int) -> list[str]:
    """What is wrong where entries that were known (a mask) are not any more."""
    missing = [str(column + 1) for column in nodes_in(had & ~known)]
    return [f"no live node has these entries any more: {', '.join(missing)}"] if missing else []


def died_with(now: DrillMoment, death: type, known: Callable[[Any], int]) -> int:
    """Entries of which nobody knew any more once a node had died (a mask): no operator's fault."""
    died = 0
    for before, after in pairwise(now.run):
        if isinstance(after.action, death):
            died |= known(before.state) & ~known(after.state)
    return died


def ever_dead(now: DrillMoment) -> str:
    """The names of the nodes that are dead or were in the run, also of those that died in it."""
    dead = 0
    for step in now.run:
        dead |= step.state.dead
    return ", ".join(now.model.named(dead))


def kept(died: int, what: str) -> str:
    """What is told where nothing is lost that an operator could have kept."""
    entries = ", ".join(str(column + 1) for column in nodes_in(died))
    if entries:
        return f"entries that died with the last node that knew of them: {entries}; no other"
    return f"every {what} that lived still does"


def data_unavailable(
    now: DrillMoment, ranges: Callable[[Any, Any], Sequence[DataRangeRow]]
) -> GradeRow:
    """In how many states a smaller part of the ranges was available than in the first one.

    It is a part, since each node that is removed takes a range with it.
    """
    shares = [_shares(ranges(now.model, step.state)) for step in now.run]
    words = []
    for level in TOLD:
        worse = sum(share[level] < shares[0][level] for share in shares)
        words.append(f"at {level} in {worse} of {len(shares)} states")
    return GradeRow("data unavailable", None, f"more than at the start {', '.join(words)}")


def _shares(rows: Sequence[DataRangeRow]) -> dict[Level, Fraction]:
    """The part of all ranges that is available, by level."""
    return {
        level: Fraction(sum(level in row.levels for row in rows), max(1, len(rows)))
        for level in TOLD
    }
