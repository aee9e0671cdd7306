"""A dry run as a history: what comes first, how far it goes, what it says when it stops."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.timeline import Timeline
from kit.operators.importers.opening import Imported
from kit.protocols.tcm.dry_run.history import elsewhere, opening_state, outcome, standstill, steps
from kit.protocols.tcm.dry_run.plan import dry_run
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import parse_operation
from kit.ring.placements import stable_placement
from kit.ring.replication import Keyspace, LocalStrategy, NetworkTopologyStrategy, SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.operators.printing import Host, host_id
from tests.protocols.tcm.dry_run.samples import JOIN, cluster, hosts, played, printed
from tests.saying import like, says


def last(timeline: Timeline) -> Any:
    """The state at the end."""
    return timeline.moments[timeline.tip].state


def test_a_dry_run_ends_with_the_placements_of_the_new_ring() -> None:
    """Every node that is up knows the last epoch."""
    timeline = played(cluster(), "decommission 10.20.0.2", JOIN)
    m: Any = timeline.model
    snapshot = m.snapshot(last(timeline))
    for placement, group in zip(snapshot.placements, snapshot.metadata.groups, strict=True):
        assert placement == stable_placement(snapshot.metadata.ring, group)
    members = {node.name for node in snapshot.metadata.ring.nodes if node.tokens}
    assert "10.20.0.10" in members
    assert "10.20.0.2" not in members
    epochs = {one.epoch for one in facts.applied(m, last(timeline)) if one.up}
    assert epochs == {m.newest_epoch(last(timeline))}


def test_a_dry_run_opens_where_its_operations_have_begun() -> None:
    """The history goes on from there."""
    timeline = played(cluster(), "decommission 10.20.0.2", JOIN)
    assert timeline.now.milestone == "epoch 2"
    assert timeline.tip > timeline.at
    assert [one.moment for one in steps(timeline)][1] == timeline.at


def test_a_node_that_the_tools_show_down_applies_nothing_and_delays_nothing() -> None:
    """The operation still ends."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    assert opening_state(timeline).tcm.down == ("10.20.0.6",)
    [row] = [one for one in facts.applied(timeline.model, last(timeline)) if not one.up]
    assert (row.node, row.epoch) == ("10.20.0.6", 0)
    assert [one.status for one in outcome(timeline)] == ["done"]


def test_an_operation_in_flight_begins_before_the_planned_ones() -> None:
    """A joining node of the tools' output is under way at the opening, and ends as well."""
    given = printed(
        [*hosts(8), Host("n9", (350,), state="Joining", load="1 bytes", host_id=host_id(9))]
    )
    timeline = played(given, "decommission n8")
    m: Any = timeline.model
    before = facts.operations(m, opening_state(timeline))
    assert [one.title for one in before] == ["bootstrap n9 at 350"]
    assert m.newest_epoch(opening_state(timeline)) == given.epoch
    assert [one.status for one in outcome(timeline)] == ["done", "done"]


def test_a_conflicting_operation_in_flight_ends_before_the_opening() -> None:
    """The leave begins in the ring that has the newcomer."""
    joins = Host("n9", (350,), state="Joining", load="1 bytes", host_id=host_id(9))
    timeline = played(printed([*hosts(8), joins]), "decommission n4")
    m, before = timeline.model, opening_state(timeline)
    assert facts.operations(m, before) == ()  # type: ignore[arg-type]  # its model is tcm
    members = [one.name for one in facts.nodes(m, before) if one.status == "joined"]
    assert members == [f"n{at}" for at in range(1, 10)]


def test_a_dry_run_that_cannot_begin_says_why() -> None:
    """A node that is down cannot be decommissioned, and the history has no step."""
    timeline = played(cluster(), "decommission 10.20.0.6")
    assert steps(timeline) == ()
    assert opening_state(timeline) == timeline.state
    [line] = standstill(timeline)
    assert line.startswith("decommission 10.20.0.6 cannot begin: 10.20.0.6 is down")


def test_a_dry_run_that_stops_at_a_barrier_says_so() -> None:
    """Too many nodes are down for a majority."""
    given = printed(hosts(6, n2="Down", n3="Down"))
    timeline = played(given, "decommission n1")
    [line] = standstill(timeline)
    assert line.startswith("decommission n1 has stopped: waiting at the barrier")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ("decommission n1", "decommission n1"),
            "operation | 'decommission n1' | each | operation | once | given twice",
        ),
        (("decommission n99",), "node | 'n99' | n1, n2"),
        (("bootstrap n1 --tokens 5",), "node | 'n1' | name | ring | yet"),
        (("bootstrap x --tokens 100",), "tokens[0] | 100 | token | no node owns"),
        (("decommission n1 --dc x",), "--dc | 'x' | except with bootstrap and replace"),
    ],
)
def test_a_dry_run_refuses_an_operation_that_does_not_fit_the_ring(
    lines: tuple[str, ...], said: str
) -> None:
    """The error names the argument, its value and what is allowed."""
    with pytest.raises(BadInput) as caught:
        played(printed(hosts(6)), *lines)
    assert says(caught.value, said)


def test_operations_in_flight_that_lock_the_same_range_are_refused() -> None:
    """The error names the second one."""
    flying = tuple(map(parse_operation, ("decommission n1", "decommission n2")))
    with pytest.raises(BadInput, match=like("operation in flight | 'decommission n2'")):
        played(printed(hosts(6)), "decommission n5", in_flight=flying)


def test_a_saved_dry_run_replays_to_the_same_states_and_bytes() -> None:
    """A trace holds the sizes that came from the files."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    again = Timeline.load(timeline.save())
    assert [m.state for m in again.moments] == [m.state for m in timeline.moments]
    m: Any = again.model
    stream = facts.operations(m, again.state)[0].streams[0]
    assert stream.bytes == facts.operations(timeline.model, timeline.state)[0].streams[0].bytes
    assert stream.bytes


@pytest.mark.parametrize(
    ("line", "edition", "up", "said"),
    [
        ("removenode n1", "server", {"n1"}, "n1 is up: decommission it"),
        ("removenode n1", "server", {"n2"}, ""),
        ("removenode n1", "documents", {"n1"}, ""),
        ("replace n1 x", "server", {"n1"}, "n1 is up: stop it first"),
        ("replace n1 x", "server", {"x"}, ""),
        ("assassinate n1", "server", {"n1"}, ""),
        ("decommission n1", "server", {"n1"}, ""),
        ("move n1 --tokens 5", "server", {"n1"}, ""),
    ],
)
def test_the_server_refuses_to_remove_or_replace_a_node_that_is_up(
    line: str, edition: Any, up: set[str], said: str
) -> None:
    """The documents do not, and assassinate asks no node."""
    refusal = elsewhere(parse_operation(line), edition, printed(hosts(6)).ring, up)
    assert (refusal.reason if refusal else "") == said


@pytest.mark.parametrize(
    ("line", "edition", "said"),
    [
        (
            "move n1 --tokens 5,6",
            "server",
            "n1 has several tokens, and the server moves a node with one",
        ),
        ("move n1 --tokens 5,6", "documents", ""),
        ("move n2 --tokens 5", "server", ""),
        ("decommission n1", "server", ""),
    ],
)
def test_the_server_moves_only_a_node_with_one_token(line: str, edition: Any, said: str) -> None:
    """By the documents a node with several tokens moves as well."""
    ring = Ring.of([Node("n1", (100, 200)), Node("n2", (300,))], small(400))
    refusal = elsewhere(parse_operation(line), edition, ring, ())
    assert (refusal.reason if refusal else "") == said


LINE = Ring.of(
    [
        *(Node(name, (at * 100,), "dc1") for at, name in enumerate("ABC", 1)),
        Node("D", (350,), "dc2"),
    ],
    small(400),
)
OWN = Keyspace("own", LocalStrategy())
COPIES_NOTHING = "assassinate copies nothing"


def kept_in(*dcs: str) -> Keyspace:
    """A keyspace with two replicas in dc1, and one in each of the others."""
    return Keyspace("ks", NetworkTopologyStrategy((("dc1", 2), *((dc, 1) for dc in dcs))))


@pytest.mark.parametrize(
    ("keyspaces", "kept"),
    [
        ((kept_in(),), False),
        ((OWN,), False),
        ((kept_in(), OWN), False),
        ((OWN, kept_in("dc9")), True),
        ((Keyspace("ks", SimpleStrategy(2)),), True),
    ],
)
def test_a_dry_run_warns_of_the_first_node_of_a_datacenter(
    keyspaces: tuple[Keyspace, ...], kept: bool
) -> None:
    """The warning says whether any keyspace keeps replicas there."""
    newcomer = parse_operation("bootstrap X --tokens 120 --dc dc9 --rack r")
    said = dry_run(Imported(5, LINE, keyspaces), newcomer).warnings
    tail = "" if kept else ", where no keyspace keeps replicas"
    assert f"X is the first node of datacenter dc9{tail}" in said
    lacking = "keyspace ks needs 1 replica in dc9: 0 nodes now, enough afterwards"
    assert (lacking in said) is ("dc9" in str(keyspaces))


@pytest.mark.parametrize("line", ["removenode n3", "replace n3 x", "assassinate n3"])
def test_an_operation_that_takes_the_place_of_a_dead_node_is_accepted(line: str) -> None:
    """A removal, a replacement and an assassination of n3 are tried."""
    report = dry_run(printed(hosts(6)), parse_operation(line), down=("n3",))
    assert (report.accepted, report.reason) == (True, None)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("replace B X", None),
        ("removenode B", f"{{}}, and the server tries again for ever ({COPIES_NOTHING})"),
    ],
)
def test_a_range_that_no_live_node_holds_is_lost_and_blocks_a_removal(
    line: str, reason: str | None
) -> None:
    """A replacement begins without the data."""
    given = Imported(5, LINE, (Keyspace("ks", SimpleStrategy(1)),))
    report = dry_run(given, parse_operation(line))
    lost = "no live node holds ks (100, 200]: its data is lost"
    assert lost in report.warnings
    assert report.reason == (reason and reason.format(lost))


def test_the_server_warns_where_a_joiner_streams_from_one_replica_only() -> None:
    """By the documents a quorum streams, so no warning is needed."""
    ring = Ring.of([Node("A", (100,)), Node("B", (200,))], small(400))
    given = Imported(5, ring, (Keyspace("ks", SimpleStrategy(3)),))
    joins = parse_operation("bootstrap X --tokens 150")
    lacks = "keyspace ks needs 3 replicas: 2 nodes now, enough afterwards"
    way = (
        "a quorum streams where no live node hands its place over, as in the documents; the "
        "server copies from one live replica, so repair afterwards"
    )
    assert dry_run(given, joins).warnings == (lacks, way)
    assert dry_run(given, joins, edition="documents").warnings == (lacks,)


@pytest.mark.parametrize("down", [(), ("A",)])
def test_a_level_without_replicas_in_its_datacenter_is_refused(down: tuple[str, ...]) -> None:
    """It does not matter which nodes are up."""
    leaves, given = parse_operation("decommission D"), Imported(5, LINE, (kept_in(),))
    with pytest.raises(BadInput, match="no replica is there to answer"):
        dry_run(given, leaves, level="LOCAL_QUORUM", down=down)
