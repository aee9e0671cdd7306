"""What a server of the Raft upgrade writes into its log, step by step (manual on Raft, both logs).

Lines that the documents give in full words are in words of the kit's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.server_log import ServerLine, ServerLog
from kit.protocols.upgrade.facts.schema import version_text
from kit.protocols.upgrade.raft import peers
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.model import RaftUpgrade
from kit.protocols.upgrade.raft.state import RaftUpgradeState, UpgradingNode
from kit.protocols.upgrade.raft.wording import PHASES
from kit.protocols.upgrade.rules.upgrade_state import RECOVERY, SYNCHRONIZE

FEATURES, GROUP0, UPGRADE, CLIENT = (
    "features",
    "raft_group0",
    "raft_group0_upgrade",
    "group0_client",
)
SLOW_AT = 2
"""Every so many retries a node also says that it takes long."""
SLOW = "Raft upgrade procedure taking longer than expected"
PEERS = "wait_for_peers_to_enter_synchronize_state"
SYNC = "synchronize_schema"


def address(number: int) -> str:
    """The address by which nodes name a peer."""
    return f"127.90.69.{number + 1}"


def _writes(
    m: RaftUpgrade, before: RaftUpgradeState, action: Any, after: RaftUpgradeState
) -> Iterator[ServerLine]:
    if isinstance(action, act.RestartUpgrading):
        yield from _started(m, before, action.node, after)
        return
    lines = LINES.get(type(action))
    if lines is not None:
        number = m.number(action.node)
        yield from lines(m, before, number, after.nodes[number])


def _line(m: RaftUpgrade, number: int, text: str, phase: int = 0, own: bool = False) -> ServerLine:
    """A line of the upgrade; ``phase`` is the one that it opens, from 1 on."""
    return ServerLine(m.names[number], UPGRADE, text, own, PHASES[phase - 1] if phase else "")


def _started(
    m: RaftUpgrade, before: RaftUpgradeState, name: str, after: RaftUpgradeState
) -> Iterator[ServerLine]:
    """A node that goes on with its state, then whoever gets the feature by this restart."""
    node = after.nodes[m.number(name)]
    if node.state == RECOVERY:
        yield ServerLine(name, CLIENT, "RECOVERY mode")
        skipped = "setup_group0: Raft RECOVERY mode, skipping group 0 setup"
        yield ServerLine(name, GROUP0, skipped)
        yield ServerLine(name, UPGRADE, "RECOVERY mode. Not attempting upgrade")
    elif before.nodes[m.number(name)].has_feature and not node.has_finished:
        yield _line(m, m.number(name), f"starting in `{node.state}` state")
    for i, (was, now) in enumerate(zip(before.nodes, after.nodes, strict=True)):
        if now.has_feature and not was.has_feature:
            enabled = "Feature SUPPORTS_RAFT_CLUSTER_MANAGEMENT is enabled"
            yield ServerLine(m.names[i], FEATURES, enabled)
            yield ServerLine(m.names[i], GROUP0, "Starting internal upgrade-to-raft procedure")
            yield _line(m, i, f"starting in `{now.state}` state")
            yield _line(m, i, "waits until every node is ready to start", own=True)


def _joined(
    m: RaftUpgrade, before: RaftUpgradeState, number: int, node: UpgradingNode
) -> Iterator[ServerLine]:
    yield _line(m, number, "Joining group 0", phase=1)
    name = m.names[number]
    yield ServerLine(name, GROUP0, f"joined group 0 with group id {node.group}")
    yield _line(m, number, "waits until every peer has joined", own=True)


def _compared(
    m: RaftUpgrade, before: RaftUpgradeState, number: int, node: UpgradingNode
) -> Iterator[ServerLine]:
    if node.state == SYNCHRONIZE:
        yield _line(m, number, "All peers in synchronize state", phase=4)
        yield _line(m, number, f"{SYNC}: collecting schema versions")
        yield _line(m, number, f"{SYNC}: collected remote schema versions")
    else:
        yield _line(m, number, "every peer is a member of group 0", own=True)
        yield _line(m, number, "waits for equal schema in group 0", phase=2, own=True)
    yield from _mismatches(m, before, number)
    yield _line(m, number, f"{SYNC}: finished")


def _mismatches(m: RaftUpgrade, s: RaftUpgradeState, number: int) -> Iterator[ServerLine]:
    yield _line(m, number, f"{SYNC}: my version: {version_text(s.nodes[number])}")
    differing = peers.mismatched(s, number, m.guarded.all_alive)
    those = ", ".join(address(i) for i in differing)
    yield _line(m, number, f"{SYNC}: schema mismatches: {{{those}}}")


def _entered(
    m: RaftUpgrade, before: RaftUpgradeState, number: int, node: UpgradingNode
) -> Iterator[ServerLine]:
    yield _line(m, number, "Entering synchronize state", phase=3)
    off = "schema changes are off; if a failure stops the upgrade, it may take manual recovery"
    yield _line(m, number, off, own=True)
    yield _line(m, number, "waits until all peers are in synchronize", own=True)


def _finished(
    m: RaftUpgrade, before: RaftUpgradeState, number: int, node: UpgradingNode
) -> Iterator[ServerLine]:
    yield _line(m, number, "Schema synchronized", phase=5)
    yield _line(m, number, "Raft upgrade finished")


def _retried(
    m: RaftUpgrade, before: RaftUpgradeState, number: int, node: UpgradingNode
) -> Iterator[ServerLine]:
    """For whom it waits; from time to time that it takes long."""
    equal, alive = m.guarded.schema_synchronization, m.guarded.all_alive
    behind = peers.unsynchronized(before, number, alive)
    if node.position == 3 and behind:
        for i in behind:
            yield _line(m, number, f"{PEERS}: node {address(i)} not in synchronize state yet")
        yield _line(m, number, f"{PEERS}: retrying in a while")
    elif node.position in (1, 3) and not peers.outside(before, number, alive):
        yield from _mismatches(m, before, number)
        yield _line(m, number, "tries again in a while", own=True)
    else:
        those = ", ".join(map(address, peers.awaited(before, number, alive, equal)))
        reached = "a member yet" if node.position else "ready yet"
        yield _line(m, number, f"not {reached}: {those}; tries again in a while", own=True)
    if node.tries % SLOW_AT == 0:
        yield _line(m, number, SLOW)


LINES: dict[type, Any] = {
    act.JoinGroup: _joined,
    act.CompareSchema: _compared,
    act.EnterSynchronize: _entered,
    act.FinishUpgrade: _finished,
    act.AwaitPeers: _retried,
}
LOG = ServerLog(_writes)
