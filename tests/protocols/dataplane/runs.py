"""The configurations that are searched, what each run must find, and a way to run them."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.protocols.dataplane.dataplane import Dataplane
from kit.search.check import Result, check

TWO = {"nodes": 4, "dcs": 2, "rf": 1, "strategy": "network"}
LOCAL = ("K1@dc1 write LOCAL_QUORUM", "K2@dc1 read LOCAL_QUORUM")
EACH = ("K1@dc2 write EACH_QUORUM", "K2@dc1 read LOCAL_QUORUM")
DELETED = ("K1 write QUORUM", "K1 delete QUORUM", "K2 read QUORUM")
LEAVE = ("decommission D",)
MOVE = {"nodes": 4, "operations": ("move B --tokens 350",)}
REMOVE = {"nodes": 5, "rf": 3, "operations": ("removenode B",)}
REPLACEMENT = {"nodes": 4, "operations": ("replace B Z",), "cancels": 1}
REMOVAL = {**REMOVE, "cancels": 1}

# name -> parameters, unique states, steps of the longest shortest run
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "bootstrap, RF 1": ({"rf": 1}, 1577, 22),
    "bootstrap, RF 2": ({"rf": 2}, 29005, 27),
    # nobody more than an epoch behind; with any lag below, among the deep ones
    "bootstrap, lag 1, RF 3": ({"rf": 3, "lag": 1}, 16969, 29),
    "decommission, RF 2": ({"nodes": 4, "rf": 2, "operations": LEAVE}, 54406, 27),
    "move, RF 1": ({**MOVE, "rf": 1}, 2967, 26),
    "move, lag 1, RF 2": ({**MOVE, "rf": 2, "lag": 1}, 3671, 29),
    "replace, RF 3": ({"nodes": 4, "rf": 3, "operations": ("replace B Z",)}, 22493, 26),
    "remove, lag 1, RF 3": ({**REMOVE, "lag": 1}, 8718, 27),
    "cancel, RF 1": ({"rf": 1, "cancels": 1}, 27063, 44),
    "cancel of a replacement, RF 2": ({**REPLACEMENT, "rf": 2}, 34311, 39),
    "two datacenters": (TWO, 29005, 27),
    "two datacenters, local": ({**TWO, "edition": "server", "requests": LOCAL}, 21230, 27),
    "two datacenters, each": ({**TWO, "edition": "server", "requests": EACH}, 5993, 27),
    "server, RF 2": ({"rf": 2, "edition": "server"}, 29072, 27),
    "joint, RF 2": ({"rf": 2, "acknowledgement": "joint"}, 11867, 26),
    "last relevant epoch, RF 2": ({"rf": 2, "exchange": "relevant"}, 29530, 27),
    "last-modified epoch, RF 2": ({"rf": 2, "exchange": "last-modified"}, 40457, 28),
    "delete and read": ({"rf": 2, "requests": ("K1 delete QUORUM", "K2 read QUORUM")}, 29005, 27),
    "write, delete and read": ({"rf": 1, "requests": DELETED}, 5500, 25),
    "time-outs, RF 1": ({"rf": 1, "timeouts": True}, 6624, 22),
    "time-outs, lag 1, RF 2": ({"rf": 2, "timeouts": True, "lag": 1}, 9930, 25),
    "retries": ({"rf": 2, "retry": True}, 21313, 26),
    "clients side by side": ({"rf": 1, "together": True}, 31517, 24),
    "write ALL, read QUORUM": (
        {"rf": 2, "requests": ("K1 write ALL", "K2 read QUORUM")},
        11867,
        26,
    ),
}
# What leads back is searched whole where nobody is more than so many epochs behind.
JOIN_LEAVE = {"operations": ("bootstrap X --tokens 150", "decommission X")}
REJOIN = {"rf": 1, "operations": ("bootstrap X --tokens 150",), "cancels": 2}
CLEAN |= {
    "join and leave again, RF 1": ({**JOIN_LEAVE, "rf": 1, "lag": 4}, 13185, 67),
    "cancel and join again": ({**REJOIN, "lag": 2}, 10738, 42),
}
# A read answers when a write quorum holds what it found: one order of a write and two reads.
THREE = ("K1 write QUORUM", "K2 read QUORUM", "K2 read QUORUM")
REPAIRED = {"rf": 1, "requests": THREE, "together": True, "repair": "blocking"}
SWAP = {"nodes": 3, "rf": 2, "operations": ("replace B Z",)}
CLEAN |= {"lag 1, blocking repair, bootstrap": ({**REPAIRED, "lag": 1}, 26136, 26)}
# what only `make test-deep` searches
LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "bootstrap, RF 3": ({"rf": 3}, 407156, 32),
    "time-outs, RF 2": ({"rf": 2, "timeouts": True}, 108236, 27),
    "move, RF 2": ({**MOVE, "rf": 2}, 82157, 32),
    "remove, RF 3": (REMOVE, 74590, 31),
    "decommission, RF 3": ({"nodes": 4, "rf": 3, "operations": LEAVE}, 414949, 32),
    "cancel of a replacement, RF 3": ({**REPLACEMENT, "rf": 3}, 550264, 50),
    "joint, RF 3": ({"rf": 3, "acknowledgement": "joint"}, 382786, 32),
    "cancel of a removal, RF 3": (REMOVAL, 972843, 55),
    "server, RF 3": ({"rf": 3, "edition": "server"}, 415444, 33),
    "last relevant epoch, RF 3": ({"rf": 3, "exchange": "relevant"}, 466695, 32),
    "last-modified epoch, RF 3": ({"rf": 3, "exchange": "last-modified"}, 495685, 33),
    "clients side by side, RF 2": ({"rf": 2, "together": True}, 570656, 28),
    "join and leave again, RF 2": ({**JOIN_LEAVE, "rf": 2, "lag": 2}, 42949, 59),
    "join and leave again, lag 8, RF 1": ({**JOIN_LEAVE, "rf": 1, "lag": 8}, 52275, 76),
    "join and leave again, lag 4, RF 2": ({**JOIN_LEAVE, "rf": 2, "lag": 4}, 379414, 67),
    "cancel and join again, lag 4": ({**REJOIN, "lag": 4}, 50465, 46),
    "cancel and join again, lag 8": ({**REJOIN, "lag": 8}, 193774, 54),
    "blocking repair, bootstrap": (REPAIRED, 218794, 28),
    "blocking repair, leave": ({**REPAIRED, "nodes": 4, "operations": LEAVE}, 286510, 29),
    "blocking repair, replace": ({**REPAIRED, **SWAP}, 282247, 29),
    "blocking repair, move": ({**MOVE, **REPAIRED}, 542558, 33),
}
# The same three requests with more replicas: one client after the other, or nobody far behind.
ONE_BY_ONE = {"requests": THREE, "repair": "blocking"}
LARGE |= {
    "three requests, RF 2": ({**ONE_BY_ONE, "rf": 2}, 82452, 35),
    "three requests, lag 1, RF 3": ({**ONE_BY_ONE, "rf": 3, "lag": 1}, 198418, 38),
    "three requests together, lag 1, RF 2": ({**REPAIRED, "rf": 2, "lag": 1}, 320370, 36),
}
# Each landing searches a smaller one of the same kind.
CLEAN |= {
    "decommission, lag 1, RF 2": ({"nodes": 4, "rf": 2, "operations": LEAVE, "lag": 1}, 3483, 26),
    "cancel of a replacement, lag 1, RF 2": ({**REPLACEMENT, "rf": 2, "lag": 1}, 2475, 32),
    "two datacenters, lag 1": ({**TWO, "lag": 1}, 3077, 25),
    "server, RF 1": ({"rf": 1, "edition": "server"}, 1656, 22),
    "last relevant epoch, RF 1": ({"rf": 1, "exchange": "relevant"}, 1581, 22),
    "last-modified epoch, RF 1": ({"rf": 1, "exchange": "last-modified"}, 1888, 22),
    "delete and read, RF 1": (
        {"rf": 1, "requests": ("K1 delete QUORUM", "K2 read QUORUM")},
        1577,
        22,
    ),
    "retries, RF 1": ({"rf": 1, "retry": True}, 1057, 22),
    "clients side by side, lag 1": ({"rf": 1, "together": True, "lag": 1}, 4637, 20),
}
LARGE |= {
    name: CLEAN.pop(name)
    for name in (
        *("decommission, RF 2", "cancel of a replacement, RF 2", "two datacenters"),
        *("server, RF 2", "last relevant epoch, RF 2", "last-modified epoch, RF 2"),
        *("delete and read", "retries", "clients side by side"),
    )
}
# What a million states are too few for: nothing breaks in runs of so many steps.
BOUND = 1_000_000
BOUNDED: dict[str, tuple[dict[str, Any], int]] = {
    "three requests together, RF 2": ({**REPAIRED, "rf": 2}, 19),
    "three requests together, RF 3": ({**REPAIRED, "rf": 3}, 14),
    "three requests together, lag 0, RF 3": ({**REPAIRED, "rf": 3, "lag": 0}, 19),
}
BLOCKING = tuple(name for name in (*CLEAN, *LARGE) if name.startswith("blocking repair"))

# safeguard -> what its smallest configuration breaks first, and in how many steps
BROKEN = {
    "progress-barrier": ("visible", 13),
    "epoch-exchange": ("visible", 16),
    "plan-revalidation": ("consistency-level", 7),
    "membership-check": ("owners-serve", 14),
    "write-before-read": ("quorums-in-use", 6),
    "old-writer-stays": ("quorums-in-use", 9),
    "streams-before-switch": ("streamed", 9),
    "known-before-streams": ("streamed", 12),
    "two-event-cancel": ("quorums-in-use", 10),
    "stream-from-displaced": ("streamed", 14),
}


def smallest(name: str) -> dict[str, Any]:
    """The parameters of a safeguard's smallest configuration."""
    return dict(next(guard for guard in Dataplane.safeguards if guard.name == name).smallest)


def search(
    parameters: dict[str, Any], *off: str, lost: bool = False, most: int | None = None
) -> tuple[Result, Any]:
    """A search that ends at known costs, too, and its model.

    ``lost``: only what a client can see is judged.
    """
    model = build("dataplane", parameters, off)
    if lost:
        found = check(model, (), monitors=model.monitors, max_states=most, past_costs=False)
        return found, model
    return check(model, max_states=most, past_costs=False), model
