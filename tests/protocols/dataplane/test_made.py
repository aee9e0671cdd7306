"""What a model of the data plane is made of: its rules, its factors, its words."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.protocols.dataplane.dataplane import Dataplane
from kit.protocols.storage.storage import Cleanup, CollectTombstones


def test_without_parameters_it_is_the_usual_one() -> None:
    """Nothing need be said."""
    assert Dataplane().parameters == Dataplane.Parameters()


def test_what_is_rare_happens_where_it_is_asked_for() -> None:
    """Cleaning and collecting are rules of models that have them, and of no others."""
    for given, types in (
        ({}, set()),
        ({"cleaning": True}, {Cleanup}),
        ({"cleaning": True, "collecting": True}, {Cleanup, CollectTombstones}),
    ):
        actions = {rule.action for rule in build("dataplane", {"rf": 1, **given}).rules}
        assert actions & {Cleanup, CollectTombstones} == types


def test_factors_are_those_of_datacenters_with_replicas() -> None:
    """How many replicas the range has in each, by which levels are promised to meet."""
    two = {"nodes": 4, "dcs": 2, "rf": 1, "strategy": "network"}
    model: Any = build("dataplane", two)
    assert model.factors == (1, 1)
    one: Any = build("dataplane", {"nodes": 4, "dcs": 2, "rf": 1})
    assert len(one.datacenters) == 2
    assert one.factors == (1,)


def test_an_epoch_says_what_its_event_did() -> None:
    """Each step of an operation by its name; nothing is said to be done all at once."""
    model: Any = build("dataplane", {"rf": 1})
    titles = [epoch.title for epoch in model.history.epochs]
    assert titles[0] == "stable"
    assert all(title.endswith("(bootstrap X at 150)") for title in titles[1:]), titles
    assert not [title for title in titles if "all at once" in title]


def test_each_machine_has_one_name() -> None:
    """Replicas, then coordinators, then the other nodes; one that coordinates is named once."""
    for requests, names in (
        (("K1 write QUORUM", "K2 read QUORUM"), "B X K1 K2 A C D"),
        (("D write QUORUM", "A read QUORUM"), "B X D A C"),
    ):
        model: Any = build("dataplane", {"nodes": 4, "rf": 1, "requests": requests})
        assert " ".join(model.names) == names


def test_an_epoch_says_of_what_has_one_step_that_it_is_done_at_once() -> None:
    """An operation without steps, in the midst of another's."""
    operations = ("bootstrap X --tokens 150", "assassinate C")
    model: Any = build("dataplane", {"nodes": 4, "rf": 1, "operations": operations, "lag": 1})
    titles = {epoch.title for epoch in model.history.epochs}
    assert "assassinate C, all at once" in titles
    assert "switch reads (bootstrap X at 150)" in titles
    assert len(titles) == 6
