"""Walks through a drill, as lists of typed lines: the whole procedure, and its parts."""

from __future__ import annotations

from kit.console.drill import Drill
from tests.drills import typed

DRILL = {
    "documents": "recovery/majority-is-lost",
    "server": "recovery/manual-order",
    "mode": "recovery_mode/recovery-mode",
}
"""The drills: the new procedure in both editions, and the one by RECOVERY mode."""
GROUP = "00000001-fe88-11f0-8001-000000000001"
"""The id of the old group."""
FILE = "/etc/scylla/scylla.yaml"
LIVE, DEAD = "AB", "CDE"


def host(name: str) -> str:
    """The host id of a node."""
    at = "ABCDEFGHI".index(name) + 10
    return f"{at:08x}-0000-4000-8000-{at:012x}"


ISOLATE = ["firewall drop 10.0.0.13, 10.0.0.14, 10.0.0.15"]


def on_each(*lines: str, names: str = LIVE) -> list[str]:
    """These lines on each node."""
    return [line for name in names for line in (f"on {name}", *lines)]


READ = on_each("SELECT commit_idx FROM system.raft;")
DELETE_HERE = (
    "TRUNCATE TABLE system.discovery;",
    "DELETE value FROM system.scylla_local WHERE key = 'raft_group0_id';",
)
DELETE = on_each(*DELETE_HERE)


def lead(leader: str = "B", names: str = LIVE) -> list[str]:
    """The option on each node."""
    return on_each(f"edit {FILE} recovery_leader: {host(leader)}", names=names)


def removal(*dead: str, ignore: bool = True) -> list[str]:
    """Each dead node is removed; the others that are dead are ignored."""
    lines = []
    for at, name in enumerate(dead):
        others = ", ".join(map(host, dead[at + 1 :]))
        option = f" --ignore-dead-nodes {others}" if others and ignore else ""
        lines.append(f"nodetool removenode {host(name)}{option}")
    return lines


UNSET = on_each(f"edit {FILE} recovery_leader:")
TABLES = ("raft", "raft_snapshots", "raft_snapshot_config")
CLEAN_HERE = tuple(f"DELETE FROM system.{name} WHERE group_id = {GROUP};" for name in TABLES)
CLEAN = on_each(*CLEAN_HERE)
RESTARTS = ["restart B", "restart A"]
FIRST_RESTARTS = ["restart A", "restart B"]
NOTE = ["SELECT value FROM system.scylla_local WHERE key = 'raft_group0_id';"]
LOOK = on_each("grep 'group id' /var/log/scylla.log")
WHOLE = {
    "documents": [*DELETE, *READ, *lead(), *RESTARTS, *removal(*DEAD), *CLEAN],
    "server": [
        *(*ISOLATE, *FIRST_RESTARTS, *NOTE, *READ, *DELETE, *lead(), *RESTARTS),
        *(*LOOK, *removal(*DEAD), *UNSET, *CLEAN),
    ],
}


_STATE = "system.scylla_local SET value = 'recovery' WHERE key = 'group0_upgrade_state';"
ENTER = on_each(f"UPDATE {_STATE}")
MODE_RESTARTS = ["restart A", "restart B"]
CHECK = on_each("grep 'RECOVERY mode' /var/log/scylla.log")
TRUNCATE = on_each(
    "TRUNCATE TABLE system.discovery;",
    "TRUNCATE TABLE system.group0_history;",
    "DELETE value FROM system.scylla_local WHERE key = 'raft_group0_id';",
)
COMPARE = ["nodetool describecluster"]
LEAVE = on_each("DELETE FROM system.scylla_local WHERE key = 'group0_upgrade_state';")
MODE_WALK = [
    *(*ISOLATE, *ENTER, *MODE_RESTARTS, *CHECK, *removal(*DEAD)),
    *(*TRUNCATE, *COMPARE, *LEAVE, *MODE_RESTARTS),
]
"""The whole procedure by RECOVERY mode."""


def walked(edition: str, *lines: str) -> Drill:
    """A drill after these lines."""
    return typed(DRILL[edition], *lines)
