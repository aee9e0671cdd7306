"""Schema versions on the way into Raft: whose they are, who differs, who takes a change."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.protocols.upgrade.raft_upgrade import Alter, RaftUpgrade
from kit.protocols.upgrade.upgrading_cluster import RaftUpgradeState


class SchemaVersionRow(Struct, frozen=True):
    """A node's schema version, where it comes from, and whether most others have another one.

    ``columns`` are those that changes have added: ``c1`` by gossip, ``g1`` by group 0.
    """

    node: str
    version: str
    source: str
    differs: bool
    columns: tuple[str, ...]


class ChangeAnswer(Struct, frozen=True):
    """What a node answers to a schema change, and the action that asks for one."""

    node: str
    is_taken: bool
    answer: str
    action: Any


def versions(m: RaftUpgrade, s: RaftUpgradeState) -> tuple[SchemaVersionRow, ...]:
    """The versions of all nodes that are up; marked are those that differ from most."""
    up = [(name, n) for name, n in zip(m.names, s.nodes, strict=True) if n.is_up]
    held = [node.version for _, node in up]
    usual = max(held, key=held.count, default="")
    return tuple(
        SchemaVersionRow(
            *(name, node.version),
            "group 0" if node.by_group0 else "hash",
            node.version != usual,
            node.columns,
        )
        for name, node in up
    )


def answers(m: RaftUpgrade, s: RaftUpgradeState) -> tuple[ChangeAnswer, ...]:
    """What each node would answer to a schema change now."""
    return tuple(_answer(m, s, name) for name in m.names)


def _answer(m: RaftUpgrade, s: RaftUpgradeState, name: str) -> ChangeAnswer:
    node, action = s.nodes[m.number(name)], Alter(name)
    refusal = m.why_not(s, action)
    if not node.is_up:
        return ChangeAnswer(name, False, f"no answer: {node.status}", action)
    if refusal is not None:
        return ChangeAnswer(name, False, refusal.reason, action)
    way = "group 0 commits it" if node.has_finished else "gossip spreads it"
    return ChangeAnswer(name, True, way, action)
