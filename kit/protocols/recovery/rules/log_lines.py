"""Lines that servers write about RECOVERY mode and the Raft upgrade: component and words.

Source: seed 003, the logs of "Verifying that the Raft upgrade procedure finished successfully" and
of "Raft manual recovery procedure". A group in them is completed by ``format``.
"""

from __future__ import annotations

Line = tuple[str, str]
"""A component, and what it says."""

RECOVERY: tuple[Line, ...] = (
    ("group0_client", "RECOVERY mode"),
    ("raft_group0", "setup_group0: Raft RECOVERY mode, skipping group 0 setup"),
    ("raft_group0_upgrade", "RECOVERY mode. Not attempting upgrade"),
)
UPGRADE_BEGINS: tuple[Line, ...] = (
    ("raft_group0", "Starting internal upgrade-to-raft procedure"),
    ("raft_group0_upgrade", "starting in `use_pre_raft_procedures` state"),
)
JOINED: tuple[Line, ...] = (
    ("raft_group0_upgrade", "Joining group 0"),
    ("raft_group0", "joined group 0 with group id {group}"),
)
SYNCHRONIZE: tuple[Line, ...] = (
    ("raft_group0_upgrade", "synchronize_schema: finished"),
    ("raft_group0_upgrade", "Entering synchronize state"),
)
FINISHED: tuple[Line, ...] = (
    ("raft_group0_upgrade", "All peers in synchronize state"),
    ("raft_group0_upgrade", "Schema synchronized"),
    ("raft_group0_upgrade", "Raft upgrade finished"),
)
