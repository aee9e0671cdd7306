"""Each property of the tablet tracks is reported by a search: a broken variant for every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.errors import Refusal
from kit.protocols.tablets.cluster import TabletRow
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.control import with_topology
from kit.protocols.topology.rules.cluster import with_node
from kit.protocols.topology.topology import CommitDecision, MoveTablets
from tests.quality.breaking import answering, broken, changing, own_answer
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
# Of the cluster's own, which its own tests break one by one: a state, a step, what to reach.
LIFTED: dict[str, Callable[[], Any]] = {
    "members": of_cluster(lambda t: replace(t, members=0)),
    "node-edges": of_cluster(lambda t: with_node(t, 1, state="none")),
    "guarded": without("commit-with-guard"),
    "versions": without("commit-with-guard"),
    "success": lambda: build("tablets", FULL),
}


@pytest.mark.parametrize("name", [*OWN, *LIFTED])
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported({**OWN, **LIFTED}[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all that is the tracks' own; the rest is lifted from the cluster."""
    cluster = set(judges(build("topology"))) - REPLACED
    assert set(OWN) == set(judges(build("tablets"))) - cluster
    assert set(LIFTED) <= cluster <= set(judges(build("tablets")))
