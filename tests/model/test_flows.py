"""Flows of any model: those of actors come by themselves, and a model without a table has none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kit.model.flows import flow_table, flows, whose
from kit.model.model import Model
from kit.model.network import DeliverMessage
from kit.model.registry import build, entries, fuzzing_of
from tests.model.counting import counting
from tests.model.toys import walk

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
    ("key", "names", "owner"),
    [
        *(("n:A:100", "", "A"), ("log:101", "", "log"), ("log", "", "log")),
        *(("message:0:B", "", "B"), ("seat:K1", "", "K1"), ("node:7", "", "7")),
        ("n:2001:db8::1:100", "2001:db8::1 2001:db8::11", "2001:db8::1"),
        ("n:2001:db8::11", "2001:db8::1 2001:db8::11", "2001:db8::11"),
        ("n:dc2:n1:100", "dc1:n1 dc2:n1", "dc2:n1"),
        ("n:1:100", "1 2 100", "1"),
        ("message:3:n1:x", "n1:x n1", "n1:x"),
        ("log:3", "1 2 3", "3"),
        ("message:0:B", "0 B", "B"),
    ],
)
def test_a_key_belongs_to_the_name_in_it(key: str, names: str, owner: str) -> None:
    """A name may hold colons, or be a number; a token is none, nor what another name follows."""
    assert whose(key, tuple(names.split())) == owner


def test_the_last_of_many_things_says_how_many_more_travel() -> None:
    """A barrier asks forty nodes, and each answers."""
    model = build("tablets", {"nodes": 40})
    before = model.start()
    while (action := model.suggest(before)) and not model.verb(action).startswith("barrier"):
        before = model.apply(before, action)
    sent = flows(model, before, action, model.apply(before, action))
    assert len(sent) == 64
    assert sent[-1].text.endswith("; and 16 more like it")


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
    wanted, met = {*flow_table(build(name)), *flow_table(faulty)}, set[type]()
    for model, kind in moved(name):
        assert kind in flow_table(model)
        met.add(kind)
        if met >= wanted:
            break
    assert met >= wanted
