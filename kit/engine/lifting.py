"""A model with another one inside it: what that does happens in a part of the whole's state.

The whole is declared like any model. Every action of the inner model is one of its own, with the
same type, words and button; it changes the part, and nothing else. Where the whole has more to say
of one, a method under ``lifted`` takes its place, which asks ``in_part`` what becomes of the part.
What the inner model promises is promised of the part, but for what the whole words itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, update_wrapper
from operator import attrgetter
from types import MethodType
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.declared import Act, Declared
from kit.engine.flows import Flow
from kit.engine.model import Property
from kit.engine.rule import Rule
from kit.errors import Refusal

S = TypeVar("S", bound=Struct)


class Lifted(Act):
    """A kind of action of the inner model, as one of the whole.

    ``run`` is the whole's own method for it, if it has one, and ``more`` what the whole says of it
    in the inner model's place: fields of ``kit.engine.declared.action``.
    """

    def __init__(self, inner: Act, run: Callable[..., Any] | None = None, **more: Any) -> None:
        """The action ``inner``, in the whole."""
        vars(self).update(vars(inner))
        self.inner, self.more, self.said = inner, more, replace(inner.said, **more)
        self.run, self.is_own = run or inner.run, run is not None
        self.says = more.get("says", "")

    def __set_name__(self, owner: type, name: str) -> None:
        if name != self.name:
            raise TypeError(f"{owner.__name__}.{name}: the action is called {self.name}")

    def bind(self, m: Any) -> Rule[Any, Any]:
        """Its rule in the whole, whose ``outcome`` is told what that of the inner model is told."""
        rule, part, settle = m.rule_in_part(self), attrgetter(m.part), m.settled
        each, single = self.more.get("each"), len(self.names) == 1
        run = MethodType(self.run, m) if self.is_own else rule.outcome

        def choices(s: Any) -> Iterable[tuple[Any, Any]]:
            return rule.choices(part(s))  # type: ignore[no-any-return]  # the rule's

        def narrowed(s: Any) -> Iterator[tuple[Any, Any]]:
            for args in each(m, s):  # type: ignore[misc]  # it is there
                yield self.struct(*((args,) if single else args)), args

        def own(s: Any, given: Any) -> Any:
            return run(s, given) if single else run(s, *given)

        def in_part(s: Any, given: Any) -> Any:
            end = run(part(s), given)
            return end if end is None or type(end) is Refusal else s.but(**{m.part: end})

        bare = update_wrapper(own if self.is_own else in_part, run)

        def settled(s: Any, given: Any) -> Any:
            end = bare(s, given)
            return end if end is None or type(end) is Refusal else settle(s, end)

        outcome = update_wrapper(settled, bare) if settle else bare
        offered = narrowed if each else choices
        return Rule(self.struct, self.kind, choices=offered, outcome=outcome, given=rule.given)

    def flows(self, m: Any, before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
        """What travels in the inner model, between the same places of this one's picture."""
        own = super().flows(m, before, action, after) if "travels" in self.more else ()
        if own:
            return own
        ends = getattr(before, m.part), action, getattr(after, m.part)
        return tuple(
            replace(flow, from_key=m.here(flow.from_key), to_key=m.here(flow.to_key))
            for flow in self.inner.flows(m.inner, *ends)
        )


def lifted(inner: Act, **more: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare that a method of the whole takes the place of an action of the inner model.

    ``more`` are fields of ``kit.engine.declared.action`` that it says otherwise. Where its label,
    sentence or flows are empty, the inner model's stand.
    """
    return lambda run: Lifted(inner, run, **more)


class Lifting(Declared[S]):
    """A model with another one inside it.

    ``of`` is the inner model's class. ``part`` names the inner state in a state of the whole, and
    the inner model in the whole, whose ``set_up`` makes it.
    """

    of: type[Declared[Any]]
    part: str

    def __init_subclass__(cls) -> None:
        """Take the inner model's actions over."""
        if "of" in vars(cls):
            for act in cls.of.acts.values():
                if act.name not in vars(cls):
                    setattr(cls, act.name, Lifted(act))
        super().__init_subclass__()

    @property
    def inner(self) -> Declared[Any]:
        """The inner model."""
        inner: Declared[Any] = getattr(self, self.part)
        return inner

    @cached_property
    def _rules_in_part(self) -> dict[type, Rule[Any, Any]]:
        return {rule.action: rule for rule in self.inner.rules}

    def rule_in_part(self, act: Act) -> Rule[Any, Any]:
        """The inner model's rule for a kind of action."""
        return self._rules_in_part[act.struct]

    def in_part(self, act: Act, s: Any, *args: Any) -> Any:
        """The whole once an action of the inner model has happened in it, or why it may not."""
        given = args[0] if len(act.names) == 1 else args
        end = self._rules_in_part[act.struct].outcome(getattr(s, self.part), given)
        return end if end is None or type(end) is Refusal else s.but(**{self.part: end})

    def here(self, key: str) -> str:
        """Where something of the inner model's picture is in this one's."""
        return key

    def is_judged(self, s: S, action: Any) -> bool:
        """Whether the inner model's promises are held against a step from this state."""
        return True

    def _judges(self) -> Iterator[tuple[Property, bool]]:
        """What the inner model promises, but for what the whole words itself; then its own."""
        own = [*super()._judges()]
        names = {prop.name for prop, _ in own}
        yield from ((self._of_part(p), False) for p in self.inner.properties if p.name not in names)
        yield from own

    def _of_part(self, prop: Property) -> Property:
        """A property of the inner model as one of the whole."""
        check, part, of = prop.check, attrgetter(self.part), prop.of

        def check_step(before: Any, action: Any, after: Any) -> Any:
            judged = self.is_judged(before, action)
            return check(part(before), action, part(after)) if judged else None

        if prop.kind == "step":
            return replace(prop, check=check_step)
        looks_at = (lambda s: of(part(s))) if of else part
        return replace(prop, check=lambda s: check(part(s)), of=looks_at)

    def verb(self, action: Any) -> str:
        """The action as a line of a scenario file."""
        own = not isinstance(self.acts[type(action)], Lifted)
        return super().verb(action) if own else self.inner.verb(action)

    def label(self, s: S, action: Any) -> str:
        """The text of the action's button."""
        act = self.acts[type(action)]
        if not isinstance(act, Lifted):
            return super().label(s, action)
        said = super().label(s, action) if "label" in act.more else ""
        return said or self.inner.label(getattr(s, self.part), action)

    def describe(self, before: S, action: Any, after: S) -> str:
        """What the step did, in a sentence."""
        said = super().describe(before, action, after) if self.acts[type(action)].says else ""
        ends = getattr(before, self.part), action, getattr(after, self.part)
        return said or self.inner.describe(*ends)
