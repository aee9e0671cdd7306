"""Why a step of the recovery may not happen: the reason is true of the state that it is said of."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.recovery.lost_majority import NO_GROUP
from tests.protocols.recovery.runs import after

FIVE: dict[str, Any] = {
    "commit_indexes": (1, 1, 1, 1, 1, 1, 1), "dead": "D E F G",
    "operation": True, "crashes": 2, "deaths": 2, "choose_again": True,
}  # fmt: skip
DELETED = ("delete A", "delete B", "delete C")
CHOSEN = (*DELETED, "choose B", "set A", "set B", "set C")
LED = (*CHOSEN, "restart B")
HAS_NONE = "the recovery leader has not created its group yet (B)"

WHY = (
    # what happened; the step; why it may not happen
    (DELETED, "restart A", "no recovery leader has been chosen"),
    ((*DELETED, "choose B"), "restart A", HAS_NONE),
    (
        (*DELETED, "choose B"),
        "restart B",
        "the leader's own recovery_leader does not name it (B)",
    ),
    (CHOSEN, "restart A", HAS_NONE),
    ((*CHOSEN, "crash B"), "restart A", HAS_NONE),
    ((*LED, "crash B"), "restart A", "the recovery leader is down (B)"),
    ((*LED, "die B"), "restart A", "the recovery leader is dead (B)"),
    (
        (*LED, "die B", "choose A", "set C"), "restart C",
        "the recovery leader has not created its group yet (A)",
    ),
    (
        (*LED, "restart A", "crash A"), "restart C",
        "group 2 has no majority to let the node in",
    ),
    (DELETED, "coordinate", "no recovery leader has been chosen"),
    (CHOSEN, "coordinate", HAS_NONE),
    ((*LED, "restart A", "restart C", "crash B"), "coordinate", "the recovery leader is down (B)"),
    ((*LED, "die B"), "coordinate", "the recovery leader is dead (B)"),
    ((*LED, "restart A", "crash A"), "coordinate", "group 2 has no majority"),
    (LED, "clean B", "some dead nodes are neither removed nor replaced (D, E, F, G)"),
    (LED, "removenode D", "some live nodes do not run in a new group (A, C)"),
)  # fmt: skip


@pytest.mark.parametrize(("verbs", "verb", "why"), WHY)
def test_the_reason_is_true(verbs: tuple[str, ...], verb: str, why: str) -> None:
    """It names who leads, and tells one that is down from one that has created nothing."""
    timeline = after(FIVE, *verbs)
    found = timeline.model.find(timeline.state, verb)
    assert found is not None
    refusal = found[1]
    assert refusal is not None
    missing = f" ({', '.join(refusal.missing)})" if refusal.missing else ""
    assert f"{refusal.reason}{missing}" == why


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_no_reason_is_false_in_any_state(edition: str) -> None:
    """Wherever a leader is said to have created nothing, it has no id of a new group; one that is
    said to be down is; where no leader is chosen there is none.
    """
    model: Any = build(
        "recovery",
        {
            "edition": edition, "commit_indexes": (1, 1, 1, 1, 1), "dead": "C D E",
            "crashes": 1, "operation": True,
        },
    )  # fmt: skip
    reached = found = {model.start()}
    said = set()
    while found:
        for state in found:
            for action, refusal in model.waiting(state):
                said.add(refusal.reason)
                at = [state.nodes[model.number(name)] for name in refusal.missing]
                match refusal.reason.split(":")[0]:
                    case "the recovery leader has not created its group yet":
                        assert all(n.group_id <= state.abandoned for n in at), action
                    case "the recovery leader is down":
                        assert all(n.status == "down" for n in at), action
                    case "no recovery leader has been chosen":
                        assert state.leader < 0
                    case "some live nodes do not run in a new group":
                        assert all(n.group <= state.abandoned or n.group == NO_GROUP for n in at)
        found = {model.apply(s, a) for s in found for a in model.actions(s)} - reached
        reached |= found
    assert "the recovery leader is down" in {reason.split(":")[0] for reason in said}
