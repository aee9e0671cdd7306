"""Rules of three functions, of which toys are made: candidates, condition, effect."""

from collections.abc import Iterable, Iterator
from functools import wraps
from typing import Any

from kit.errors import BadInput, Refusal
from kit.model.model import Rule
from kit.model.source import place
from kit.model.vet import NEW


def paired(
    action: type[Any], kind: str, candidates: Any, condition: Any, effect: Any
) -> Rule[Any, Any]:
    """The rule that does what the three functions say, one after the other."""

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
