"""Read repair as a rule: when a read waits, whom it writes to, who holds what it found."""

from __future__ import annotations

import pytest

from kit.protocols.storage.rules.levels import AnswerQuota, ReadRepair, holding, targets, waits

A, B, C, X = 1, 2, 4, 8
AT_REST = (AnswerQuota(A | B | C, 2),)
JOINING = (AnswerQuota(A | B | C | X, 3),)


@pytest.mark.parametrize(
    ("kind", "wanted", "holders", "answered", "waiting"),
    [
        ("mismatch", AT_REST, A, A | B, True),
        ("mismatch", AT_REST, A | B, A | B | C, False),
        ("mismatch", AT_REST, A | B, A | B, False),
        ("mismatch", JOINING, A | B, A | B, False),
        ("blocking", AT_REST, A, A | B, True),
        ("blocking", AT_REST, A | B, A | B, False),
        ("blocking", AT_REST, A | B, A | B | C, False),
        ("blocking", JOINING, A | B, A | B, True),
        ("blocking", JOINING, A | B | C, A | B | C, False),
    ],
)
def test_when_a_read_waits(
    kind: ReadRepair, wanted: tuple[AnswerQuota, ...], holders: int, answered: int, waiting: bool
) -> None:
    """Where no write quorum is known to hold it: always, or, of one kind, when answers differ."""
    assert waits(kind, wanted, holders, holders, answered) is waiting


def test_holding_that_does_not_count_is_no_quorum() -> None:
    """A holder that is no replica any more is waited for elsewhere."""
    assert waits("blocking", AT_REST, A | X, A, A | X)


def test_it_is_written_to_all_that_could_count() -> None:
    """Every replica of the write plan, pending ones included; of several quotas, all of them."""
    assert targets(JOINING) == A | B | C | X
    assert targets((AnswerQuota(B | C, 2), AnswerQuota(C | X, 2))) == B | C | X


def test_who_holds_the_newest() -> None:
    """A newer cell makes earlier answers old; an equal one adds a holder, an older one does not."""
    assert holding(0, 0, 0, A) == A
    assert holding(A, 0, 2, B) == B
    assert holding(B, 2, 2, C) == B | C
    assert holding(B | C, 2, 0, X) == B | C
