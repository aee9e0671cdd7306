"""What nodetool prints of a recovery."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.drill import DrillMoment
from kit.operators.printing import cluster_lines, status_lines
from kit.protocols.recovery.drill.servers import machines
from kit.protocols.recovery.rules.hosts import schema_version


def reached(now: DrillMoment, number: int) -> set[int]:
    """The nodes whose gossip a node takes, itself among them."""
    pairs = [pair for pair in now.state.talking() if number in pair]
    return {number, *(node for pair in pairs for node in pair)}


def status(now: DrillMoment, number: int) -> Iterator[str]:
    """``nodetool status``, as a node sees the others; what is not known is ``?``."""
    up = reached(now, number)
    yield from status_lines(
        (each, "U" if at in up else "D")
        for at, each in enumerate(machines(now.model, now.run))
        if now.state.nodes[at].status != "removed"
    )


def describe_cluster(now: DrillMoment, number: int) -> Iterator[str]:
    """``nodetool describecluster``: the schema versions of those that are reached."""
    up = reached(now, number)
    versions: dict[str, list[str]] = {}
    unreachable = []
    for at, machine in enumerate(machines(now.model, now.run)):
        node = now.state.nodes[at]
        if at in up:
            versions.setdefault(schema_version(node.columns), []).append(machine.address)
        elif node.status != "removed":
            unreachable.append(machine.address)
    yield from cluster_lines(versions, unreachable)
