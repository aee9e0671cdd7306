"""Planted bugs: each guard of the epoch protocol is cut out of a copy of the kit, and is missed.

So that no switch is wired to the checker alone: with every safeguard on, the search of the copy
must find the harm that the safeguard is there to prevent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.protocols.tcm.cluster import SAFEGUARDS
from tests.quality.scratching import cut, search, searches

STEPS, PERMIT, PLAN, MODEL, HISTORY, CLUSTER = (
    f"protocols/tcm/{name}.py"
    for name in (
        *("rules/operations", "rules/metadata", "rules/metadata"),
        *("tcm", "rules/metadata", "cluster"),
    )
)
ADD, SWITCH = '("add-writes", ("add",)),', '("switch-reads", ("switch",)),'
SMALLEST = {guard.name: guard.smallest for guard in SAFEGUARDS}

# what is planted -> parameters, and (file, text that is there, text that takes its place) …
PLANTED: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "write-before-read": (
        SMALLEST["write-before-read"],
        [(STEPS, ADD, "<it>"), (STEPS, SWITCH, ADD), (STEPS, "<it>", SWITCH)],
    ),
    "progress-barrier": (
        {"rf": 3},
        [(CLUSTER, "    @needs(Advance)\n    def past_the_barrier", "    def past_the_barrier")],
    ),
    "validate-committed": (
        SMALLEST["validate-committed"],
        [
            (
                MODEL,
                "self.permission(s.events, operation) if self.validate_committed else None",
                "None",
            )
        ],
    ),
    "apply-in-order": (
        SMALLEST["apply-in-order"],
        [("model/log.py", "if self.in_order:", "if False:")],
    ),
    "operator-cancel": (
        SMALLEST["operator-cancel"],
        [(MODEL, "if self.operator_cancel:", "if False:")],
    ),
    "old-writer-stays": (
        SMALLEST["old-writer-stays"],
        [
            (STEPS, SWITCH, '("switch-reads", ("switch", "drop")),'),
            (STEPS, '("drop-writes", ("drop",)),', '("drop-writes", ()),'),
        ],
    ),
    "range-locks": (
        SMALLEST["range-locks"],
        [(PERMIT, "        or _locked(metadata, planned, switches)\n", "")],
    ),
    "replication-check": (
        SMALLEST["replication-check"],
        [(PERMIT, "        or _too_few_left(metadata, given, switches)\n", "")],
    ),
    "pending-in-metadata": (
        SMALLEST["pending-in-metadata"],
        [(MODEL, "if driven and not self.pending_in_metadata else", "if driven else")],
    ),
    "split-first": (SMALLEST["split-first"], [(STEPS, '("split", ("split",)),', '("split", ()),')]),
    "merge-equality": (
        SMALLEST["merge-equality"],
        [
            (HISTORY, "checked = switches.safeguards.merge_equality", "checked = False"),
            (PLAN, "if switches.safeguards.merge_equality or moved", "if moved"),
        ],
    ),
    "two-event-cancel": (
        SMALLEST["two-event-cancel"],
        [(PLAN, "    if not switched or ", "    if True or ")],
    ),
    "a node takes part in two operations": (
        {"nodes": 8, "operations": ("decommission B", "replace B Z"), "barrier": False},
        [
            (
                PERMIT,
                "        busy(given.operation, others)\n        or _claimed",
                "        _claimed",
            ),
            (PERMIT, "        or _locked(metadata, planned, switches)\n", ""),
        ],
    ),
}
EXPECTED = {
    "write-before-read": "reads-in-writes",
    "old-writer-stays": "quorums",
    "range-locks": "locks",
    "replication-check": "replicas",
    "pending-in-metadata": "stable",
    "split-first": "cover",
    "merge-equality": "replicas",
    "two-event-cancel": "quorums",
    "progress-barrier": "one-step",
    "validate-committed": "valid",
    "apply-in-order": "same-state",
    "operator-cancel": "asked-for",
    "a node takes part in two operations": "valid",
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_missing_guard_is_found(bug: str, scratch: Path) -> None:
    """With the guard's text cut out, the search finds the harm though no switch is off."""
    parameters, cuts = PLANTED[bug]
    cut(scratch, cuts)
    broken, complete = search(scratch, "tcm", parameters)
    assert broken == EXPECTED[bug]
    assert not complete


def test_the_copy_is_sound(scratch: Path) -> None:
    """An unspoiled copy finds nothing, so that what is found above is what was planted."""
    given = [parameters for parameters, _ in PLANTED.values() if parameters.get("barrier", True)]
    assert searches(scratch, "tcm", given) == [(None, True)] * len(given)


def test_every_safeguard_is_planted() -> None:
    """Each safeguard's guard is among those that are cut out."""
    assert {guard.name for guard in SAFEGUARDS} <= set(PLANTED)
