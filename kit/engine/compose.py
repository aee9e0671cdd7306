"""Putting models together: products that step in unison, and refinements between two grains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from operator import or_
from typing import Any

import msgspec
from msgspec import Struct

from kit.engine.model import Model, Rule
from kit.errors import Refusal

Linked = tuple[str, Any]
Link = Callable[[Any, str, Any], tuple[Linked, ...]]
Condition = Callable[[Any, str, Any], Refusal | None]


# Two products of the same parts have the same types: a state or action of one is one of the other.
@cache
def _state_type(name: str, fields: tuple[tuple[str, Any], ...]) -> type[Struct]:
    return msgspec.defstruct(name, fields, frozen=True, cache_hash=True, module=__name__)


@cache
def _wrapper(part: str, action: Any) -> type[Struct]:
    """The struct that says which part an action belongs to."""
    return msgspec.defstruct(
        part.title(), [("action", action)], frozen=True, tag=part, tag_field="part"
    )


class Product(Model[Any, Any]):
    """Several models side by side.

    The state is one struct with a field per part; an action is one part's action, wrapped in a
    struct that names the part. A *link* names the actions of other parts that happen in the same
    atomic step (a commit and its entry in the log); such actions, named in ``passive``, never
    happen alone. *Conditions* may read all parts and refuse.

    A link names at most one action a part: what several do in one part is one action there.

    An action may happen when no condition refuses it. A person who asks why one may not hears of
    all that refuse, the conditions over all parts first, in one refusal; the search stops at the
    first.
    """

    title = "Several models side by side"

    def __init__(
        self,
        name: str,
        parts: Mapping[str, Model[Any, Any]],
        *,
        link: Link = lambda s, part, action: (),
        conditions: tuple[Condition, ...] = (),
        passive: tuple[type, ...] = (),
    ) -> None:
        """A product of ``parts``, in the order in which their actions are listed."""
        self.name = name
        self.parts = dict(parts)
        self._link, self._conditions, self._passive = link, conditions, passive
        fields = tuple((part, model.State) for part, model in self.parts.items())
        self.State = _state_type(f"{name.title()}State", fields)
        self.wrap: dict[str, type[Struct]] = {
            part: _wrapper(part, model.Action) for part, model in self.parts.items()
        }
        self._part = {wrapper: part for part, wrapper in self.wrap.items()}
        self.Action = reduce(or_, self.wrap.values())
        self._own = {
            (part, rule.action): rule for part, model in self.parts.items() for rule in model.rules
        }
        self._lifted = {
            (part, kind): Rule(
                self.wrap[part], rule.kind, self._candidates(part, rule), self._refuse, self._step
            )
            for (part, kind), rule in self._own.items()
        }
        self.rules = tuple(self._lifted.values())

    def start(self) -> Any:
        """Every part at its start."""
        return self.State(**{part: model.start() for part, model in self.parts.items()})

    def part_of(self, action: Any) -> tuple[str, Any]:
        """The part an action belongs to, and that part's own action."""
        return self._part[type(action)], action.action

    def rule_of(self, action: Any) -> Rule[Any, Any] | None:
        """The rule of the part's own action, lifted to the product."""
        if type(action) not in self._part:
            return None
        part, own = self.part_of(action)
        return self._lifted.get((part, type(own)))

    def _candidates(self, part: str, rule: Rule[Any, Any]) -> Callable[[Any], Iterator[Any]]:
        wrapper = self.wrap[part]

        def candidates(s: Any) -> Iterator[Any]:
            if rule.action in self._passive:
                return iter(())
            return (wrapper(action) for action in rule.candidates(getattr(s, part)))

        return candidates

    def options(self, s: Any) -> Iterator[tuple[Any, Refusal | None]]:
        """What a person could think of in ``s``; what may not happen yet with all reasons."""
        for (part, _), rule in self._own.items():
            if rule.action not in self._passive:
                of_part, wrapper = getattr(s, part), self.wrap[part]
                for own in rule.candidates(of_part):
                    yield wrapper(own), self._against(s, part, own, rule.condition(of_part, own))

    def actions(self, s: Any) -> Iterator[Any]:
        """The actions enabled in ``s``; of what is refused no further reasons are looked for."""
        return (action for action, refusal in super().options(s) if refusal is None)

    def refusal(self, s: Any, action: Any) -> Refusal | None:
        """Why ``action`` may not happen in ``s``, with all reasons; None when it may."""
        rule = self.rule_of(action)
        if rule is None or not self._offered(s, action):
            return super().refusal(s, action)
        return self._reasons(s, action)

    def _offered(self, s: Any, action: Any) -> bool:
        """Whether a person could think of it; asked of the part, which needs no wrapping."""
        part, own = self.part_of(action)
        inner = self._own[part, type(own)]
        return inner.action not in self._passive and own in inner.candidates(getattr(s, part))

    def _reasons(self, s: Any, action: Any) -> Refusal | None:
        """All that the conditions and the action's own rule say against it."""
        part, own = self.part_of(action)
        inner = self._own[part, type(own)]
        return self._against(s, part, own, inner.condition(getattr(s, part), own))

    def _against(self, s: Any, part: str, own: Any, inner: Refusal | None) -> Refusal | None:
        """The conditions' refusals before that of the own rule; of neither, what is linked."""
        reasons = []
        for condition in self._conditions:
            why = condition(s, part, own)
            if why is not None:
                reasons.append(why)
        if inner is not None:
            reasons.append(inner)
        return together(tuple(reasons)) if reasons else self._unlinked(s, part, own)

    def _refuse(self, s: Any, action: Any) -> Refusal | None:
        part, own = self.part_of(action)
        inner = self._own[part, type(own)]
        refusal = inner.condition(getattr(s, part), own)
        if refusal is not None:
            return refusal
        for condition in self._conditions:
            refusal = condition(s, part, own)
            if refusal is not None:
                return refusal
        return self._unlinked(s, part, own)

    def _unlinked(self, s: Any, part: str, own: Any) -> Refusal | None:
        """What the rules of the actions that happen with it say against them."""
        for other, linked in self._link(s, part, own):
            rule = self._own[other, type(linked)]
            refusal = rule.condition(getattr(s, other), linked)
            if refusal is not None:
                return refusal
        return None

    def _step(self, s: Any, action: Any) -> Any:
        part, own = self.part_of(action)
        moved = {part: self.parts[part].apply(getattr(s, part), own)}
        for other, linked in self._link(s, part, own):
            moved[other] = self.parts[other].apply(moved.get(other, getattr(s, other)), linked)
        return msgspec.structs.replace(s, **moved)

    def describe(self, before: Any, action: Any, after: Any) -> str:
        """What the part that acts says of its own step."""
        part, own = self.part_of(action)
        return self.parts[part].describe(getattr(before, part), own, getattr(after, part))

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """The milestone of the part that acts."""
        part, own = self.part_of(action)
        return self.parts[part].milestone(getattr(before, part), own, getattr(after, part))

    def verb(self, action: Any) -> str:
        """The part's own words."""
        part, own = self.part_of(action)
        return self.parts[part].verb(own)

    def label(self, s: Any, action: Any) -> str:
        """The part's own words for its state."""
        part, own = self.part_of(action)
        return self.parts[part].label(getattr(s, part), own)


def together(refusals: tuple[Refusal, ...]) -> Refusal:
    """Several refusals of one action as one: all reasons, in order, with all their facts."""
    if len(refusals) == 1:
        return refusals[0]
    *others, last = (refusal.reason for refusal in refusals)
    return Refusal(
        "; and ".join(("; ".join(others), last)) if others else last,
        tuple(line for refusal in refusals for line in refusal.evidence),
        tuple(dict.fromkeys(name for refusal in refusals for name in refusal.missing)),
        tuple(count for refusal in refusals for count in refusal.awaited),
        sum(refusal.untold for refusal in refusals),
    )


class Refinement(Struct, frozen=True):
    """A finer model that does what a coarser one does, some of its steps changing nothing there.

    ``project`` maps a fine state to a coarse one; ``image(before, action, after)`` gives the
    coarse actions of a fine step, none for a stutter. Replaying them from ``project(before)``
    must give ``project(after)``; ``kit.engine.check.check_refinement`` verifies it on every
    reachable fine step.
    """

    fine: Model[Any, Any]
    coarse: Model[Any, Any]
    project: Callable[[Any], Any]
    image: Callable[[Any, Any, Any], tuple[Any, ...]]

    def mismatch(self, before: Any, action: Any, after: Any) -> str | None:
        """Why this fine step is not its coarse image; None when it is."""
        state = self.project(before)
        for coarse in self.image(before, action, after):
            refusal = self.coarse.refusal(state, coarse)
            if refusal is not None:
                return f"{self.coarse.verb(coarse)} is refused there: {refusal.reason}"
            state = self.coarse.apply(state, coarse)
        if state != self.project(after):
            return f"{self.fine.verb(action)} leads elsewhere than its image"
        return None
