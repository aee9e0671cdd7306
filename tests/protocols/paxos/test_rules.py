"""The published rules of Paxos, case by case, as they were worked out by hand.

Sources: Paxos Made Simple, 2.2 (P1a, P2c), 2.3; CEP-21, "Event Submission Protocol".
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.masks import mask_of
from kit.protocols.paxos.rules import (
    Accepted,
    Slot,
    accept,
    appended,
    chosen_value,
    is_quorum,
    newer,
    next_ballot,
    promise,
    refuses,
    to_propose,
    to_repair,
)

X1, Y2, Z5 = Accepted(1, "x"), Accepted(2, "y"), Accepted(5, "z")


@pytest.mark.parametrize(
    ("promised", "ballot", "is_refused", "then"),
    [(0, 1, False, 1), (1, 2, False, 2), (2, 2, False, 2), (2, 1, True, 2), (5, 4, True, 5),
     (3, 9, False, 9)],
)  # fmt: skip
def test_an_acceptor_refuses_only_ballots_below_its_promise(
    promised: int, ballot: int, is_refused: bool, then: int
) -> None:
    """Other ballots are promised; an accepted value stays as it is."""
    slot = Slot(1, promised, X1)
    assert refuses(slot, ballot) is is_refused
    assert promise(slot, ballot) == Slot(1, then, X1)


@pytest.mark.parametrize(
    ("before", "ballot", "value", "after"),
    [
        (Slot[str](1), 1, "x", Slot(1, 1, X1)),
        (Slot[str](1, 1), 1, "x", Slot(1, 1, X1)),
        (Slot(1, 1, X1), 2, "y", Slot(1, 2, Y2)),  # a later ballot takes its place
        (Slot(1, 2, X1), 2, "y", Slot(1, 2, Y2)),
        (Slot(3, 5, Y2), 5, "z", Slot(3, 5, Z5)),
        (Slot(1, 1, X1), 1, "x", Slot(1, 1, X1)),  # the same message twice
    ],
)
def test_an_acceptor_keeps_the_value_of_the_newest_ballot(
    before: Slot[str], ballot: int, value: str, after: Slot[str]
) -> None:
    """Accepting a ballot promises it as well."""
    assert accept(before, ballot, value) == after


@pytest.mark.parametrize(
    ("named", "own", "value"),
    [
        ([], "w", "w"),  # nobody has accepted anything: free
        ([None, None], "w", "w"),
        ([X1], "w", "x"),
        ([None, X1, None], "w", "x"),  # one acceptor is enough
        ([X1, Y2], "w", "y"),  # the value of the highest ballot
        ([Z5, Y2, X1], "w", "z"),
        ([], None, None),  # a repair proposes nothing of its own
    ],
)
def test_the_newest_accepted_value_must_be_proposed(
    named: list[Accepted[str] | None], own: str | None, value: str | None
) -> None:
    """Only where no promise names one, the proposer's own (P2c)."""
    newest = None
    for each in named:
        newest = newer(newest, each)
    assert to_propose(newest, own) == value


@pytest.mark.parametrize(
    ("accepted", "value"),
    [
        ([None, None, None], None),
        ([X1, None, None], None),  # one of three
        ([X1, X1, None], "x"),
        ([X1, Accepted(2, "x"), None], None),  # the same value, in two ballots
        ([X1, Y2, Y2], "y"),
        ([X1, Y2, Z5], None),
        ([Z5, Z5, Z5], "z"),
    ],
)
def test_a_value_is_chosen_once_a_majority_accepts_its_ballot(
    accepted: list[Accepted[str] | None], value: str | None
) -> None:
    """The same value in two ballots does not count together."""
    assert chosen_value(dict(enumerate(accepted)), 0b111) == value


@pytest.mark.parametrize(
    ("log", "epoch", "after"),
    [
        ((), 1, ("v",)),
        (("x",), 2, ("x", "v")),
        (("x",), 1, ("x",)),  # taken: the compare-and-set fails
        ((), 2, ()),  # above a gap
        (("x", "y"), 1, ("x", "y")),
        (("x", "y"), 3, ("x", "y", "v")),
    ],
)
def test_an_entry_is_appended_for_the_next_epoch_only(
    log: tuple[str, ...], epoch: int, after: tuple[str, ...]
) -> None:
    """A taken epoch fails the compare-and-set, and an epoch above a gap does, too."""
    assert appended(log, epoch, "v") == after


@pytest.mark.parametrize(
    ("log", "epoch", "newest", "value"),
    [
        ((), 1, None, None),  # nothing is there
        ((), 1, X1, "x"),  # it may have been chosen
        (("x",), 1, None, "x"),  # decided
        (("x",), 1, Y2, "x"),
        (("x",), 2, Y2, "y"),
        (("x", "y"), 3, None, None),
        (("x", "y"), 1, None, "x"),
        (("x", "y"), 2, None, "y"),
    ],
)
def test_a_repair_proposes_only_what_may_be_decided(
    log: tuple[str, ...], epoch: int, newest: Accepted[str] | None, value: str | None
) -> None:
    """A decided value, else the newest accepted one, and no value of its own."""
    assert to_repair(log, epoch, newest) == value


@pytest.mark.parametrize(
    ("having", "electorates", "is_one"),
    [
        ("AB", ["ABC"], True),
        ("A", ["ABC"], False),
        ("AB", ["ABCD"], False),
        ("BC", ["ABC", "BCD"], True),
        ("AB", ["ABC", "BCD"], False),  # a majority of the former members alone
        ("ABD", ["ABC", "BCD"], True),
        ("", ["A"], False),
    ],
)
def test_a_quorum_is_a_majority_of_each_electorate(
    having: str, electorates: list[str], is_one: bool
) -> None:
    """While members change, of the former and of the new ones."""
    masks = [mask_of(map("ABCD".index, names)) for names in (having, *electorates)]
    assert is_quorum(masks[0], masks[1:]) is is_one


@pytest.mark.parametrize(
    ("above", "place", "ballot"), [(0, 0, 1), (0, 2, 3), (1, 0, 4), (1, 1, 2), (3, 1, 5), (5, 2, 6)]
)
def test_each_proposer_has_ballots_of_its_own(above: int, place: int, ballot: int) -> None:
    """Of three proposers A has 1, 4, 7; B has 2, 5, 8; C has 3, 6, 9."""
    assert next_ballot(above, place, 3) == ballot


@given(st.integers(0, 99), st.integers(1, 9), st.data())
def test_the_next_ballot_is_the_proposers_own(above: int, size: int, data: st.DataObject) -> None:
    """Whatever the number of proposers."""
    place = data.draw(st.integers(0, size - 1))
    ballot = next_ballot(above, place, size)
    assert above < ballot <= above + size
    assert (ballot - 1) % size == place
