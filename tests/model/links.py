"""What links promise: order, no message twice, none lost, none from nowhere, budgets kept.

These judge models whose state has a ``network`` (``kit.model.network.Network``). What a step must
respect is a property; what needs to know which messages were sent before is a monitor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from kit.model.model import Monitor, Property, step
from kit.model.network import (
    MESSAGE_ACTIONS,
    Carrier,
    DeliverMessage,
    DropMessage,
    DuplicateMessage,
    Envelope,
    Heal,
    Network,
    NetworkOptions,
    Partition,
    by_content,
    expected_bag,
    less,
    line,
    posted,
    words,
)

FAULTS = ("drop", "duplicate", "hold", "partition")
_OF_THE_NETWORK = (*MESSAGE_ACTIONS[1:], Partition, Heal)


# -- steps -----------------------------------------------------------------------------------------


def bag_of(n: Network) -> Counter[Envelope[Any]]:
    """How many copies of each message are in flight or held."""
    return Counter((*n.in_flight, *n.held))


def _from_nowhere(before: Any, action: Any, after: Any) -> str | None:
    """A message is new only where the node that acts has sent it; none goes by itself."""
    expected, bag = expected_bag(before.network, action), bag_of(after.network)
    for envelope in bag - expected:
        if isinstance(action, _OF_THE_NETWORK):
            return f"nobody sent {line(envelope)}"
        if isinstance(action, DeliverMessage) and envelope.source != action.envelope.target:
            return f"{line(envelope)} appears while {action.envelope.target} acts"
    missing = next(iter(expected - bag), None)
    return None if missing is None else f"{line(missing)} is gone, and nobody lost it"


def _budgets(before: Any, action: Any, after: Any) -> str | None:
    """A fault uses up one of its own budget, while there is any; nothing else does."""
    left, now = before.network.left, after.network.left
    fault = _fault(action)
    if fault and getattr(left, fault) == 0:
        return f"the budget of {fault} was spent before"
    expected = less(left, fault) if fault else left
    if now == expected:
        return None
    pairs = zip(structs.asdict(expected).items(), structs.asdict(now).values(), strict=True)
    name, was, is_ = next((name, was, is_) for (name, was), is_ in pairs if was != is_)
    return f"{name}: {was} should be left, not {is_}"


def _fault(action: Any) -> str:
    """The budget that an action is paid from; none for most."""
    tag = str(type(action).__struct_config__.tag)
    return f"{tag}s" if isinstance(action, _OF_THE_NETWORK) and tag in FAULTS else ""


def link_properties(carrier: Carrier) -> tuple[Property, ...]:
    """What every network keeps, whatever its options."""

    def over_a_cut(before: Any, action: DeliverMessage[Any], after: Any) -> str | None:
        source, target = action.envelope.source, action.envelope.target
        if carrier.cut(before.network, source, target):
            return f"{line(action.envelope)} was received over a link that is cut"
        return None

    return (
        step("from-nowhere", "No message comes from nowhere or goes nowhere", _from_nowhere),
        step("budgets", "Faults keep to their budgets", _budgets),
        step("cut", "Nothing passes a link that is cut", over_a_cut, on=(DeliverMessage,)),
    )


# -- runs ------------------------------------------------------------------------------------------


class Sendings(Struct, frozen=True, cache_hash=True):
    """What a monitor remembers: messages on their way, and the first promise that was broken."""

    waiting: tuple[Envelope[Any], ...] = ()
    broken: str | None = None


def _monitor(name: str, title: str, judge: Callable[..., Sendings], start: Network) -> Monitor:
    """A monitor that keeps its first verdict; messages of the start are on their way at first."""
    begun = Sendings(start.in_flight)

    def watch(memory: Sendings, before: Any, action: Any, after: Any) -> Sendings:
        if memory.broken is not None:
            return memory
        sent = posted(before.network, action, after.network)
        return judge(memory.waiting, action, sent, after.network)

    return Monitor(name, title, lambda: begun, watch, lambda memory: memory.broken)


def in_order(start: Network) -> Monitor:
    """On each link messages arrive in the order in which they were sent.

    Of those that a node sends on one link in one step a link without order keeps no order to judge.
    """
    return _monitor("in-order", "A link keeps its order", _in_order, start)


def at_most_once(start: Network) -> Monitor:
    """No message is received more often than it was sent."""
    return _monitor("at-most-once", "Nothing is received twice", _at_most_once, start)


def at_least_once(start: Network) -> Monitor:
    """No message is lost before it was received: it is received as often as it was sent, or still
    can be.
    """
    return _monitor("at-least-once", "Nothing is lost", _at_least_once, start)


def link_monitors(options: NetworkOptions, start: Network) -> tuple[Monitor, ...]:
    """What a network with these options promises of whole runs, from its bag at the start."""
    promised = (
        (in_order, options.fifo),
        (at_most_once, options.duplicates == 0),
        (at_least_once, options.drops == 0),
    )
    return tuple(monitor(start) for monitor, holds in promised if holds)


Waiting = tuple[Envelope[Any], ...]


def _in_order(waiting: Waiting, action: Any, sent: Waiting, after: Network) -> Sendings:
    broken = None
    if isinstance(action, DuplicateMessage):
        i = waiting.index(action.envelope)
        waiting = (*waiting[:i], action.envelope, *waiting[i:])
    elif isinstance(action, DeliverMessage | DropMessage):
        envelope = action.envelope
        link = [e for e in waiting if (e.source, e.target) == (envelope.source, envelope.target)]
        if isinstance(action, DeliverMessage) and link and link[0] != envelope:
            broken = f"{line(envelope)} was received before {words(link[0].message)}"
        waiting = _without(waiting, envelope)
    return Sendings((*waiting, *sent), broken)


def _at_most_once(waiting: Waiting, action: Any, sent: Waiting, after: Network) -> Sendings:
    broken = None
    if isinstance(action, DeliverMessage):
        envelope = action.envelope
        if envelope not in waiting:
            broken = f"{line(envelope)} was received once too often"
        waiting = _without(waiting, envelope)
    return Sendings(_sorted(waiting, sent), broken)


def _at_least_once(waiting: Waiting, action: Any, sent: Waiting, after: Network) -> Sendings:
    broken = None
    if isinstance(action, DeliverMessage):
        waiting = _without(waiting, action.envelope)
    elif isinstance(action, DropMessage):
        envelope = action.envelope
        if bag_of(after)[envelope] < waiting.count(envelope):
            broken = f"{line(envelope)} is lost"
    return Sendings(_sorted(waiting, sent), broken)


def _without(waiting: Waiting, envelope: Envelope[Any]) -> Waiting:
    if envelope not in waiting:
        return waiting
    i = waiting.index(envelope)
    return waiting[:i] + waiting[i + 1 :]


def _sorted(waiting: Waiting, sent: Waiting) -> Waiting:
    """Where order says nothing, memories with the same messages are equal."""
    return tuple(sorted((*waiting, *sent), key=by_content)) if sent else waiting
