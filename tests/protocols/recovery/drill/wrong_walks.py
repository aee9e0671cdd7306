"""Wrong walks through the drill, and what the model says of each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tests.protocols.recovery.drill.walks import (
    CHECK,
    CLEAN,
    CLEAN_HERE,
    DEAD,
    DELETE,
    DELETE_HERE,
    ENTER,
    ISOLATE,
    LEAVE,
    MODE_RESTARTS,
    READ,
    RESTARTS,
    TRUNCATE,
    lead,
    on_each,
    removal,
)


class WrongWalk(Struct, frozen=True):
    """A walk, what its grade holds against it, and the last thing that was refused in it."""

    edition: str
    lines: Sequence[str]
    failed: dict[str, str]
    refused: str = ""


BEGUN = [*ISOLATE, *READ, *DELETE]
BACK = [f"happen return {name}" for name in DEAD]
NOT_WHOLE = "cluster whole"
WRONG: dict[str, WrongWalk] = {
    "the wrong leader": WrongWalk(
        "documents",
        [*BEGUN, *lead("A"), "restart A", "restart B", *removal(*DEAD), *CLEAN],
        {"nothing lost": "entries any more: 11; B has data in column 11"},
    ),
    "the leader restarts last": WrongWalk(
        "documents",
        [*BEGUN, *lead("B", "B"), "restart A", "restart B"],
        {NOT_WHOLE: "not in the new group: A", "one group": "talk as one cluster"},
    ),
    "a server waits for the leader": WrongWalk(
        "server",
        [*BEGUN, *lead(), "restart A"],
        {NOT_WHOLE: "no recovery leader runs in a new group"},
        "the recovery leader has not created its group yet (B)",
    ),
    "recovery_leader is forgotten on a node": WrongWalk(
        "server",
        [*BEGUN, *lead("B", "B"), "restart B", "restart A", *removal(*DEAD)],
        {NOT_WHOLE: "not in the new group: A"},
        "some live nodes do not run in a new group (A)",
    ),
    "recovery_leader is never unset": WrongWalk(
        "server",
        [*BEGUN, *lead(), *RESTARTS, *removal(*DEAD), *CLEAN],
        {NOT_WHOLE: "recovery_leader is still set: A, B"},
    ),
    "the dead return, and are not cut off": WrongWalk(
        "server",
        [*READ, *DELETE, *lead(), *RESTARTS, *BACK],
        {NOT_WHOLE: "removed nor replaced: C, D, E", "one group": "talk as one cluster"},
    ),
    "the dead are not ignored": WrongWalk(
        "documents",
        [*BEGUN, *lead(), *RESTARTS, *removal(*DEAD, ignore=False)],
        {NOT_WHOLE: "neither removed nor replaced: C, D, E"},
        "other nodes are dead but not ignored (C, D)",
    ),
    "the leader dies, and its successor is not recovered again": WrongWalk(
        "documents",
        [*BEGUN, *lead(), *RESTARTS, "happen die B", "on A", *removal(*DEAD)],
        {NOT_WHOLE: "no recovery leader runs in a new group"},
        "some live nodes do not run in a new group",
    ),
    "a live node is removed": WrongWalk(
        "documents",
        [*BEGUN, *lead(), *RESTARTS, *removal("A")],
        {NOT_WHOLE: "removed nor replaced: C, D, E"},
        "the node is alive (A)",
    ),
    "ids are not deleted": WrongWalk(
        "server",
        [*ISOLATE, *READ, *lead(), *RESTARTS, *removal(*DEAD)],
        {NOT_WHOLE: "not in the new group: A, B"},
        "some live nodes do not run in a new group (A, B)",
    ),
    "only the leader's id is deleted": WrongWalk(
        "documents",
        [*ISOLATE, *READ, *on_each(*DELETE_HERE, names="B"), *lead(), *RESTARTS],
        {NOT_WHOLE: "not in the new group: A"},
    ),
    "old rows are cleaned too early": WrongWalk(
        "documents",
        [*BEGUN, *lead(), *RESTARTS, *CLEAN],
        {NOT_WHOLE: "Raft rows of the old group remain: A, B"},
        "some dead nodes are neither removed nor replaced (C, D, E)",
    ),
    "old rows are cleaned on one node": WrongWalk(
        "documents",
        [*BEGUN, *lead(), *RESTARTS, *removal(*DEAD), *on_each(*CLEAN_HERE, names="A")],
        {NOT_WHOLE: "Raft rows of the old group remain: B"},
    ),
    "a node is down when indexes are to be read": WrongWalk(
        "server",
        [*ISOLATE, "stop B", *READ, *lead("A")],
        {NOT_WHOLE: "no recovery leader runs in a new group"},
        "commit indexes have not been read",
    ),
    "ids are deleted before indexes are read": WrongWalk(
        "server",
        [*ISOLATE, *DELETE],
        {NOT_WHOLE: "no recovery leader runs in a new group"},
        "commit_idx must be read first, while the group id is still there to find it",
    ),
    "indexes are not read": WrongWalk(
        "server",
        [*ISOLATE, *lead()],
        {NOT_WHOLE: "no recovery leader runs in a new group"},
        "commit indexes have not been read",
    ),
}
IN_MODE = [*ISOLATE, *ENTER, *MODE_RESTARTS]
MODE_WRONG: dict[str, WrongWalk] = {
    "nodes are not restarted": WrongWalk(
        "mode",
        [*ISOLATE, *ENTER, *removal(*DEAD)],
        {NOT_WHOLE: "dead, but not removed: C, D, E; group 0 has no majority"},
        "group 0 has no majority, so it cannot remove the node",
    ),
    "the dead are not removed": WrongWalk(
        "mode",
        [*IN_MODE, *CHECK, *TRUNCATE, *LEAVE, *MODE_RESTARTS],
        {NOT_WHOLE: "dead, but not removed: C, D, E; A, B: upgrade"},
    ),
    "one node stays in RECOVERY mode": WrongWalk(
        "mode",
        [*IN_MODE, *removal(*DEAD), *TRUNCATE, *LEAVE, "restart A"],
        {NOT_WHOLE: "A: upgrade; B: recovery"},
    ),
    "RECOVERY mode is not left": WrongWalk(
        "mode",
        [*IN_MODE, *removal(*DEAD), *TRUNCATE, *MODE_RESTARTS],
        {NOT_WHOLE: "A, B: recovery"},
    ),
    "a live node is removed": WrongWalk(
        "mode",
        [*IN_MODE, *removal("B")],
        {NOT_WHOLE: "dead, but not removed: C, D, E; A, B: recovery"},
        "B is not given up, so it cannot be removed",
    ),
    "the dead are not ignored": WrongWalk(
        "mode",
        [*IN_MODE, *removal(*DEAD, ignore=False)[:2]],
        {NOT_WHOLE: "dead, but not removed: C, D, E; A, B: recovery"},
        "other nodes are dead but not ignored (C, E)",
    ),
    "not all of the dead are ignored": WrongWalk(
        "mode",
        [*IN_MODE, *removal("C", "D")],
        {NOT_WHOLE: "dead, but not removed: C, D, E; A, B: recovery"},
        "other nodes are dead but not ignored (C, E)",
    ),
}
"""The same in the drill by RECOVERY mode."""
