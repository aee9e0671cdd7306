"""Which control states differ in names only: those of bystanders, and those of state ids.

A bystander is a member that no request names and nobody ignores; as far as the coordinator's work
goes, two of them are alike. A state id matters only as equal, next or older than another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, Mutation
from kit.protocols.topology.state import ControlState, voters_limited

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology

MASKS = ("ignored", "members", "nonvoters", "tablets_on")
"""The cells that hold a set of nodes."""


def bystanders(model: Topology) -> tuple[int, ...]:
    """The members that are interchangeable at first; none where voters are chosen by number."""
    if model.limited and voters_limited(model.start()):
        return ()
    named = {i for request in model.plan.requests for i in (request.node, request.replaced)}
    start = model.start()
    apart = start.topology.ignored | start.topology.tablets_on | model.start_down
    members = nodes_in(start.topology.members & ~apart)
    return tuple(i for i in members if i not in named)


class ControlSymmetry:
    """The state that stands for all that differ in names only."""

    def __init__(self, model: Topology) -> None:
        """The symmetry of a model's cluster."""
        self.alike = bystanders(model)

    def __call__(self, s: ControlState) -> tuple[ControlState, tuple[int, ...]]:
        """That state, and the number in ``s`` of the node at each place in it."""
        s = _renumbered(s)
        order = sorted(self.alike, key=lambda i: _place(s, i))
        places = list(range(len(s.applied)))
        for target, node in zip(self.alike, order, strict=True):
            places[target] = node
        if order == list(self.alike):
            return s, tuple(places)
        return _permuted(s, tuple(places)), tuple(places)


def _place(s: ControlState, node: int) -> tuple[Any, ...]:
    """What sets a bystander apart from the others."""
    row = s.topology.nodes[node]
    return (
        s.coordinator != node,
        s.client != node,
        s.leftover_at != node,
        s.applied[node],
        s.up >> node & 1,
        s.cut >> node & 1,
        s.attempted.answered >> node & 1,
        s.topology.members >> node & 1,
        row.cleanup,
        row.state,
        row.rack,
        tuple(cells for i, cells in _rows(s) if i == node),
    )


def _rows(s: ControlState) -> tuple[tuple[int, Any], ...]:
    """The rows that commands on their way would set."""
    commands = (s.attempted.command, s.deposed)
    return tuple(row for command in commands if command for row in command.change.nodes)


def _permuted(s: ControlState, places: tuple[int, ...]) -> ControlState:
    number = {node: place for place, node in enumerate(places)}
    number[NOBODY] = NOBODY

    def mask(nodes: int) -> int:
        return sum(1 << number[i] for i in nodes_in(nodes))

    def command(given: Command | None) -> Command | None:
        if given is None:
            return None
        change: Mutation = given.change
        static = tuple((k, mask(v) if k in MASKS else v) for k, v in change.static)
        rows = tuple(sorted((number[i], cells) for i, cells in change.nodes))
        mutation = replace(change, static=static, nodes=rows)
        return replace(given, change=mutation)

    topology: ClusterTopology = replace(
        s.topology,
        nodes=tuple(s.topology.nodes[node] for node in places),
        ignored=mask(s.topology.ignored),
        members=mask(s.topology.members),
        nonvoters=mask(s.topology.nonvoters),
        tablets_on=mask(s.topology.tablets_on),
    )
    attempted = replace(
        s.attempted,
        answered=mask(s.attempted.answered),
        command=command(s.attempted.command),
    )
    return replace(
        s,
        topology=topology,
        applied=tuple(s.applied[node] for node in places),
        up=mask(s.up),
        cut=mask(s.cut),
        coordinator=number[s.coordinator],
        client=number[s.client],
        leftover_at=number[s.leftover_at],
        attempted=attempted,
        deposed=command(s.deposed),
    )


def _renumbered(s: ControlState) -> ControlState:
    """The same state with the smallest state ids that are in the same order, neighbours alike.

    Who made a command is forgotten, too: nothing depends on it.
    """
    commands = [command for command in (s.attempted.command, s.deposed) if command]
    ids = {s.state_id, s.topology.session, s.leftover, *(view.session for view in s.views)}
    ids |= {command.new - 1 for command in commands}
    ids |= {value for c in commands for name, value in c.change.static if name == "session"}
    ids.discard(0)
    # A session that a command would open is that command's own id: one above what it was built on.
    fresh: dict[int, int] = {0: 0}
    last = newest = 0
    for number in sorted(ids):
        newest += 1 if number == last + 1 else 2
        fresh[number], last = newest, number

    def command(given: Command | None) -> Command | None:
        if given is None:
            return None
        static = tuple(
            (name, fresh[value] if name == "session" else value)
            for name, value in given.change.static
        )
        built_on = fresh[given.new - 1]
        previous = None if given.previous is None else built_on
        change = replace(given.change, static=static)
        return Command(change, previous, built_on + 1, "")

    return replace(
        s,
        state_id=fresh[s.state_id],
        topology=replace(s.topology, session=fresh[s.topology.session]),
        leftover=fresh[s.leftover],
        views=tuple(replace(view, session=fresh[view.session]) for view in s.views),
        attempted=replace(s.attempted, command=command(s.attempted.command)),
        deposed=command(s.deposed),
    )
