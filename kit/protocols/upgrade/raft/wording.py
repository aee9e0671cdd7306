"""The Raft upgrade in words: verbs, milestones, what a step did."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kit.protocols.upgrade.raft import peers
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.state import NO_GROUP, RaftUpgradeState, UpgradingNode
from kit.protocols.upgrade.rules.upgrade_state import POST, PRE, RECOVERY, SYNCHRONIZE

if TYPE_CHECKING:
    from kit.protocols.upgrade.raft.model import RaftUpgrade

SENTENCES: dict[type, str] = {
    act.InstallVersion: "The newer version is installed on {node}; it runs after a restart.",
    act.TurnOptionOff: "The option is off in the configuration of {node}.",
    act.EnterSynchronize: "{node} enters synchronize: it refuses schema changes.",
    act.FinishUpgrade: "{node} has finished: it changes its schema through group 0.",
    act.WriteRow: "group0_upgrade_state of {node} is now {value}; {node} runs on as before.",
    act.CrashUpgrading: "{node} goes down; its disk stays.",
    act.LoseUpgrading: "{node} is lost for good.",
    act.CutPair: "{first} and {second} do not reach each other any more.",
    act.HealPair: "{first} and {second} reach each other again.",
}
RUNS = {
    PRE: "gossip spreads its schema changes",
    SYNCHRONIZE: "schema changes are off",
    POST: "group 0 keeps its schema",
    RECOVERY: "RECOVERY mode, it attempts no upgrade",
}
PHASES = ("join group 0", "equal schema", "enter synchronize", "equal schema again", "finish")


def verb(action: Any) -> str:
    """The word, and the nodes or the value, if any."""
    fields = [getattr(action, name) for name in action.__struct_fields__]
    return " ".join([str(type(action).__struct_config__.tag), *fields])


def said(m: RaftUpgrade, nodes: Iterable[int]) -> str:
    """The names of nodes, in order."""
    return ", ".join(m.names[i] for i in sorted(nodes))


def milestone(m: RaftUpgrade, before: RaftUpgradeState, after: RaftUpgradeState) -> str | None:
    """The start, a phase that all nodes have behind them, the end."""
    if not _has_begun(before) and _has_begun(after):
        return "the Raft upgrade starts"
    was, now = (min(n.position for n in s.nodes) for s in (before, after))
    if now > was:
        return f"on all nodes: {PHASES[now - 1]}"
    return None


def _has_begun(s: RaftUpgradeState) -> bool:
    return any(node.has_feature for node in s.nodes)


def describe(m: RaftUpgrade, before: RaftUpgradeState, action: Any, after: RaftUpgradeState) -> str:
    """What the step did, and why."""
    sentence = SENTENCES.get(type(action))
    if sentence is not None:
        fields = {name: getattr(action, name) for name in action.__struct_fields__}
        return sentence.format(**fields)
    number = m.number(action.node)
    was, node = before.nodes[number], after.nodes[number]
    match action:
        case act.TurnOptionOn(name):
            return f"The option is on in the configuration of {name}.{_differ(m, before)}"
        case act.RestartUpgrading(name):
            return _restarted(before, after, name, node)
        case act.PullSchema(name, source):
            return f"{name} takes over what {source} knows of the schema."
        case act.JoinGroup(name):
            how = "creates" if len(after.entries) > len(before.entries) else "joins"
            return f"{name} {how} group 0."
        case act.CompareSchema(name):
            return _compared(m, before, number)
        case act.AwaitPeers(name):
            return f"{name} looks again: {waits_for(m, before, number)}."
        case act.FetchNewestSchema(name):
            new = "takes the newest schema from its group" if node.applied != was.applied else ""
            alone = "finds nothing newer within its reach"
            return f"{name} {new or alone}, and serves requests."
        case _:
            return _changed(m, before, action.node, was, after)


def _differ(m: RaftUpgrade, s: RaftUpgradeState) -> str:
    """A warning where the operator begins with unequal schema."""
    count = len({peers.versions_of(n) for n in s.nodes if n.is_up})
    if count == 1:
        return ""
    return f" nodetool describecluster shows {count} schema versions: make them one first."


def _restarted(
    before: RaftUpgradeState, after: RaftUpgradeState, name: str, node: UpgradingNode
) -> str:
    fires = " Every node runs with the option now: the Raft upgrade starts by itself."
    fired = fires if not _has_begun(before) and _has_begun(after) else ""
    if node.row not in (None, node.state):
        return f"{name} does not know {node.row}, and starts in {node.state}.{fired}"
    catches = "; it catches up before it serves requests" if not node.serves else ""
    return f"{name} starts: {RUNS[node.state]}{catches}.{fired}"


def _compared(m: RaftUpgrade, s: RaftUpgradeState, number: int) -> str:
    alive = m.guarded.all_alive
    missed = peers.mismatched(s, number, alive)
    name = m.names[number]
    if missed:
        return f"{name} goes on, though the schema differs from that of {said(m, missed)}."
    passed = set(peers.others(s, number)) - set(peers.peers(s, number, alive))
    without = f" It passes over {said(m, passed)}." if passed else ""
    return f"{name} has the schema version of its peers.{without}"


def waits_for(m: RaftUpgrade, s: RaftUpgradeState, number: int) -> str:
    """For whom a node waits, and what for."""
    equal, alive = m.guarded.schema_synchronization, m.guarded.all_alive
    missing = said(m, peers.awaited(s, number, alive, equal))
    match s.nodes[number].position:
        case 0:
            return f"{missing} not ready to start"
        case 1 if peers.outside(s, number, alive):
            return f"{missing} not in group 0"
        case 3 if peers.unsynchronized(s, number, alive):
            return f"{missing} not in synchronize"
        case _:
            return f"another schema on {missing}"


def _changed(
    m: RaftUpgrade,
    before: RaftUpgradeState,
    name: str,
    was: UpgradingNode,
    after: RaftUpgradeState,
) -> str:
    if was.state == RECOVERY:
        return (
            f"{name} changes its schema by itself: a tombstone for group0_schema_version and "
            "committed_by_group0 = false make its version a hash again."
        )
    if not was.has_finished:
        return f"{name} changes its schema by itself; gossip brings it to the others."
    same = [
        i
        for i, (old, new) in enumerate(zip(before.nodes, after.nodes, strict=True))
        if new.applied > old.applied
    ]
    return f"Group 0 (id {was.group}) commits the schema change; {said(m, same)} apply it."


def readable(m: RaftUpgrade, s: RaftUpgradeState) -> dict[str, str]:
    """Every node, and the pairs without a connection."""
    cut = ", ".join(f"{m.names[i]}–{m.names[j]}" for i, j in s.cut)
    nodes = {name: node_text(node) for name, node in zip(m.names, s.nodes, strict=True)}
    return {**nodes, "no connection": cut or "–"}


def node_text(node: UpgradingNode) -> str:
    """A node in a line."""
    if not node.is_up:
        return node.status
    group = f"group {node.group}" if node.group != NO_GROUP else "no group"
    option = "on" if node.enabled else "off"
    catching = "" if node.serves else ", catching up"
    return f"{node.state}, {group}, option {option}{catching}"
