"""What links promise: each promise holds on the networks that give it, and only there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model.actors import ActorState
from kit.model.model import fingerprint
from kit.model.network import (
    Budget,
    Carrier,
    DeliverMessage,
    DropMessage,
    Envelope,
    Heal,
    Network,
    NetworkOptions,
    line,
)
from kit.model.timeline import Timeline
from kit.search.check import check
from tests.model.counting import Add, Done, counting
from tests.model.links import (
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


def test_a_message_waits_for_its_turn() -> None:
    """On a link that keeps its order the second message waits; other links go on."""
    early, late, other = (Envelope("A", to, Add(i)) for to, i in (("B", 2), ("B", 1), ("C", 1)))
    do, n = bag([early, late, other], fifo=True)
    assert do.may_deliver(n, early) is do.may_deliver(n, other) is None
    for what in (do.may_deliver, do.drop, do.duplicate, do.hold):
        refusal = what(n, late)
        assert isinstance(refusal, Refusal)
        assert refusal.reason == "the link A→B keeps its order: add 2 comes first"
    n = do.hold(n, early)
    assert [why and why.reason for why in (do.may_deliver(n, early), do.may_deliver(n, late))] == [
        "add 2 is held back", "the link A→B keeps its order: add 2 is held back",
    ]  # fmt: skip
    assert do.may_deliver(n, other) is None
    assert do.release(n, early).in_flight == (early, late, other)


def test_a_held_message_waits_alone_where_there_is_no_order() -> None:
    """Without order only the held message itself waits, and only when no copy is in flight."""
    early, late = Envelope("A", "B", Add(1)), Envelope("A", "B", Add(2))
    do, n = bag([early, early, late])
    n = do.hold(n, early)
    assert list(do.messages(n)) == [early, late]
    assert do.may_deliver(n, early) is do.may_deliver(n, late) is None
    n = do.receive(n, early, ())
    refusal = do.may_deliver(n, early)
    assert refusal is not None
    assert refusal.reason == "add 1 is held back"
    assert list(do.messages(n)) == [late, early]


def test_a_split_network_cuts_its_links() -> None:
    """Between the sides nothing is received, both ways; within a side it is."""
    links = [Envelope(a, b, Add(1)) for a, b in itertools.permutations(NODES, 2)]
    do, n = bag([*links, Envelope("C", "C", Add(1))])
    n = do.split(n, ("C",))
    assert n.apart == 0b100
    refused = {line(e): why.reason for e in do.messages(n) if (why := do.may_deliver(n, e))}
    assert refused == {
        f"{a}>{b} add 1": f"the link {a}→{b} is cut" for a, b in ("AC", "BC", "CA", "CB")
    }
    assert do.apart(n) == ("C",)
    assert do.sides(do.apart(n)) == "A B | C"


@pytest.mark.parametrize("fault", ["drop", "duplicate", "hold"])
def test_a_budget_is_spent(fault: str) -> None:
    """Each fault happens as often as its budget says, and no more; without bound, always."""
    envelope = Envelope("A", "B", Add(1))
    do, n = bag([envelope] * 4, **{f"{fault}s": 2})
    for _ in range(2):
        n = getattr(do, fault)(n, envelope)
        assert isinstance(n, Network)
    refusal = getattr(do, fault)(n, envelope)
    assert refusal.reason == f"the budget of {fault}s is used up"
    free, m = bag([envelope], drops=None, holds=None)
    assert free.drop(m, envelope).left == m.left == Budget(None, 1, None, 1)


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


ONE, TWO, BACK = (Envelope(*each) for each in (("A", "B", 1), ("A", "B", 2), ("B", "A", 3)))
