"""Each property of the tablet tracks is reported by a search: a broken variant for every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import Refusal
from kit.model.registry import build
from kit.protocols.tablets.cluster import TabletRow
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.control import ControlState, with_topology
from kit.protocols.topology.rules.cluster import RequestEntry, with_node
from kit.protocols.topology.topology import CommitDecision, CrashMember, ExcludeNode, MoveTablets
from tests.quality.breaking import answering, broken, changing, own_answer, unguarded
from tests.quality.reporting import assert_reported, judges

SMALLEST = {guard.name: guard.smallest for guard in Tablets.safeguards}
SMALL = {"nodes": 2, "tablets": ("A",), "moves": 1}
FULL = {"nodes": 2, "tablets": ("A B",), "moves": 0, "operations": ("leave B",), "undone": 1}
ALTERS = {"nodes": 2, "tablets": ("A",), "moves": 0} | {
    "operations": ("keyspace_rf_change ks dc1=2",)
}
REPLACED = {"tablets-apart", "tablets-hold", "ends"}
"""The cluster's properties that say less of tablets than those of the model's own."""
Change = Callable[[Any], Any]


def without(off: str) -> Callable[[], Any]:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("tablets", SMALLEST[off], (off,))


def spoiling(change: Change) -> Callable[[], Any]:
    """The model, where whatever the coordinator commits also does something else."""
    spoiled = changing(lambda s, action, after: change(after))
    return lambda: broken(build("tablets", SMALL), CommitDecision, spoiled)


def of_tablet(change: Callable[[TabletRow], TabletRow]) -> Callable[[], Any]:
    """The same of the row of the only tablet."""
    return spoiling(lambda s: replace(s, tablets=tuple(map(change, s.tablets))))


def of_cluster(change: Change) -> Callable[[], Any]:
    """The same of the tables of the cluster."""
    return spoiling(
        lambda s: replace(s, control=with_topology(s.control, change(s.control.topology)))
    )


def hurried(row: TabletRow) -> TabletRow:
    """A tablet that leaves out what comes between its first writes to both and its end."""
    over = tuple(
        replace(each, stage="end_migration") if each.stage == "write_both_read_old" else each
        for each in row.transitions
    )
    return replace(row, transitions=over)


def aimless(row: TabletRow) -> TabletRow:
    """A tablet whose transition does not say where to."""
    over = tuple(replace(each, new=each.old) for each in row.transitions)
    return replace(row, transitions=over)


def doubled(row: TabletRow) -> TabletRow:
    """A tablet whose transition brings one more replica."""
    more = (TabletReplica("C"), TabletReplica("D"))
    over = tuple(replace(each, new=each.new + more) for each in row.transitions)
    return replace(row, transitions=over)


def forgetting() -> Any:
    """The model whose track ends whatever moves, and forgets the transitions that there are."""
    model: Any = build("tablets", ALTERS)
    own = own_answer(model.control.rule_of(MoveTablets()))

    def answer(s: Any, action: Any) -> Any:
        end = own(s.control, action)
        rows = tuple(replace(row, transitions=()) for row in s.tablets)
        return end if isinstance(end, Refusal) else replace(s, control=end, tablets=rows)

    return broken(model, MoveTablets, lambda rule: answering(rule, answer))


OWN: dict[str, Callable[[], Any]] = {
    "one-transition": of_tablet(lambda row: replace(row, transitions=row.transitions * 2)),
    "tablets-apart": without("tablet-track-excludes"),
    "tablets-hold": without("tablet-track-excludes"),
    "stage-edges": of_tablet(hurried),
    "transition-stored": of_tablet(aimless),
    "replicas-complete": without("one-transition"),
    "data-owned": without("one-transition"),
    "quorums-stay": without("drain-tablets-first"),
    "replicas-on-members": without("drain-tablets-first"),
    "replicas-on-owners": of_cluster(lambda t: with_node(t, 0, zero_token=True)),
    "one-replica": of_tablet(doubled),
    "replicas-reached": forgetting,
    "work-in-session": without("sessions"),
    "one-per-host": of_tablet(
        lambda row: replace(row, replicas=(*row.replicas, TabletReplica("A", 1)))
    ),
    "moved": lambda: build("tablets", FULL),
    "ends": without("commit-with-guard"),
}


def committing(change: Callable[[Any, Any], Any], **given: Any) -> Callable[[], Any]:
    """The model, where what the coordinator commits also does something to the cluster."""
    spoiled = changing(
        lambda s, action, after: replace(after, control=change(s.control, after.control))
    )
    return lambda: broken(build("tablets", {**SMALL, "moves": 0, **given}), CommitDecision, spoiled)


def turned_back(before: ControlState, after: ControlState) -> ControlState:
    """A join that reads from the new replicas already is rolled back."""
    if before.topology.transition != "write_both_read_new":
        return after
    return with_topology(after, replace(before.topology, transition="left_token_ring"))


def rejoined(before: ControlState, after: ControlState) -> ControlState:
    """A node that has left is normal again."""
    left = before.topology.nodes[1].state == "left"
    return with_topology(after, with_node(after.topology, 1, state="normal" if left else "left"))


def lagging(before: ControlState, after: ControlState) -> ControlState:
    """A client's request of an old version runs, and is served below a fence."""
    return replace(after, client=0, client_version=after.topology.version - 1, fence_before=9)


def unclean(before: ControlState, after: ControlState) -> ControlState:
    """A node leaves as soon as the other one has data that it does not own."""
    dirty = before.topology.nodes[0].cleanup == "needed"
    state = "decommissioning" if dirty else "normal"
    rows = with_node(with_node(after.topology, 0, cleanup="needed"), 1, state=state)
    return with_topology(after, rows)


def heard(before: ControlState, after: ControlState) -> ControlState:
    """A node that was removed is up."""
    gone = replace(after.topology, requests=(RequestEntry("remove", 1, done=True),))
    return with_topology(after, with_node(gone, 1, state="left"))


def finalized_early() -> Any:
    """A finalization begins as one node dies, and ends as another one does: a client's request of
    the version before still runs.
    """

    def crashing(before: Any, action: Any, after: Any) -> Any:
        t = before.control.topology
        if t.transition:
            return replace(after, control=with_topology(after.control, replace(t, transition="")))
        t = replace(t, transition="tablet_resize_finalization", version=t.version + 1)
        control = with_topology(after.control, t)
        return replace(after, control=replace(control, client=0, client_version=t.version - 1))

    model = build("tablets", {**SMALL, "nodes": 3, "moves": 0, "crashes": 2})
    return broken(model, CrashMember, changing(crashing))


LEAVES: dict[str, Any] = {"nodes": 3, "operations": ("leave C",)}
JOINS: dict[str, Any] = {"operations": ("join C",)}
# Of the cluster's own: whatever its own tests break, here it breaks, too.
LIFTED: dict[str, Callable[[], Any]] = {
    "one-operation": of_cluster(
        lambda t: with_node(with_node(t, 0, state="removing"), 1, state="decommissioning")
    ),
    "own-state": of_cluster(lambda t: replace(t, transition="rollback_to_normal")),
    "tokenless": of_cluster(lambda t: with_node(t, 0, zero_token=True)),
    "left-final": committing(rejoined, **JOINS),
    "members": of_cluster(lambda t: replace(t, members=0)),
    "left-silent": committing(heard, **JOINS),
    "clean-first": committing(unclean, **JOINS),
    "sessions": committing(
        lambda before, after: replace(after, sealed=True, leftover=1, leftover_at=0), **JOINS
    ),
    "guarded": without("commit-with-guard"),
    "majority": lambda: broken(
        build("tablets", {**SMALL, "crashes": 1, "exclusions": 1}), ExcludeNode, unguarded
    ),
    "versions": without("commit-with-guard"),
    "live-versions": committing(lagging, **JOINS),
    "older-over": finalized_early,
    "shut-down-unused": committing(lagging, **LEAVES),
    "no-way-back": committing(turned_back, **JOINS),
    "node-edges": of_cluster(lambda t: with_node(t, 1, state="none")),
    "transition-edges": of_cluster(lambda t: replace(t, transition="write_both_read_new")),
    "success": lambda: build("tablets", FULL),
}


@pytest.mark.parametrize("name", [*OWN, *LIFTED])
def test_a_search_of_tablets_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported({**OWN, **LIFTED}[name](), name)


def test_every_property_of_tablets_has_a_broken_model() -> None:
    """One table names those of the tracks, the other those of the cluster."""
    cluster = set(judges(build("topology"))) - REPLACED
    assert set(OWN) == set(judges(build("tablets"))) - cluster
    assert set(LIFTED) == cluster <= set(judges(build("tablets")))
