"""Exercises on the tablets of a cluster: where a replica may go, which tablets have no majority."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from kit.lessons.judge import Arguments, judged
from kit.lessons.tasks import Task
from kit.protocols.tablets.rules.availability import availability
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole, gathered
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.balance.planner import fit_nodes
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica

HOSTS = "ABCDEF"
RACKS = {host: f"r{1 + i // 2}" for i, host in enumerate(HOSTS)}
MOST_TABLETS = 6


def map_of(tablets: Sequence[Sequence[str]]) -> TabletMap:
    """A table's map from the hosts of each tablet."""
    lasts = last_tokens(len(tablets))
    rows = (
        Tablet(last, tuple(map(TabletReplica, hosts)))
        for last, hosts in zip(lasts, tablets, strict=True)
    )
    return TabletMap("ks.t", tuple(rows))


def homes(host: str, replicas: list[str], racks: Mapping[str, str], closed: list[str]) -> list[str]:
    """The nodes that may take the replica on a host, sorted: the planner's own rule."""

    def role(name: str) -> NodeRole:
        if name == host:
            return "leaving"
        return "excluded" if name in closed else "normal"

    names = sorted(racks)
    nodes = [BalancerNode(name, "dc1", racks[name], 1, role=role(name)) for name in names]
    loads = Loads(gathered(nodes, {"ks.t": map_of([replicas])}), "server")
    fit = fit_nodes(loads, [0], names.index(host))
    return [name for name, fits in zip(names, fit.tolist(), strict=True) if fits]


def _drain(chance: random.Random) -> Arguments:
    replicas = sorted(chance.sample(HOSTS, chance.randint(1, 3)))
    host = chance.choice(replicas)
    others = [each for each in HOSTS if each != host]
    return [host, replicas, RACKS, sorted(chance.sample(others, chance.randint(0, 2)))]


def without_majority(tablets: list[list[str]], down: list[str]) -> list[int]:
    """The numbers of the tablets that have no majority with these nodes down."""
    return [each.tablet for each in availability(map_of(tablets), down) if each.spare < 0]


def _loss(chance: random.Random) -> Arguments:
    tablets = [
        sorted(chance.sample(HOSTS, chance.randint(1, 4)))
        for _ in range(chance.randint(1, MOST_TABLETS))
    ]
    return [tablets, sorted(chance.sample(HOSTS, chance.randint(0, 3)))]


TASKS = (
    Task(
        "homes",
        "where a replica may go",
        "Write homes(host, replicas, racks, closed): the nodes, as a sorted list, that may take "
        "the replica on `host`. `replicas` are the nodes of the tablet, `racks` gives each node "
        "its rack, `closed` are nodes that take no tablets.",
        "function",
        "a node has one replica of a tablet at most. A replica may stay in its rack; in another "
        "rack there may then be no more replicas than the fullest rack has now.",
        judged(
            "homes",
            homes,
            (
                ["F", ["A", "C", "F"], RACKS, []],
                ["F", ["A", "C", "F"], RACKS, ["E"]],
                ["F", ["C", "F"], RACKS, ["E"]],
                ["B", ["A", "B", "E"], RACKS, ["F"]],
            ),
            _drain,
        ),
        seeded=True,
    ),
    Task(
        "without-majority",
        "tablets without a majority",
        "Write without_majority(tablets, down). `tablets` is a list: for each tablet the nodes of "
        "its replicas. Give the numbers of the tablets, from 0 on, of whose replicas not more than "
        "half are up when the nodes in `down` are not.",
        "function",
        "a majority is more than half of all replicas, of those that are down as well.",
        judged(
            "without_majority",
            without_majority,
            (
                [[["A", "B", "C"], ["A", "D", "E"]], ["A"]],
                [[["A", "B", "C"], ["A", "D", "E"]], ["A", "D"]],
                [[["A", "B"], ["C", "D"]], ["B"]],
            ),
            _loss,
        ),
        seeded=True,
    ),
)
