"""Roles and service levels: spread over the cluster and polled, or on every node and pushed.

In the legacy mode a role is a row like any other: its range has as many replicas as the keyspace
says, and a login reads one of them. Service levels are polled. With group 0 both are on every
node, and a node rebuilds its view when the entry is applied. Sources: blog post on 6.0,
"Authentication and service levels on Raft"; the published configuration for the interval.
"""

from __future__ import annotations

from typing import Literal

AuthMode = Literal["legacy", "group 0"]
POLL_SECONDS = 10.0
"""How often a node polls service levels in the legacy mode, unless it is configured."""


def role_replicas(role: int, nodes: tuple[str, ...], rf: int, mode: AuthMode) -> tuple[str, ...]:
    """The nodes that hold a role whose key is in the range of node number ``role``."""
    if mode == "group 0":
        return nodes
    return tuple(nodes[(role + i) % len(nodes)] for i in range(min(rf, len(nodes))))


def can_log_in(holders: tuple[str, ...], up: tuple[str, ...]) -> bool:
    """Whether a client that reaches a node which is up can log in: one holder is up."""
    return any(name in up for name in holders)


def rebuild_delay(mode: AuthMode, poll: float = POLL_SECONDS) -> tuple[float, float]:
    """Seconds, least and most, from a change of a service level until a node's view has it."""
    return (0.0, poll) if mode == "legacy" else (0.0, 0.0)
