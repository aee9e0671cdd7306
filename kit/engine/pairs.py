"""Models in the old style, whose rules are three functions: candidates, condition, effect.

Nothing else knows of such rules: here they become rules of today (``kit.engine.rule.Rule``). A
student's model that says ``Rule(action, kind, candidates, condition, effect)`` still runs, and is
told how to write it now.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from kit.engine.careful import NEW, asked_twice, check_call, check_refusal, place
from kit.engine.rule import Rule
from kit.errors import BadInput, BadType, Refusal

TODAY = (
    "a rule of three functions still runs; today one method is one action: see "
    "kit.engine.declared, or notebook 91-write-your-own-model"
)


def old_rule(
    action: type[Any],
    kind: str,
    candidates: Callable[[Any], Any],
    condition: Callable[[Any, Any], Any],
    effect: Callable[[Any, Any], Any],
) -> Rule[Any, Any]:
    """A rule in the old style, with a line on today's. Raises BadType for what is no function."""
    warnings.warn(TODAY, FutureWarning, stacklevel=2)
    three = {"candidates": candidates, "condition": condition, "effect": effect}
    for name, function in three.items():
        if not callable(function):
            raise BadType(f"{name} of a Rule", function, "a function")
        given = ("state",) if name == "candidates" else ("state", "action")
        check_call(f"{name} of {kind}", function, *given)

    what = f"condition of {kind}"

    def refusal_of(function: Callable[..., Any], refusal: Any) -> Any:
        check_refusal(what, function, refusal)
        return refusal

    return paired(action, kind, candidates, asked_twice(what, condition, refusal_of), effect)


def paired(
    action: type[Any], kind: str, candidates: Any, condition: Any, effect: Any
) -> Rule[Any, Any]:
    """The rule of today that does what the three functions say, one after the other."""

    @wraps(candidates)
    def choices(s: Any) -> Iterator[tuple[Any, Any]]:
        offered = candidates(s)
        if not isinstance(offered, Iterable):
            where = place(f"candidates of {kind}", candidates)
            raise BadInput(where, offered, "actions in a tuple")
        return ((each, each) for each in offered)

    @wraps(effect)
    def outcome(s: Any, given: Any) -> Any:
        refusal = condition(s, given)
        if refusal is not None:
            return refusal
        after = effect(s, given)
        if after is None or type(after) is Refusal:  # each of which says something else today
            raise BadInput(place(f"effect of {kind}", effect), after, NEW)
        return after

    return Rule(action, kind, choices=choices, outcome=outcome, given=lambda given: given)
