"""Runs of model ``recovery_mode`` by verbs."""

from __future__ import annotations

from functools import partial
from typing import Any

from kit.model.timeline import Timeline
from kit.protocols.recovery.mode_cluster import ModeNode
from kit.protocols.recovery.orders import ANY_ORDER
from kit.protocols.recovery.recovery_mode import RecoveryMode
from tests.views import frames

FOUR: dict[str, Any] = {"commit_indexes": (1, 2, 2, 2), "dead": "C D", "changes": 2}
RESTART_A, RESTART_B = ("stop A", "start A"), ("stop B", "start B")
ENTER = ("isolate", "set A", "set B", *RESTART_A, *RESTART_B)
"""Both live nodes are in RECOVERY mode."""
REMOVE = ("logs", "removenode C", "removenode D", "pull A B")
TRUNCATE = ("discovery A", "discovery B", "history A", "history B", "id A", "id B")
LEAVE = ("describecluster", "unset A", "unset B", *RESTART_A, *RESTART_B)
UPGRADE = ("enter A", "enter B", "synchronize A", "synchronize B", "finish A", "finish B")


after = partial(frames.after, "recovery_mode", off=ANY_ORDER)
"""The procedure with these parameters after these verbs, which may be in any order."""


def model_of(timeline: Timeline) -> RecoveryMode:
    """The model of a run."""
    model = timeline.model
    assert isinstance(model, RecoveryMode)
    return model


def node(timeline: Timeline, name: str) -> ModeNode:
    """A node by its name."""
    there: ModeNode = timeline.state.nodes[model_of(timeline).number(name)]
    return there


def refused(timeline: Timeline, verb: str) -> str:
    """Why a step may not happen now, with whom the reason names; empty if it may."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    return f"{option[1].reason} {' '.join(option[1].missing)}".strip() if option[1] else ""
