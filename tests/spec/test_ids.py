"""No requirement can hide: each id that there is has a statement, or is one of a later issue."""

from __future__ import annotations

from tests.spec.report import read_requirements

LAST = {"A": 43, "B": 84, "C": 51, "D": 70, "E": 66, "F": 21, "G": 44, "H": 22}
"""The last id of each group; groups have no gaps."""
LATER = {
    # Raft's own messages, and the log under the commands of group 0.
    "C": (*range(1, 9), *range(10, 15), 48, 49),
    # The services that commit epochs: Paxos, its leases, what follows from both.
    "B": (1, 2, 5, *range(10, 16), *range(40, 57), *range(60, 77), 83, 84),
}
"""The ids of issues that are not due yet: they get a statement when their issue is begun."""


def ids(group: str, numbers: range | tuple[int, ...]) -> set[str]:
    """Ids as they are written."""
    return {f"{group}-{number:03}" for number in numbers}


def test_every_id_has_a_statement_or_comes_later() -> None:
    """Nothing of the issues so far is left out of the report, and nothing is in both lists."""
    every = set().union(*(ids(group, range(1, last + 1)) for group, last in LAST.items()))
    later = set().union(*(ids(group, numbers) for group, numbers in LATER.items()))
    stated = set(read_requirements().statements)
    assert stated | later == every
    assert not stated & later


def test_statements_are_in_the_order_of_their_ids() -> None:
    """Whoever looks for one finds it in its place."""
    stated = list(read_requirements().statements)
    assert stated == sorted(stated)
