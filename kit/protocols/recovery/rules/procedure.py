"""Which procedure a cluster that lost nodes needs. Sources: manual on Raft, "Handling Failures",
"Manual Recovery Procedure"; Topology over Raft, "Raft topology recovery".
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from kit.protocols.group0.rules.quorum import Quorum
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.remedies import NEVER, ProcedureStep


def leaders(commit_indexes: Mapping[str, int]) -> tuple[str, ...]:
    """The live nodes with the latest commit index: each of them may lead; none of no nodes."""
    latest = max(commit_indexes.values(), default=None)
    return tuple(name for name, index in commit_indexes.items() if index == latest)


def regressing(commit_indexes: Mapping[str, int], leader: str) -> dict[str, int]:
    """By how many entries the state of each node would go back if ``leader`` led.

    Its state reaches the others as a snapshot, whatever they have applied.
    """
    at = commit_indexes[leader]
    return {name: index - at for name, index in commit_indexes.items() if index > at}


def only_on(holders: int, voters: int, majority: int) -> bool:
    """Whether a committed entry may be on ``holders`` alone (masks): they hold a majority."""
    return (holders & voters).bit_count() >= majority


Procedure = Literal[
    "nothing", "restart", "replace", "recovery leader", "recovery mode", "not known", "restore"
]
NOT_KNOWN: Procedure = "not known"
BY_HAND: tuple[Procedure, ...] = ("recovery leader", "recovery mode")
NOBODY = "no node is left to recover from"


def which_procedure(
    quorum: Quorum,
    down: int,
    lost: int,
    stuck: bool = False,
    by_leader: bool = True,
    left: bool = True,
) -> tuple[Procedure, str]:
    """The procedure, and why; nodes (masks) that are ``down`` may be restarted, ``lost`` may not.

    ``Quorum(0b111, 0b011)`` are three voters of which two live. ``stuck`` is the upgrade into Raft.
    ``by_leader`` is ``releases.has("recovery-leader", release)``: before, a lost majority was
    recovered by RECOVERY mode. ``left`` says whether any node is left to recover from.
    """
    if not left and lost and (stuck or not Quorum(quorum.voters, quorum.voters & ~lost).holds):
        return "restore", NOBODY
    if stuck and lost:
        return "recovery mode", "the Raft upgrade is stuck because it needs nodes that are lost"
    if stuck:
        return "restart", "the Raft upgrade needs every node to be up, then a rolling restart"
    if not down | lost:
        return "nothing", "all members are up"
    if not quorum.holds and Quorum(quorum.voters, quorum.voters & ~lost).holds:
        return "restart", "group 0 has no quorum, but enough voters can come back"
    if not quorum.holds:
        way: Procedure = "recovery leader" if by_leader else "recovery mode"
        return way, "a majority of group 0's voters cannot come back"
    if lost:
        return "replace", "group 0 has a quorum, but nodes are lost for good"
    return "restart", "group 0 has a quorum"


OLDER = "for the same loss on servers that have no recovery_leader"
ONLY_FOR = "only for a stuck Raft upgrade with lost nodes, or for a lost majority"


class ProcedureChoice(Struct, frozen=True):
    """A procedure, whether it may be chosen for a cluster, and why or why not.

    Of one that is not ``offered`` yet, ``depends`` says that it is if certain nodes vote.
    """

    procedure: Procedure
    offered: bool
    why: str
    depends: bool = False


def choices(
    quorum: Quorum, down: int, lost: int, stuck: bool, edition: Edition, by_leader: bool = True
) -> tuple[ProcedureChoice, ...]:
    """Every procedure, and why it is offered or is not; the arguments are ``which_procedure``'s."""
    best, reason = which_procedure(quorum, down, lost, stuck, by_leader)
    whys: dict[Procedure, tuple[tuple[str, object], ...]] = {
        "restart": (
            ("no node that can come back is down", not down),
            ("it brings back nodes that are down, not nodes that are lost", quorum.holds or stuck),
            ("too few nodes can come back", True),
        ),
        "replace": (
            ("no node is lost for good", not lost),
            ("the Raft upgrade must finish first", stuck),
            ("group 0 has no quorum", True),
        ),
        "recovery leader": (
            ("recovery_leader came with release 2025.2", not by_leader),
            ("the Raft upgrade has not ended", stuck),
            ("group 0 has a quorum", quorum.holds),
            ("enough voters can come back", True),
        ),
        "recovery mode": (
            ("the published server has no RECOVERY mode", edition == "server" and by_leader),
            ("no node is lost for good: the upgrade continues once all nodes are up", stuck),
            (ONLY_FOR, lost or quorum.holds),
            ("enough voters can come back", True),
        ),
    }
    rows = [ProcedureChoice(best, True, reason)] if best not in whys else []
    for procedure, texts in whys.items():
        if procedure == best:
            rows.append(ProcedureChoice(best, True, reason))
        elif (best, procedure, edition) == ("recovery leader", "recovery mode", "documents"):
            rows.append(ProcedureChoice(procedure, True, OLDER))
        else:
            why_not = next(text for text, holds in texts if holds)
            rows.append(ProcedureChoice(procedure, False, why_not))
    return tuple(rows)


def choices_between(
    worst: Sequence[ProcedureChoice], best: Sequence[ProcedureChoice], ifs: tuple[str, str]
) -> tuple[ProcedureChoice, ...]:
    """The same where it is not known who votes: what is offered in only one case is not yet."""
    rows = []
    tables = [{each.procedure: each for each in table} for table in (best, worst)]
    for procedure in tables[0] | tables[1]:
        none = ProcedureChoice(procedure, False, "not all members are up")
        at_best, at_worst = (table.get(procedure, none) for table in tables)
        whys = ", or ".join(dict.fromkeys((at_worst.why, at_best.why)))
        depends = at_worst.offered != at_best.offered
        why = f"for example if {ifs[at_best.offered]}" if depends else whys
        both = at_worst.offered and at_best.offered
        rows.append(ProcedureChoice(at_best.procedure, both, why, depends))
    return tuple(rows)


ASK = ProcedureStep(
    "ask",
    "on live nodes, SELECT JSON group_id, disposition, server_id, can_vote FROM system.raft_state "
    "WHERE group_id = the raft_group0_id in system.scylla_local; pass each answer as --raft-state",
)
"""How to learn which nodes vote."""
PLACES = ProcedureStep(
    "place",
    "nodetool status on a live node shows the datacenter and the rack of each node: save it, and "
    "pass it as --status, or enter them in the file",
)
"""How to learn where nodes are."""
FIND = ProcedureStep(
    "find",
    "on a live node, look for {unknown} in nodetool status and in {rows}; then add it to the file "
    "as up, down (it can be restarted) or lost (for good), or with the state left if it has no row "
    "there (a dump: save it again)",
)
"""How to learn of a voter that is not in the file whether it lives."""
ROWS = (
    "SELECT peer, host_id, up FROM system.cluster_status",
    "SELECT host_id, node_state FROM system.topology",
)
IN_STATUS = (
    "not there, or no node of yours: a ghost: nodetool removenode {}; else add it to the file"
)
IN_TOPOLOGY = (
    "none, bootstrapping or replacing: it joins, so leave it alone; normal: add it to the file; "
    "left: the coordinator takes it out; no row: nothing does (nor removenode), but it has no vote"
)
"""Of a member of group 0 that is not in the file, before topology was in group 0, and since.
Sources: manual of 5.4, ghost members; published coordinator, cleanup of those that left.
"""
DOWNTIME = "; decide before whether to keep serving: a restart may end levels that are available"
NEW = {
    "isolate": "use a firewall to make sure that {dead} cannot reach the live nodes again",
    "rolling restart": f"restart the live nodes one by one; each must be normal again{DOWNTIME}",
    "note id": "note raft_group0_id in system.scylla_local: it is the id of the old group",
    "read": "read commit_idx in system.raft on each live node",
    "choose": "choose a node with the latest commit index as the recovery leader: {leader}",
    "delete": (
        "on each live node, truncate system.discovery and delete the value of "
        "raft_group0_id in system.scylla_local; leave system.group0_history alone"
    ),
    "set": "set recovery_leader to {leader} in the configuration of each live node",
    "restart leader": "restart {leader} first: it creates the new group 0",
    "restart others": "restart the others one by one ({order}); each joins the new group 0",
    "check": "look for the new group id in each node's log",
    "replace": (
        "remove or replace {dead}, one by one; list the other dead nodes in "
        "ignore_dead_nodes or ignore_dead_nodes_for_replace"
    ),
    "unset": "remove recovery_leader from every configuration and reload it",
    "clean": (
        "on every live node, delete the rows with the old group id from system.raft, "
        "raft_snapshots and raft_snapshot_config"
    ),
}
DOCUMENTED = NEW | {
    "delete": "on each live node, remove the persistent group 0 id and the discovery state",
    "choose": (
        "read the commit index of each live node, and choose one with the latest as the recovery "
        "leader: {leader}"
    ),
    "clean": "clean up the persisted state of the old group 0",
}
OLD = {
    "isolate": NEW["isolate"],
    "enter": "on each live node, set group0_upgrade_state to recovery in system.scylla_local",
    "rolling restart": f"restart the live nodes one by one{DOWNTIME}",
    "check mode": "look for RECOVERY mode in each node's log",
    "remove": (
        "remove {dead} with the node removal procedure; nothing can join or be replaced in this "
        "mode, so add nodes once it has ended, where a datacenter has fewer than RF"
    ),
    "truncate": (
        "on each live node, truncate system.discovery and system.group0_history, and "
        "delete the value of raft_group0_id"
    ),
    "compare": "nodetool describecluster: check that all nodes have one schema version",
    "leave": "on each live node, delete the row group0_upgrade_state",
    "restart again": "restart the live nodes one by one",
    "upgrade": "the Raft upgrade runs again: look for its end in each log",
}


def _steps(what: Mapping[str, str], *names: str) -> tuple[ProcedureStep, ...]:
    return tuple(ProcedureStep(name, what[name]) for name in names)


NEW_STEPS: Mapping[Edition, tuple[ProcedureStep, ...]] = {
    "documents": _steps(
        DOCUMENTED, "delete", "choose", "set", "restart leader", "restart others", "replace",
        "clean",
    ),
    "server": _steps(NEW, *NEW),
}  # fmt: skip
"""The one order of each edition, for the command, the checklist, the drill and the model.

Sources: Topology over Raft, "The procedure"; the published manual, which reads, then deletes.
"""
NEVER_BY_HAND = (
    ProcedureStep(NEVER, "recover by hand while a majority of the voters lives: only replace"),
    ProcedureStep(NEVER, "start a dead node again, or let it reach a live one, from now on"),
)
"""What must not be done around a recovery by hand. Source: published manual, its prerequisites."""
KEPT_STEPS = _steps(
    NEW | {"voters": (
        "look up the voters in system.raft_state on a live node: are more than half of "
        "them alive?"
        )},
    "voters", "replace",
)  # fmt: skip
"""Where a majority of the voters lives: nothing is recovered."""
OLD_STEPS = _steps(OLD, *OLD)
"""The manual on Raft, "manual Raft recovery"."""
WITH_TOPOLOGY = {
    "tablets": (
        "make sure that no keyspace uses tablets: with tablets, these releases have no such "
        "procedure, and their manual says to restore a backup"
    ),
    **OLD,
    "truncate": (
        "on each live node, truncate system.topology, system.discovery and "
        "system.group0_history, and delete the value of raft_group0_id"
    ),
    "enable": "enable consistent topology changes again, as after an upgrade to these releases",
}
MODE_STEPS: Mapping[Edition, tuple[ProcedureStep, ...]] = {
    "documents": OLD_STEPS,
    "server": _steps(WITH_TOPOLOGY, *WITH_TOPOLOGY),
}
"""By RECOVERY mode; on the server group 0 has the topology, too: releases from 6.0 to 2025.1.
Source: published manual of those releases, on handling node failures.
"""
