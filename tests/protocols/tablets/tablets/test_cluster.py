"""A cluster with tablets, value by value: rows of tablets, sets of nodes, the first state."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.tablets import cluster
from kit.protocols.tablets.cluster import LateRpc, TabletRow, TabletTransition
from kit.protocols.tablets.dump import DumpedTable, DumpedTransition, TabletDump
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import replicas_in
from kit.protocols.topology.control import NETWORK as THEIR_NETWORK
from kit.protocols.topology.coordinator import LOG as THEIR_LOG
from kit.protocols.topology.rules.cluster import ClusterTopology, NodeEntry
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.topology.topology import Topology
from tests.protocols.tablets.tablets.test_deposed import played
from tests.protocols.tablets.tablets.test_given_up import reached

A, B, C = map(replicas_in, "ABC")
FIRST = TabletTransition("migration", "streaming", A, B, 1)
SECOND = TabletTransition("repair", "repair", A, A, 2)
OTHER = TabletTransition("migration", "use_new", A, C, 3)


@pytest.mark.parametrize(
    ("ways", "place", "now", "left"),
    [
        ((), 0, OTHER, (OTHER,)),
        ((FIRST,), 0, OTHER, (OTHER,)),
        ((FIRST,), 0, None, ()),
        ((FIRST,), 1, OTHER, (FIRST, OTHER)),
        ((FIRST, SECOND), 0, OTHER, (OTHER, SECOND)),
        ((FIRST, SECOND), 0, None, (SECOND,)),
        ((FIRST, SECOND), 1, OTHER, (FIRST, OTHER)),
        ((FIRST, SECOND), 1, None, (FIRST,)),
    ],
)
def test_one_transition_of_a_row_is_another_one(
    ways: tuple[TabletTransition, ...],
    place: int,
    now: TabletTransition | None,
    left: tuple[TabletTransition, ...],
) -> None:
    """It is put into its place, or is over; whatever stands beside it stays."""
    row = TabletRow(A, ways, A, A)
    assert row.way(place, now) == TabletRow(A, left, A, A)


@pytest.mark.parametrize(
    ("ways", "stored"),
    [
        ((), Tablet(7, A)),
        ((FIRST,), Tablet(7, A, B, "streaming", "migration", 1)),
        ((SECOND, FIRST), Tablet(7, A, A, "repair", "repair", 2)),
    ],
)
def test_a_row_of_the_table_has_one_transition(
    ways: tuple[TabletTransition, ...], stored: Tablet
) -> None:
    """The first, where there are two."""
    assert TabletRow(A, ways, A, A).as_stored(7) == stored


def test_some_rows_are_changed_at_once() -> None:
    """Those that are given, whether they differ or not; where none differs, nothing changes."""
    start = build("tablets", {"nodes": 3, "tablets": ("A", "B", "C")}).start()
    a, _, c = start.tablets
    assert start.with_rows({0: a, 2: c}) == start
    for rows in ({0: a, 1: c}, {1: c, 0: a}):
        assert start.with_rows(rows).tablets == (a, c, c)


def test_sessions_are_of_transitions_and_of_what_is_late() -> None:
    """Whether or not the transition of the late RPC is there."""
    start = build("tablets", {"nodes": 3, "tablets": ("A", "B")}).start()
    s = start.but(tablets=(TabletRow(A, (FIRST, SECOND), A, A), TabletRow(B, (OTHER,), B, B)))
    assert start.sessions() == set()
    assert s.sessions() == {1, 2, 3}
    assert s.but(late=LateRpc(0, "stream", A, "streaming", 9)).sessions() == {1, 2, 3, 9}


STATES = (
    NodeEntry(state="normal"),
    NodeEntry(state="normal", request="leave"),
    NodeEntry(state="normal", request="remove"),
    NodeEntry(state="decommissioning"),
    NodeEntry(state="removing"),
    NodeEntry(state="left"),
    NodeEntry(state="left"),
    NodeEntry(state="normal", replaced=6),
    NodeEntry(state="normal", zero_token=True),
    NodeEntry(state="none", request="join"),
    NodeEntry(state="normal"),
)
NODES = ClusterTopology(nodes=STATES, ignored=1 << 10)


def _places(mask: int) -> list[int]:
    return [i for i in range(len(STATES)) if mask >> i & 1]


def test_who_gives_and_who_takes_tablets_follows_from_states_and_requests() -> None:
    """Removed: those to be removed and all that have left; gone: of them who has no successor;
    passed over: the ignored one, too. Only normal nodes with tokens that are to stay take any.
    """
    assert _places(cluster.removed_nodes(NODES)) == [2, 4, 5, 6]
    assert _places(cluster.gone_nodes(NODES)) == [5]
    assert _places(cluster.excluded_nodes(NODES)) == [2, 4, 5, 6, 10]
    assert _places(cluster.staying_nodes(NODES)) == [0, 7]
    s = build("tablets").start()
    heard = s.but(control=s.control.but(topology=NODES, up=0b11))
    assert _places(cluster.targets(heard)) == [0]


@pytest.mark.parametrize(
    ("edition", "transition", "leaving"),
    [
        ("documents", "", [5, 6]),
        ("documents", "tablet_draining", [3, 4, 5, 6]),
        ("server", "", [1, 2, 5, 6]),
        ("server", "tablet_draining", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_whose_tablets_move_away(edition: str, transition: str, leaving: list[int]) -> None:
    """Who has left, in the track that drains also who is leaving; on the server who asks to."""
    model: Any = build("tablets", {"edition": edition})
    topology = ClusterTopology(nodes=STATES, transition=transition)
    assert _places(model.leaving(topology)) == leaving


@pytest.mark.parametrize(("edition", "lost"), [("documents", "B C"), ("server", "C")])
def test_a_dead_node_is_lost_to_a_stage_in_the_documents_alone(edition: str, lost: str) -> None:
    """B is down, C is down and ignored."""
    given = {"edition": edition, "nodes": 4, "down": ("B", "C"), "ignored": ("C",)}
    model: Any = build("tablets", given)
    assert sorted(model.excluded(model.start())) == ["C"]
    assert sorted(model.lost(model.start())) == lost.split()


@pytest.mark.parametrize(
    ("given", "off", "cluster"),
    [
        ({}, (), (1, 0, ("A", "B", "C", "D"))),
        ({"moves": 2, "operations": ("replace E D", "decommission A")}, (), (3, 0, None)),
        ({"moves": 0, "late": 2, "operations": ("leave A",)}, (), (0, 0, None)),
        ({"late": 2, "operations": ("leave A", "truncate_table ks.t")}, (), (1, 2, None)),
        ({}, ("S-27",), (1, 0, ())),
    ],
)
def test_what_the_cluster_is_given(
    given: dict[str, Any], off: tuple[str, ...], cluster: tuple[int, int, tuple[str, ...] | None]
) -> None:
    """A track of tablets for each move and each replace, what is late where something is truncated,
    and who has tablets, unless nobody drains them.
    """
    given = {"nodes": 4, "tablets": ("D B C", "B A"), **given}
    parameters = build("tablets", given, off=off).control.parameters
    tracks, late, on = cluster
    assert (parameters.tablets, parameters.late) == (tracks, late)
    assert parameters.on_tablets == (("A", "B", "C", "D") if on is None else on)


def test_replicas_of_a_first_state_stand_in_order() -> None:
    """Who has data of a tablet is a set, whatever order the tables name its replicas in."""
    hosts = "ABCDEFG"
    table = DumpedTable("ks.t", 2)
    way = DumpedTransition(1, "migration", "use_new", "G:0 E:0 C:0 A:0 B:0 D:0", 5)
    dump = TabletDump((1,) * 7, (table,), transitions=(way,))
    given = {"nodes": 7, "tablets": ("G F D B C A E", "F E C A B D"), "dump": dump}
    start = build("tablets", given).start()
    still, moving = start.tablets
    assert still == TabletRow(
        replicas_in("G F D B C A E"), (), *(replicas_in(" ".join(hosts)),) * 2
    )
    old, new = replicas_in("F E C A B D"), replicas_in("G E C A B D")
    assert moving.replicas == old
    assert moving.transitions == (TabletTransition("migration", "use_new", old, new, 5),)
    assert moving.whole == moving.some == replicas_in(" ".join(hosts))
    topology = start.control.topology
    assert (topology.transition, topology.tablets) == ("tablet_migration", "moving")


def test_an_rf_change_is_judged_by_the_replicas_that_a_dump_ends_with() -> None:
    """B's replica comes: once it is there both tablets have two."""
    table = DumpedTable("ks.t", 2)
    way = DumpedTransition(1, "rebuild_v2", "streaming", "A:0 B:0", 5)
    dump = TabletDump((1,) * 3, (table,), transitions=(way,))
    given = {"nodes": 3, "tablets": ("A B", "A"), "dump": dump}
    model = build("tablets", {**given, "operations": ("keyspace_rf_change ks dc1=3",)})
    assert model.start().control.topology.keyspaces == (("ks", (("dc1", 2),)),)


TWO_TABLES = TabletDump((2, 3), (DumpedTable("a.t", 2), DumpedTable("b.t", 1, lasts=(7,))))


def test_tablets_of_a_dump_are_called_by_their_tables() -> None:
    """Their numbers begin anew in each table; a node that comes has as many shards as the first."""
    given = {"nodes": 2, "tablets": ("A:1", "B:2", "A:0"), "dump": TWO_TABLES}
    model: Any = build("tablets", {**given, "operations": ("bootstrap C",), "kinds": ("repair",)})
    assert [model.place(tablet) for tablet in range(3)] == [("a.t", 0), ("a.t", 1), ("b.t", 0)]
    assert [model.tablet_words(each) for each in (1, 2)] == ["tablet 1 of a.t", "tablet 0 of b.t"]
    assert [model.last_token(tablet) for tablet in range(3)] == [-1, 2**63 - 1, 7]
    assert [model.shards_of(host) for host in "ABC"] == [2, 3, 2]


def test_no_run_has_a_step_of_requests() -> None:
    """Whoever asks what travels in them gets no answer here."""
    table = build("tablets").flow_table
    for action in (Topology.serve_request, Topology.apply_topology):
        assert action.struct not in table.moving
        assert action.struct in table.still
    assert Topology.commit_decision.struct in table.moving


def test_one_more_replica_is_a_rebuild() -> None:
    """Of the kinds that may begin it is the one that has another name for its transition."""
    kinds = ("add_tablet_replica", "migration", "repair")
    for rebuild in ("rebuild", "rebuild_v2"):
        model: Any = build("tablets", {"kinds": kinds, "rebuild": rebuild})
        assert model.begun == (rebuild, "migration", "repair")


STAGES = {
    "allow_write_both_read_old": "once every node has reached this one",
    "write_both_read_old": "Writes now go to old and new replicas; reads still ask the old",
    "streaming": "New writes reach the new replicas",
    "write_both_read_new": "Reads now ask the new replicas; writes still go to old and new",
    "use_new": "Reads and writes go only to the new replicas",
    "cleanup": "The old replica is no longer asked",
    "end_migration": "once every node has reached this one",
    "": "This change is over",
}


@pytest.mark.parametrize(("tablet", "host"), [(0, "A"), (1, "B")])
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_commit_is_for_the_sake_of_the_stage_that_it_leads_to(
    edition: str, tablet: int, host: str
) -> None:
    """Of whichever tablet; other steps are for the sake of their kind, a late commit too."""
    given = {"edition": edition, "nodes": 3, "tablets": ("A", "B")}
    timeline = Timeline(build("tablets", given))
    for verb in ("imbalance", f"migrate {tablet} {host}:0 C:0"):
        reached(timeline, verb)
    said: dict[str, str] = {}
    while timeline.forward() is not None and "" not in said:
        if timeline.model.verb(timeline.moments[-1].action) == "commit":
            [stage] = [w.stage for w in timeline.state.tablets[tablet].transitions] or [""]
            said[stage] = timeline.why(timeline.at)
        else:
            reason = timeline.model.why(timeline.moments[-1].action)
            assert timeline.why(timeline.at) == reason
    assert list(said) == list(STAGES)
    assert [words for stage, words in STAGES.items() if words not in said[stage]] == []
    late = ("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B")
    deposed = played({"edition": edition, "nodes": 3, "changes": 1}, *late, "commit deposed")
    assert "may not know that it has been replaced" in deposed.why(deposed.at)


def test_nodes_of_the_clusters_picture_are_rows_of_the_grid() -> None:
    """Group 0 and the network have a row each, too; other places are what they are."""
    model: Any = build("tablets")
    theirs = ("n:A", THEIR_LOG, THEIR_NETWORK, "tablet:0")
    rows = ["host:A", "host:group0", "host:network", "tablet:0"]
    assert [model.here(key) for key in theirs] == rows


def test_a_table_stays_co_located_with_its_base_table() -> None:
    """Whoever asks for another one is refused, with the reason; of one table nobody can ask."""
    model: Any = build("tablets", {"tables": ("ks.t", "ks.u", "ks.v")})
    for table in ("ks.u", "ks.v"):
        _, refusal = model.find(model.start(), f"alter-co-location {table}")
        assert "cannot be altered" in str(refusal)
    assert model.find(model.start(), "alter-co-location ks.t") is None
    alone: Any = build("tablets")
    assert alone.find(alone.start(), "alter-co-location ks.t") is None
