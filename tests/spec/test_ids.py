"""No requirement can hide: each id that there is has a statement, shown or not yet."""

from __future__ import annotations

from tests.spec.report import read_requirements

LAST = {"A": 43, "B": 84, "C": 51, "D": 70, "E": 66, "F": 21, "G": 44, "H": 22}
"""The last id of each group; groups have no gaps."""
AHEAD = {"D-080"}
"""Ids behind those that are stated already, though the ones between are not."""


def test_every_id_has_a_statement() -> None:
    """Nothing is left out of the report, what is not due yet (``later``) neither."""
    every = {f"{group}-{n:03}" for group, last in LAST.items() for n in range(1, last + 1)}
    assert {*read_requirements().statements} == every | AHEAD


def test_statements_are_in_the_order_of_their_ids() -> None:
    """Whoever looks for one finds it in its place."""
    stated = list(read_requirements().statements)
    assert stated == sorted(stated)
