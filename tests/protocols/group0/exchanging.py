"""Discovery at a coarser grain: a request and its answer are one step; the answer may be lost.

What nodes do is that of ``kit.protocols.group0.discovery``; only the messages are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.model.model import Model, always, goal
from kit.protocols.group0.discovery import Names, Peers, answered_by, hearing, no_founder, restarted
from tests.pairs import paired

Graph = Mapping[str, Names]


class ExchangeState(Struct, frozen=True, cache_hash=True):
    """Every node, and which faults may still happen."""

    nodes: tuple[Peers, ...]
    losses: int
    restarts: int


class Exchange(Struct, frozen=True):
    """A node asks another one; the answer arrives, or is lost."""

    node: str
    peer: str
    lost: bool


class Found(Struct, frozen=True):
    """A node founds a group."""

    node: str


class StartAgain(Struct, frozen=True):
    """A node crashes and starts again."""

    node: str


class Exchanging(Model[ExchangeState, Any]):
    """Nodes with contact points."""

    name, title = "exchanging", "Discovery, a request and its answer in one step"
    State, Action = ExchangeState, Exchange | Found | StartAgain
    rests_at_goals = True

    def __init__(self, seeds: Graph, losses: int = 0, restarts: int = 0) -> None:
        """These nodes, with budgets."""
        self.seeds, self.losses, self.restarts = seeds, losses, restarts
        self.index = {name: i for i, name in enumerate(seeds)}
        self.rules = (
            paired(Exchange, "exchange", self._pairs, self._may_ask, self._exchanged),
            paired(Found, "found", self._groupless, self._may_found, self._found),
            paired(StartAgain, "start", self._all, _may_start, self._started),
        )
        self.properties = (
            always("one-group", "One group", _one_group, "INV-ONEGROUP"),
            goal("member", "Everybody gets in", lambda s: all(p.group for p in s.nodes)),
        )

    def start(self) -> ExchangeState:
        """Each knows its contact points."""
        nodes = tuple(
            hearing(Peers(name, (name,), (name,)), seeds) for name, seeds in self.seeds.items()
        )
        return ExchangeState(nodes, self.losses, self.restarts)

    def successors(self, s: ExchangeState) -> Iterator[tuple[Any, ExchangeState]]:
        """Whether rules keep their word is looked at in one state of a level: so it is faster."""
        yield from super().successors(s)

    def _pairs(self, s: ExchangeState) -> Iterator[Exchange]:
        for peers in s.nodes:
            targets = () if peers.group else peers.unanswered or peers.known[:1]
            for target in targets:
                if target != peers.name:
                    yield Exchange(peers.name, target, False)
                    if s.losses:
                        yield Exchange(peers.name, target, True)

    def _may_ask(self, s: ExchangeState, action: Exchange) -> Refusal | None:
        return None

    def _exchanged(self, s: ExchangeState, action: Exchange) -> ExchangeState:
        asker, peer = s.nodes[self.index[action.node]], s.nodes[self.index[action.peer]]
        if peer.group:
            founder = s.nodes[self.index[peer.group]]
            if action.lost:
                return replace(s, losses=s.losses - 1)
            s = self._put(s, replace(founder, members=(*founder.members, asker.name)))
            return self._put(s, replace(asker, group=peer.group))
        peer = hearing(peer, (asker.name, *asker.known))
        s = self._put(s, peer)
        if action.lost:
            return replace(s, losses=s.losses - 1)
        return self._put(s, answered_by(asker, peer.name, peer.known))

    def _groupless(self, s: ExchangeState) -> Iterator[Found]:
        return (Found(peers.name) for peers in s.nodes if not peers.group)

    def _may_found(self, s: ExchangeState, action: Found) -> Refusal | None:
        return no_founder(s.nodes[self.index[action.node]], True)

    def _found(self, s: ExchangeState, action: Found) -> ExchangeState:
        return self._put(s, replace(s.nodes[self.index[action.node]], group=action.node))

    def _all(self, s: ExchangeState) -> Iterator[StartAgain]:
        return (StartAgain(name) for name in self.index) if s.restarts else iter(())

    def _started(self, s: ExchangeState, action: StartAgain) -> ExchangeState:
        s = self._put(s, replace(restarted(s.nodes[self.index[action.node]]), crashes=0))
        return replace(s, restarts=s.restarts - 1)

    def _put(self, s: ExchangeState, peers: Peers) -> ExchangeState:
        """Who has a group runs no discovery any more: what it knew of others is forgotten."""
        if peers.group:
            peers = Peers(peers.name, (), (), peers.group)
        at = self.index[peers.name]
        return replace(s, nodes=(*s.nodes[:at], peers, *s.nodes[at + 1 :]))


def _may_start(s: ExchangeState, action: StartAgain) -> Refusal | None:
    return None


def _one_group(s: ExchangeState) -> str | None:
    founded = [peers.name for peers in s.nodes if peers.group == peers.name]
    return f"{founded} have each founded one" if len(founded) > 1 else None


def connected_graphs(count: int) -> Iterator[dict[str, Names]]:
    """Every way to give ``count`` nodes contact points so that nobody is apart from the others."""
    names = "ABCDEFGHI"[:count]
    links = [(a, b) for a in names for b in names if a != b]
    for chosen in product((False, True), repeat=len(links)):
        graph = {
            name: tuple(b for (a, b), on in zip(links, chosen, strict=True) if on and a == name)
            for name in names
        }
        if _is_connected(graph):
            yield graph


def up_to_renaming(graphs: Iterator[dict[str, Names]]) -> list[dict[str, Names]]:
    """One of all graphs that differ in the names of nodes other than A, the lowest."""
    kept: dict[Any, dict[str, Names]] = {}
    for graph in graphs:
        others = sorted(graph)[1:]
        shapes = []
        for names in permutations(others):
            new = {"A": "A", **dict(zip(others, names, strict=True))}
            shapes.append(tuple(sorted((new[a], new[b]) for a in graph for b in graph[a])))
        kept.setdefault(min(shapes), graph)
    return list(kept.values())


def _is_connected(graph: dict[str, Names]) -> bool:
    joined = {frozenset((name,)) for name in graph}
    for name, points in graph.items():
        for point in points:
            touching = {part for part in joined if name in part or point in part}
            joined = joined - touching | {frozenset().union(*touching)}
    return len(joined) == 1
