"""Runs of the topology, and of a join, as tables."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kit.model.timeline import PassedStep
from kit.protocols.group0.trace_rows import COMMANDS
from kit.protocols.topology import facts
from kit.protocols.topology.join import Join
from kit.protocols.topology.panels.joining import hosts, tried
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.work import under_way
from kit.protocols.topology.topology import Topology
from kit.spark import schemas

TRANSITIONS = schemas.of_steps(
    "transitions",
    "the cells of system.topology that all nodes share, after a step",
    "transition_state string: the transition state, null while there is none",
    "version bigint: the topology version",
    "fence_version bigint: the version below which requests are refused",
    "session bigint: the open session, null while there is none",
    "state_id bigint: the newest state id of group 0",
    "coordinator string: the node that coordinates, null while no node does",
)
QUEUE = schemas.of_steps(
    "request_queue",
    "a request that is not done, after a step",
    "request int: its number, from 1",
    "title string: what is requested",
    "standing string: running, next, waits, paused or cancelled",
    "reason string: the reason for its standing",
    "waits_for array<string>: the nodes that it waits for",
)
GLOBAL_BARRIERS = schemas.of_steps(
    "global_barriers",
    "a barrier that the coordinator waits for, after a step",
    "operation string: the operation that waits, null if none is under way",
    "command string: what was sent, barrier or barrier_and_drain",
    "version bigint: the version that must be applied",
    "needed array<string>: the nodes whose answers it needs",
    "answered array<string>: the nodes that have answered",
)

HOST_IDS = schemas.of_steps(
    "host_ids",
    "a host id in the tables of group 0, after a step",
    "host string: the host id",
    "node_state string: its state",
    "member boolean: whether it is in the configuration of group 0",
    "features array<string>: the features that it supports",
    "reason string: why it was rejected, null if it was not",
)
CALLS = schemas.of_steps(
    "join_calls",
    "how often each call of a join has been made, after a step",
    "queries int: JOIN_NODE_QUERY",
    "requests int: JOIN_NODE_REQUEST",
    "responses int: JOIN_NODE_RESPONSE",
)


def _nodes(m: Topology, s: Any) -> Iterator[tuple[str, int, bool]]:
    rows = facts.nodes(m, s)
    return ((row.name, row.view.version, row.health != "down") for row in rows if row.view)


def _operations(m: Topology, s: Any) -> Iterator[tuple[Any, ...]]:
    if (operation := under_way(s.topology)) is not None:
        yield facts.operation_title(m, operation), operation.state, m.newest_epoch(s)


def _transitions(m: Topology, s: Any) -> Iterator[tuple[Any, ...]]:
    leader = None if s.coordinator == NOBODY else m.names[s.coordinator]
    versions = s.topology.version, s.topology.fence_version, s.topology.session or None
    yield s.topology.transition or None, *versions, s.state_id, leader


def _queue(m: Topology, s: Any) -> Iterator[tuple[Any, ...]]:
    for entry in facts.entries(m, s):
        standing = entry.standing, entry.reason, list(m.named(entry.waits_for))
        yield entry.number, facts.title(m, entry), *standing


def _barriers(m: Topology, s: Any) -> Iterator[tuple[Any, ...]]:
    barrier, operation = facts.barrier(m, s), under_way(s.topology)
    if barrier is not None:
        title = None if operation is None else facts.operation_title(m, operation)
        answers = list(barrier.needs), list(barrier.answered)
        yield title, barrier.command, m.newest_epoch(s), *answers


def _commands(run: str, m: Topology, moments: schemas.Moments) -> Iterator[schemas.Row]:
    steps = [PassedStep(a.state, b.action, b.state) for a, b in pairwise(moments)]
    for line in facts.history(m, steps):
        yield run, line.step + 1, line.state_id or None, line.creator, line.description


def _hosts(m: Join, s: Any) -> Iterator[tuple[Any, ...]]:
    for row, member, reason in hosts(s):
        yield row.host, row.state, member, list(row.features), reason or None


def _calls(run: str, m: Join, moments: schemas.Moments) -> Iterator[schemas.Row]:
    steps = [PassedStep(a.state, b.action, b.state) for a, b in pairwise(moments)]
    for step in range(len(moments)):
        yield run, step, *tried(steps[:step])


ROWS: schemas.Makers = {
    schemas.EPOCHS: schemas.epochs_with(_nodes),
    schemas.OPERATIONS: schemas.of_states(_operations),
    TRANSITIONS: schemas.of_states(_transitions),
    QUEUE: schemas.of_states(_queue),
    GLOBAL_BARRIERS: schemas.of_states(_barriers),
    COMMANDS: _commands,
}
JOIN_ROWS: schemas.Makers = {HOST_IDS: schemas.of_states(_hosts), CALLS: _calls}
