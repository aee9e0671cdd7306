"""Why a step of the Raft upgrade may not happen now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kit.errors import Refusal
from kit.protocols.upgrade.raft import peers
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.state import RaftUpgradeState
from kit.protocols.upgrade.rules.upgrade_state import SYNCHRONIZE

if TYPE_CHECKING:
    from kit.protocols.upgrade.raft.model import RaftUpgrade

SWITCHING = "schema and topology changes are off: the cluster is being upgraded to Raft"
REFUSES_TO_START = "refuses to start: consistent_cluster_management has to stay turned on"


def _waits(m: RaftUpgrade, said: str, nodes: Iterable[int]) -> Refusal | None:
    missing = tuple(sorted(m.names[i] for i in nodes))
    return Refusal(said, missing=missing) if missing else None


def configure(m: RaftUpgrade, s: RaftUpgradeState, action: act.TurnOptionOn) -> Refusal | None:
    """The older version does not know the option."""
    known = s.nodes[m.number(action.node)].installed
    return None if known else Refusal("the installed version does not know the option")


def restart(m: RaftUpgrade, s: RaftUpgradeState, action: act.RestartUpgrading) -> Refusal | None:
    """Once the feature is enabled, a node without the option refuses to start.

    One that was down then does so, too: the others tell it what the cluster has enabled.
    """
    node = s.nodes[m.number(action.node)]
    if not node.configured and any(each.has_feature for each in s.nodes):
        return Refusal(f"{action.node} {REFUSES_TO_START}")
    return None


def join_group(m: RaftUpgrade, s: RaftUpgradeState, action: act.JoinGroup) -> Refusal | None:
    """Every peer is alive and ready to start (S-62)."""
    missing = peers.unready(s, m.number(action.node), m.guarded.all_alive)
    return _waits(m, "not every node is alive and ready to start", missing)


def compare(m: RaftUpgrade, s: RaftUpgradeState, action: act.CompareSchema) -> Refusal | None:
    """All peers have reached the same phase, and show the same schema version (S-52)."""
    number = m.number(action.node)
    alive = m.guarded.all_alive
    if s.nodes[number].state == SYNCHRONIZE:
        said = "peers are not in synchronize state yet"
        behind = peers.unsynchronized(s, number, alive)
    else:
        said, behind = "peers have not joined group 0", peers.outside(s, number, alive)
    if behind or not m.guarded.schema_synchronization:
        return _waits(m, said, behind)
    return _waits(m, "schema versions differ", peers.mismatched(s, number, alive))


def alter(m: RaftUpgrade, s: RaftUpgradeState, action: act.ChangeSchema) -> Refusal | None:
    """Not in ``synchronize``; with Raft it takes a majority."""
    number = m.number(action.node)
    node = s.nodes[number]
    if node.state == SYNCHRONIZE:
        return Refusal(SWITCHING)
    if node.has_finished and not node.serves:
        return Refusal(f"{action.node} is catching up")
    if node.has_finished and not peers.has_majority(s, number):
        return Refusal(f"{action.node} reaches no majority of group 0")
    return None


def free(m: RaftUpgrade, s: RaftUpgradeState, action: Any) -> None:
    """Nothing is asked."""
