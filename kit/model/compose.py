"""Models put together: products, whose parts step side by side or in unison, and one in another."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, partial, reduce, update_wrapper
from operator import attrgetter, or_
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.model.declared import Act, Declared, declared_by, judges, resolved
from kit.model.flows import Flow
from kit.model.model import Cost, Gesture, Model, Pace, Property, Rule

Linked = tuple[str, Any]
Link = Callable[[Any, str, Any], tuple[Linked, ...]]
Needed = TypeVar("Needed", bound=Callable[..., Refusal | None])


def needs(*kinds: type, when: Callable[[Any], bool] | None = None) -> Callable[[Needed], Needed]:
    """Declare that a method of a product is a condition for these types of action (none: all).

    It is given the state of the whole, a part and its action, and says why that may not happen.
    ``when(product)`` says whether a product has the condition at all.
    """

    def mark(condition: Needed) -> Needed:
        vars(condition).update(needed_by=kinds, needed_when=when)
        return condition

    return mark


# Two products of the same parts have the same types: a state or action of one is one of the other.
_struct = cache(msgspec.defstruct)


class Product(Model[Any, Any]):
    """Several models side by side.

    The state is one struct with a field per part; an action is one part's action, wrapped in a
    struct that names the part. A *link* names the actions of other parts that happen in the same
    atomic step (a commit and its entry in the log); such actions, named in ``passive``, never
    happen alone. *Conditions* may read all parts and refuse.

    A link names at most one action a part: what several do in one part is one action there.
    A class of products declares its conditions by ``needs``, and properties over all parts as a
    declared model does; those of its parts it lifts by ``promises_of``.

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
        passive: tuple[type, ...] = (),
    ) -> None:
        self.name = name
        self.parts = dict(parts)
        self._link, self._passive = link, passive
        self._conditions = tuple(self._declared())
        faults = (kind for model in self.parts.values() for kind in model.faults)
        self.faults = tuple(dict.fromkeys(faults))
        self.bounds = tuple(bound for model in self.parts.values() for bound in model.bounds)
        fields = tuple((part, model.State) for part, model in self.parts.items())
        whole: Any = {"frozen": True, "cache_hash": True, "module": __name__}
        self.State = _struct(f"{name.title()}State", fields, **whole)
        # The struct that says which part an action belongs to.
        self.wrap: dict[str, type[Struct]] = {
            part: _struct(
                part.title(), (("action", model.Action),), frozen=True, tag=part, tag_field="part"
            )
            for part, model in self.parts.items()
        }
        self._part = {wrapper: part for part, wrapper in self.wrap.items()}
        self.Action = reduce(or_, self.wrap.values())
        self._own = {
            (part, kind): rule
            for part, model in self.parts.items()
            for kind, rule in _rules_of(model)
        }
        self.lifted = {place: self._lift(*place) for place in self._own}
        self.rules = tuple(self.lifted.values())
        self.properties = (*self.properties, *(prop for prop, _ in judges(self)))

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
        return self.lifted.get(self.kind_of(action))

    def kind_of(self, action: Any) -> tuple[str, Any]:
        """The part an action belongs to, and its type there; of a product again such a pair."""
        part, own = self.part_of(action)
        model = self.parts[part]
        return part, model.kind_of(own) if isinstance(model, Product) else type(own)

    def _lift(self, part: str, kind: Any) -> Rule[Any, Any]:
        rule, wrapper, conditions = self._own[part, kind], self.wrap[part], self._needed_by(kind)

        def choices(s: Any) -> Iterator[tuple[Any, Any]]:
            if kind not in self._passive:
                for own, given in rule.choices(getattr(s, part)):
                    yield wrapper(own), (own, given)

        def outcome(s: Any, chosen: tuple[Any, Any]) -> Any:
            own, given = chosen
            after = rule.outcome(getattr(s, part), given)
            if after is None or type(after) is Refusal:
                return after
            for condition in conditions:
                refusal = condition(s, part, own)
                if refusal is not None:
                    return refusal
            return self._together(s, part, own, after)

        def given(action: Any) -> tuple[Any, Any]:
            return action.action, rule.given(action.action)

        return Rule(wrapper, rule.kind, choices=choices, outcome=outcome, given=given)

    def _declared(self) -> Iterator[Any]:
        for name in declared_by(type(self)):
            condition = getattr(type(self), name)
            if hasattr(condition, "needed_by"):
                when = condition.needed_when
                if when is None or when(self):
                    yield getattr(self, name)

    def _needed_by(self, kind: Any) -> tuple[Any, ...]:
        every = self._conditions
        return tuple(each for each in every if not each.needed_by or kind in each.needed_by)

    def _together(self, s: Any, part: str, own: Any, after: Any) -> Any:
        """The state in which a part has acted, and what is linked has happened; or why it may not.

        A linked action is judged by the state before, and may act on what the part itself did.
        """
        moved = {part: after}
        for other, linked in self._link(s, part, own):
            rule = self._own[other, type(linked)]
            given = rule.given(linked)
            end = rule.outcome(getattr(s, other), given)
            if isinstance(end, Refusal):
                return end
            moved[other] = rule.outcome(moved[other], given) if other in moved else end
        return msgspec.structs.replace(s, **moved)

    def options(self, s: Any) -> Iterator[tuple[Any, Refusal | None]]:
        """What a person could think of in ``s``; what may not happen yet with all reasons."""
        for (part, kind), rule in self._own.items():
            if kind not in self._passive:
                of_part, wrapper = getattr(s, part), self.wrap[part]
                for own, given in rule.choices(of_part):
                    end = rule.seen(of_part, given)
                    if end is not None:
                        whole = self._whole(s, part, own, end)
                        yield wrapper(own), whole if isinstance(whole, Refusal) else None

    def actions(self, s: Any) -> Iterator[Any]:
        """The actions enabled in ``s``; of what is refused no further reasons are looked for."""
        return (action for action, _ in self.successors(s))

    def comes_to(self, s: Any, action: Any) -> Any:
        """The outcome of an action in ``s``, a refusal with all reasons."""
        if self.rule_of(action) is None:
            return None
        part, own = self.part_of(action)
        if type(own) in self._passive:
            return None
        end = self._own[self.kind_of(action)].end(getattr(s, part), own)
        return None if end is None else self._whole(s, part, own, end)

    def _whole(self, s: Any, part: str, own: Any, end: Any) -> Any:
        """All that the conditions, then the action's own rule say against it, else what is linked.

        ``end`` is what the part's own rule makes of it.
        """
        said = (condition(s, part, own) for condition in self._needed_by(type(own)))
        reasons = [why for why in said if why is not None]
        if isinstance(end, Refusal):
            reasons.append(end)
        return together(tuple(reasons)) if reasons else self._together(s, part, own, end)

    def promises_of(self, part: str) -> tuple[Property, ...]:
        """The *always*, *sometimes* and *goal* properties of a part, as properties of the whole."""
        return tuple(prop.within(attrgetter(part)) for prop in self.parts[part].properties)

    def relied(self, s: Any, action: Any) -> bool:
        """Whether the part that acts relies on it."""
        part, own = self.part_of(action)
        return self.parts[part].relied(getattr(s, part), own)

    def known_cost(self, name: str, s: Any) -> Cost | None:
        """Its own cost, or that of a part."""
        parts = ((model, getattr(s, part)) for part, model in self.parts.items())
        known = (model.known_cost(name, state) for model, state in parts)
        return super().known_cost(name, s) or next(filter(None, known), None)

    def pace(self, s: Any, action: Any) -> Pace:
        """Whether a step has to happen in the part that acts, and how soon."""
        part, own = self.part_of(action)
        return self.parts[part].pace(getattr(s, part), own)

    def place(self, key: str, before: Any, after: Any) -> str:
        """The place in the picture of the whole of the place ``key`` of a part's picture."""
        return key

    def describe(self, before: Any, action: Any, after: Any) -> str:
        """The sentence of the part that acts, about its own step."""
        part, own = self.part_of(action)
        return self.parts[part].describe(getattr(before, part), own, getattr(after, part))

    def things(self, action: Any) -> tuple[str, ...]:
        """The names of the part that acts."""
        part, own = self.part_of(action)
        return self.parts[part].things(own)

    def actor_of(self, s: Any, action: Any) -> str:
        """The actor, as the part that acts names it."""
        part, own = self.part_of(action)
        return self.parts[part].actor_of(getattr(s, part), own)

    def hand(self, s: Any, action: Any) -> Gesture | None:
        """The gesture for it in the picture of the part that acts."""
        part, own = self.part_of(action)
        return self.parts[part].hand(getattr(s, part), own)

    def why(self, action: Any) -> str:
        """The names of the part that acts."""
        part, own = self.part_of(action)
        return self.parts[part].why(own)

    def why_here(self, before: Any, action: Any, after: Any) -> str:
        """The sentence of the part that acts, about its own step."""
        part, own = self.part_of(action)
        return self.parts[part].why_here(getattr(before, part), own, getattr(after, part))

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


def _rules_of(model: Model[Any, Any]) -> Iterator[tuple[Any, Rule[Any, Any]]]:
    if isinstance(model, Product):
        yield from model.lifted.items()
    else:
        yield from ((rule.action, rule) for rule in model.rules)


def together(refusals: tuple[Refusal, ...]) -> Refusal:
    """Several refusals of one action as one: all reasons, in order, with all their facts."""
    *others, last = (refusal.reason for refusal in refusals)
    return Refusal(
        "; and ".join(("; ".join(others), last)) if others else last,
        tuple(line for refusal in refusals for line in refusal.evidence),
        tuple(dict.fromkeys(name for refusal in refusals for name in refusal.missing)),
        tuple(count for refusal in refusals for count in refusal.awaited),
        sum(refusal.untold for refusal in refusals),
    )


S = TypeVar("S", bound=Struct)


def _of_inner(said: Any, m: Any, s: Any, action: Any) -> Any:
    return resolved(said, m.inner, getattr(s, m.part), action)


class Lifted(Act):
    """A kind of action of the inner model, as one of the whole.

    ``run`` is the whole's own method for it, if it has one, and ``more`` what the whole says of it
    in the inner model's place: fields of ``kit.model.declared.action``.
    """

    def __init__(self, inner: Act, run: Callable[..., Any] | None = None, **more: Any) -> None:
        vars(self).update(vars(inner))
        self.inner, self.more = inner, more
        said = {"relied": inner.relied, "pace": inner.said.pace, "by": inner.said.by}
        there = {field: partial(_of_inner, each) for field, each in said.items()}
        self.said = replace(inner.said, **{**there, "spends": "", **more})
        self.run, self.is_own = run or inner.run, run is not None
        self.says, self.relied = more.get("says", ""), more.get("relied", there["relied"])
        self.why = vars(self.run).get("purpose", inner.why)

    def __set_name__(self, owner: type, name: str) -> None:
        if name != self.name:
            raise TypeError(f"{owner.__name__}.{name}: the action is called {self.name}")

    def bind(self, m: Any) -> Rule[Any, Any]:
        """Its rule in the whole, whose ``outcome`` is told what that of the inner model is told."""
        rule, part = m.rules_in_part[self.struct], attrgetter(m.part)
        each, single = self.more.get("each"), len(self.names) == 1

        def choices(s: Any) -> Iterable[tuple[Any, Any]]:
            return rule.choices(part(s))  # type: ignore[no-any-return]  # the rule's

        def narrowed(s: Any) -> Iterator[tuple[Any, Any]]:
            for args in each(m, s):  # type: ignore[misc]  # it is there
                yield self.struct(*((args,) if single else args)), args

        offered = narrowed if each else choices
        return Rule(self.struct, self.kind, offered, self._outcome(m), rule.given)

    def _outcome(self, m: Any) -> Callable[[Any, Any], Any]:
        if self.is_own:
            return super()._outcome(m)
        run, part, settle = m.rules_in_part[self.struct].outcome, attrgetter(m.part), m.settled

        def in_part(s: Any, given: Any) -> Any:
            end = run(part(s), given)
            if end is None or type(end) is Refusal:
                return end
            whole = s.but(**{m.part: end})
            return settle(s, whole) if settle else whole

        return update_wrapper(in_part, run)

    def flows(self, m: Any, before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
        """The flows of the inner model, between the same places of this one's picture."""
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

    ``more`` are fields of ``kit.model.declared.action`` that it says otherwise. Where its label,
    sentence or flows are empty, the inner model's stand.
    """
    return lambda run: Lifted(inner, run, **more)


class Lifting(Declared[S]):
    """A model with another one inside it.

    Every action of the inner model is one of its own, with the same type, words and button; it
    changes the part, and nothing else. Where the whole has more to say of one, a method under
    ``lifted`` takes its place. What the inner model promises is promised of the part, but for what
    the whole words itself.

    ``of`` is the inner model's class. ``part`` names the inner state in a state of the whole, and
    the inner model in the whole, whose ``set_up`` makes it.
    """

    of: type[Declared[Any]]
    part: str

    def __init_subclass__(cls) -> None:
        if "of" in vars(cls):
            for act in cls.of.acts.values():
                if act.name not in vars(cls):
                    setattr(cls, act.name, Lifted(act))
        super().__init_subclass__()

    def __init__(self, parameters: Any = None, off: tuple[str, ...] = (), **given: Any) -> None:
        super().__init__(parameters, off, **given)
        self.bounds = (*self.bounds, *self.inner.bounds)

    @property
    def inner(self) -> Declared[Any]:
        """The inner model."""
        inner: Declared[Any] = getattr(self, self.part)
        return inner

    @cached_property
    def rules_in_part(self) -> dict[type, Rule[Any, Any]]:
        """The inner model's rules by their types of action."""
        return {rule.action: rule for rule in self.inner.rules}

    def in_part(self, act: Act, s: Any, *args: Any) -> Any:
        """The whole once an action of the inner model has happened in it, or why it may not."""
        given = args[0] if len(act.names) == 1 else args
        end = self.rules_in_part[act.struct].outcome(getattr(s, self.part), given)
        return end if end is None or type(end) is Refusal else s.but(**{self.part: end})

    def helped(self, s: Any) -> Iterator[tuple[Any, Any]]:
        """The instructions of the inner model, too."""
        for action, end in self.inner.helped(getattr(s, self.part)):
            after = s.but(**{self.part: end})
            yield action, self.settled(s, after) if self.settled else after

    def known_cost(self, name: str, s: Any) -> Cost | None:
        """Its own cost, or that of the inner model."""
        inner = None if self.off else self.inner.known_cost(name, getattr(s, self.part))
        return super().known_cost(name, s) or inner

    def told_why(self, s: Any) -> str:
        """The inner model's reason."""
        return self.inner.told_why(getattr(s, self.part))

    def here(self, key: str) -> str:
        """The place in this picture of something in the inner model's."""
        return key

    def is_judged(self, s: S, action: Any) -> bool:
        """Whether the inner model's promises are held against a step from this state."""
        return True

    def _judges(self) -> Iterator[tuple[Property, bool]]:
        own = [*super()._judges()]
        names = {prop.name for prop, _ in own}
        yield from ((self._of_part(p), False) for p in self.inner.properties if p.name not in names)
        yield from own

    def _of_part(self, prop: Property) -> Property:
        check, part = prop.check, attrgetter(self.part)

        def check_step(before: Any, action: Any, after: Any) -> Any:
            judged = self.is_judged(before, action)
            return check(part(before), action, part(after)) if judged else None

        return replace(prop, check=check_step) if prop.kind == "step" else prop.within(part)

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
        """The effect of the step, in a sentence."""
        said = super().describe(before, action, after) if self.acts[type(action)].says else ""
        ends = getattr(before, self.part), action, getattr(after, self.part)
        return said or self.inner.describe(*ends)
