"""Runs of the topology, and of a join, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kit.engine.breaches import PassedStep
from kit.protocols.group0.trace_rows import COMMANDS
from kit.protocols.topology import facts
from kit.protocols.topology.facts import history
from kit.protocols.topology.handshake import joiner
from kit.protocols.topology.join import Join
from kit.protocols.topology.panels.joining import hosts, tried
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.work import under_way
from kit.protocols.topology.topology import Topology
from kit.spark.schemas import (
    EPOCHS,
    EVENTS,
    OPERATIONS,
    RUN,
    STEP,
    Makers,
    Moments,
    Row,
    epochs_with,
    events_with,
    table,
)

TRANSITIONS = table(
    "transitions",
    "the cells of system.topology that belong to all nodes, after a step",
    RUN,
    STEP,
    "transition_state string: the transition state, null while there is none",
    "version bigint: the topology version",
    "fence_version bigint: the version below which requests are refused",
    "session bigint: the open session, null while there is none",
    "state_id bigint: the newest state id of group 0",
    "coordinator string: the node that coordinates, null while nobody does",
)
QUEUE = table(
    "request_queue",
    "a request that is not done, after a step",
    RUN,
    STEP,
    "request int: its number, from 1",
    "title string: what is asked for",
    "standing string: running, next, waits, paused or cancelled",
    "reason string: why it stands there",
    "waits_for array<string>: the nodes that it waits for",
)
GLOBAL_BARRIERS = table(
    "global_barriers",
    "a barrier that the coordinator waits for, after a step",
    RUN,
    STEP,
    "operation string: the operation that waits, null where none is under way",
    "command string: what was sent, barrier or barrier_and_drain",
    "version bigint: the version that must be applied",
    "needed array<string>: whose answers it needs",
    "answered array<string>: who has answered",
)


def _version(m: Topology, s: Any) -> int:
    return int(s.topology.version)


def _nodes(m: Topology, s: Any) -> Iterator[tuple[str, int, bool]]:
    return (
        (row.name, row.version, row.health != "down") for row in facts.nodes(m, s) if row.is_member
    )


def _operations(run: str, m: Topology, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        operation = under_way(moment.state.topology)
        if operation is not None:
            title = facts.operation_title(m, operation)
            yield run, step, title, operation.state, _version(m, moment.state)


def _transitions(run: str, m: Topology, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        s, cells = moment.state, moment.state.topology
        leader = None if s.coordinator == NOBODY else m.names[s.coordinator]
        versions = cells.version, cells.fence_version, cells.session or None
        yield run, step, cells.transition or None, *versions, s.state_id, leader


def _queue(run: str, m: Topology, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        for entry in facts.entries(m, moment.state):
            waits_for = list(m.named(entry.waits_for))
            title = facts.title(m, entry)
            yield run, step, entry.number, title, entry.standing, entry.reason, waits_for


def _barriers(run: str, m: Topology, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        barrier = facts.barrier(m, moment.state)
        if barrier is not None:
            operation = under_way(moment.state.topology)
            title = None if operation is None else facts.operation_title(m, operation)
            sent = title, barrier.command, _version(m, moment.state)
            yield run, step, *sent, list(barrier.needs), list(barrier.answered)


def _commands(run: str, m: Topology, moments: Moments) -> Iterator[Row]:
    steps = [PassedStep(a.state, b.action, b.state) for a, b in pairwise(moments)]
    for line in history(m, steps):
        made = None if line.is_no_op else line.state_id
        yield run, line.step + 1, made, line.creator, line.description


ROWS: Makers = {
    EVENTS: events_with(_version),
    EPOCHS: epochs_with(_version, _nodes),
    OPERATIONS: _operations,
    TRANSITIONS: _transitions,
    QUEUE: _queue,
    GLOBAL_BARRIERS: _barriers,
    COMMANDS: _commands,
}


HOST_IDS = table(
    "host_ids",
    "a host id in the tables of group 0, after a step",
    RUN,
    STEP,
    "host string: the host id",
    "node_state string: its state",
    "member boolean: whether it is in the configuration of group 0",
    "features array<string>: what it supports",
    "reason string: why it was turned away, null where it was not",
)
CALLS = table(
    "join_calls",
    "how often each call of a join was made, by the end of a step",
    RUN,
    STEP,
    "queries int: JOIN_NODE_QUERY",
    "requests int: JOIN_NODE_REQUEST",
    "responses int: JOIN_NODE_RESPONSE",
)


def _start(m: Join, s: Any) -> int:
    """Which start of the joiner it is: what the tables of all families call the epoch."""
    return joiner(s).boot


def _hosts(run: str, m: Join, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        for row in hosts(moment.state):
            yield run, step, row.host, row.state, row.member, list(row.features), row.reason or None


def _calls(run: str, m: Join, moments: Moments) -> Iterator[Row]:
    steps = [PassedStep(a.state, b.action, b.state) for a, b in pairwise(moments)]
    for step in range(len(moments)):
        made = tried(steps[:step])
        yield run, step, made.queries, made.requests, made.responses


JOIN_ROWS: Makers = {EVENTS: events_with(_start), HOST_IDS: _hosts, CALLS: _calls}
