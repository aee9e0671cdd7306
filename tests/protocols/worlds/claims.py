"""When a claim of two worlds is true: asked of the two moments that a row was found at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.masks import majority
from kit.protocols.tcm.facts import moment
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.rules.work import excluded, failure
from kit.protocols.worlds.alignment import Now, Row
from kit.protocols.worlds.facts import coordinator as c
from kit.protocols.worlds.facts import epochs as e

BOTH_OLD, BOTH_NEW = "write_both_read_old", "write_both_read_new"


def is_true(pair: str, row: Row, a: Now, b: Now) -> bool:
    """Whether what a row of a pair claims is true of a moment of either world."""
    own = (pair, row.title)
    return bool(HOLDS[own if own in HOLDS else ("", row.title)](a, b))


def _ranges(now: Now) -> list[tuple[set[str], set[str]]]:
    rows = moment.rows(now.m, now.after, moment.keyspaces(now.m)[0])
    return [({*row.reads}, {*row.writes}) for row in rows]


def _written(now: Now) -> bool:
    ranges = _ranges(now)
    more = any(reads < writes for reads, writes in ranges)
    return more and all(reads <= writes for reads, writes in ranges)


def _switched(now: Now) -> bool:
    return _written(now) and all(row.done for each in e.under_way(now) for row in each.streams)


def _by_majorities(now: Now) -> bool:
    return all(row.needed == majority(len(row.replicas)) for row in e.barriers(now))


def _joined(now: Now) -> bool:
    return ("E", "joined") in ((row.name, row.status) for row in moment.nodes(now.m, now.after))


def _asks_all(now: Now) -> bool:
    members = {*now.m.named(now.after.topology.members)}
    node = work.task_of(now.after, now.m.setting).node
    out = {*now.m.named(excluded(now.after.topology, node))}
    return c.addressed(now) == members - out == members


def _may_cancel(now: Now) -> Any:
    return now.m.find(now.after, "cancel E")[1] is None


def _way_back(now: Now) -> Any:
    task = work.task_of(now.after, now.m.setting)
    return task.work and failure(task.decision.operation, task.work, now.m.setting)


def _serves_alone(a: Now, b: Now) -> bool:
    return not a.m.has_quorum(a.after) and not c.has_majority(b)


HOLDS: dict[tuple[str, str], Callable[[Now, Now], Any]] = {
    ("", "the operation begins"): lambda a, b: e.committer(a) == "E" != c.coordinator(b),
    ("", "writes go to both"): lambda a, b: _written(a) and b.after.topology.transition == BOTH_OLD,
    ("", "reads switch"): lambda a, b: _switched(a) and b.after.topology.transition == BOTH_NEW,
    ("bootstrap", "the barrier waits"): lambda a, b: (
        _by_majorities(a) and "D" not in e.addressed(a) and _asks_all(b) and "D" in c.addressed(b)
    ),
    ("bootstrap", "the barrier opens"): lambda a, b: bool(e.lacking(a)) and not c.lacking(b),
    ("bootstrap", "data moves"): lambda a, b: (
        e.is_open(a)
        and b.after.topology.fence_version == b.after.topology.version
        and b.after.topology.session > 0
    ),
    ("bootstrap", "the node is a member"): lambda a, b: (
        _joined(a)
        and b.after.state_id > b.after.topology.version
        and any(node.cleanup != "clean" for node in b.after.topology.nodes)
    ),
    ("decommission", "the operation begins"): lambda a, b: (
        e.committer(a) == "C" != c.coordinator(b)
    ),
    ("decommission", "the last barrier"): lambda a, b: (
        "C" in e.addressed(a) & c.addressed(b) and _by_majorities(a)
    ),
    ("decommission", "the node has left"): lambda a, b: (
        not any("C" in writes for _, writes in _ranges(a))
        and not b.after.topology.nodes[b.m.number("C")].tokens
    ),
    ("death", "a replica dies"): lambda a, b: (
        "C" in e.addressed(a) & c.addressed(b) and not e.is_open(a) and bool(c.lacking(b))
    ),
    ("death", "all others answer"): lambda a, b: (
        "C" in e.lacking(a) and e.is_open(a) and c.lacking(b) == {"C"}
    ),
    ("death", "how it ends"): lambda a, b: _joined(a) and c.status(b, "E") == "left",
    ("majority", "the majority is gone"): _serves_alone,
    ("majority", "data is served"): _serves_alone,
    ("majority", "an operator names a node"): lambda a, b: (
        len(a.could("force")) > 1 == len(b.could("choose"))
    ),
    ("majority", "metadata changes again"): lambda a, b: (
        a.m.has_quorum(a.after) and e.forced(a) and c.has_majority(b) and b.after.is_together
    ),
    ("cancel", "back, before reads switch"): lambda a, b: (
        e.committer(a) == "an operator" and not e.under_way(a) and bool(c.addressed(b))
    ),
    ("cancel", "may E try again?"): lambda a, b: (
        e.committer(a) == "E" and c.status(b, "E") == "left"
    ),
    ("cancel", "reads have switched"): lambda a, b: _may_cancel(a) and not _way_back(b),
    ("cancel", "how it ends"): lambda a, b: not _joined(a) and c.status(b, "F") == "normal",
    ("two-at-once", "the second node asks"): lambda a, b: (
        len(e.under_way(a)) == 2 == len(c.requests(b))
    ),
    ("two-at-once", "B is in the way"): lambda a, b: (
        "locked" in e.refusal(a, "decommission B") and "leave B" in c.requests(b)
    ),
    ("two-at-once", "E gets its writes"): lambda a, b: (
        _written(a) and b.after.topology.transition == BOTH_OLD and c.status(b, "F") == "none"
    ),
    ("two-at-once", "E is a member"): lambda a, b: (
        [row.state for row in e.under_way(a)] == ["mid"] and c.status(b, "F") == "none"
    ),
}
"""By pair and title of the row; what stands in several pairs is claimed alike there."""
