"""Deliveries that commute with all that may follow: a search takes them along with another step.

Messages arrive at different nodes in any order, and most orders come to the same. A delivery may
be taken at once, alone, if it commutes with whatever may happen before it (it is then a persistent
set of one), changes nothing that a property reads, sends one message at most and answers no client.

What may happen before it is not searched but bounded from above. From a state on, every node takes
every message that anybody might send, in any order and any number of times, and its timers run out
whenever they may: that gives all states that a node can yet be in, and all messages that it can yet
meet there. Only nodes on a network that nothing befalls any more are looked at so; while a crash, a
loss or a cut is still to come, or a client still to ask, nothing is taken at once.

After each step a search goes on to where nothing may be taken at once any more. Such deliveries
lead to one end in whatever order, and the last of each row is searched in full, so that no action
is put off for good. Some states of each search are compared with all orders, spread evenly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec.structs import asdict

from kit.errors import BadInput, KitError, shorten
from kit.model.actors import Post
from kit.model.machines import MachineModel
from kit.model.model import CommutingDeliveries, Model, Monitor, Property
from kit.model.network import DeliverMessage, Envelope, NetworkOptions
from kit.search.partial_order import SHOWN, LargerStep, LargerSteps, OrderCheck

MOST = 1 << 16
LARGEST = 600
"""States of nodes and messages that may yet be; where there are more, nothing is taken at once."""
COMPARED = 100  # nodes of a search, behind each step of which all orders are compared
Taken = tuple[Any, tuple[Envelope[Any], ...], bool]
"""A node after an event, what it has sent, and whether it has answered a client."""


class Ahead:
    """What may yet happen in a model of nodes, and which deliveries commute with all of it."""

    def __init__(self, model: MachineModel, order: CommutingDeliveries) -> None:
        """A model whose nodes do nothing but receive, and let timers run out."""
        self.model, self.order = model, order
        self.taken = lru_cache(None)(self._turn_of)
        self.commute = lru_cache(None)(self._commute)
        self._coming = lru_cache(MOST)(self._saturated)
        self._first_of = lru_cache(MOST)(self._chosen)

    def first(self, s: Any) -> Envelope[Any] | None:
        """The first message in flight that may be received at once; None where there is none."""
        network, left = s.network, {**asdict(s.left), **asdict(s.network.left)}
        befalls = any(number != 0 for name, number in left.items() if name != "ticks")
        if befalls or s.down or s.cut or s.unsaved or network.held or network.apart:
            return None
        return self._first_of(s.nodes, network.in_flight)

    def _chosen(
        self, nodes: tuple[Any, ...], bag: tuple[Envelope[Any], ...]
    ) -> Envelope[Any] | None:
        sent = tuple(dict.fromkeys(bag))
        coming = self._coming(nodes, sent)
        return next((each for each in sent if coming and self._is_free(each, *coming)), None)

    def may_come_first(self, s: Any, sent: Envelope[Any]) -> bool:
        """Whether this message may be received at once."""
        coming = self._coming(s.nodes, tuple(dict.fromkeys(s.network.in_flight)))
        return coming is not None and self._is_free(sent, *coming)

    def _is_free(
        self, sent: Envelope[Any], states: list[dict[Any, None]], messages: list[dict[Any, None]]
    ) -> bool:
        node = self.model.index[sent.target]
        watched = self.order.watched
        for state in states[node]:
            after, sends, answers = self.taken(node, state, sent)
            if answers or len(sends) > 1 or watched(after) != watched(state):
                return False
            events = (*messages[node], *self.order.timers(state))
            if not all(self.commute(node, state, sent, each) for each in events):
                return False
        return True

    def _turn_of(self, node: int, state: Any, event: Any) -> Taken:
        model, name = self.model, self.model.names[node]
        timer = isinstance(event, str)
        try:
            turn = model.fires(name, state, event) if timer else model.receive(state, event)
        except BadInput:  # a pair that no run brings together, else each search would fail on it
            return state, (), False
        after, effects = turn
        posts = [each for each in effects if isinstance(each, Post)]
        sends = tuple(Envelope(name, each.target, each.message) for each in posts)
        return after, sends, len(posts) < len(effects)

    def _commute(self, node: int, state: Any, sent: Envelope[Any], event: Any) -> bool:
        """Whether a delivery and another event come to the same in both orders.

        A timer that changes nothing may be refused, as long as what it would send is on its way.
        """
        if sent == event:
            return True
        after, sends, _ = self.taken(node, state, sent)
        other, others, _ = self.taken(node, state, event)
        if isinstance(event, str) and event not in self.order.timers(after):
            return False
        end, then, _ = self.taken(node, after, event)
        other_end, other_then, _ = self.taken(node, other, sent)
        if end != other_end or Counter(sends + then) != Counter(others + other_then):
            return False
        if not isinstance(event, str) or end != after:
            return True
        return other == state and not {*sends} & {*others}

    def _saturated(
        self, nodes: tuple[Any, ...], bag: tuple[Envelope[Any], ...]
    ) -> tuple[list[dict[Any, None]], list[dict[Any, None]]] | None:
        states: list[dict[Any, None]] = [{} for _ in nodes]
        messages: list[dict[Any, None]] = [{} for _ in nodes]
        index, size = self.model.index, 0
        todo: list[tuple[int, Any, Any]] = []
        new: list[tuple[list[dict[Any, None]], int, Any]]
        new = [(states, node, state) for node, state in enumerate(nodes)]
        new += [(messages, index[sent.target], sent) for sent in bag]
        while new:
            for kind, node, thing in new:
                if thing not in kind[node]:
                    kind[node][thing] = None
                    size += 1
                    if kind is states:
                        events = (*messages[node], *self.order.timers(thing))
                        todo += [(node, thing, event) for event in events]
                    else:
                        todo += [(node, state, thing) for state in states[node]]
            if size > LARGEST:
                return None
            new = []
            if todo:
                node, state, event = todo.pop()
                after, sends, _ = self.taken(node, state, event)
                new = [(messages, index[sent.target], sent) for sent in sends]
                new.append((states, node, after))
        return states, messages


def _in_order(options: NetworkOptions) -> bool:
    return options.fifo or options.duplicates is None


class StepsAndDeliveries(LargerSteps):
    """A model each of whose steps takes along what may be received at once behind it."""

    def __init__(self, model: Model[Any, Any]) -> None:
        """Raises BadInput for a model of other things than nodes with messages and timers."""
        super().__init__(model)
        assert isinstance(self.order, CommutingDeliveries)
        if not isinstance(model, MachineModel) or _in_order(model.network_options):
            allowed = "a model of machines whose messages arrive once, in any order"
            raise BadInput("partial order", model.name, allowed)
        own = {act.name for act in type(model).acts.values()} - {
            act.name for act in MachineModel.acts.values()
        }
        if own:
            raise BadInput("partial order", ", ".join(sorted(own)), "no actions of its own")
        self.ahead = Ahead(model, self.order)

    def settled(self, s: Any) -> tuple[tuple[Any, ...], Any]:
        """The deliveries that may be taken at once, one after another, and the state behind them.

        Where they lead back to a state that they began with, they end there.
        """
        behind: list[Any] = []
        seen = {s}
        while (sent := self.ahead.first(s)) is not None:
            action = DeliverMessage(sent)
            s = self.after(s, (action,))
            behind.append(action)
            if s in seen:
                break
            seen.add(s)
        return tuple(behind), s

    def successors(self, s: Any) -> Iterator[tuple[Any, Any]]:
        """Every step, with the state that it and what is taken along lead to."""
        for action, after in self.model.successors(s):
            behind, end = self.settled(after)
            yield LargerStep((), action, behind) if behind else action, end

    def _looks_elsewhere(self, judge: Property | Monitor) -> None:
        """Steps of larger steps are judged one by one; a monitor would have to watch each."""
        if isinstance(judge, Monitor):
            raise BadInput("partial order", judge.name, "no monitors")


class DeliveryCheck(OrderCheck):
    """Compares deliveries that are taken at once with all other orders.

    State by state, one has to commute with each action beside it, behind which it may still be
    taken at once: then it commutes with every run that begins there.
    """

    larger: StepsAndDeliveries

    def compare(self, nodes: Collection[Any]) -> None:
        """See of these states, or of some when they are many, that no other order matters.

        Raises KitError naming an action that does not commute, or a property that sees a delivery.
        """
        model = self.larger.model
        for node in islice(nodes, 0, None, max(1, len(nodes) // COMPARED)):
            for _, after in model.successors(node):
                state = after
                for delivery in self.larger.settled(after)[0]:
                    state = self._taken_first(state, delivery)
            self.compared += 1

    def _taken_first(self, state: Any, delivery: DeliverMessage[Any]) -> Any:
        """The state after a delivery: no property sees it, and any other action may follow."""
        after = self.larger.after(state, (delivery,))
        self._seen_alike(state, after)
        if broken := self._broken(state, delivery, after):
            raise self._wrong(state, delivery, f"breaks {min(broken)}")
        beside = dict(self.fine.successors(after))
        for action, other in self.fine.successors(state):
            if action == delivery:
                continue
            end = self.larger.after(other, (delivery,))
            if action not in beside or beside[action] != end:
                raise self._wrong(state, delivery, f"does not commute with {shorten(action)}")
            if not self.larger.ahead.may_come_first(other, delivery.envelope):
                raise self._wrong(state, delivery, f"has to wait after {shorten(action)}")
        return after

    def _wrong(self, state: Any, delivery: Any, why: str) -> KitError:
        return KitError(
            f"partial order of {self.larger.name}: {shorten(delivery)}, taken at once after "
            f"{shorten(state, SHOWN)}, {why}"
        )


def larger_steps(
    model: Model[Any, Any], properties: Sequence[Property], monitors: Sequence[Monitor]
) -> tuple[LargerSteps, OrderCheck]:
    """The model in the larger steps of its partial order, and what compares them with its own."""
    larger: LargerSteps
    if isinstance(model.partial_order, CommutingDeliveries):
        larger = StepsAndDeliveries(model)
        return larger, DeliveryCheck(larger, properties, monitors)
    larger = LargerSteps(model)
    return larger, OrderCheck(larger, properties, monitors)
