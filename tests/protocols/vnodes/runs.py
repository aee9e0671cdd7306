"""The configurations that are searched, what each run must find, and a way to run them."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

from kit.model.registry import build
from kit.protocols.storage.storage import USUAL_REQUESTS
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.vnodes.rules import Operation
from kit.protocols.vnodes.vnodes import DELETED, Vnodes
from kit.search.check import Result, check

OPERATIONS: tuple[Operation, ...] = get_args(Operation)
FENCED = {"edition": "server", "drain_fails": True}

# (operation, edition, RF) -> unique states, steps of the longest shortest run; four nodes
COUNTS = {
    ("bootstrap", "documents", 2): (4272, 22),
    ("bootstrap", "documents", 3): (101806, 27),
    ("bootstrap", "server", 2): (4272, 22),
    ("bootstrap", "server", 3): (94622, 27),
    ("replace", "documents", 2): (1522, 19),
    ("replace", "documents", 3): (9684, 25),
    ("replace", "server", 2): (1522, 19),
    ("replace", "server", 3): (7666, 25),
    ("decommission", "documents", 2): (4272, 25),
    ("decommission", "documents", 3): (101966, 31),
    ("decommission", "server", 2): (4272, 25),
    ("decommission", "server", 3): (94782, 31),
    ("removenode", "documents", 2): (1436, 19),
    ("removenode", "documents", 3): (9384, 25),
    ("removenode", "server", 2): (1436, 19),
    ("removenode", "server", 3): (7366, 25),
}
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    f"{operation}, {edition}, RF {rf}": (
        {"operation": operation, "edition": edition, "rf": rf},
        *COUNTS[operation, edition, rf],
    )
    for operation, edition, rf in product(OPERATIONS, EDITIONS, (2, 3))
}
# what only `make test-deep` searches: the operations that come and go with all their replicas
LARGE = {
    name: CLEAN.pop(name)
    for operation, edition in product(("bootstrap", "decommission"), EDITIONS)
    for name in (f"{operation}, {edition}, RF 3",)
}
THREE = ("K1 write QUORUM", "K2 read QUORUM", "K2 read QUORUM")
ONE = {"nodes": 3, "rf": 1}
REPAIRED = {**ONE, "requests": THREE, "together": True, "repair": "blocking"}
CLEAN |= {
    "bootstrap, RF 1": (ONE, 958, 17),
    "decommission, RF 1": ({**ONE, "operation": "decommission"}, 958, 19),
    "fence without drain, RF 1": ({**ONE, **FENCED}, 17132, 26),
    "fence without drain, replace, RF 2": ({**FENCED, "operation": "replace", "rf": 2}, 27995, 27),
    "a crash, RF 2": ({"nodes": 3, "rf": 2, "crashes": 1}, 22806, 23),
    "a lost message, RF 2": ({"nodes": 3, "rf": 2, "losses": 1}, 15441, 23),
    "a lost message, replace, RF 2": ({"operation": "replace", "losses": 1, "rf": 2}, 6387, 20),
    "slow replicas": ({**ONE, "slow": True}, 1526, 19),
    "slow replicas, fence without drain, RF 1": ({**ONE, **FENCED, "slow": True}, 30829, 28),
    "time-outs": ({"nodes": 3, "rf": 2, "timeouts": True}, 41385, 23),
    "blocking repair, one after the other": ({**REPAIRED, "together": False}, 2077, 21),
}
# A second operation after the first; with a deletion, and a copy that outlives its session.
AGAIN = {"leaves": True}
DELETING = {**AGAIN, "collecting": True, "requests": DELETED}
CLEAN |= {
    "join and leave again, RF 2": ({"nodes": 3, "rf": 2, **AGAIN}, 8793, 41),
    "replace and leave again, RF 2": (
        {"nodes": 3, "rf": 2, "operation": "replace", **AGAIN},
        30677,
        40,
    ),
    "leave twice, server, RF 2": (
        {"nodes": 3, "rf": 2, "edition": "server", "operation": "decommission", **AGAIN},
        8793,
        35,
    ),
    "remove twice, server, RF 3": (
        {"edition": "server", "operation": "removenode", "rf": 3, "nodes": 4, **AGAIN},
        17815,
        34,
    ),
    "join and leave again, a deletion": ({**ONE, **DELETING}, 9284, 36),
    "leave twice, a late stream": (
        {**ONE, "operation": "decommission", **DELETING, "late": 1},
        24811,
        33,
    ),
    "leave twice, a late stream of two, RF 2": (
        {"nodes": 3, "rf": 2, "operation": "decommission", **AGAIN, "late": 1},
        21721,
        37,
    ),
}
LARGE |= {
    "a lost message, replace, RF 3": ({"operation": "replace", "losses": 1}, 47287, 26),
    "blocking repair": (REPAIRED, 84353, 23),
    "a lost message, RF 3": ({"nodes": 4, "rf": 3, "losses": 1}, 357366, 28),
    "one write, a lost message, RF 3": (
        {"nodes": 4, "rf": 3, "losses": 1, "requests": USUAL_REQUESTS[:1]},
        30259,
        23,
    ),
    "two crashes, decommission, RF 3": ({"operation": "decommission", "crashes": 2}, 1162246, 33),
    "fence without drain, removenode, RF 3": (
        {**FENCED, "operation": "removenode", "rf": 3},
        425009,
        41,
    ),
    "clients side by side, RF 2": ({"nodes": 3, "rf": 2, "together": True}, 118459, 22),
}
# Each landing searches a smaller one of the same kind.
CLEAN |= {
    "time-outs, RF 1": ({**ONE, "timeouts": True}, 4896, 18),
    "a crash, RF 1": ({**ONE, "crashes": 1}, 3816, 18),
    "a lost message, RF 1": ({**ONE, "losses": 1}, 2543, 18),
}
LARGE |= {
    name: CLEAN.pop(name)
    for name in (
        *("time-outs", "a crash, RF 2", "a lost message, RF 2", "replace and leave again, RF 2"),
        *("leave twice, a late stream of two, RF 2", "fence without drain, replace, RF 2"),
    )
}

# safeguard -> what its smallest configuration breaks first, and in how many steps
BROKEN = {
    "write-before-read": ("quorums-in-use", 1),
    "old-writer-stays": ("quorums-in-use", 6),
    "streams-before-switch": ("streamed", 7),
    "known-before-streams": ("streamed", 9),
    "stream-from-displaced": ("streamed", 13),
    "fencing": ("visible", 17),
    "barrier-drains": ("streamed", 10),
    "drain-before-leaving": ("available", 13),
    "sessions": ("no-resurrection", 25),
    "cleanup-first": ("no-resurrection", 27),
    "no-rollback-after-switch": ("visible", 13),
}
GUARDS = {guard.name: guard for guard in Vnodes.safeguards}


def search(parameters: dict[str, Any], *off: str, lost: bool = False) -> tuple[Result, Any]:
    """A search up to known costs, and its model; ``lost``: only what a client can see is judged."""
    model = build("vnodes", parameters, off)
    if lost:
        return check(model, (), monitors=model.monitors), model
    return check(model, past_costs=False), model
