"""Lines that servers write about RECOVERY mode and the Raft upgrade: component and words.

Source: manual on Raft, the logs of "Verifying that the Raft upgrade procedure finished
successfully" and of "Raft manual recovery procedure". What the documents give in whole sentences is
said in words of the kit's own.
"""

from __future__ import annotations

from msgspec import Struct

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
