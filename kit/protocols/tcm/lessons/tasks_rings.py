"""Exercises whose answer is a ring: its operations are rehearsed on the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

from kit.lessons.judge import FoundJudge
from kit.lessons.tasks import Case, Marks, Task
from kit.operators.importers.ringfile import RingFile, parse_ring
from kit.protocols.tcm.dry_run.plan import PlanReport, dry_run
from kit.protocols.tcm.rules.operations import Operation
from kit.ring.replication import NetworkTopologyStrategy

MOST_NODES = 64
DATACENTERS, FACTOR, RACKS = 2, 2, 2


def any_may_leave(text: str) -> Marks:
    """The ring has the shape that is asked for, and whichever node leaves, its racks still do."""
    given = parse_ring(text)
    wrong = _shape(given)
    if wrong is not None:
        return Marks((Case(False, wrong), Case(False)))
    first, *others = (node.name for node in given.ring.nodes)
    complaint = _left(given, first)
    public = (Case(True), Case(complaint is None, complaint or ""))
    return Marks(public, tuple(_left(given, name) is None for name in others))


def _shape(given: RingFile) -> str | None:
    """What the ring lacks before anybody leaves."""
    if len(given.ring.nodes) > MOST_NODES:
        return f"Your ring has {len(given.ring.nodes)} nodes; at most {MOST_NODES}, please."
    if len({node.dc for node in given.ring.nodes}) != DATACENTERS:
        return f"Your ring does not have {DATACENTERS} datacenters."
    kept = [keyspace.replication for keyspace in given.keyspaces]
    factors = [how.factors for how in kept if isinstance(how, NetworkTopologyStrategy)]
    if any([factor for _, factor in each] == [FACTOR] * DATACENTERS for each in factors):
        return None
    return f"No keyspace keeps {FACTOR} replicas in each datacenter (NetworkTopologyStrategy)."


def _left(given: RingFile, name: str) -> str | None:
    """Why a node may not leave, or what is wrong once it has left."""
    report = dry_run(given, Operation("decommission", name))
    if not report.accepted:
        return f"decommission {name} is refused: {report.reason}."
    return _crowded(given, report, name)


def _crowded(given: RingFile, report: PlanReport, leaving: str) -> str | None:
    """A range whose replicas in a datacenter share one rack, in the last tables."""
    where = {node.name: (node.dc, node.rack) for node in given.ring.nodes}
    for keyspace in given.keyspaces:
        if not isinstance(keyspace.replication, NetworkTopologyStrategy):
            continue
        for left, right, replicas in report.steps[-1].keyspaces[keyspace.name].reads:
            for dc in sorted({where[name][0] for name in replicas}):
                there = [name for name in replicas if where[name][0] == dc]
                if len({where[name][1] for name in there}) < RACKS:
                    bounds = f"({left}, {right}]".replace("None", "…")
                    return (
                        f"When {leaving} has left, {', '.join(there)} keep {bounds} for {dc} "
                        "in one rack."
                    )
    return None


def even_rings() -> Iterator[str]:
    """Rings with ever more nodes, as many of them in each rack of each datacenter."""
    for in_rack in range(1, 4):
        nodes = [
            {
                "name": f"n{i + 1}",
                "tokens": [100 * (i + 1)],
                "dc": f"dc{dc + 1}",
                "rack": f"r{rack}",
            }
            for i, (_, rack, dc) in enumerate(
                product(range(in_rack), range(1, RACKS + 1), range(DATACENTERS))
            )
        ]
        factors = {f"dc{dc + 1}": FACTOR for dc in range(DATACENTERS)}
        replication = {"class": "NetworkTopologyStrategy", **factors}
        yield json.dumps(
            {"nodes": nodes, "keyspaces": [{"name": "ks", "replication": replication}]}
        )


TASKS = (
    Task(
        "any-may-leave",
        "whichever node leaves",
        f"Give a ring with {DATACENTERS} datacenters and a keyspace that keeps {FACTOR} replicas "
        "in each (NetworkTopologyStrategy), such that whichever one node leaves, the decommission "
        f"is accepted, and afterwards each range still has its replicas in {RACKS} racks of each "
        "datacenter. The first node of your ring is the public case, all others are hidden ones.",
        "ring",
        "count what is left of each rack, in each datacenter, when any one of its nodes is gone.",
        FoundJudge(any_may_leave, even_rings),
    ),
)
