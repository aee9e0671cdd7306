"""What rows of facts say about themselves: worked out by hand, without a model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.declared import Travel
from kit.protocols.storage.events import (
    Applied,
    Completed,
    Copied,
    Delivered,
    DiskEvent,
    EpochCommitted,
    QuotaRow,
    Sent,
    legs,
    seat_of,
)
from kit.protocols.storage.facts import CopyRow, ReplicaRow, RequestRow, arrived, held
from kit.protocols.storage.rules.history import _numbers
from kit.protocols.storage.rules.requests import tombstone, written

MET, SHORT = QuotaRow(("A", "B"), 1, ("A",)), QuotaRow(("A", "B"), 2, ("A",))


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
    assert arrived(row) == share


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


K, TO_A = ("n:K1", "n:A"), "K1 → A: "
BACK, FROM_A = ("n:A", "n:K1"), "A → K1: "
ASKS = Travel("request", *K, "write 1", f"{TO_A}write 1, epoch 5")
DONE = Travel("answer", *BACK, "stored", f"{FROM_A}stored, epoch 5", 2)
PLAIN = Delivered(0, "write 1", "K1", "A", 5, 5, 5, "", "stored", False, None)


@pytest.mark.parametrize(
    ("event", "travels"),
    [
        (
            Sent(3, "write 1", "K1", "ONE", 5, 5, ("A", "B")),
            [
                Travel("request", "n:K1", "away:3:A", "write 1", "K1 → A: sends write 1, epoch 5"),
                Travel("request", "n:K1", "away:3:B", "write 1", "K1 → B: sends write 1, epoch 5"),
            ],
        ),
        (
            Sent(3, "read 2", "K1", "ONE", 5, None, ("A",), back="w1"),
            [Travel("request", "n:K1", "away:3:A", "w1 back", "K1 → A: writes w1 back")],
        ),
        (PLAIN, [ASKS, DONE]),
        (
            replace(PLAIN, epoch=None),
            [
                replace(ASKS, text=f"{TO_A}write 1"),
                replace(DONE, text=f"{FROM_A}stored"),
            ],
        ),
        (
            replace(PLAIN, had=4),
            [ASKS, Travel("entry", *K, "epoch 5", f"{TO_A}epoch 5", 1), DONE],
        ),
        (
            replace(PLAIN, had=2),
            [ASKS, Travel("entry", *K, "epochs 3 to 5", f"{TO_A}epochs 3 to 5", 1), DONE],
        ),
        (replace(PLAIN, late=True, adopted=6), [ASKS]),
        (
            replace(PLAIN, had=6, knows=6, error="the request is stale", adopted=6),
            [
                ASKS,
                Travel("refusal", *BACK, "error", f"{FROM_A}error, the request is stale", 2),
                Travel("entry", *BACK, "epoch 6", f"{FROM_A}epoch 6", 3),
            ],
        ),
        (
            Completed(3, "write 1", "K1", 5, ok=True, result="succeeds"),
            [Travel("answer", "n:K1", "request:3", "succeeds", "K1 → client: write 1 succeeds", 0)],
        ),
        (
            Completed(3, "read 2", "K1", 5, ok=False, result="fails", back="w1", repaired=("A",)),
            [
                Travel("request", *K, "w1 back", f"{TO_A}writes w1 back"),
                Travel("refusal", "n:K1", "request:3", "fails", "K1 → client: read 2 fails", 1),
            ],
        ),
        (Applied("A", 5), [Travel("entry", "log:5", "n:A", "epoch 5", "log → A: epoch 5")]),
        (
            Copied("A", "X", "w1", landed=False),
            [Travel("data", "n:A", "copy:A:X", "w1", "A → X: streams w1")],
        ),
        (
            Copied("A", "X", "w1", landed=False, session=7),
            [
                Travel(
                    *("data", "n:A", "copy:A:X", "w1, session 7"),
                    "A → X: streams w1, frozen_topology_guard of session 7",
                )
            ],
        ),
        (
            Copied("A", "X", "w1", landed=True, late=True),
            [
                Travel(
                    *("data", "n:A", "n:X", "w1"),
                    "A → X: w1 arrives late, frozen_topology_guard of session 0",
                )
            ],
        ),
        (EpochCommitted(5, "add"), []),
        (DiskEvent("A", "fails"), []),
    ],
)
def test_what_travels_in_a_step(event: Any, travels: list[Travel]) -> None:
    """From where to where, in which order; of an answer that comes late nobody hears."""
    assert [*legs(event, "epoch")] == travels


@pytest.mark.parametrize(
    ("key", "seat"),
    [
        ("n:K1", "seat:K1"),
        ("away:3:A", "seat:A"),
        ("request:3", "seat:client"),
        ("log:5", "seat:log"),
    ],
)
def test_who_sits_where_something_travels(key: str, seat: str) -> None:
    """A client for its request, the log for its entries, else who is named last."""
    assert seat_of(key) == seat


def test_how_a_quota_is_counted() -> None:
    """Who answered, who may, and how many must."""
    assert [each.count for each in (MET, SHORT)] == ["1 of A, B (1 needed)", "1 of A, B (2 needed)"]
