"""The edges of the line, where data is streamed from, and how groups are put in order."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.rules.metadata import reading_ring
from kit.ring.applying import settle
from kit.ring.placements import Table, padded
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive

EDITIONS = ("documents", "server")

LINE = {
    "members": (Node("A", (0,)), Node("B", (100,)), Node("C", (200,)), Node("D", (400,))),
    "low": 0,
    "high": 400,
}

RACKS = {
    "members": (
        Node("A", (100,), "dc1", "r1"),
        Node("B", (200,), "dc1", "r2"),
        Node("C", (300,), "dc1", "r1"),
        Node("D", (400,), "dc1", "r2"),
    ),
    "low": 0,
    "high": 1000,
    "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 2),))),),
}


def played(text: str, edition: str, **given: Any) -> Drive:
    """The operation to its end; lamps are looked at after every event."""
    drive = Drive(operations=(text,), edition=edition, **given)
    drive.complete(text)
    for state in drive.states:
        drive.states.append(state)
        assert drive.dark() == []
        drive.states.pop()
    assert drive.stable()
    return drive


@pytest.mark.spec("A-042")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("rf", [1, 2, 3])
@pytest.mark.parametrize(
    "text", ["decommission A", "decommission D", "move A --tokens 300", "move D --tokens 50"]
)
def test_the_owners_of_the_ends_of_the_line_leave_and_move_like_any_other(
    text: str, rf: int, edition: str
) -> None:
    """Rows cover the line without a gap in every state."""
    drive = played(text, edition, rf=rf, **LINE)
    for state in drive.states:
        rows = facts.rows(drive.model, state)
        assert (rows[0].left, rows[-1].right) == (0, 400)
        assert all(one.right == two.left for one, two in pairwise(rows))


@pytest.mark.spec("A-042")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("token", [0, 400])
def test_a_joiner_may_own_the_first_or_the_last_token_of_the_line(token: int, edition: str) -> None:
    """The first token closes no row of its own."""
    members = (Node("A", (100,)), Node("B", (200,)), Node("C", (300,)))
    drive = played(f"bootstrap X --tokens {token}", edition, members=members, low=0, high=400, rf=2)
    assert drive.table()[-1] == (300, 400, ("X", "A"), ("X", "A"))
    assert [right for _, right, _, _ in drive.table()] == [100, 200, 300, 400]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("token", [150, 250, 299, 101])
@pytest.mark.parametrize("rf", [1, 2, 3])
def test_a_move_between_its_neighbours_keeps_rf_or_one_more_writers(
    token: int, rf: int, edition: str
) -> None:
    """The moving node is old and new replica at once."""
    drive = played(f"move B --tokens {token}", edition, nodes=4, rf=rf)
    assert token in {right for _, right, _, _ in drive.table()}
    assert 200 not in {right for _, right, _, _ in drive.table()}
    for state in drive.states:
        for row in facts.rows(drive.model, state):
            assert rf <= len(row.writes) <= rf + 1, row.label


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("rack", ["r1", "r2", "r9"])
def test_a_replacement_in_another_rack_keeps_replicas_on_two_racks(rack: str, edition: str) -> None:
    """It may gain and lose ranges beside those it takes over."""
    drive = played(f"replace B Z --rack {rack}", edition, **RACKS)
    place = {node.name: node.rack for node in facts.nodes(drive.model, drive.state)}
    assert place["Z"] == rack
    for _, _, reads, _ in drive.table():
        assert len({place[name] for name in reads}) == 2


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_ring_of_one_node_may_be_joined_or_replaced_and_not_left(edition: str) -> None:
    """A removal, an assassination and a forced leave are refused as well."""
    drive = played("bootstrap X --tokens 150", edition, nodes=1, rf=1)
    assert len(drive.table()) == 3
    replaced = played("replace A Z", edition, nodes=1, rf=1)
    assert replaced.table() == ((0, 100, ("Z",), ("Z",)), (100, 200, ("Z",), ("Z",)))
    for text in ("decommission A", "removenode A", "assassinate A", "decommission A --force"):
        lonely = Drive(nodes=1, rf=1, operations=(text,), edition=edition)
        assert "last node" in lonely.refusal(text).reason, text


@pytest.mark.parametrize("edition", EDITIONS)
def test_ranges_of_murmur3_call_their_ends_min_and_max(edition: str) -> None:
    """Tokens are signed."""
    members = (Node("A", (-(2**62),)), Node("B", (0,)), Node("C", (2**62,)))
    drive = played("bootstrap X --tokens 1", edition, members=members, rf=2)
    rows = facts.rows(drive.model, drive.state)
    assert rows[0].label.startswith("(min, ")
    assert rows[-1].label.endswith(", max]")
    assert rows[2].label == "(0, 1]"


def streams(drive: Drive) -> dict[str, tuple[tuple[str, ...], str]]:
    """Range -> who streams it to whom."""
    return {row.label: (row.sources, row.target) for row in drive.operation().streams}


@pytest.mark.spec("A-043")
def test_a_joiner_streams_each_range_from_the_displaced_replica() -> None:
    """With RF 2 and with RF 3."""
    drive = Drive(operations=("bootstrap X --tokens 150",)).act("bootstrap X --tokens 150")
    assert streams(drive) == {
        "(0, 100]": (("B",), "X"),
        "(100, 150]": (("C",), "X"),
        "(300, 400]": (("B",), "X"),
    }
    wide = Drive(rf=3, operations=("bootstrap X --tokens 150",)).act("bootstrap X --tokens 150")
    assert streams(wide)["(100, 150]"] == (("A",), "X")


@pytest.mark.spec("A-043")
def test_a_leaver_streams_its_ranges_to_the_nodes_that_take_its_place() -> None:
    """No other node is a source."""
    drive = Drive(nodes=5, operations=("decommission B",)).act("decommission B")
    assert {givers for givers, _ in streams(drive).values()} == {("B",)}
    assert {target for _, target in streams(drive).values()} == {"C", "D"}


@pytest.mark.spec("A-043")
def test_a_moving_node_receives_its_new_ranges_and_streams_its_old_ones() -> None:
    """The streams of one move have both."""
    drive = Drive(nodes=5, operations=("move B --tokens 450",)).act("move B --tokens 450")
    found = streams(drive).values()
    assert any(target == "B" for _, target in found)
    assert any(givers == ("B",) for givers, _ in found)


@pytest.mark.spec("A-043")
@pytest.mark.parametrize("text", ["removenode B", "replace B Z"])
def test_a_quorum_of_the_old_replicas_streams_in_place_of_a_dead_node(text: str) -> None:
    """Neither the dead node nor the target is among its two sources."""
    drive = Drive(nodes=5, rf=3, operations=(text,)).act(text)
    for givers, target in streams(drive).values():
        assert len(givers) == 2
        assert "B" not in givers
        assert target not in givers


@pytest.mark.spec("A-043")
def test_a_quorum_streams_in_place_of_a_displaced_replica_that_is_down() -> None:
    """With too few of the old replicas up the stream must wait."""
    drive = Drive(rf=3, crashes=2, operations=("bootstrap X --tokens 150",))
    drive.act("bootstrap X --tokens 150").commit("X").act("crash A").repeat("apply ")
    assert streams(drive)["(100, 150]"] == (("B", "C"), "X")
    assert "stream X: A to X" in drive.verbs()
    drive.act("crash B")
    refusal = drive.refusal("stream X: A to X")
    assert "too few of the old replicas" in refusal.reason
    assert set(refusal.missing) == {"A", "B"}
    drive.act("restart A").repeat("apply ").act("stream X: A to X")


def test_the_only_old_replica_left_streams_alone() -> None:
    """With RF 2 it has every write that both acknowledged."""
    drive = Drive(nodes=4, rf=2, operations=("removenode B",)).act("removenode B")
    assert all(len(givers) == 1 for givers, _ in streams(drive).values())
    assert drive.finish("B").stable()


def test_a_range_whose_only_replica_is_dead_gets_an_owner_without_a_source() -> None:
    """With RF 1 its data is gone."""
    drive = Drive(nodes=4, rf=1, operations=("removenode B",)).act("removenode B")
    assert {givers for givers, _ in streams(drive).values()} == {()}
    assert drive.finish("B").stable()


@pytest.mark.spec("A-020", "A-029")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(
    "text",
    [
        "bootstrap X --tokens 150",
        "decommission B",
        "move B --tokens 450",
        "replace B Z",
        "removenode B",
    ],
)
def test_the_read_switch_is_refused_until_the_last_stream_ends(edition: str, text: str) -> None:
    """The refusal counts the streams, and lists those that are missing."""
    drive = Drive(nodes=5, rf=3, edition=edition, operations=(text,)).act(text)
    node = drive.operation().node
    before_switch = {"documents": "switch-reads", "server": "mid"}[edition]
    while drive.metadata.sequence(node).next.name != before_switch:
        assert not any(verb.startswith("stream") for verb in drive.verbs())
        drive.commit(node)
    drive.repeat("apply ")
    todo = [verb for verb in drive.verbs() if verb.startswith("stream ")]
    assert todo
    for count, verb in enumerate(todo):
        refusal = drive.refusal(f"commit {node}")
        assert f"is not complete: {count} of {len(todo)} done" in refusal.reason
        assert len(refusal.evidence) == len(todo) - count
        drive.act(verb)
    assert all(row.done for row in drive.operation().streams)
    drive.act(f"commit {node}")
    assert drive.operation().streams == ()


def test_streaming_to_a_joiner_that_is_down_waits_for_its_restart() -> None:
    """What it has received stays."""
    drive = Drive(crashes=1, operations=("bootstrap X --tokens 150",)).act(
        "bootstrap X --tokens 150"
    )
    drive.commit("X").repeat("apply ").act("stream X: B to X", "crash X")
    assert drive.refusal("stream X: C to X").missing == ("X",)
    drive.act("restart X", "stream X: C to X", "commit X")


def test_a_join_begun_anew_after_a_cancel_streams_everything_again() -> None:
    """None of its three streams is done."""
    join = "bootstrap X --tokens 150"
    drive = Drive(cancels=1, operations=(join,)).act(join).commit("X").ready().act("cancel X")
    drive.act(join).commit("X").repeat("apply ")
    assert [row.done for row in drive.operation().streams] == [False] * 3


TOGETHER = [
    ("bootstrap X --tokens 150", "bootstrap Y --tokens 750"),
    ("bootstrap X --tokens 150,550", "decommission G"),
    ("move B --tokens 850", "bootstrap X --tokens 450"),
    ("bootstrap X --tokens 50,450,850", "removenode H"),
]

RINGS = [{"nodes": 9, "rf": 2}, {"nodes": 10, "rf": 3}, {"nodes": 9, "rf": 2, "dcs": 2, "racks": 2}]
STEPS = 160


def alike(one: Table, other: Table) -> bool:
    """Whether two tables have equal rows, groups in equal order."""
    width = max(one.groups.shape[1], other.groups.shape[1])
    return (
        np.array_equal(one.lefts, other.lefts)
        and np.array_equal(one.rights, other.rights)
        and np.array_equal(padded(one.groups, width), padded(other.groups, width))
    )


@pytest.mark.parametrize("operations", TOGETHER)
@pytest.mark.parametrize("ring", RINGS)
def test_every_group_stays_in_the_order_of_the_ring_walk(
    operations: tuple[str, ...], ring: dict[str, int]
) -> None:
    """Two operations take their steps in random turns."""
    model: Any = build("tcm", {**ring, "operations": list(operations)})
    timeline, chance, epochs = Timeline(model), random.Random(str((operations, ring))), set()
    for _ in range(STEPS):
        actions = list(model.actions(timeline.state))
        if not actions:
            break
        timeline.do(chance.choice(actions))
        snapshot = model.snapshot(timeline.state)
        epochs.add(snapshot.metadata.epoch)
        walked = reading_ring(snapshot.metadata)
        for placement, group in zip(snapshot.placements, snapshot.metadata.groups, strict=True):
            whole = settle(placement, walked, group)
            assert alike(placement.reads, whole.reads)
            assert alike(placement.writes, whole.writes)
    assert len(epochs) > 3
