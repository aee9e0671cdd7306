"""What an operation by gossip is made of: nodes with their views, data, and the steps."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.gossip.rules.endpoints import View

JoinPhase = Literal["out", "shadow", "boot", "streamed", "member", "down"]
RemovalStage = Literal["", "removing", "restored"]
"""How far a removal is: announced; streamed, too, and answered. Only who drives it knows."""


class ViewNode(Struct, frozen=True, cache_hash=True):
    """A node: how far it is, what it knows of all endpoints, and which writes it holds (a mask).

    ``out``: it has not begun, or is down; ``shadow``: it has asked what there is and nobody knows
    of it; ``boot`` and ``streamed``: it joins; ``member``: it is up and owns its ranges; ``down``:
    a member that is dead. ``drives`` is the removal that this node drives; it is in memory only.
    """

    name: str
    phase: JoinPhase
    generation: int
    view: View
    data: int = 0
    drives: RemovalStage = ""


class RingState(Struct, frozen=True, cache_hash=True):
    """All nodes, whom the network cuts off (empty: nobody), what was acknowledged, what is left.

    ``acknowledged`` is a mask of writes; ``streams`` counts how often data were streamed.
    """

    nodes: tuple[ViewNode, ...]
    cut_off: str
    acknowledged: int
    written: int
    streams: int
    crashes: int
    cuts: int


class ShadowRound(Struct, frozen=True, tag="shadow"):
    """A node that wants to join asks a contact what there is; it tells nothing of itself."""

    node: str
    contact: str


class AnnounceBoot(Struct, frozen=True, tag="boot"):
    """The joining node gossips ``BOOT`` with its tokens: it is to get writes from now on."""

    node: str


class StreamRange(Struct, frozen=True, tag="stream"):
    """The joining node copies what the replica holds whose place it takes."""

    node: str


class AnnounceNormal(Struct, frozen=True, tag="normal"):
    """The joining node gossips ``NORMAL``: it owns its ranges."""

    node: str


class Exchange(Struct, frozen=True, tag="gossip"):
    """Two nodes gossip: afterwards both know the newer of what each knew."""

    node: str
    target: str


class WriteKey(Struct, frozen=True, tag="write"):
    """A coordinator writes the key, and these nodes acknowledge it: as many as it waits for."""

    coordinator: str
    by: tuple[str, ...]


class BeginRemoval(Struct, frozen=True, tag="removenode"):
    """The operator calls removenode on a live node, which gossips ``REMOVING`` of the dead one."""

    node: str
    dead: str


class RestoreReplica(Struct, frozen=True, tag="restore"):
    """The driver has the new owner copy the range from a live replica, and hears that it did."""

    node: str


class AnnounceRemoved(Struct, frozen=True, tag="removed"):
    """The driver gossips ``REMOVED``: the dead node owns nothing any more."""

    node: str


class RestartDriver(Struct, frozen=True, tag="restart"):
    """A member that died while it drove a removal starts again; it knows nothing of its task."""

    node: str


class CrashDriver(Struct, frozen=True, tag="crash"):
    """A node that drives an operation dies; how far it was, nobody else knows."""

    node: str


class ForgetJoiner(Struct, frozen=True, tag="forget"):
    """All that know a joining node that is down have waited long enough, and take it out."""

    node: str


class CutNodeOff(Struct, frozen=True, tag="cut-off"):
    """The network cuts a node off from all others."""

    node: str


class HealCut(Struct, frozen=True, tag="reconnect"):
    """The network is whole again."""


RingAction = (
    ShadowRound
    | AnnounceBoot
    | StreamRange
    | AnnounceNormal
    | Exchange
    | WriteKey
    | BeginRemoval
    | RestoreReplica
    | AnnounceRemoved
    | RestartDriver
    | CrashDriver
    | ForgetJoiner
    | CutNodeOff
    | HealCut
)
