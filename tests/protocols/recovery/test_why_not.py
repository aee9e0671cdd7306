"""Why a step of the recovery may not happen: the reason is true of the state that it is said of."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.recovery.lost_majority import NO_GROUP


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
