"""One placement of tablets as people ask of it: the grid, loads by node, the plan with reasons."""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.tablets.balance import Balance, BalanceState
from kit.protocols.tablets.facts.loads import PlanFacts, planned
from kit.protocols.tablets.rules.balance.reasons import load_said
from kit.protocols.tablets.rules.grid import GridHost, TabletGrid, grid_of_maps


class LoadedNode(Struct, frozen=True):
    """A node: how many replicas it holds, its load in words, that load by the largest one."""

    node: str
    replicas: int
    load: str
    part: float


def grid(m: Balance, s: BalanceState) -> TabletGrid:
    """Who holds which tablet, and how much."""
    several = len({node.datacenter for node in m.members}) > 1
    racks = len({(node.datacenter, node.rack) for node in m.members}) > 1
    hosts = tuple(
        GridHost(
            node.host,
            node.shards,
            (f"{node.datacenter}/{node.rack}" if several else node.rack) if racks else "",
            note="" if node.role == "normal" else node.role,
        )
        for node in m.members
    )
    sizes = {
        (*m.tables[i], place): m.bytes_of(i)
        for i, replicas in enumerate(s.replicas)
        for place in replicas
    }
    return grid_of_maps(m.maps(s).values(), hosts, sizes)


def node_loads(m: Balance, s: BalanceState) -> tuple[LoadedNode, ...]:
    """The load of each node."""
    loads = m.loads(s).node_load.tolist()
    most = max(loads) or 1.0
    return tuple(
        LoadedNode(
            name,
            sum(each.host == name for replicas in s.replicas for each in replicas),
            load_said(load, m.edition),
            load / most,
        )
        for name, load in zip(m.names, loads, strict=True)
    )


def plan(m: Balance, s: BalanceState) -> PlanFacts:
    """The planner's plan."""
    labels = dict(zip(m.tables, m.labels, strict=True))
    return planned(m.plan(s), m.edition, lambda *tablet: labels[tablet])
