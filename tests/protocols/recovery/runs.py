"""Runs of model ``recovery``: by verbs, and the searches that its tests make."""

from __future__ import annotations

from functools import partial
from typing import Any

from kit.protocols.recovery.recovering_cluster import RecoveryNode, RecoveryState
from kit.protocols.recovery.recovery import Recovery
from tests.views import frames

SEED_STEPS = ("delete A", "delete B", "choose B", "set A", "set B")
"""The documents' steps with two live nodes, A and B, up to the restarts."""


after = partial(frames.after, "recovery")
"""A recovery with these parameters after these verbs."""


def played(given: dict[str, Any], *verbs: str, off: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """The model, and its state after these verbs."""
    timeline = after(given, *verbs, off=off)
    return timeline.model, timeline.state


def node(model: Recovery, state: RecoveryState, name: str) -> RecoveryNode:
    """A node by its name."""
    return state.nodes[model.number(name)]


def refused(model: Recovery, state: RecoveryState, verb: str) -> str:
    """Why a step may not happen; empty if it may."""
    option = model.find(state, verb)
    assert option is not None, verb
    return option[1].reason if option[1] else ""


def witnesses(model: Recovery, state: RecoveryState) -> dict[str, str]:
    """What the state breaks, by the names of invariants."""
    judged = {p.invariant: p.check(state) for p in model.properties if p.kind == "always"}
    return {invariant: witness for invariant, witness in judged.items() if witness}
