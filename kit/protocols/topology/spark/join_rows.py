"""The rows of a run of the join handshake: host ids in group 0, and how often calls were made."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kit.engine.breaches import PassedStep
from kit.protocols.topology.facts import joining as facts
from kit.protocols.topology.handshake import joiner
from kit.protocols.topology.join import Join
from kit.spark.schemas import EVENTS, RUN, STEP, Makers, Moments, Row, events_with, table

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
        for row in facts.hosts(moment.state):
            yield run, step, row.host, row.state, row.member, list(row.features), row.reason or None


def _calls(run: str, m: Join, moments: Moments) -> Iterator[Row]:
    steps = [PassedStep(a.state, b.action, b.state) for a, b in pairwise(moments)]
    for step in range(len(moments)):
        made = facts.tried(steps[:step])
        yield run, step, made.queries, made.requests, made.responses


ROWS: Makers = {EVENTS: events_with(_start), HOST_IDS: _hosts, CALLS: _calls}
