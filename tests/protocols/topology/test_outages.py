"""What becomes of nodes that die, are cut off, move, and come back."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import Refusal
from kit.masks import mask_of
from kit.protocols.topology.control import Attempted, ControlState, with_topology
from kit.protocols.topology.outages import address_of, restarted
from kit.protocols.topology.rules.cluster import NOBODY, NodeEntry, with_node
from kit.protocols.topology.topology import Topology

NAMES = "ABCDE"
MODEL = Topology(
    nodes=4, operations=("join E",), crashes=4, cuts=4, exclusions=4, addresses=4, configurations=4
)
START = MODEL.start()


def mask(names: str) -> int:
    """The set of these nodes."""
    return mask_of(map(NAMES.index, names))


def at(**cells: Any) -> ControlState:
    """The start with these cells, in which sets of nodes are written as names."""
    sets = {"up", "cut", "unheard"}
    return START.but(**{name: mask(v) if name in sets else v for name, v in cells.items()})


def done(s: ControlState, verb: str, model: Topology = MODEL) -> Any:
    """The state after a step, or why it is refused."""
    option = model.find(s, verb)
    assert option is not None, verb
    action, refusal = option
    return refusal.reason if isinstance(refusal, Refusal) else model.act(s, action)


@pytest.mark.parametrize(
    ("cells", "mortal"),
    [
        ({}, "ABCD"),
        ({"coordinator": 2}, "CABD"),
        ({"coordinator": NOBODY}, "ABCD"),
        ({"up": "ACD", "coordinator": 3}, "DAC"),
        ({"up": "ACD", "coordinator": 1}, "ACD"),
        ({"up": "BCD", "coordinator": NOBODY}, "BCD"),
        ({"up": ""}, ""),
    ],
)
def test_who_may_die(cells: dict[str, Any], mortal: str) -> None:
    """Who is up and in the cluster, the coordinator first."""
    assert "".join(NAMES[node] for node in MODEL.mortal(at(**cells))) == mortal


@pytest.mark.parametrize(
    ("states", "cells", "transition", "have"),
    [
        ("normal normal normal normal", {}, "", "ABCD"),
        ("normal left normal normal", {}, "", "ACD"),
        ("normal normal removing normal", {}, "write_both_read_old", "ABD"),
        ("normal normal normal decommissioning", {}, "write_both_read_old", "ABCD"),
        ("normal normal normal decommissioning", {}, "left_token_ring", "ABC"),
        ("normal decommissioning normal normal", {}, "left_token_ring", "ACD"),
        ("normal normal normal normal replacing", {"replaced": 2}, "write_both_read_old", "ABDE"),
        ("normal normal normal normal bootstrapping", {"replaced": 2}, "join_group0", "ABCDE"),
        ("normal normal normal normal", {"ignored": "BC"}, "", "AD"),
    ],
)
def test_who_is_taken_in_again(
    states: str, cells: dict[str, Any], transition: str, have: str
) -> None:
    """Members and who is on its way in; nobody on its way out, whose place is taken, or ignored."""
    rows = [NodeEntry(state=state) for state in states.split()]
    rows[-1] = replace(rows[-1], replaced=cells.get("replaced", NOBODY))
    topology = replace(
        START.topology,
        nodes=(*rows, *[NodeEntry()] * (5 - len(rows))),
        transition=transition,
        ignored=mask(cells.get("ignored", "")),
    )
    assert MODEL.has_a_place(at(topology=topology)) == mask(have)


def test_who_is_dead_from_the_start_has_no_place() -> None:
    """It is there to be removed."""
    model = Topology(nodes=4, operations=("remove B",), down=("B",))
    assert model.has_a_place(model.start()) == mask("ACD")


@pytest.mark.parametrize(
    ("cells", "catches_up"),
    [
        ({"up": "ACD"}, True),
        ({"up": "AC"}, True),
        ({"up": "A"}, False),
        ({"up": "ACD", "cut": "B"}, False),
        ({"up": "ACD", "unheard": "B"}, False),
        ({"up": "ACD", "cut": "CD"}, False),
    ],
)
def test_who_is_back_catches_up(cells: dict[str, Any], catches_up: bool) -> None:
    """With a majority of four, itself among them, that it hears; nobody else learns of it."""
    newer = with_topology(at(**cells), replace(START.topology, version=2))
    assert newer.applied == (0,) * 5
    after = restarted(newer, 1)
    assert after.up == newer.up | mask("B")
    assert after.applied == (0, int(catches_up), 0, 0, 0)


def test_a_stream_ends_with_a_node_that_it_needs() -> None:
    """Any other node may die meanwhile; the newcomer streams by itself in this state."""
    s, taken = MODEL.start(), []
    while not s.attempted.streaming:
        step = MODEL.suggest(s)
        taken.append(MODEL.verb(step))
        s = MODEL.act(s, step)
    streams = {name: MODEL.died(s, NAMES.index(name)) for name in "BE"}
    needed = mask_of(
        NAMES.index(name) for name, after in streams.items() if not after.attempted.streaming
    )
    assert needed == mask("E")
    assert [after.up for after in streams.values()] == [s.up & ~mask(name) for name in "BE"]


@pytest.mark.parametrize(
    ("before", "verb", "cut"),
    [
        ({}, "cut B", "B"),
        ({"cut": "D"}, "cut B", "BD"),
        ({"cut": "BD"}, "reconnect B", "D"),
        ({"cut": "C"}, "reconnect C", ""),
    ],
)
def test_nodes_are_cut_off_and_heard_again(before: dict[str, Any], verb: str, cut: str) -> None:
    """One by one."""
    assert done(at(**before), verb).cut == mask(cut)


NO_MAJORITY = "group 0 has no majority"


def test_nobody_is_excluded_without_a_majority() -> None:
    """It is a command of group 0."""
    assert done(at(up="ACD"), "exclude B").topology.ignored == mask("B")
    assert NO_MAJORITY in done(at(up="A"), "exclude B")


@pytest.mark.parametrize(
    ("state", "may"),
    [
        *((state, True) for state in ("normal", "bootstrapping", "replacing")),
        *((state, True) for state in ("decommissioning", "rebuilding")),
        *((state, False) for state in ("removing", "left", "none", "")),
    ],
)
def test_who_may_be_excluded(state: str, may: bool) -> None:
    """Who is down and takes part, once."""
    topology = with_node(
        START.topology, 1, state=state, replaced=2 if state == "replacing" else NOBODY
    )
    s = at(up="ACD", topology=topology)
    assert (MODEL.find(s, "exclude B") is not None) is may
    assert MODEL.find(at(topology=topology), "exclude B") is None
    ignored = replace(topology, ignored=mask("B"))
    assert MODEL.find(at(up="ACD", topology=ignored), "exclude B") is None


@pytest.mark.parametrize("up", ["ABCD", "ACD"])
def test_an_address_more(up: str) -> None:
    """A node that runs, or does not, starts at another address, of which no one has heard yet; the
    second time it moves on from there.
    """
    s = done(at(up=up), "readdress B")
    assert (s.up, s.unheard, s.addresses) == (mask("ABCD"), mask("B"), (0, 1, 0, 0, 0))
    s = done(s, "readdress B")
    assert (s.addresses, s.unheard) == ((0, 2, 0, 0, 0), mask("B"))
    assert done(s, "readdress D").addresses == (0, 2, 0, 1, 0)
    assert [address_of(s, 1, behind=count) for count in (0, 1, 2)] == [
        "10.2.0.12", "10.1.0.12", "10.0.0.12",
    ]  # fmt: skip
    assert address_of(s, 1) == "10.2.0.12"
    assert address_of(START, 1) == "10.0.0.12"
    heard = done(s, "gossip B")
    assert heard.unheard == 0
    assert "cut off from the others" in done(s.but(cut=mask("B")), "gossip B")


def test_another_configuration() -> None:
    """The node stores it in its row, with a majority that it hears."""
    after = done(START, "reconfigure B")
    assert after.topology == with_node(START.topology, 1, shards=2)
    assert done(after, "reconfigure B").topology.nodes[1].shards == 3
    assert NO_MAJORITY in done(at(up="B"), "reconfigure B")
    assert "cannot reach group 0" in done(at(cut="B"), "reconfigure B")


def test_a_coordinator_that_stops_forgets_what_it_did() -> None:
    """One that does not run has nothing to forget."""
    working = Attempted(step=2)
    stops = MODEL.stopped(at(attempted=working), 0)
    assert (stops.coordinator, stops.up, stops.attempted) == (NOBODY, mask("BCDE"), Attempted())
    other = MODEL.stopped(at(attempted=working), 1)
    assert (other.coordinator, other.up, other.attempted) == (0, mask("ACDE"), working)
    s = at(attempted=working, up="ACD")
    assert MODEL.stopped(s, 1) is s
