"""The states of nodes and of the cluster, the requests, and how tables spell them.

Transition states are stored with spaces where the text has underscores; every other word is stored
as it is written here. Sources: Topology over Raft, "Topology state machine", "Tablet transitions";
states and requests that only the published code has are marked.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

NodeState = Literal[
    "none",
    "bootstrapping",
    "decommissioning",
    "removing",
    "replacing",
    "rebuilding",
    "normal",
    "left",
]
NODE_STATES: tuple[NodeState, ...] = get_args(NodeState)

NodeRequest = Literal["replace", "join", "remove", "leave", "rebuild"]
NODE_REQUESTS: tuple[NodeRequest, ...] = get_args(NodeRequest)
"""The requests of nodes in the order in which edition ``server`` prefers them."""
NODE_STATE_OF: dict[NodeRequest, NodeState] = {
    "replace": "replacing",
    "join": "bootstrapping",
    "remove": "removing",
    "leave": "decommissioning",
    "rebuild": "rebuilding",
}
"""The state that a node has while its request is carried out."""

CleanupStatus = Literal["clean", "needed", "running"]
CLEANUP_STATUSES: tuple[CleanupStatus, ...] = ("clean", "needed", "running")

NO_TRANSITION = ""
"""The transition state of a cluster that has none: null in the table."""


class TransitionState(Struct, frozen=True):
    """A transition state of the cluster: its name, and whether this family plays it.

    ``edition`` is ``server`` where only the published code has the state.
    """

    name: str
    played: bool = True
    edition: Literal["documents", "server"] = "documents"

    @property
    def stored(self) -> str:
        """How the table spells it."""
        return self.name.replace("_", " ")


TRANSITION_STATES: tuple[TransitionState, ...] = (
    TransitionState("join_group0"),
    TransitionState("commit_cdc_generation"),
    TransitionState("tablet_draining"),
    TransitionState("write_both_read_old"),
    TransitionState("write_both_read_new"),
    TransitionState("tablet_migration"),
    TransitionState("tablet_resize_finalization", played=False),
    TransitionState("tablet_split_finalization", played=False, edition="server"),
    TransitionState("left_token_ring"),
    TransitionState("rollback_to_normal"),
    TransitionState("truncate_table", edition="server"),
    TransitionState("snapshot_tables", played=False, edition="server"),
    TransitionState("lock"),
)
TRANSITION_STATE: dict[str, TransitionState] = {each.name: each for each in TRANSITION_STATES}


class GlobalRequest(Struct, frozen=True):
    """A request of the whole cluster: its name, and whether this family plays it."""

    name: str
    played: bool = False
    edition: Literal["documents", "server"] = "documents"


GLOBAL_REQUESTS: tuple[GlobalRequest, ...] = (
    GlobalRequest("new_cdc_generation", played=True),
    GlobalRequest("cleanup", played=True),
    GlobalRequest("keyspace_rf_change", played=True),
    GlobalRequest("truncate_table", played=True),
    GlobalRequest("noop_request", edition="server"),
    GlobalRequest("snapshot_tables", edition="server"),
    GlobalRequest("finalize_migration", edition="server"),
    GlobalRequest("quiesce", edition="server"),
    GlobalRequest("restore_tablets", edition="server"),
)
GLOBAL_REQUEST: dict[str, GlobalRequest] = {each.name: each for each in GLOBAL_REQUESTS}


def transition_state(text: str) -> TransitionState | None:
    """The transition state that a text names, spelled either way; None for no known one."""
    return TRANSITION_STATE.get(text.strip().replace(" ", "_"))
