"""Reads that write back: the kind that waits for a write quorum keeps one order, others do not."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.rules.history import RangeEpoch, RangeHistory
from kit.protocols.storage.rules.levels import ReadRepair
from kit.protocols.storage.rules.requests import FAILED, REPAIRING
from kit.protocols.storage.rules.view import View
from kit.search.check import check
from tests.protocols.dataplane.runs import BLOCKING, CLEAN, LARGE
from tests.protocols.storage.toys import toy

ASKS = ("K1 write QUORUM", "K2 read QUORUM", "K2 read QUORUM")
JOINED = {"rf": 1, "requests": ASKS, "together": True}
WEAKER = {"answered": "read-repair-of-answers", "mismatch": "read-repair-of-mismatches"}


def along(model: Any, *verbs: str) -> Any:
    """A run of those verbs."""
    timeline: Any = Timeline(model)
    for verb in verbs:
        do(timeline, verb)
    return timeline


def do(timeline: Any, verb: str) -> None:
    """The step of that verb."""
    model = timeline.model
    timeline.do(next(a for a in model.actions(timeline.state) if model.verb(a) == verb))


def verbs_of(model: Any, actions: Any) -> list[str]:
    """Actions as lines of a scenario file."""
    return [model.verb(action) for action in actions]


def test_blocking_repair_is_searched_for_each_operation() -> None:
    """Bootstrap, leave, move and replace, each with three requests together, are in the lists."""
    searched = {**CLEAN, **LARGE}
    told = [parameters for name, (parameters, *_) in searched.items() if name in BLOCKING]
    assert [given.get("operations", ("bootstrap",))[0].split()[0] for given in told] == [
        "bootstrap", "decommission", "replace", "move",
    ]  # fmt: skip
    for given in told:
        assert (given["repair"], given["together"], given["requests"]) == ("blocking", True, ASKS)


@pytest.mark.parametrize("kind", get_args(ReadRepair))
def test_at_rest_each_repair_keeps_one_order(kind: str) -> None:
    """Of three replicas that stay: searched whole, only without any repair a read goes back."""
    view = View(0b111, 0b111, 0b111, 0b111)
    still = RangeHistory("", 0, 0, tuple("ABC"), ("dc1",) * 3, (RangeEpoch(1, "stable", view),))
    found = check(toy(still, ASKS, together=True, repair=kind))
    assert found.complete is (kind != "none")
    assert (found.violation and found.violation.property) == (
        "linearizable" if kind == "none" else None
    )


@pytest.mark.sweep(2)
@pytest.mark.parametrize("kind", WEAKER)
def test_a_weaker_repair_lets_a_read_go_back_in_time(kind: str) -> None:
    """The search finds it, in the very run that the scenario file tells."""
    model: Any = build("dataplane", {**JOINED, "repair": kind})
    found = check(model)
    assert found.violation is not None
    assert found.violation.property == "linearizable"
    told: Any = open_file(file_named(f"dataplane/{WEAKER[kind]}"))
    told.goto(told.tip)
    assert told.model.parameters == model.parameters
    steps = [moment.action for moment in told.moments if moment.id]
    assert verbs_of(model, steps) == verbs_of(model, found.violation.actions)


SEEN = (
    "write 1 at epoch 99",
    "write 1 reaches A",
    "read 2 at epoch 99",
    "read 2 reaches A",
    "read 2 reaches B",
    "answer read 2",
)
UNSEEN = ("read 3 at epoch 99", "read 3 reaches B", "read 3 reaches C", "answer read 3")


@pytest.mark.parametrize(
    ("kind", "between", "kept"),
    [
        ("none", (), False),
        ("answered", (), True),
        ("mismatch", ("read 2 writes back to B", "answer read 2"), True),
        ("blocking", ("read 2 writes back to B", "answer read 2"), True),
        ("blocking", ("read 2 writes back to C", "answer read 2"), True),
    ],
)
def test_a_write_that_was_seen_at_rest(kind: str, between: tuple[str, ...], kept: bool) -> None:
    """Beside a slow write two quorum reads see it and then miss it, unless the first repairs."""
    model: Any = build("dataplane", {**JOINED, "rf": 3, "repair": kind})
    timeline = along(model, *SEEN, *between, *UNSEEN)
    verdict = next(verdict for verdict in timeline.verdicts() if verdict.name == "linearizable")
    assert verdict.ok is kept


def test_the_write_quorum_counts_the_pending_replica() -> None:
    """At RF 3, with X pending, the read waits for three of four: one that answered is not enough.

    After the switch C and X are a read quorum, and one of them holds what was read.
    """
    model: Any = build("dataplane", {**JOINED, "rf": 3, "repair": "blocking"})
    timeline = along(
        model,
        "write 1 at epoch 99", "bootstrap X --tokens 150",
        *(f"apply {name}" for name in "ABX"), "commit X", *(f"apply {name}" for name in "ABX"),
        "copy A to X", "land A to X", "write 1 reaches A",
        "read 2 at epoch 99", "read 2 reaches A", "read 2 reaches B", "answer read 2",
    )  # fmt: skip
    read, names = timeline.state.requests[1], model.history.names
    assert read.phase == REPAIRING
    assert (names(read.acked), names(read.in_flight)) == (("A",), ("B", "C", "X"))
    for name in "BX":
        assert "answer read 2" not in verbs_of(model, model.actions(timeline.state))
        do(timeline, f"read 2 writes back to {name}")
    do(timeline, "answer read 2")
    for verb in ("commit X", "read 3 at epoch 102", "read 3 reaches C", "read 3 reaches X"):
        do(timeline, verb)
    assert timeline.state.requests[2].newest_seen == read.newest_seen


@pytest.mark.parametrize("retry", [False, True])
def test_a_repair_is_validated_again(retry: bool) -> None:
    """Who hears of a pending replica meanwhile fails, or writes back again, to that one too."""
    model: Any = build("dataplane", {**JOINED, "rf": 3, "repair": "blocking", "retry": retry})
    timeline = along(
        model,
        *SEEN, "bootstrap X --tokens 150", *(f"apply {name}" for name in "ABX"), "commit X",
        "apply B", "read 2 writes back to B", "answer read 2",
    )  # fmt: skip
    read, names = timeline.state.requests[1], model.history.names
    if retry:
        assert (read.phase, names(read.in_flight)) == (REPAIRING, ("C", "X"))
    else:
        assert (read.phase, names(read.in_flight)) == (FAILED, ("C",))
