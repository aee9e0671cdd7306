"""Planted bugs: each guard that requests need is cut out of a copy of the kit, and is missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.protocols.dataplane.dataplane import Dataplane
from tests.protocols.dataplane.runs import REPAIRED
from tests.quality.scratching import cut, search

BARRIER, STREAMS, STEPS, PLAN = (
    f"protocols/tcm/rules/{name}.py" for name in ("barrier", "barrier", "operations", "metadata")
)
EXCHANGE = "protocols/storage/rules/exchange.py"
COORDINATING = "protocols/storage/coordinating.py"
ADD, SWITCH = '("add-writes", ("add",)),', '("switch-reads", ("switch",)),'
SMALLEST = {guard.name: guard.smallest for guard in Dataplane.safeguards}

# safeguard -> (file, text that is there, text that takes its place) …, and what is found then
PLANTED: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "progress-barrier": (
        [(BARRIER, "    if not switches.safeguards.progress_barrier:", "    if True:")],
        "quorums-in-use",
    ),
    "epoch-exchange": (
        [
            (
                EXCHANGE,
                "    if safeguards.epoch_exchange:\n        known = max(known, message)",
                "    if 0: ...",
            ),
            (EXCHANGE, "    return max(now, answer.known)", "    return now"),
        ],
        "streamed",
    ),
    "plan-revalidation": (
        [(COORDINATING, "if not self.success(s, request):", "if False:")],
        "consistency-level",
    ),
    "membership-check": (
        [(EXCHANGE, "    if not member and not (", "    if False and (")],
        "owners-serve",
    ),
    "write-before-read": (
        [(STEPS, ADD, "<it>"), (STEPS, SWITCH, ADD), (STEPS, "<it>", SWITCH)],
        "quorums-in-use",
    ),
    "old-writer-stays": (
        [
            (STEPS, SWITCH, '("switch-reads", ("switch", "drop")),'),
            (STEPS, '("drop-writes", ("drop",)),', '("drop-writes", ()),'),
        ],
        "quorums-in-use",
    ),
    "streams-before-switch": (
        [(STREAMS, "and switches.safeguards.streams_before_switch", "and False")],
        "streamed",
    ),
    "known-before-streams": (
        [
            (
                STREAMS,
                "    return switches.safeguards.known_before_streams and",
                "    return False and",
            )
        ],
        "streamed",
    ),
    "two-event-cancel": ([(PLAN, "    if not switched or ", "    if True or ")], "quorums-in-use"),
    "stream-from-displaced": (
        [(STREAMS, "if not switches.safeguards.stream_from_displaced and ", "if ")],
        "streamed",
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_missing_guard_is_found(bug: str, scratch: Path) -> None:
    """With the guard's text cut out, the search finds the harm though no switch is off."""
    cuts, expected = PLANTED[bug]
    cut(scratch, cuts)
    broken, complete = search(scratch, "dataplane", SMALLEST[bug])
    assert broken == expected
    assert not complete


def test_the_copy_is_sound(scratch: Path) -> None:
    """An unspoiled copy finds nothing, so that what is found above is what was planted."""
    given: dict[str, Any] = {"rf": 1, "cancels": 1}
    assert search(scratch, "dataplane", given) == (None, True)


def test_every_safeguard_is_planted() -> None:
    """Each safeguard's guard is among those that are cut out."""
    assert {guard.name for guard in Dataplane.safeguards} == set(PLANTED)


REPAIR, PLANS = "protocols/storage/rules/levels.py", COORDINATING
# a blocking repair that does not wait, and one that counts as a read does, without pending replicas
UNREPAIRED: dict[str, tuple[str, str, str]] = {
    "waits": (REPAIR, 'return not ((kind == "mismatch" and', 'return False and ((kind == "x" and'),
    "write quorum": (PLANS, "[s.trail][now], True)", "[s.trail][now], False)"),
}


@pytest.mark.parametrize("bug", ["write quorum", pytest.param("waits", marks=pytest.mark.deep)])
def test_a_repair_that_does_less_is_found(bug: str, scratch: Path) -> None:
    """Cut short, blocking repair lets a read go back in time, and the search finds it."""
    cut(scratch, [UNREPAIRED[bug]])
    broken, _ = search(scratch, "dataplane", REPAIRED)
    assert broken == "linearizable"
