"""The keyspaces whose replicas the cluster's own state tells, and what a request makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kit.protocols.topology.rules.cluster import Replication
from kit.protocols.topology.rules.replication import altered, factor_text
from kit.protocols.topology.state import ControlState

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology


class KeyspaceRow(Struct, frozen=True):
    """A keyspace: its replicas (empty: nothing tells them), and those that are asked for."""

    name: str
    replicas: str
    wanted: str = ""


def has_keyspaces(m: Topology) -> bool:
    """Whether the cluster of a model has a keyspace that is named, here or in a request."""
    return bool(m.plan.keyspaces) or any(request.keyspace for request in m.plan.requests)


def keyspace_rows(s: ControlState) -> tuple[KeyspaceRow, ...]:
    """A row for each keyspace that is named; of several requests for one the first tells."""
    known = dict(s.topology.keyspaces)
    wanted: dict[str, str] = {}
    for request in s.topology.requests:
        if request.kind == "keyspace_rf_change" and not request.done:
            wanted.setdefault(request.keyspace, replicas_text(altered(s.topology, request)))
    names = sorted({*known, *wanted})
    return tuple(
        KeyspaceRow(name, replicas_text(known.get(name, ())), wanted.get(name, ""))
        for name in names
    )


def replicas_text(replication: Replication) -> str:
    """``dc1=3 dc2=r1,r2``, as a request says it."""
    return " ".join(f"{name}={factor_text(factor)}" for name, factor in replication)
