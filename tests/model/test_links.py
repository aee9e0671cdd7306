"""What links promise: each promise holds on the networks that give it, and only there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.model.model import fingerprint
from kit.model.network import (
    Budget,
    Carrier,
    DeliverMessage,
    DropMessage,
    Envelope,
    Network,
    NetworkOptions,
    line,
)
from kit.search.check import check
from tests.model.counting import Add, Done, counting
from tests.model.links import at_least_once, at_most_once, in_order, link_monitors, link_properties
from tests.quality.breaking import broken, unguarded

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
    assert result.complete, result
    assert result.violation is None, result


def test_a_link_that_is_not_really_cut_is_found() -> None:
    """A network that delivers over a cut link, or loses more than it may, is found."""
    for kind, name in ((DeliverMessage, "cut"), (DropMessage, "budgets")):
        model = counting(drops=1, partitions=1)
        properties = link_properties(model.carrier)
        violation = check(broken(model, kind, unguarded), properties).violation
        assert violation is not None
        assert violation.property == name


NODES = ("A", "B", "C")
ENVELOPES = st.builds(
    Envelope, st.sampled_from(NODES), st.sampled_from(NODES), st.builds(Add, st.integers(1, 3))
)
SENT = st.lists(ENVELOPES, max_size=8)
KINDS = pytest.mark.parametrize("fifo", [False, True], ids=["any order", "in order"])


def carrier(**options: Any) -> Carrier:
    """A network of A, B and C in which everything may happen once, unless the options say so."""
    whole = {"drops": 1, "duplicates": 1, "holds": 1, "partitions": 1, **options}
    return Carrier(NODES, NetworkOptions(**whole))


def bag(sent: list[Envelope[Any]], **options: Any) -> tuple[Carrier, Network]:
    """A network in which these messages are in flight."""
    do = carrier(**options)
    return do, do.post(do.empty(), sent)


def on(link: tuple[str, str], envelopes: Any) -> list[Envelope[Any]]:
    """The messages of one link, in order."""
    return [e for e in envelopes if (e.source, e.target) == link]


def receivable(do: Carrier, n: Network) -> Envelope[Any] | None:
    """A message that may be received now."""
    return next((e for e in do.in_flight(n) if do.may_deliver(n, e) is None), None)


# -- laws ------------------------------------------------------------------------------------------


@given(SENT, st.randoms(use_true_random=False))
def test_without_order_the_order_of_sending_is_forgotten(sent: list[Any], chance: Any) -> None:
    """Messages sent in any order give one bag, with one hash and one fingerprint."""
    other = sent.copy()
    chance.shuffle(other)
    (_, first), (_, second) = bag(sent), bag(other)
    assert (first, hash(first), fingerprint(first)) == (second, hash(second), fingerprint(second))
    assert sorted(map(line, first.in_flight)) == sorted(map(line, sent))


@given(SENT, st.randoms(use_true_random=False))
def test_in_order_only_the_order_on_each_link_counts(sent: list[Any], chance: Any) -> None:
    """On a link messages stand as they were sent; how links interleave makes no difference."""
    _, straight = bag(sent, fifo=True)
    links = [link for link in itertools.product(NODES, NODES) for _ in on(link, sent)]
    chance.shuffle(links)
    streams = {link: iter(on(link, sent)) for link in links}
    _, woven = bag([next(streams[link]) for link in links], fifo=True)
    assert straight == woven
    assert all(
        on(link, straight.in_flight) == on(link, sent) for link in itertools.product(NODES, NODES)
    )


@KINDS
@given(SENT)
def test_receiving_takes_one_copy_and_adds_the_answers(fifo: bool, sent: list[Any]) -> None:
    """One copy of what is received is gone, each answer is in flight, all else is as it was."""
    do, n = bag(sent, fifo=fifo)
    envelope = receivable(do, n)
    if envelope is None:
        assert not sent
        return
    answer = Envelope(envelope.target, envelope.source, Done(1))
    after = do.receive(n, envelope, (answer, answer))
    assert (after.held, after.apart, after.left) == (n.held, n.apart, n.left)
    expected = [*map(line, n.in_flight), line(answer), line(answer)]
    expected.remove(line(envelope))
    assert sorted(map(line, after.in_flight)) == sorted(expected)


@KINDS
@given(SENT)
def test_what_is_undone_is_as_it_was(fifo: bool, sent: list[Any]) -> None:
    """Holding and releasing, copying and losing the copy, splitting and healing change nothing but
    the budgets.
    """
    do, n = bag(sent, fifo=fifo)
    assert do.heal(do.split(n, ("C",))).in_flight == n.in_flight
    envelope = receivable(do, n)
    if envelope is not None:
        back = do.release(do.hold(n, envelope), envelope)
        assert (back.in_flight, back.held) == (n.in_flight, ())
        assert back.left == Budget(1, 1, 0, 1)
        less = do.drop(do.duplicate(n, envelope), envelope)
        assert less.in_flight == n.in_flight
        assert less.left == Budget(0, 0, 1, 1)


@given(SENT)
def test_where_messages_stay_sending_again_changes_nothing(sent: list[Any]) -> None:
    """With any number of copies a message is in the bag once, before and after it is received."""
    do, n = bag(sent, duplicates=None)
    assert do.post(n, sent) == n
    assert {*n.in_flight} == {*sent}
    assert len(set(n.in_flight)) == len(n.in_flight)
    assert all(do.receive(n, envelope, ()) == n for envelope in n.in_flight)
    assert all(envelope not in do.drop(n, envelope).in_flight for envelope in n.in_flight)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        (("A", "A"), {}, "nodes: .*each name once"),
        (NODES, {"drops": -1}, "drops: got -1; allowed: a number from 0 up, or None"),
        (NODES, {"fifo": True, "duplicates": None}, "duplicates: got None; allowed: a number"),
        (tuple("ABCDEFGHI"), {"partitions": 1}, "partitions: got 1; allowed: 0 for more than 8"),
    ],
)  # fmt: skip
def test_a_network_that_cannot_be_is_refused(
    nodes: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    """Options that mean nothing are told in one line."""
    with pytest.raises(BadInput, match=message):
        Carrier(nodes, NetworkOptions(**options))
