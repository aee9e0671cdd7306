"""What links promise: each promise holds on the networks that give it, and only there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.actors import ActorState
from kit.engine.check import check
from kit.engine.network import DeliverMessage, DropMessage, Envelope, Heal
from kit.engine.timeline import Timeline
from tests.engine.counting import Add, counting
from tests.engine.links import (
    at_least_once,
    at_most_once,
    in_order,
    link_monitors,
    link_properties,
)
from tests.quality.breaking import broken, doing, unguarded

NETWORKS = [
    dict(zip(("fifo", "drops", "duplicates", "partitions"), values, strict=True))
    for values in itertools.product((False, True), (0, 1), (0, 1), (0, 1))
]
every_network = pytest.mark.parametrize("options", NETWORKS, ids=str)


@every_network
def test_a_promise_holds_exactly_where_it_is_given(options: dict[str, Any]) -> None:
    """Order is kept where links keep it, nothing is received twice where nothing is copied, nothing
    is lost where nothing is dropped; and each promise is broken where it is not given.
    """
    model = counting(**options)
    start = model.start().network
    broken = {
        monitor.name
        for monitor in (in_order(start), at_most_once(start), at_least_once(start))
        if check(model, (), monitors=(monitor,)).violation is not None
    }
    given = {monitor.name for monitor in link_monitors(model.carrier.options, start)}
    assert broken == {"in-order", "at-most-once", "at-least-once"} - given


@every_network
def test_every_network_keeps_its_budgets_and_makes_nothing_up(options: dict[str, Any]) -> None:
    """On every network nothing comes from nowhere, budgets are kept, a cut link carries nothing."""
    model = counting(holds=1, **options)
    result = check(model, link_properties(model.carrier))
    assert result.complete
    assert result.violation is None


@pytest.mark.parametrize(
    ("monitor", "options", "witness"),
    [
        (in_order, {}, "A>B add 2 was received before add 1"),
        (at_most_once, {"duplicates": 1}, "A>B add 1 was received once too often"),
        (at_most_once, {"duplicates": None}, "A>B add 1 was received once too often"),
        (at_least_once, {"drops": 1}, "A>B add 1 is lost"),
    ],
)
def test_a_broken_promise_says_whose_message(
    monitor: Any, options: dict[str, Any], witness: str
) -> None:
    """The verdict names the message and its nodes, and stays for the rest of the run."""
    model = counting(**options)
    violation = check(model, (), monitors=(monitor(model.start().network),)).violation
    assert violation is not None
    assert violation.witness == witness
    model.monitors = (monitor(model.start().network),)
    timeline = Timeline.along(model, violation.actions)
    while timeline.forward() is not None:
        pass
    verdict = timeline.verdicts()[-1]
    assert (verdict.ok, verdict.witness) == (False, witness)


def _miser(s: ActorState, action: Any) -> ActorState:
    return s


def _thief(s: ActorState, action: Any) -> ActorState:
    return replace(s, network=replace(s.network, in_flight=()))


def _spender(s: ActorState, action: Any) -> ActorState:
    left = replace(s.network.left, drops=s.network.left.drops + 1)
    return replace(s, network=replace(s.network, left=left))


def _forger(s: ActorState, action: Any) -> ActorState:
    forged = Envelope("A", "B", Add(9))
    rest = tuple(e for e in s.network.in_flight if e != action.envelope)
    return replace(s, network=replace(s.network, in_flight=(*rest, forged)))


@pytest.mark.parametrize(
    ("kind", "effect", "name", "witness"),
    [
        (DropMessage, _miser, "from-nowhere", "nobody sent A>B add 1"),
        (DropMessage, _thief, "from-nowhere", "A>B add 2 is gone, and nobody lost it"),
        (DropMessage, _forger, "from-nowhere", "nobody sent A>B add 9"),
        (DeliverMessage, _forger, "from-nowhere", "A>B add 9 appears while B acts"),
        (Heal, _spender, "budgets", "drops: 1 should be left, not 2"),
    ],
)
def test_a_network_that_breaks_its_word_is_found(
    kind: Any, effect: Any, name: str, witness: str
) -> None:
    """A network with a planted bug breaks the property that speaks of it, with its witness."""
    model = counting(drops=1, partitions=1)
    violation = check(broken(model, kind, doing(effect)), link_properties(model.carrier)).violation
    assert violation is not None
    assert (violation.property, violation.witness) == (name, witness)


def test_a_link_that_is_not_really_cut_is_found() -> None:
    """A network that delivers over a cut link, or loses more than it may, is found."""
    for kind, name in ((DeliverMessage, "cut"), (DropMessage, "budgets")):
        model = counting(drops=1, partitions=1)
        properties = link_properties(model.carrier)
        violation = check(broken(model, kind, unguarded), properties).violation
        assert violation is not None
        assert violation.property == name
