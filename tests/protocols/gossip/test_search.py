"""A schema by gossip, searched: what breaks by itself, and that all nodes agree in the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.network import DeliverMessage
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.protocols.gossip.gossip import BeginRound
from kit.protocols.gossip.gossip_join import GossipJoin
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges
from tests.views.frames import after

AGREE = ("differ", "again", "agreement")
RIVALS = ("create table ks.t at A", "create table ks.t at B")
TABLE = ("create keyspace ks at A", "create table ks.t at A")

SPLIT: dict[str, Any] = {
    "changes": ("create table ks.t at A", "create table ks.u at B"),
    "partitions": 1,
    "nodes": 2,
}


def only(name: str, given: dict[str, Any], names: tuple[str, ...]) -> Any:
    """A search that judges these properties and monitors alone."""
    model = build(name, given)
    judges = tuple(each for each in model.properties if each.name in names)
    return check(model, judges, monitors=tuple(m for m in model.monitors if m.name in names))


def test_schema_changes_by_one_client_at_a_time_break_nothing() -> None:
    """The search is complete, and reaches every goal."""
    for given in ({}, {"at_once": 2, "nodes": 2, "losses": 2}, {"nodes": 2, "partitions": 2}):
        result = check(build("gossip", given))
        assert (result.complete, result.violation, result.unreached) == (True, None, ()), given


@pytest.mark.parametrize(("nodes", "verdict"), [(2, "complete"), (3, "bounded")])
def test_a_search_that_the_bound_on_rounds_cuts_is_bounded(nodes: int, verdict: str) -> None:
    """Two nodes are one pair, which the bound on concurrent rounds does not cut. Three nodes are
    cut.
    """
    result = check(build("gossip", {"nodes": nodes}))
    assert (result.complete, result.verdict) == (True, verdict)
    assert result.bound.partition(":")[0] == ("at_once=1" if verdict == "bounded" else "")


def two(first: str, second: str, **more: Any) -> dict[str, Any]:
    """Two nodes and two changes."""
    return {"changes": (first, second), "nodes": 2, **more}


DROPPED = "drop table ks.t at A", "alter table ks.t add c int at B"
ALTERED = "alter table ks.t add c int at A", "alter table ks.t add c text at B"

HARMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("one-side", SPLIT),
    ("split-brain", SPLIT),
    ("split-brain", {**SPLIT, "changes": ("alter keyspace ks rf 2 at A", "drop keyspace ks at B")}),
    ("one-id", two(*RIVALS)),
    ("loadable", two(*DROPPED, earlier=TABLE)),
    ("loadable", two("drop keyspace ks at A", "create table ks.t at B")),
    ("lost-update", two(*RIVALS)),
    ("lost-update", two(*ALTERED, earlier=TABLE)),
)


@pytest.mark.parametrize(("broken", "given"), HARMS)
def test_concurrent_schema_changes_at_two_nodes_cause_each_known_harm(
    broken: str, given: dict[str, Any]
) -> None:
    """Split brain alone needs a network partition."""
    result = only("gossip", given, (broken,))
    assert result.violation is None, result
    assert broken in [met.property for met in result.costs]


RANGE_OF_CHANGES = (
    *("create table ks.u", "alter table ks.t add c int", "drop table ks.t"),
    *("alter keyspace ks rf 2", "create keyspace other"),
)


@pytest.mark.spec("G-015")
@pytest.mark.parametrize(
    ("first", "second"), [(a, b) for a in RANGE_OF_CHANGES for b in RANGE_OF_CHANGES]
)
def test_schema_changes_on_either_side_of_a_partition_are_a_split_brain(
    first: str, second: str
) -> None:
    """Two changes on one side, or with a whole network between them, are none."""
    given = {"nodes": 3, "partitions": 2, "earlier": TABLE}
    a, b, c = f"{first} at A", f"{second} at C", f"{second} at B"
    both = after("gossip", {**given, "changes": (a, b)}, "partition A B | C", a, b)
    assert "split-brain" in broken_in(both)
    assert "A and C changed the schema" in str(both.verdicts())
    alone = {**given, "changes": (a, c)}
    assert "split-brain" not in broken_in(after("gossip", alone, "partition A B | C", a, c))
    apart = ("partition A B | C", a, "heal", "partition A | B C", b)
    assert "split-brain" not in broken_in(after("gossip", {**given, "changes": (a, b)}, *apart))


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("A B", ""),
        ("A B C", "A and C"),
        ("B A C", "B and C"),
        ("A C B", "A and C"),
        ("C A B", "C and A"),
        ("C B A", "C and B"),
    ],
)
def test_a_split_brain_names_the_first_node_of_either_side_to_change_the_schema(
    order: str, said: str
) -> None:
    """Later changes on a side do not take the first one's place."""
    changes = [f"create table ks.{node.lower()} at {node}" for node in order.split()]
    given = {"changes": tuple(changes), "partitions": 1}
    timeline = after("gossip", given, "partition A B | C", *changes)
    [verdict] = [each for each in timeline.verdicts() if each.name == "split-brain"]
    end = " changed the schema while they could not reach each other"
    assert (verdict.witness or "") == (said and said + end)


def broken_in(timeline: Timeline) -> list[str]:
    """What is broken at the end of a run."""
    return [verdict.name for verdict in timeline.verdicts() if not verdict.ok]


@pytest.mark.parametrize("faults", [{}, {"losses": 1}, {"partitions": 1, "losses": 1}])
def test_two_nodes_agree_on_one_schema_version_after_any_losses_or_partition(
    faults: dict[str, int],
) -> None:
    """Every run can go on to one version, and rests nowhere else."""
    result = only("gossip", {"changes": RIVALS, "nodes": 2, **faults}, AGREE)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.deep
def test_three_nodes_agree_on_one_schema_version_after_a_partition() -> None:
    """Every run can go on to one version, and rests nowhere else."""
    result = only("gossip", {"changes": RIVALS, "partitions": 1}, AGREE)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


def test_random_walks_of_a_schema_by_gossip_take_every_action_and_agree() -> None:
    """No walk of four nodes rests where their schema versions differ."""
    fuzzing = entry_of("gossip").fuzzing
    model = build("gossip", fuzzing.parameters)
    model.properties = tuple(each for each in model.properties if each.name in AGREE)
    model.monitors = ()
    result = fuzz(model, seeds=range(10), steps=150, weights=fuzzing.weights)
    assert (result.findings, result.untaken) == ((), ())


Broken = Callable[[], Any]
SMALLEST = {guard.name: guard.smallest for guard in entry_of("gossip_join").safeguards}
REMOVAL: dict[str, Any] = {"operation": "removenode", "rf": 2, "nodes": 2}


def unchanged(s: Any, action: Any) -> Any:
    """A step without effect."""
    return s


def without(off: str) -> Broken:
    """The join without one of its safeguards, where that is needed."""
    return lambda: build("gossip_join", SMALLEST[off], (off,))


GOSSIP: dict[str, Broken] = {
    # Gossip promises none of these where clients change the schema at two nodes.
    "one-side": lambda: build("gossip", SPLIT),
    "split-brain": lambda: build("gossip", SPLIT),
    "one-id": lambda: build("gossip", two(*RIVALS)),
    "lost-update": lambda: build("gossip", two(*RIVALS)),
    "loadable": lambda: build("gossip", two(*DROPPED, earlier=TABLE)),
    "differ": lambda: build("gossip", {"changes": ()}),
    "again": lambda: broken(build("gossip", {"nodes": 2}), BeginRound, doing(unchanged)),
    "agreement": lambda: broken(build("gossip", {"nodes": 2}), DeliverMessage, never),
}

JOIN: dict[str, Broken] = {
    "kept": without("ring-delay"),
    "streamed": without("ring-delay"),
    "one-joins": without("one-at-a-time"),
    "seen": lambda: build("gossip_join", {"nodes": 2}),
    "joined": lambda: broken(
        build("gossip_join", {"nodes": 2}), GossipJoin.announce_normal.struct, doing(unchanged)
    ),
    "all-in": lambda: broken(
        build("gossip_join", {"nodes": 2}), GossipJoin.announce_normal.struct, never
    ),
    "restored": lambda: build("gossip_join", {**REMOVAL, "rf": 3, "nodes": 3}, ("ring-delay",)),
    "removed": lambda: broken(
        build("gossip_join", REMOVAL), GossipJoin.announce_removed.struct, doing(unchanged)
    ),
    "all-out": lambda: broken(
        build("gossip_join", REMOVAL), GossipJoin.announce_removed.struct, never
    ),
}


@pytest.mark.parametrize("name", GOSSIP)
def test_a_search_of_gossip_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported(GOSSIP[name](), name)


@pytest.mark.parametrize("name", JOIN)
def test_a_search_of_a_join_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported(JOIN[name](), name)


def test_every_property_of_gossip_has_a_broken_model() -> None:
    """The tables name all properties and monitors of the two models, removals included."""
    assert set(GOSSIP) == set(judges(build("gossip")))
    removal = judges(build("gossip_join", REMOVAL))
    assert set(JOIN) == {*judges(build("gossip_join")), *removal}
