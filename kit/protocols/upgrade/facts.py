"""One state of the Raft upgrade as people ask of it: nodes, schema versions, what to do."""

from collections.abc import Sequence

from msgspec import Struct

from kit.model.timeline import PassedStep
from kit.protocols.upgrade import raft_upgrade as act
from kit.protocols.upgrade.raft_upgrade import Cluster, RaftUpgrade, UpgradingNode
from kit.protocols.upgrade.rules import StuckQuestion, questions

SWITCH = ("off", "on")
TROUBLE = (act.Crash, act.Die, act.Cut, act.Heal)


class UpgradingRow(Struct, frozen=True):
    """A node, for whom it waits, whether its schema version differs from that of most; ``releases``
    are the one before, and the one with the option.
    """

    name: str
    node: UpgradingNode
    waits: str
    differs: bool
    releases: tuple[str, ...]

    @property
    def release(self) -> str:
        """The release that runs there."""
        return self.releases[self.node.runs_new]

    @property
    def status(self) -> str:
        """*serving*, *catching up*, *down* or *lost*."""
        return ("catching up", "serving")[self.node.serves] if self.node.is_up else self.node.status

    @property
    def after_restart(self) -> str:
        """The effect of a restart."""
        n = self.node
        version = f"version {self.releases[n.installed]}" if n.installed != n.runs_new else ""
        option = f"option {SWITCH[n.configured]}" if n.configured != n.enabled else ""
        return ", ".join(filter(None, (version, option)))


def nodes(m: RaftUpgrade, s: Cluster) -> tuple[UpgradingRow, ...]:
    """Every node."""
    held = [node.version for node in s.nodes if node.is_up]
    usual = max(held, key=held.count, default="")
    return tuple(
        UpgradingRow(
            name,
            node,
            m.waits_for(s, number) if m.awaited(s, number) else "",
            node.is_up and node.version != usual,
            tuple(m.releases.split(" to ")),
        )
        for number, (name, node) in enumerate(zip(m.names, s.nodes, strict=True))
    )


def restarted_since(way: Sequence[PassedStep]) -> set[str]:
    """The nodes that were restarted since the upgrade began, or since the last trouble."""
    names: set[str] = set()
    for step in way:
        if not step.before.has_begun or isinstance(step.action, TROUBLE):
            names = set()
        elif isinstance(step.action, act.Restart):
            names.add(step.action.node)
    return names


def advice(m: RaftUpgrade, s: Cluster, way: Sequence[PassedStep]) -> tuple[StuckQuestion, ...]:
    """The questions of the decision tree, answered for this state and the way to it.

    There are none while no node waits for another one.
    """
    rows, restarted = nodes(m, s), restarted_since(way)
    if not any(row.waits for row in rows):
        return ()
    return questions(
        [row.name for row in rows if row.node.status == "down"],
        [row.name for row in rows if row.node.status == "lost"],
        [f"{m.names[i]} and {m.names[j]}" for i, j in s.cut],
        [row.name for row in rows if row.name not in restarted],
        [row.name for row in rows if row.differs],
    )
