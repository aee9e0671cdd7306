"""Schema versions on the way into Raft: whose they are, who differs, who takes a change.

Every change adds a column. What gossip brought are cells of family ``gossip``, and the version is
the hash of them all; with group 0 it is the newest command that a node has applied. So nodes that
began with different cells show equal versions of different definitions: that is what S-52 prevents.
"""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.gossip.rules.mutations import Mutations, merged, version_of
from kit.protocols.gossip.rules.schema import SchemaChange, cells_of
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.model import RaftUpgrade
from kit.protocols.upgrade.raft.permits import alter
from kit.protocols.upgrade.raft.state import RaftUpgradeState, UpgradingNode

KEYSPACE, TABLE, TYPE = "ks", "t", "int"


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
    action: act.ChangeSchema


def _columns(node: UpgradingNode) -> tuple[str, ...]:
    by_gossip = (f"c{number}" for number in nodes_in(node.schema))
    return (*by_gossip, *(f"g{number + 1}" for number in range(node.applied)))


def cells(node: UpgradingNode) -> Mutations:
    """The cells of a node's schema."""
    known: Mutations = ()
    for column in _columns(node):
        change = SchemaChange("alter", KEYSPACE, TABLE, column=column, type=TYPE)
        known = merged(known, cells_of(change, int(column[1:]), ""))
    return known


def version_text(node: UpgradingNode) -> str:
    """The version as logs and tools print it."""
    return f"command {node.applied}" if node.by_group0 else version_of(cells(node))


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
            _columns(node),
        )
        for name, node in up
    )


def answers(m: RaftUpgrade, s: RaftUpgradeState) -> tuple[ChangeAnswer, ...]:
    """What each node would answer to a schema change now."""
    return tuple(_answer(m, s, name) for name in m.names)


def _answer(m: RaftUpgrade, s: RaftUpgradeState, name: str) -> ChangeAnswer:
    node, action = s.nodes[m.number(name)], act.ChangeSchema(name)
    refusal = alter(m, s, action)
    if not node.is_up:
        return ChangeAnswer(name, False, f"no answer: {node.status}", action)
    if refusal is not None:
        return ChangeAnswer(name, False, refusal.reason, action)
    way = "group 0 commits it" if node.has_finished else "gossip spreads it"
    return ChangeAnswer(name, True, way, action)
