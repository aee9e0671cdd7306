"""Why a plan moves a tablet or not; nodes that are down; sizes that are not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.balance.cluster import (
    BalancerInput,
    BalancerNode,
    NodeRole,
    balancer_input,
)
from kit.protocols.tablets.rules.balance.planner import WhyAnswer, plan, why
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica, replicas_in
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.protocols.tablets.balance.clusters import GIB, TARGET, DrawnCluster, clusters, table
from tests.protocols.tablets.balance.clusters import table as made


@given(clusters(), st.sampled_from(EDITIONS))
def test_why_answers_a_planned_move_with_the_plans_own_reason(
    cluster: DrawnCluster, edition: Edition
) -> None:
    """The first three moves of a random cluster's plan are asked about."""
    moves = plan(cluster.input, edition).moves
    for move in moves[:3]:
        answer = why(cluster.input, move.table, move.tablets[0], move.target, edition=edition)
        assert answer == WhyAnswer(move.source, move.target, True, move.reason)


@pytest.mark.spec("E-030")
def test_with_balancing_off_only_drains_move_tablets() -> None:
    """The reason for any other move is "disabled"."""
    here = TabletReplica("A", 0)
    nodes = (BalancerNode("A", "dc1", "r1", 1), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", *[(here,)] * 4)}, {"t": (1,) * 4})
    off = replace(one.input, enabled=False)
    assert not plan(off, "documents").moves
    there = TabletReplica("B", 0)
    assert why(off, "t", 0, there, edition="documents").reason == reasons.Disabled()
    leaving = replace(one, nodes=(replace(nodes[0], role="leaving"), nodes[1]))
    assert plan(replace(leaving.input, enabled=False), "documents").moves


@pytest.mark.parametrize(
    ("table", "tablet", "target", "said"),
    [
        ("u", 0, ("A", 0), "a base table of the cluster"),
        ("t", 4, ("A", 0), "a tablet of t: 0 to 3"),
        ("t", -1, ("A", 0), "a tablet of t: 0 to 3"),
        ("t", 0, ("A", -1), "a host of the cluster and one of its shards"),
        ("t", 0, ("A", 1), "a host of the cluster and one of its shards"),
        ("t", 0, ("C", 0), "a host of the cluster and one of its shards"),
    ],
)
def test_why_refuses_a_table_tablet_or_shard_that_does_not_exist(
    table: str, tablet: int, target: tuple[str, int], said: str
) -> None:
    """The error says what is allowed."""
    nodes = (BalancerNode("A", "dc1", "r1", 1), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", *[(TabletReplica("A", 0),)] * 4)}, {"t": (1,) * 4})
    with pytest.raises(BadInput, match=said):
        why(one.input, table, tablet, TabletReplica(*target))


def test_why_refuses_a_source_that_holds_no_replica_of_the_tablet() -> None:
    """The error names the source."""
    nodes = (BalancerNode("A", "dc1", "r1", 1), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", *[(TabletReplica("A", 0),)] * 4)}, {"t": (1,) * 4})
    there = TabletReplica("B", 0)
    assert why(one.input, "t", 0, there, source=TabletReplica("A", 0)).target == there
    with pytest.raises(BadInput, match=r"^source: .*a replica of the tablet"):
        why(one.input, "t", 0, there, source=there)


# The role of A, which has four tablets, and of B, which has none, the datacenter of C and its role:
# does B get tablets of A? What is published: only excluded nodes are never targets; nodes that are
# down are skipped, but not while a node of the datacenter is to leave or to be removed.
BRANCHES: tuple[tuple[NodeRole, NodeRole, str, NodeRole, Edition, str], ...] = (
    ("leaving", "down", "dc1", "excluded", "server", "migration"),
    ("removing", "down", "dc1", "excluded", "server", "rebuild_v2"),
    ("left", "down", "dc1", "excluded", "server", "no place"),
    ("left", "down", "dc1", "leaving", "server", "rebuild_v2"),
    ("left", "down", "dc2", "leaving", "server", "no place"),
    ("leaving", "excluded", "dc1", "excluded", "server", "no place"),
    ("leaving", "joining", "dc1", "excluded", "server", "no place"),
    ("leaving", "zero-token", "dc1", "excluded", "server", "no place"),
    ("leaving", "normal", "dc1", "excluded", "server", "migration"),
    ("normal", "normal", "dc1", "excluded", "server", "migration"),
    ("normal", "down", "dc1", "excluded", "server", ""),
    ("normal", "excluded", "dc1", "excluded", "server", ""),
    ("normal", "down", "dc1", "leaving", "server", "migration"),
    ("normal", "down", "dc2", "leaving", "server", ""),
    ("down", "normal", "dc1", "excluded", "server", ""),
    ("excluded", "normal", "dc1", "excluded", "server", ""),
    ("leaving", "down", "dc1", "excluded", "documents", "no place"),
    ("removing", "excluded", "dc1", "excluded", "documents", "no place"),
    ("normal", "down", "dc1", "leaving", "documents", ""),
    ("leaving", "normal", "dc1", "excluded", "documents", "migration"),
)


def cluster(a: NodeRole, b: NodeRole, dc: str, c: NodeRole) -> DrawnCluster:
    """Three nodes with a shard each; all tablets are on A."""
    nodes = (
        BalancerNode("A", "dc1", "r1", 1, 2**40, a),
        BalancerNode("B", "dc1", "r1", 1, 2**40, b),
        BalancerNode("C", dc, "r1", 1, 2**40, c),
    )
    sets = [(TabletReplica("A", 0),)] * 4
    return DrawnCluster(nodes, {"ks.t": table("ks.t", *sets)}, {"ks.t": (5 * GIB,) * 4})


@pytest.mark.parametrize("branch", BRANCHES, ids=" ".join)
def test_tablets_go_to_the_nodes_that_the_published_balancer_allows(
    branch: tuple[NodeRole, NodeRole, str, NodeRole, Edition, str],
) -> None:
    """The plan moves to B, is stuck, or moves nothing, by the roles of three nodes."""
    a, b, dc, c, edition, wanted = branch
    step = plan(cluster(a, b, dc, c).input, edition)
    assert {move.target.host for move in step.moves} <= {"B"}
    said = "no place" if step.failures else next((move.kind for move in step.moves), "")
    assert said == wanted


def test_a_drain_to_a_node_that_died_stalls_until_the_node_is_back() -> None:
    """No barrier passes, and the next suggested step is C's return."""
    given = {"nodes": 3, "tablets": ("A", "A"), "moves": 0, "operations": ("decommission A",)}
    timeline = Timeline(build("tablets", {**given, "edition": "server", "crashes": 1}))
    model = timeline.model
    for verb in (
        *("leave A", "migrate 0 A:0 B:0", "commit", "crash C"),
        *("migrate 1 A:0 C:0", "commit"),
    ):
        option = model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    option = model.find(timeline.state, "barrier")
    assert option is None or option[1] is not None
    timeline.forward()
    assert timeline.moments[-1].say.startswith("C comes back")


CASES = """
case                   |nodes                        |tablets            |lacks|moves|waits|out
one-size-is-missing    |A B C                        |16*B               |B    |-    |-    |B
all-are-known          |A B C                        |16*B               |-    |B    |-    |-
documents-count-tablets|A B C                        |16*B               |B    |B    |-    |-
others-go-on           |A B C D                      |8*B 8*C            |C    |B    |-    |C
leaving-both-lack      |A B!leaving                  |8*A 8*B            |A B  |-    |A B  |-
leaving-target-lacks   |A B!leaving                  |8*A 8*B            |A    |-    |A    |-
leaving-one-itself     |A B!leaving                  |8*A 8*B            |B    |-    |B    |-
leaving-a-third-lacks  |A B!leaving C                |8*A 8*B 8*C        |C    |-    |C    |-
leaving-down-lacks     |A B!leaving C!down           |8*A 8*B 8*C        |C    |-    |C    |-
leaving-given-up-lacks |A B!leaving C!excluded       |8*A 8*B 8*C        |C    |B    |-    |-
removed-itself         |A B!removing C               |8*A 8*B            |B    |B    |-    |-
removed-target-lacks   |A B!removing C               |8*A 8*B            |A B  |-    |A    |-
left-by-a-replace      |A B!left C                   |8*A 8*B            |A    |-    |A    |-
drained-already        |A B!leaving C                |8*A                |A    |-    |-    |A
far-datacenter         |A B!leaving X@dc2/r1 Y@dc2/r1|4*A 4*B 4*X        |X    |B    |-    |X
same-rack-named        |A B!leaving C@dc1/r2         |4*A 4*B 4*C        |A    |C    |A    |-
far-rack-named         |A B!leaving C@dc1/r2         |4*A 4*B 4*C        |C    |B    |-    |C
migration-has-no-size  |A B C                        |B>A 16*B           |A    |B    |-    |-
migration-off-unknown  |A B C                        |B>A 16*B           |A B  |B    |-    |A
rebuild-has-no-size    |A B C D                      |A+B>A+C:rebuild 8*A|C    |A    |-    |-
capacity-is-missing    |A B C=0                      |16*B               |-    |B    |-    |C
leaving-no-capacity    |A B!leaving C=0              |8*A 8*B            |-    |-    |C    |-
"""


def rows(text: str) -> list[dict[str, str]]:
    """The lines of a table by its heading."""
    heading, *lines = ([*map(str.strip, line.split("|"))] for line in text.strip().splitlines())
    return [dict(zip(heading, line, strict=True)) for line in lines]


def input_of(line: dict[str, str]) -> BalancerInput:
    """The balancer's view of a case; of the first tablet of a node that lacks, no size is known."""
    nodes = []
    for text in line["nodes"].split():
        word, _, role = text.partition("!")
        name, _, place = word.partition("@")
        host, _, capacity = name.partition("=")
        datacenter, rack = (place or "dc1/r1").split("/")
        room = 0 if capacity else 2**40
        nodes.append(BalancerNode(host, datacenter, rack, 2, room, role or "normal"))
    sets = []
    for word in line["tablets"].split():
        count, star, text = word.rpartition("*")
        way, _, kind = text.partition(":")
        sets += [(*way.split(">"), "", kind)] * (int(count) if star else 1)
    tablets = []
    for last, (old, new, *kind) in zip(last_tokens(len(sets)), sets, strict=True):
        before, after = (replicas_in(each.replace("+", " ")) if each else () for each in (old, new))
        moving = ("streaming", kind[-1] or "migration") if new else ("", "")
        tablets.append(Tablet(last, before, after, *moving))
    sizes, lacking = [], set(line["lacks"].split()) - {"-"}
    for tablet in tablets:
        hosts = {place.host for place in tablet.replicas}
        sizes.append({host: GIB for host in hosts if host not in lacking})
        lacking -= {place.host for place in tablet.sets.both}
    one = {"ks.t": TabletMap("ks.t", tuple(tablets))}
    named = frozenset({("ks.t", "dc1")} if "named" in line["case"] else ())
    return balancer_input(nodes, one, {"ks.t": sizes}, target_size=TARGET, rack_lists=named)


@pytest.mark.parametrize("line", rows(CASES), ids=lambda line: line["case"])
def test_a_plan_leaves_out_nodes_without_sizes_and_a_drain_waits(line: dict[str, str]) -> None:
    """Each row says off which nodes tablets move, which are waited for, and which are left out."""
    edition = "documents" if line["case"].startswith("documents") else "server"
    found = plan(input_of(line), edition)
    sources = sorted({move.source.host for move in found.moves})
    waits, out = sorted(found.waits_for), sorted(found.left_out)
    assert not found.failures
    assert [" ".join(each) or "-" for each in (sources, waits, out)] == [
        *(line["moves"], line["waits"], line["out"])
    ]


def test_a_drain_goes_on_once_sizes_are_reported() -> None:
    """Until then the only step is a report, and no run of the model "balance" breaks a promise."""
    words = {"edition": "server", "nodes": 3, "tablets": ("A", "A", "B"), "leaving": ("A",)}
    m = build("balance", words | {"unreported": ("B", "C")})
    s = m.start()
    assert m.plan(s).waits_for == ("B", "C")
    assert not m.is_even(s)
    assert {type(action).__name__ for action, _ in m.successors(s)} == {"Report"}
    result = check(m)
    assert result.violation is None, result


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ((0.5, 0.25), ("50.00%", "25.00%")),
        ((0.5, 0.50001), ("50.000%", "50.001%")),
        ((0.1 + 0.2, 0.3), ("30.00%", "30.00%")),  # alike but for rounding
    ],
)
def test_loads_that_differ_are_said_with_the_digits_that_tell_them_apart(
    loads: tuple[float, float], said: tuple[str, str]
) -> None:
    """They are parts of the capacity in use."""
    assert reasons.loads_said("server", *loads) == said
