"""Epochs in messages: who catches up, who refuses, which answers still count."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from kit.protocols.storage.rules.exchange import (
    Admission,
    Answer,
    Exchange,
    ExchangeSwitches,
    RequestSafeguards,
    admits,
    heard,
    invalidates,
    receive,
    sent,
    still_counted,
)
from tests.protocols.storage.views import VIEWS, A, B

LOG = ExchangeSwitches()
# by the version that a replica knows: it bars nothing yet, then what is older than one before it,
# then all but its own
FENCED = tuple(replace(VIEWS[0], fence=fence) for fence in (None, None, None, 1, 0))


@pytest.mark.parametrize(
    ("rule", "admitted"),
    [
        ("fence", {0: (0, 1, 2, 3, 4), 2: (0, 1, 2, 3, 4), 3: (2, 3, 4), 4: (4,)}),
        ("one-stage-apart", {0: (0, 1), 2: (1, 2, 3), 3: (2, 3, 4), 4: (3, 4)}),
        ("all", {0: (0, 1, 2, 3, 4), 4: (0, 1, 2, 3, 4)}),
    ],
)
def test_what_a_replica_admits(rule: Admission, admitted: dict[int, tuple[int, ...]]) -> None:
    """By what it knows, the versions of messages that it takes where nobody catches up."""
    found = {
        known: tuple(message for message in range(5) if admits(rule, FENCED, known, message))
        for known in admitted
    }
    assert found == admitted


@pytest.mark.spec("A-016", "B-029")
def test_a_replica_that_is_behind_catches_up_first() -> None:
    """B at epoch 100 gets a message of epoch 102: it applies 102 and then takes the write."""
    assert receive(VIEWS, 1, 0, 2, True, LOG) == Answer("ok", 2)


@pytest.mark.spec("B-030", "B-032", "A-015")
def test_a_replica_that_is_ahead_and_a_member_goes_on() -> None:
    """B at epoch 103 takes a write of epoch 100, and its answer tells of 103."""
    assert receive(VIEWS, 1, 3, 0, True, LOG) == Answer("ok", 3)


@pytest.mark.spec("B-031", "B-032")
def test_a_replica_that_is_ahead_and_no_member_refuses() -> None:
    """A at epoch 103 is no replica any more; at 102 it takes writes but serves no reads."""
    assert receive(VIEWS, 0, 3, 0, True, LOG) == Answer("not-a-member", 3)
    assert receive(VIEWS, 0, 2, 0, True, LOG) == Answer("ok", 2)
    assert receive(VIEWS, 0, 2, 0, False, LOG) == Answer("not-a-member", 2)


def test_without_the_membership_check_it_takes_part() -> None:
    """The safeguard switched off, A at 103 stores what epoch 100 sends."""
    off = ExchangeSwitches(safeguards=RequestSafeguards(membership_check=False))
    assert receive(VIEWS, 0, 3, 0, True, off).verdict == "ok"


def test_without_epochs_nobody_catches_up() -> None:
    """Not compared, X at epoch 100 goes by its own metadata: it is no replica yet."""
    off = ExchangeSwitches(safeguards=RequestSafeguards(epoch_exchange=False))
    assert receive(VIEWS, 3, 0, 1, True, off) == Answer("not-a-member", 0)
    assert heard(0, Answer("ok", 3), off) == 0


def test_the_finer_rule_compares_the_row() -> None:
    """B refuses a write whose epoch is below its row's version, though it is still a member."""
    by_row = ExchangeSwitches("last-modified")
    assert receive(VIEWS, 1, 3, 0, True, by_row) == Answer("coordinator-behind", 3)
    assert receive(VIEWS, 1, 3, 0, False, by_row) == Answer("ok", 3)
    assert receive(VIEWS, 1, 3, 3, True, by_row) == Answer("ok", 3)


@pytest.mark.spec("B-033", "B-038")
def test_the_coordinator_catches_up_with_the_answer() -> None:
    """It learns of the epoch from the replica, up to that epoch, and never goes back."""
    assert heard(0, Answer("ok", 2), LOG) == 2
    assert heard(3, Answer("not-a-member", 2), LOG) == 3
    assert heard(0, Answer("ok", 2), ExchangeSwitches("background")) == 0
    assert heard(0, Answer("not-a-member", 2), ExchangeSwitches("background")) == 2


@pytest.mark.spec("B-034")
def test_answers_of_former_members_count_no_more() -> None:
    """By epoch 103 the answer of A is none; by epoch 101 it is."""
    assert still_counted(VIEWS, 3, A | B, True) == B
    assert still_counted(VIEWS, 1, A | B, True) == A | B
    assert still_counted(VIEWS, 2, A | B, False) == B


@pytest.mark.spec("B-028")
def test_the_last_relevant_epoch_decides_the_same() -> None:
    """A message that carries the row's version is judged as one that carries the newest epoch."""
    views = (*VIEWS, VIEWS[3], VIEWS[3])  # two epochs that change nothing here
    for replica, known, epoch, write in itertools.product(
        range(4), range(6), range(6), (True, False)
    ):
        full = receive(views, replica, known, sent(views, epoch, LOG), write, LOG)
        brief = ExchangeSwitches("relevant")
        short = receive(views, replica, known, sent(views, epoch, brief), write, brief)
        assert short.verdict == full.verdict
        assert views[short.known] == views[full.known]


@pytest.mark.parametrize(
    ("exchange", "carried"),
    [("relevant", [0, 0, 2, 2]), ("epoch", [0, 1, 2, 3]), ("last-modified", [0, 1, 2, 3])],
)
def test_what_a_message_carries(exchange: Exchange, carried: list[int]) -> None:
    """The epoch of its coordinator, or the last one that changed the row: here every second."""
    views = tuple(replace(VIEWS[0], last_modified=at) for at in (0, 0, 2, 2))
    assert [sent(views, at, ExchangeSwitches(exchange)) for at in range(4)] == carried


def test_an_answer_lapses_with_its_members_absence() -> None:
    """Who gave the range up and got it back has to be asked anew; who stayed need not."""
    gone_and_back = (*VIEWS, VIEWS[0])
    assert invalidates(gone_and_back, range(1, 5), A | B, False) == A
    assert invalidates(gone_and_back, range(1, 2), A | B, False) == 0
    assert invalidates(VIEWS, range(4), A | B, True) == 0  # no member, no answer


def test_who_is_at_the_same_epoch_is_not_ahead() -> None:
    """Without the membership check only who is ahead takes part: who knows the very epoch of a
    message, and is no member by it, answers with an error.
    """
    off = ExchangeSwitches(safeguards=RequestSafeguards(membership_check=False))
    assert receive(VIEWS, 0, 3, 3, True, off) == Answer("not-a-member", 3)
    assert receive(VIEWS, 0, 3, 2, True, off) == Answer("ok", 3)


def test_without_epochs_no_row_is_compared() -> None:
    """The finer rule compares epochs, too: switched off, B takes the write of an older row."""
    off = ExchangeSwitches("last-modified", RequestSafeguards(epoch_exchange=False))
    assert receive(VIEWS, 1, 3, 0, True, off) == Answer("ok", 3)
