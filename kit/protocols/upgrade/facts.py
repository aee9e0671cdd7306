"""One state of the Raft upgrade as people ask of it: nodes, phases, schema versions, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.upgrade import raft_upgrade as act
from kit.protocols.upgrade.raft_upgrade import Alter, RaftUpgrade
from kit.protocols.upgrade.rules import StuckQuestion, questions
from kit.protocols.upgrade.upgrading_cluster import RaftUpgradeState

OLDER, NEWER = "5.1", "5.2"
TROUBLE = (act.Crash, act.Die, act.Cut, act.Heal)


class UpgradingRow(Struct, frozen=True):
    """A node: what it runs by and what a restart would make of it, its phase, for whom it waits.

    ``status`` is *serving*, *catching up*, *down* or *lost*; ``next_version`` and ``next_option``
    are empty where a restart would change nothing.
    """

    name: str
    status: str
    version: str
    next_version: str
    option: str
    next_option: str
    state: str
    group: str
    phases: int
    waits: str


def nodes(m: RaftUpgrade, s: RaftUpgradeState) -> tuple[UpgradingRow, ...]:
    """Every node."""
    rows = []
    for number, (name, node) in enumerate(zip(m.names, s.nodes, strict=True)):
        waits = m.awaited(s, number)
        status = ("catching up", "serving")[node.serves] if node.is_up else node.status
        version = (OLDER, NEWER)[node.runs_new]
        installed = (OLDER, NEWER)[node.installed]
        option, configured = ("off", "on")[node.enabled], ("off", "on")[node.configured]
        rows.append(
            UpgradingRow(
                *(name, status),
                *(version, installed if installed != version else ""),
                *(option, configured if configured != option else ""),
                node.state,
                str(node.group) if node.group else "",
                node.position,
                m.waits_for(s, number) if waits else "",
            )
        )
    return tuple(rows)


def waiting(m: RaftUpgrade, s: RaftUpgradeState) -> bool:
    """Whether some node waits for another one."""
    return any(row.waits for row in nodes(m, s))


def restarted_since(m: RaftUpgrade, way: Sequence[PassedStep]) -> set[str]:
    """The nodes that were restarted since the upgrade began, or since the last trouble."""
    names: set[str] = set()
    for step in way:
        begun = any(node.has_feature for node in step.before.nodes)
        if not begun or isinstance(step.action, TROUBLE):
            names = set()
        elif isinstance(step.action, act.Restart):
            names.add(step.action.node)
    return names


def advice(
    m: RaftUpgrade, s: RaftUpgradeState, way: Sequence[PassedStep]
) -> tuple[StuckQuestion, ...]:
    """The questions of the decision tree, answered for this state and the way to it."""

    def named(status: str) -> list[str]:
        return [name for name, n in zip(m.names, s.nodes, strict=True) if n.status == status]

    restarted = restarted_since(m, way)
    return questions(
        named("down"),
        named("lost"),
        [f"{m.names[i]} and {m.names[j]}" for i, j in s.cut],
        [name for name in named("up") if name not in restarted],
        [row.node for row in versions(m, s) if row.differs],
    )


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
