"""What an operator only looks at: lines of logs, and the marks of what was seen.

No model tells what somebody has read. So it is noted in marks of the drill, which a checklist asks.
"""

from __future__ import annotations

COMPARED = "compared"
"""The mark of one schema version, seen on all live nodes while all were in RECOVERY mode."""


def noted_id(group_id: str) -> str:
    """The mark of a group's id that was read where a node has it persisted."""
    return f"noted {group_id}"


def seen_in_log(number: int, group: int) -> str:
    """The mark of a group's id that was read in a node's log."""
    return f"seen {number} {group}"
