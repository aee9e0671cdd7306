"""What rows of facts say about themselves: worked out by hand, without a model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.protocols.storage.events import QuotaRow, Sent
from kit.protocols.storage.facts import CopyRow, ReplicaRow, RequestRow, arrived, held
from kit.protocols.storage.rules.history import _numbers
from kit.protocols.storage.rules.requests import tombstone, written

MET, SHORT = QuotaRow(("A", "B"), 1, ("A",)), QuotaRow(("A", "B"), 2, ("A",))
ANY: Any = None  # neither the model nor the state is looked at


@pytest.mark.parametrize(
    ("quotas", "met"),
    [((), True), ((MET,), True), ((SHORT,), False), ((MET, SHORT), False), ((MET, MET), True)],
)
def test_each_quota_must_be_met(quotas: tuple[QuotaRow, ...], met: bool) -> None:
    """By the plan as it was sent, and apart from it by what the coordinator knows now."""
    row: tuple[Any, ...] = (0, "write", "K", None, "QUORUM", "open", 1, 1, (), ())
    plan = RequestRow(*row, quotas, (SHORT,), "")
    assert (plan.enough, plan.valid) == (met, False)
    judged = RequestRow(*row, (SHORT,), quotas, "")
    assert (judged.enough, judged.valid) == (False, met)


@pytest.mark.parametrize(
    ("again", "back", "first"),
    [(False, "", True), (True, "", False), (False, "w1", False), (True, "w1", False)],
)
def test_a_request_begins_once(again: bool, back: str, first: bool) -> None:
    """Neither with a plan made again nor with what a read writes back."""
    assert Sent(0, "read", "K", "ONE", 1, None, ("A",), again, back).first is first


def test_what_is_held() -> None:
    """Nothing, what was written, or the mark of a deletion."""
    assert [held(cell) for cell in (0, written(1), tombstone(1))] == [
        "nothing", "value", "tombstone",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "role", "not_owned", "ways", "share"),
    [
        ("nothing", "reads and writes", False, ("arrived",), 0.0),
        ("value", "reads and writes", False, (), 1.0),
        ("value", "no replica", True, (), 1.0),
        ("value", "no replica", False, (), 0.0),
        ("value", "writes only", False, ("not begun",), 0.0),
        ("value", "writes only", False, ("arrived", "on its way"), 0.5),
        ("tombstone", "writes only", False, ("arrived", "arrived"), 1.0),
    ],
)
def test_how_much_has_arrived(
    kind: Any, role: Any, not_owned: bool, ways: tuple[Any, ...], share: float
) -> None:
    """Of the copies to the replica itself; who gets none has all that it is to have."""
    copies = (CopyRow("A", "C", "not begun", ""), *(CopyRow("B", "A", way, "") for way in ways))
    row = ReplicaRow("A", "dc1", 1, 0, role, role, "w1", kind, not_owned, True, copies)
    assert arrived(ANY, ANY, row) == share


@pytest.mark.parametrize(
    ("quiet", "numbers"),
    [
        ((False, False, False), (9, 10, 11)),
        ((False, True, False), (10, 10, 11)),
        ((False, False, True), (10, 11, 11)),
        ((True, True, True), (11, 11, 11)),
    ],
)
def test_quiet_epochs_share_a_number(quiet: tuple[bool, ...], numbers: tuple[int, ...]) -> None:
    """Each number is one more than that before, unless its epoch is quiet; the last is 11."""
    history: Any = SimpleNamespace(epochs=[SimpleNamespace(epoch=11, quiet=each) for each in quiet])
    assert _numbers(history, (0, 1, 2)) == numbers
