"""The drawing of the two ways to count answers says what the rules say."""

from __future__ import annotations

from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.panels.cards import count_line
from kit.protocols.storage.panels.counting import graphs
from kit.views.palette import SIGNS
from tests.views.tabled import drawn_rows


def test_each_set_of_answers_is_judged_by_both_rules() -> None:
    """Two of four are too few for the union; joint, two of each three are enough."""
    [(_, source)] = graphs()
    judged = [
        (row[0][2], [cell for cell in row[1:] if cell[2]])
        for row in drawn_rows(source)
        if row[0][2] in {"union", "joint"}
    ]
    enough, few = SIGNS["added"], SIGNS["removed"]
    assert judged == [
        ("union", [(4, few, "2 of 4: 3 needed")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("union", [(4, few, "2 of 4: 3 needed")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("joint", [(3, few, "1 of 3: 2 needed")]),
        ("union", [(4, enough, "3 of 4: enough")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
    ]


def test_a_bracket_is_below_those_whom_it_asks() -> None:
    """The old group begins at A, the new one at B, and each row is as wide as the names."""
    [(_, source)] = graphs()
    rows = [row[1:] for row in drawn_rows(source) if row[0][2] == "joint"]
    starts = [next(i for i, cell in enumerate(row) if cell[2]) for row in rows]
    assert starts == [0, 1] * 3


def test_more_answers_than_are_needed_are_no_part_of_them() -> None:
    """How many came is said of those who are asked, and beside it how many are enough."""
    assert count_line(QuotaRow(("A", "B", "C"), 2, ())) == "0 of A, B, C (2 needed)"
    assert count_line(QuotaRow(("A", "B", "C"), 2, ("A",))) == "1 of A, B, C (2 needed): A"
    more = QuotaRow(("A", "B", "C"), 2, ("A", "B", "C"))
    assert count_line(more) == "3 of A, B, C (2 needed): A, B, C"
