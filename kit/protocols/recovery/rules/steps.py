"""The steps of the procedures that an operator follows, in their order.

Edition ``documents`` is the procedure of Topology over Raft, "The procedure"; edition ``server`` is
the published manual's: a rolling restart first, indexes read before ids are deleted, the option
taken away at the end. ``OLD_STEPS`` is that of the manual on Raft, by RECOVERY mode. In the new one
the table of history stays: it belongs to the state with which the leader begins (Q-40).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kit.protocols.topology.rules.machines import Edition


class ProcedureStep(Struct, frozen=True):
    """A step: its name, and what to do; ``{leader}``, ``{order}``, ``{dead}`` stand for nodes."""

    name: str
    what: str


ISOLATE = ProcedureStep(
    "isolate",
    "make sure that {dead} cannot come back: cut them off from the live nodes, by a firewall",
)
READ = ProcedureStep("read", "read commit_idx of system.raft on each live node")
DELETE = ProcedureStep(
    "delete",
    "on each live node truncate system.discovery and delete the value of raft_group0_id in "
    "system.scylla_local; system.group0_history stays",
)
CHOOSE = ProcedureStep(
    "choose", "the recovery leader is a node with the latest commit index: {leader}"
)
SET = ProcedureStep("set", "set recovery_leader to {leader} in the configuration of each live node")
RESTART_LEADER = ProcedureStep(
    "restart leader", "restart {leader} first: it creates the new group 0"
)
RESTART_OTHERS = ProcedureStep(
    "restart others", "restart the others one by one, each joins the new group 0: {order}"
)
REPLACE = ProcedureStep(
    "replace",
    "remove or replace {dead}, one by one; the other dead ones are named in ignore_dead_nodes or "
    "ignore_dead_nodes_for_replace",
)
UNSET = ProcedureStep("unset", "take recovery_leader out of every configuration, and reload it")
CLEAN = ProcedureStep(
    "clean",
    "delete the rows of the old group id in system.raft, raft_snapshots and raft_snapshot_config",
)

NEW_STEPS: Mapping[Edition, tuple[ProcedureStep, ...]] = {
    "documents": (
        ISOLATE, READ, DELETE, CHOOSE, SET, RESTART_LEADER, RESTART_OTHERS, REPLACE, CLEAN,
    ),
    "server": (
        ISOLATE,
        ProcedureStep("rolling restart", "restart the live nodes one by one; each must be normal"),
        ProcedureStep("note id", "note raft_group0_id of system.scylla_local: the old group"),
        READ, CHOOSE, DELETE, SET, RESTART_LEADER, RESTART_OTHERS,
        ProcedureStep("check", "look for the new group id in the log of each node"),
        REPLACE, UNSET, CLEAN,
    ),
}  # fmt: skip

OLD_STEPS = (
    ISOLATE,
    ProcedureStep(
        "enter", "on each live node set group0_upgrade_state to recovery in system.scylla_local"
    ),
    ProcedureStep("rolling restart", "restart the live nodes one by one"),
    ProcedureStep("check mode", "look for RECOVERY mode in the log of each"),
    ProcedureStep("remove", "remove {dead} by the procedure of node removal"),
    ProcedureStep(
        "truncate",
        "on each live node truncate system.discovery and system.group0_history, and delete the "
        "value of raft_group0_id",
    ),
    ProcedureStep("compare", "nodetool describecluster: one schema version on all nodes"),
    ProcedureStep("leave", "on each live node delete the row group0_upgrade_state"),
    ProcedureStep("restart again", "restart the live nodes one by one"),
    ProcedureStep("upgrade", "the Raft upgrade runs again: look for its end in each log"),
)
"""The manual on Raft, "manual Raft recovery"."""
