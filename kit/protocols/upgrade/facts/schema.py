"""Schema versions on the way into Raft: whose they are, who differs, who takes a change."""

from __future__ import annotations

from msgspec import Struct

from kit.engine.model import fingerprint
from kit.protocols.upgrade.raft import peers
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.model import RaftUpgrade
from kit.protocols.upgrade.raft.permits import alter
from kit.protocols.upgrade.raft.state import RaftUpgradeState, UpgradingNode

DIGITS = 8


class SchemaVersionRow(Struct, frozen=True):
    """A node's schema version, where it comes from, and whether most others have another one."""

    node: str
    version: str
    source: str
    differs: bool


class ChangeAnswer(Struct, frozen=True):
    """What a node answers to a schema change."""

    node: str
    is_taken: bool
    answer: str


def version_text(node: UpgradingNode) -> str:
    """The version as logs and tools print it: equal for equal schema."""
    return fingerprint(peers.versions_of(node))[:DIGITS]


def versions(m: RaftUpgrade, s: RaftUpgradeState) -> tuple[SchemaVersionRow, ...]:
    """The versions of all nodes that are up; marked are those that differ from most."""
    up = [(name, n) for name, n in zip(m.names, s.nodes, strict=True) if n.is_up]
    held = [version_text(node) for _, node in up]
    usual = max(held, key=held.count, default="")
    return tuple(
        SchemaVersionRow(
            *(name, version_text(node)),
            "group 0" if node.by_group0 else "hash",
            version_text(node) != usual,
        )
        for name, node in up
    )


def answers(m: RaftUpgrade, s: RaftUpgradeState) -> tuple[ChangeAnswer, ...]:
    """What each node would answer to a schema change now."""
    rows = []
    for name, node in zip(m.names, s.nodes, strict=True):
        refusal = alter(m, s, act.ChangeSchema(name))
        if not node.is_up:
            rows.append(ChangeAnswer(name, False, f"no answer: {node.status}"))
        elif refusal is not None:
            rows.append(ChangeAnswer(name, False, refusal.reason))
        else:
            way = "group 0 commits it" if node.has_finished else "gossip spreads it"
            rows.append(ChangeAnswer(name, True, way))
    return tuple(rows)
