"""One state of the Raft upgrade as people ask of it: nodes, phases, the row, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.upgrade import raft_upgrade as act
from kit.protocols.upgrade.facts.schema import versions
from kit.protocols.upgrade.raft_upgrade import RaftUpgrade
from kit.protocols.upgrade.rules.advice import StuckQuestion, questions
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
