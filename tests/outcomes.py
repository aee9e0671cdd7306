"""What an action comes to in any state, be it one in which nobody would think of it."""

from __future__ import annotations

from typing import Any

from kit.errors import Refusal
from kit.model.model import Model


def outcome(model: Model[Any, Any], state: Any, action: Any) -> Any:
    """The next state, a refusal, or None."""
    rule = model.rule_of(action)
    assert rule is not None, action
    return rule.outcome(state, rule.given(action))


def why(model: Model[Any, Any], state: Any, action: Any) -> str:
    """Why an action may not happen; empty if it may.

    A state may be made by hand: that nothing sensible comes of an action there is no refusal.
    """
    rule = model.rule_of(action)
    assert rule is not None, action
    end = rule.seen(state, rule.given(action))
    return end.reason if isinstance(end, Refusal) else ""


def acted(model: Model[Any, Any], state: Any, *verbs: str) -> Any:
    """The state after actions by their verbs, each of which is possible there."""
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    return state


def refused(model: Model[Any, Any], state: Any, verb: str) -> str:
    """Why a verb may not be done, which one could think of there."""
    option = model.find(state, verb)
    assert option is not None, verb
    assert option[1] is not None, f"{verb} is possible"
    return str(option[1].reason)
