"""Flows of any model: those of actors come by themselves, and a model without a table has none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kit.engine.compose import Product
from kit.engine.flows import (
    Flow,
    FlowTable,
    address_of,
    as_uuid,
    flow_table,
    flows,
    host_id,
    token_of,
    whose,
)
from kit.engine.model import Model
from kit.engine.network import DeliverMessage, DropMessage, NetworkOptions
from kit.engine.registry import build, entries, fuzzing_of
from tests.engine.counting import counting
from tests.engine.toys import LiftModel, LiftParameters, Up, walk
from tests.kinds import action_types

FAULTS: dict[str, Any] = {"drops": 1, "duplicates": 1, "holds": 1, "partitions": 1}
RARE = {
    "peers": True,
    "repair": "blocking",
    "clients": 2,
    "late": 1,
    "shrinks": 0,
    "addresses": 1,
    "kind": "repair",
    "operation": "removenode",
    "dump": {"shards": (1, 1, 1, 1), "tables": ({"name": "ks.t", "tablets": 2},)},
}.items()
WALKS, STEPS = 12, 300
FOLLOWED = 4
"""More walks, which mostly do what the model suggests: they come to what follows a procedure."""


def test_a_delivered_message_travels_from_its_sender_to_its_receiver() -> None:
    """Of actors on any network what is delivered moves, and nothing else does."""
    model = counting(**FAULTS)
    steps = walk(model, range(40))
    moved = {type(action): flows(model, *step) for step in steps for action in [step[1]]}
    assert {kind for kind, sent in moved.items() if sent} == {DeliverMessage}
    before, action, after = next(step for step in steps if type(step[1]) is DeliverMessage)
    envelope = action.envelope
    [flow] = flows(model, before, action, after)
    assert (flow.kind, flow.from_key, flow.to_key) == (
        "message", f"n:{envelope.source}", f"n:{envelope.target}"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("crowd", "last"),
    [(0, None), (1, "word 0"), (64, "word 63"), (65, "word 63; and 1 more like it"),
     (70, "word 63; and 6 more like it")],
)  # fmt: skip
def test_what_is_too_much_to_follow_is_counted(crowd: int, last: str | None) -> None:
    """Of more than 64 things the first are shown; the last of them says how many more there are."""
    sent = tuple(Flow("message", "n:A", "n:B", f"{n}", f"word {n}") for n in range(crowd))
    model: Any = LiftModel(LiftParameters())
    [(before, action, after)] = walk(model, (0,))
    model.flow_table = FlowTable({type(action): lambda *step: sent})
    moved = flows(model, before, action, after)
    assert [flow.label for flow in moved] == [str(n) for n in range(min(crowd, 64))]
    assert [flow.text for flow in moved[-1:]] == ([last] if last else [])
    assert all("more" not in flow.text for flow in moved[:-1])


def test_the_words_of_a_message_are_beside_it() -> None:
    """The sentence names sender, receiver and the message in its own words."""
    model = counting()
    state = model.start()
    action = next(iter(model.actions(state)))
    assert flows(model, state, action, model.apply(state, action)) == (
        Flow("message", "n:A", "n:B", "add 1", "A → B: add 1"),
    )


def test_every_action_of_a_network_moves_something_or_is_still() -> None:
    """Also where each fault may happen, the table of actors leaves no type of action out."""
    model = counting(**FAULTS)
    table = flow_table(model)
    assert set(action_types(model)) == set(table.moving) | set(table.still)
    assert DropMessage in table.still
    assert model.network_options == NetworkOptions(**FAULTS)


def test_a_model_without_a_table_moves_nothing() -> None:
    """A student's own model is shown without flows."""
    model = LiftModel(LiftParameters())
    assert [flows(model, *step) for step in walk(model, range(6))] == [()] * 6


def test_a_product_has_the_types_of_its_parts() -> None:
    """The actions of every part are meant, not those that wrap them."""
    lift = LiftModel(LiftParameters())
    product = Product("two", {"one": lift, "other": counting()})
    assert set(action_types(product)) == {*action_types(lift), *action_types(counting())}


def moved(name: str) -> Iterator[tuple[Model[Any, Any], type]]:
    """The types of the actions that move something in random walks of a model with all faults, each
    with the model that walks.
    """
    entry = entries()[name]
    rare = ({}, *({n: value} for n, value in RARE if n in entry.parameters.__struct_fields__))
    off = tuple(guard.name for guard in entry.safeguards if guard.name == "operator-cancel")
    for more in rare:
        model = build(name, {**entry.fuzzing.parameters, **more}, off)
        weights = fuzzing_of(model).weights if not more else {}  # what is rare is looked for, then
        for seed in range(WALKS + FOLLOWED):
            chance, state = random.Random(seed), model.start()
            for _ in range(STEPS):
                enabled = list(model.actions(state))
                if not enabled:
                    break
                shares = [weights.get(model.kind(one), 1.0) for one in enabled]
                [action] = chance.choices(enabled, shares)
                if seed >= WALKS and chance.random() < 0.9:
                    action = model.suggest(state) or action
                after = model.apply(state, action)
                if flows(model, state, action, after):
                    yield model, type(getattr(action, "action", action))
                state = after


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", [name for name in entries() if name != "worlds"])
def test_what_is_said_to_move_does_somewhere(name: str) -> None:
    """Random walks meet, for each type said to move something, a step that does.

    The two worlds are models of their own, in which it is met.
    """
    faulty = build(name, entries()[name].fuzzing.parameters)
    wanted, met = {*flow_table(build(name)).moving, *flow_table(faulty).moving}, set[type]()
    for model, kind in moved(name):
        assert kind in flow_table(model).moving
        met.add(kind)
        if met >= wanted:
            break
    assert met >= wanted


@pytest.mark.parametrize(
    ("key", "names", "owner"),
    [
        ("n:A:100", ("A", "B"), "A"),
        ("t:A:B", ("A", "B"), "B"),
        ("t:B:A", ("A", "B"), "A"),
        ("n:10:100", ("10",), "10"),
        ("node:7", ("7",), "7"),
        ("n:100", (), "100"),
        ("t:fe80::1:5", ("fe80::1",), "fe80::1"),
        ("log", (), "log"),
        ("log:7", (), "log"),
        ("n:7:A", (), "A"),
        ("n:7:8", (), "n"),
        ("host:7", (), "7"),
        ("t:AB:A:7", ("A", "AB"), "A"),
        ("n:", (), "n"),
        ("t:a:b:7", ("a", "a:b", "z"), "a:b"),
        ("t:b:a:c:7", ("a", "b"), "b"),
    ],
)
def test_whose_a_place_is(key: str, names: tuple[str, ...], owner: str) -> None:
    """The last part that is a name, also if another node's stands before it."""
    assert whose(key, names) == owner


def test_of_a_part_only_what_is_in_the_picture_moves() -> None:
    """A thing that begins or ends nowhere in the picture of the whole is left out there."""

    class House(Product):
        def place(self, key: str, before: Any, after: Any) -> str:
            return "" if key == "hidden" else f"at {key}"

    lift: Any = LiftModel(LiftParameters())
    ends = [("a", "b"), ("hidden", "b"), ("a", "hidden"), ("", "b"), ("a", ""), ("", "")]
    sent = tuple(Flow("message", *each, str(at), "sent") for at, each in enumerate(ends))
    lift.flow_table = FlowTable({Up: lambda m, before, action, after: sent})
    house: Any = House("house", {"lift": lift})
    s, up = house.start(), house.wrap["lift"](Up())
    [flow] = flows(house, s, up, house.act(s, up))
    assert (flow.from_key, flow.to_key) == ("at a", "at b")
    assert flows(lift, s.lift, Up(), s.lift) == sent


@pytest.mark.parametrize(
    ("number", "address", "known_by", "token"),
    [
        (0, "10.0.0.11", "0000000a-0000-4000-8000-00000000000a", "100"),
        (6, "10.0.0.17", "00000010-0000-4000-8000-000000000010", "700"),
        (244, "10.0.0.255", "000000fe-0000-4000-8000-0000000000fe", "24500"),
        (245, "10.0.1.0", "000000ff-0000-4000-8000-0000000000ff", "24600"),
    ],
)
def test_what_a_node_is_called_is_made_of_its_number(
    number: int, address: str, known_by: str, token: str
) -> None:
    """Addresses begin with 11 and go on in the next group, ids are in hex, tokens 100 apart; who
    moves has another address, and all else as before.
    """
    assert (address_of(number), host_id(number), token_of(number)) == (address, known_by, token)
    assert address_of(number, 3) == address.replace("10.0.", "10.3.", 1)


def test_a_number_as_a_version() -> None:
    """In hex, in groups of 8, 4, 4, 4 and 12."""
    assert as_uuid(0x123456789ABCDEF01122334455667788) == "12345678-9abc-def0-1122-334455667788"
    assert as_uuid(7) == "00000000-0000-0000-0000-000000000007"


def test_a_family_says_what_travels_in_its_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """And in no other: those have their own table."""
    family = SimpleNamespace(
        flows={"lift": "facts.flows:FLOWS"}, load={"facts.flows:FLOWS": RIDES}.get
    )
    monkeypatch.setattr("kit.engine.flows.families", lambda: (SimpleNamespace(flows={}), family))
    assert flow_table(LiftModel(LiftParameters())) is RIDES
    assert flow_table(counting()) is not RIDES


RIDES = FlowTable(still=(Up,))
