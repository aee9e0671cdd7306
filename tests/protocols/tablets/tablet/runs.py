"""The configurations that are searched, what each run must find, and a way to run them."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.protocols.storage.storage import USUAL_REQUESTS
from kit.protocols.tablets.tablet import DELETED, REPAIRED, Tablet
from kit.search.check import Result, check

ONE = {"rf": 1}
SERVER = {"edition": "server"}
TWO = {"rf": 2}
WITHIN = {"kind": "intranode_migration"}
WITHIN_SLOW = {**ONE, **WITHIN, "slow": True}
WITHIN_THEN = {**ONE, **SERVER, **WITHIN, "second": "other"}
AGAIN = {**ONE, "second": "again", "collecting": True, "requests": DELETED}
WITHIN_AGAIN = {**AGAIN, **WITHIN, "late": 1}
# what it is called -> parameters, unique states, steps of the longest shortest run
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "migration, documents, RF 1": (ONE, 3208, 33),
    "migration, server, RF 1": ({**ONE, **SERVER}, 1033, 33),
    "migration, documents, RF 2": (TWO, 15802, 43),
    "migration, server, RF 2": ({**TWO, **SERVER}, 4505, 43),
    "rebuild, documents, RF 2": ({**TWO, "kind": "rebuild"}, 9317, 34),
    "rebuild, server, RF 2": ({**TWO, **SERVER, "kind": "rebuild"}, 9317, 34),
    "rebuild_v2, documents, RF 2": ({**TWO, "kind": "rebuild_v2"}, 15387, 37),
    "rebuild_v2, server, RF 2": ({**TWO, **SERVER, "kind": "rebuild_v2"}, 15387, 37),
    "repair, documents, RF 2": ({**TWO, "kind": "repair"}, 1407, 21),
    "repair, server, RF 2": ({**TWO, **SERVER, "kind": "repair"}, 1407, 21),
    "within a node, documents, RF 1": ({**ONE, **WITHIN}, 1176, 25),
    "within a node, documents, RF 2": ({**TWO, **WITHIN}, 5462, 35),
    "within a node, server, RF 2": ({**TWO, **SERVER, **WITHIN}, 1709, 35),
    "within a node, slow replicas, RF 1": (WITHIN_SLOW, 1686, 27),
    "within a node, a crash, server, RF 1": ({**ONE, **SERVER, **WITHIN, "crashes": 1}, 3614, 26),
    "within a node, then to another, server, RF 1": (WITHIN_THEN, 2144, 60),
    "repair, a deletion, a late copy, RF 2": (REPAIRED, 14278, 27),
    "a crash, server, RF 1": ({**ONE, **SERVER, "crashes": 1}, 19210, 34),
    "a lost message, server, RF 2": ({**TWO, **SERVER, "losses": 1}, 16046, 44),
    "slow replicas, RF 1": ({**ONE, "slow": True}, 4962, 35),
    "time-outs, server, RF 1": ({**ONE, **SERVER, "timeouts": True}, 12122, 34),
    "an excluded writer, server, RF 1": ({**ONE, **SERVER, "excluded": "K1"}, 26520, 40),
    "an excluded target, server, RF 1": ({**ONE, **SERVER, "excluded": "D"}, 28339, 38),
    "an excluded replica that leaves, server, RF 1": (
        {**ONE, **SERVER, "excluded": "A"},
        22109,
        36,
    ),
    "tried again, RF 1": ({**ONE, "second": "again"}, 14695, 55),
    "two moves, server, one write, RF 1": (
        {**ONE, **SERVER, "second": "other", "requests": USUAL_REQUESTS[:1]},
        3034,
        73,
    ),
    "two moves, server, RF 1": ({**ONE, **SERVER, "second": "other"}, 5440, 76),
    "clients side by side, server, RF 1": ({**ONE, **SERVER, "together": True}, 15275, 33),
}
LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "migration, documents, RF 3": ({}, 527057, 53),
    "migration, server, RF 3": (SERVER, 139698, 53),
    "rebuild, documents, RF 3": ({"kind": "rebuild"}, 73899, 45),
    "rebuild, server, RF 3": ({**SERVER, "kind": "rebuild"}, 68148, 45),
    "rebuild_v2, documents, RF 3": ({"kind": "rebuild_v2"}, 111966, 51),
    "rebuild_v2, server, RF 3": ({**SERVER, "kind": "rebuild_v2"}, 97199, 51),
    "within a node, documents, RF 3": (WITHIN, 196646, 44),
    "within a node, server, RF 3": ({**SERVER, **WITHIN}, 57000, 44),
    "within a node, slow replicas, RF 2": ({**TWO, **WITHIN, "slow": True}, 14723, 39),
    "within a node, a crash, server, RF 2": ({**TWO, **SERVER, **WITHIN, "crashes": 1}, 32406, 36),
    "within a node, tried again, a late copy, RF 1": (WITHIN_AGAIN, 30986, 46),
    "a crash, server, RF 2": ({**TWO, **SERVER, "crashes": 1}, 130302, 44),
    "a crash, rebuild, documents, RF 3": ({"kind": "rebuild", "crashes": 1}, 461632, 46),
    "a lost message, server, RF 3": ({**SERVER, "losses": 1}, 532516, 53),
    "one write, a lost message, server, RF 3": (
        {**SERVER, "losses": 1, "requests": USUAL_REQUESTS[:1]},
        40276,
        49,
    ),
    "tried again, a late stream": ({**AGAIN, "late": 1}, 87652, 61),
    "an excluded target, server, RF 2": ({**TWO, **SERVER, "excluded": "D"}, 161544, 50),
    "two moves, server, RF 2": ({**TWO, **SERVER, "second": "other"}, 25826, 94),
}
# The other edition has as many states.
LARGE |= {
    name: CLEAN.pop(name) for name in ("rebuild, documents, RF 2", "rebuild_v2, documents, RF 2")
}

# safeguard -> what its smallest configuration breaks first, and in how many steps
BROKEN = {
    "fencing": ("replicas-hold", 28),
    "barrier-drains": ("stage-asks", 7),
    "allow-stage": ("found-there", 3),
    "level-in-both-sets": ("visible", 10),
    "sessions": ("no-resurrection", 20),
    "one-transition": ("streamed", 23),
    "stable-ownership": ("found-there", 17),
    "stream-from-leaving": ("streamed", 21),
    "fallback-stage": ("visible", 20),
}
GUARDS = {guard.name: guard for guard in Tablet.safeguards}


def built(parameters: dict[str, Any], off: tuple[str, ...] = ()) -> Any:
    """The model of one tablet."""
    return build("tablet", parameters, off)


def search(parameters: dict[str, Any], *off: str, lost: bool = False) -> tuple[Result, Any]:
    """A search up to known costs, and its model; ``lost``: only what a client can see is judged."""
    model = built(parameters, off)
    if lost:
        return check(model, (), monitors=model.monitors), model
    return check(model, past_costs=False), model
