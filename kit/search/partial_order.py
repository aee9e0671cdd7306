"""A search in larger steps: what may wait is done right before a step that looks at it.

Who learns of something early and who learns of it at the last moment go on alike, as long as
nothing in between looks at what they know. A model with a *partial order* says which of its actions
may wait, and which of them come right before each other action. A search then takes those and that
action at once, and leaves out all other orders (a partial-order reduction, without the conditions
on cycles that goals would need).

That is right if whatever may be done after steps that waited is done by a larger step, with nothing
but steps that wait behind it, and breaks the same properties: then each state of the model is
reached from one of the search by steps that wait, and none of these breaks anything. All of a small
search is compared, of a larger one a part, spread evenly.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput, KitError, Refusal, shorten
from kit.model.model import Cost, Model, Monitor, Property
from kit.search.search import SMALL, Nodes

SHARE = 512  # nodes of a large search, of which one is compared
FEWEST = 250  # nodes that are compared at least of a search beyond SMALL, so as to see rare steps
SHOWN = 300  # characters of a state in a message


class LargerStep(Struct, frozen=True):
    """Some steps that waited, the one that looks at them, and what is taken at once behind it."""

    lead: tuple[Any, ...]
    last: Any
    behind: tuple[Any, ...] = ()


def last(action: Any) -> Any:
    """The step that does not wait."""
    return action.last if type(action) is LargerStep else action


def single_steps(actions: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same run, one step of the model after another."""
    parts = ((*a.lead, a.last, *a.behind) if type(a) is LargerStep else (a,) for a in actions)
    return tuple(chain.from_iterable(parts))


class LargerSteps(Model[Any, Any]):
    """A model that takes larger steps; its states are those of the model that it is made from."""

    def __init__(self, model: Model[Any, Any]) -> None:
        """Raises BadInput for a model without a partial order, or that rests at its goals only."""
        if model.partial_order is None or model.rests_at_goals:
            raise BadInput("partial order", model.name, "a model that has one")
        self.model, self.order = model, model.partial_order
        self.name, self.title, self.parameters = model.name, model.title, model.parameters
        self.off, self.safeguards, self.signs = model.off, model.safeguards, model.signs
        self.State, self.Action, self.rules = model.State, model.Action, model.rules
        self.properties, self.monitors = model.properties, model.monitors
        self.symmetry, self.bounds = model.symmetry, model.bounds
        self._rules = {rule.action: rule for rule in model.rules}
        self._eager = tuple(r for r in model.rules if r.action not in self.order.waiting)

    def start(self) -> Any:
        """The first state."""
        return self.model.start()

    def known_cost(self, name: str, s: Any) -> Cost | None:
        """The cost of the model that it is made from."""
        return self.model.known_cost(name, s)

    def after(self, s: Any, lead: tuple[Any, ...]) -> Any:
        """The state after steps that waited. Raises KitError naming one that the model refuses."""
        for action in lead:
            rule = self._rules[type(action)]
            end = rule.outcome(s, rule.given(action))
            if end is None or isinstance(end, Refusal):
                raise self.refused(s, action, end)
            s = end
        return s

    def successors(self, s: Any) -> Iterator[tuple[Any, Any]]:
        """Every larger step, with the state that it leads to."""
        leads = self.order.leads
        for rule in self._eager:
            outcome = rule.outcome
            for action, given in rule.choices(s):
                for lead in leads(s, action):
                    try:
                        before = self.after(s, lead) if lead else s
                    except KitError:
                        if isinstance(outcome(s, given), Refusal):
                            continue  # what is refused anyway needs no steps before it
                        raise
                    end = outcome(before, given)
                    if end is not None and not isinstance(end, Refusal):
                        yield LargerStep(lead, action) if lead else action, end

    def refused(self, s: Any, action: Any, refusal: Refusal | None) -> KitError:
        """The fault of an order that takes such a step."""
        reason = refusal.reason if refusal else "there is no such action here"
        return KitError(
            f"partial order of {self.name}: a larger step takes {shorten(action)} "
            f"after {shorten(s, SHOWN)}, which the model refuses: {reason}"
        )

    def judged(self, prop: Property) -> Property:
        """A property, judged of larger steps. Raises BadInput for goals, and steps that wait."""
        if prop.kind == "goal":
            raise BadInput("partial order", prop.name, "no goals")
        if prop.kind != "step":
            return prop
        self._looks_elsewhere(prop)

        def check(before: Any, action: Any, after: Any) -> str | None:
            if type(action) is LargerStep:
                before = self.after(before, action.lead)
                end = self.after(before, (action.last,)) if action.behind else after
                return prop.of_step(before, action.last, end)
            witness: str | None = prop.check(before, action, after)
            return witness

        return replace(prop, check=check, on=(*prop.on, LargerStep))

    def watching(self, monitor: Monitor) -> Monitor:
        """A monitor that watches larger steps. Raises BadInput when it looks at steps that wait."""
        self._looks_elsewhere(monitor)

        def step(memory: Any, before: Any, action: Any, after: Any) -> Any:
            if type(action) is LargerStep:
                before, action = self.after(before, action.lead), action.last
            return monitor.after(memory, before, action, after)

        return replace(monitor, step=step, on=(*monitor.on, LargerStep))

    def _looks_elsewhere(self, judge: Property | Monitor) -> None:
        if not judge.on or {*judge.on} & {*self.order.waiting}:
            names = ", ".join(each.__name__ for each in self.order.waiting)
            raise BadInput(
                "partial order", judge.name, (f"a property that does not look at steps of {names}")
            )


class OrderCheck:
    """Compares larger steps with those of the model; ``compared`` counts the nodes."""

    def __init__(
        self, larger: LargerSteps, properties: Sequence[Property], monitors: Sequence[Monitor]
    ) -> None:
        self.larger, self.waiting = larger, larger.order.waiting
        self.fine = Nodes(larger.model, monitors, symmetry=False)
        watching = tuple(map(larger.watching, monitors))
        self.steps_of = Nodes(larger, watching, symmetry=False).successors
        self.of_states = tuple(p for p in properties if p.kind != "step")
        self.of_steps = tuple(p for p in properties if p.kind == "step")
        self.compared = 0

    def replay(self, actions: tuple[Any, ...]) -> None:
        """See that larger steps are a run of the model. Raises KitError naming what it refuses."""
        self._run_all(self.larger.start(), single_steps(actions))

    def compare(self, nodes: Collection[Any]) -> None:
        """See of these nodes, or of some when they are many, that larger steps are enough.

        Raises KitError naming a step that they leave out, or that the model refuses; or a property
        that tells them apart.
        """
        small = len(nodes) <= SMALL
        share = 1 if small else max(1, min(SHARE, len(nodes) // FEWEST))
        for number, node in enumerate(islice(nodes, 0, None, share)):
            ways = self._all_ways(node) if small else self._a_way(node, number)
            ends = [(last(action), action, end) for action, end in self.steps_of(node)]
            for _, action, _ in ends:
                self._run_all(self.fine.state_of(node), single_steps((action,)))
            for lead, at in ways:
                self._seen_alike(node, at)
                for action, after in self.fine.successors(at):
                    if type(action) not in self.waiting:
                        candidates = [(step, end) for of, step, end in ends if of == action]
                        self._covered(node, candidates, (lead, at, action, after))
            self.compared += 1

    def _run_all(self, state: Any, actions: tuple[Any, ...]) -> None:
        model = self.larger.model
        for action in actions:
            refusal = model.refusal(state, action)
            if refusal is not None:
                raise self.larger.refused(state, action, refusal)
            state = model.apply(state, action)

    def _waits(self, node: Any) -> list[tuple[Any, Any]]:
        return [each for each in self.fine.successors(node) if type(each[0]) in self.waiting]

    def _all_ways(
        self, node: Any, steps: Collection[Any] | None = None
    ) -> Iterator[tuple[frozenset[Any], Any]]:
        ways = {node: frozenset[Any]()}
        pending = [node]
        for at in pending:  # grows while it is walked along
            yield ways[at], at
            for action, after in self._waits(at):
                if after not in ways and (steps is None or action in steps):
                    ways[after] = ways[at] | {action}
                    pending.append(after)

    def _a_way(self, node: Any, number: int) -> Iterator[tuple[frozenset[Any], Any]]:
        lead = frozenset[Any]()
        yield lead, node
        while waits := self._waits(node):
            number, place = divmod(number, len(waits))
            action, node = waits[place]
            lead |= {action}
            yield lead, node

    def _covered(self, node: Any, ends: list[tuple[Any, Any]], step: tuple[Any, ...]) -> None:
        lead, at, action, after = step
        shown = shorten(self.fine.state_of(at), SHOWN)
        reaching = [each for each in ends if self._leads_to(each[1], after, lead)]
        if not reaching:
            raise KitError(
                f"partial order of {self.larger.name}: {shorten(action)} after {shown} is left "
                "out: no larger step comes to the same"
            )
        broken = self._broken(self.fine.state_of(at), action, after)
        if not any(broken <= self._broken_at_once(node, *each) for each in reaching):
            raise KitError(
                f"property {min(broken)}: {shorten(action)} breaks it after {shown}, but no "
                f"larger step of {self.larger.name} does"
            )

    def _leads_to(self, end: Any, wanted: Any, lead: frozenset[Any]) -> bool:
        return any(at == wanted for _, at in self._all_ways(end, lead))

    def _broken(self, before: Any, action: Any, after: Any) -> frozenset[str]:
        now = self.fine.state_of(after)
        judged = ((p.name, p.of_step(before, action, now)) for p in self.of_steps)
        return frozenset(name for name, witness in judged if witness is not None)

    def _broken_at_once(self, node: Any, step: Any, end: Any) -> frozenset[str]:
        state = self.fine.state_of(node)
        if type(step) is LargerStep:
            state = self.larger.after(state, step.lead)
        return self._broken(state, last(step), end)

    def _seen_alike(self, node: Any, at: Any) -> None:
        for prop in self.of_states:
            said, then = (prop.check(self.fine.state_of(each)) for each in (node, at))
            if bool(said) != bool(then):
                raise KitError(
                    f"property {prop.name}: it says {shorten(then or said)} only "
                    f"{'after' if then else 'before'} steps that wait, to "
                    f"{shorten(self.fine.state_of(at), SHOWN)}; search without the partial order"
                )
