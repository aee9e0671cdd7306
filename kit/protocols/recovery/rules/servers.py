"""Servers and groups as tools, gossip and logs name them."""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.recovery.rules.availability import usual_place

FIRST_ADDRESS = 11
REPLACING = 100
"""What is added to the number of a node that took another's place: it has an address of its own."""


class ServerHost(Struct, frozen=True):
    """A node as tools name it."""

    name: str
    address: str
    host_id: str
    dc: str
    rack: str


def server_host(
    name: str, number: int, racks: tuple[str, ...] = (), fresh: bool = False
) -> ServerHost:
    """The machine of a node; ``racks`` are those of all nodes, if any.

    ``fresh``: it is the one that took the place of a dead node.
    """
    at = number + REPLACING * fresh
    dc, rack = racks[number].partition("/")[::2] if racks else usual_place(number)
    host_id = f"{10 + at:08x}-0000-4000-8000-{10 + at:012x}"
    return ServerHost(name, f"10.0.0.{FIRST_ADDRESS + at}", host_id, dc, rack)


def group_uuid(group: int) -> str:
    """The id of a group 0, a UUID of version 1."""
    return f"{group + 1:08x}-fe88-11f0-8001-000000000001"


def schema_version(columns: int) -> str:
    """The version of a schema that holds these columns (a mask), as a UUID is written."""
    text = f"{columns:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class GossipDigest(Struct, frozen=True):
    """What a node says of itself in each message: the group that it runs in, and its option.

    ``recovery_leader`` is whether the option is set; ``walled_off`` whether a firewall lies between
    this node and those that recover.
    """

    group: int
    recovery_leader: bool = False
    walled_off: bool = False


def is_accepted(sender: GossipDigest, receiver: GossipDigest) -> bool:
    """Whether the receiver takes the message: a mismatch is tolerated while either recovers."""
    if sender.walled_off != receiver.walled_off:
        return False
    return sender.group == receiver.group or sender.recovery_leader or receiver.recovery_leader


GROUP0, UPGRADE = "raft_group0", "raft_group0_upgrade"


class LogWords(Struct, frozen=True):
    """What a component says of ``{group_id}`` and ``{version}``; ``own``: in the kit's words."""

    component: str
    text: str
    own: bool = False


def _own(text: str) -> LogWords:
    return LogWords(UPGRADE, text, own=True)


_EQUAL_SCHEMA = (
    LogWords(UPGRADE, "synchronize_schema: my version: {version}"),
    LogWords(UPGRADE, "synchronize_schema: schema mismatches: {{}}"),
    LogWords(UPGRADE, "synchronize_schema: finished"),
)
RECOVERY = (
    LogWords("group0_client", "RECOVERY mode"),
    LogWords(GROUP0, "setup_group0: Raft RECOVERY mode, skipping group 0 setup"),
    LogWords(UPGRADE, "RECOVERY mode. Not attempting upgrade"),
)
UPGRADE_BEGINS = (
    LogWords("features", "Feature SUPPORTS_RAFT_CLUSTER_MANAGEMENT is enabled"),
    LogWords(GROUP0, "Starting internal upgrade-to-raft procedure"),
    LogWords(UPGRADE, "starting in `use_pre_raft_procedures` state"),
    _own("waits until every node is ready to start"),
)
GOES_ON = (LogWords(UPGRADE, "starting in `synchronize` state"),)
JOINED = (
    LogWords(UPGRADE, "Joining group 0"),
    LogWords(GROUP0, "joined group 0 with group id {group_id}"),
    _own("waits until every peer has joined"),
)
SYNCHRONIZE = (
    _own("every peer is a member of group 0"),
    _own("waits for equal schema in group 0"),
    *_EQUAL_SCHEMA,
    LogWords(UPGRADE, "Entering synchronize state"),
    _own("schema changes are off; if a failure stops the upgrade, it may take manual recovery"),
    _own("waits until all peers are in synchronize"),
)
FINISHED = (
    LogWords(UPGRADE, "All peers in synchronize state"),
    LogWords(UPGRADE, "synchronize_schema: collecting schema versions"),
    LogWords(UPGRADE, "synchronize_schema: collected remote schema versions"),
    *_EQUAL_SCHEMA,
    LogWords(UPGRADE, "Schema synchronized"),
    LogWords(UPGRADE, "Raft upgrade finished"),
)
