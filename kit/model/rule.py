"""One kind of action of a model: which of them there are, and what each comes to."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from kit.errors import KitError, Refusal, Refused

S = TypeVar("S")
A = TypeVar("A")


class Rule(Struct, Generic[S, A], frozen=True):
    """One kind of action: which of them a person could think of, and what each comes to.

    ``choices(state)`` gives those actions, each with what ``outcome`` is told of it (its arguments,
    or the action itself); ``given(action)`` finds that for an action that comes from elsewhere.
    ``outcome(state, given)`` is the next state, a ``Refusal``, or None: nobody would think of it.
    Where a rule is ``sure`` it is always a state: a walk counts its choices without trying them.
    """

    action: type[A]
    kind: str
    choices: Callable[[S], Iterable[tuple[A, Any]]]
    outcome: Callable[[S, Any], S | Refusal | None]
    given: Callable[[A], Any]
    sure: bool = False

    def ready(self, s: S) -> list[tuple[A, S]]:
        """The actions of this kind that may happen in ``s``, each with the state after it."""
        outcome, ready = self.outcome, []
        for action, given in self.choices(s):
            end = outcome(s, given)
            if end is not None and type(end) is not Refusal:
                ready.append((action, end))
        return ready  # type: ignore[return-value]  # what is left are states

    def seen(self, s: S, given: Any) -> S | Refusal | None:
        """The outcome as it is looked at: ``s`` where it raises, which is left to who takes it."""
        try:
            return self.outcome(s, given)
        except KitError:
            raise
        except (Exception, SystemExit, GeneratorExit):  # of the model's own code
            return s

    def end(self, s: S, action: A) -> S | Refusal | None:
        """The outcome of an action in ``s``; None when it is none of the choices there."""
        try:
            given = self.given(action)
        except Refused:
            return None
        return self.outcome(s, given) if (action, given) in self.choices(s) else None
