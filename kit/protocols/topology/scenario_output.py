"""The join handshake in the registry: the runs worth seeing, and what scenario files show."""

from __future__ import annotations

from typing import Any

from kit.engine.declared import entry
from kit.engine.registry import Fuzzing, Scenario
from kit.protocols.topology.facts import joining as facts
from kit.protocols.topology.join import Join

_ASKED = (
    *("deliver N>B query N1 1", "deliver B>N mode 1 raft"),
    *("deliver N>B request N1 1 prod simple f -", "place B"),
)
SCENARIOS = (
    Scenario("join-handshake", "N asks B, and A, which coordinates, lets it in"),
    Scenario(
        "other-cluster",
        "N's configuration names another cluster: B turns it away at once",
        {"cluster": "test"},
    ),
    Scenario(
        "feature-missing",
        "N lacks a feature that is enabled: the coordinator turns it away, and it has left",
        {"supports": False},
    ),
    Scenario(
        "crash-and-wipe",
        "N crashes midway: it gets in with a cleared data directory only",
        {"restarts": 1, "wipes": 1},
        script=(
            *(*_ASKED, "start-again", "deliver B>N placed 1"),
            *("deliver N>B query N1 2", "deliver B>N mode 2 raft"),
            *("deliver N>B request N1 2 prod simple f -", "place B"),
            *("deliver B>N rejected 2 unfinished", "take", "add", "respond"),
            *("deliver A>N response N1 accepted", "call-fails", "wipe-and-start"),
        ),
    ),
    Scenario(
        "replace-a-live-node",
        "N is to replace B, which is alive: refused",
        {"nodes": 3, "replaces": "B"},
    ),
    Scenario(
        "replace-a-dead-node",
        "N takes the place of C, which is dead: as it becomes normal, C has left",
        {"nodes": 3, "down": ("C",), "replaces": "C"},
    ),
    Scenario(
        "new-coordinator",
        "The coordinator restarts while its response is on its way; the next one sends it again",
        {"outages": 1},
        script=(*_ASKED, "take", "add", "respond", "restart-member A", "elect B"),
    ),
    Scenario(
        "removed-node-is-back",
        "Z was removed while it was cut off; its old write is refused in the handshake",
        {"zombie": True},
        script=("wake-up", "deliver Z>A write Z"),
    ),
)


def rows(m: Join, s: Any, _: str) -> str:
    """The rows of host ids."""
    return "\n".join(
        f"{row.host}: {row.state}, {'in' if row.member else 'not in'} group 0"
        + (f", {row.reason}" if row.reason else "")
        for row in facts.hosts(s)
    )


def processes(m: Join, s: Any, _: str) -> str:
    """What each process is at."""
    return "\n".join(f"{row.name}: {row.doing}" for row in facts.processes(m, s))


def checks(m: Join, s: Any, _: str) -> str:
    """The checks that fail."""
    failing = [f"{row.name}, by {row.by}" for row in facts.checks(m, s) if row.fails]
    return "\n".join(failing) or "none fails"


ENTRY = entry(
    Join,
    scenarios=SCENARIOS,
    scenario_output={"rows": rows, "processes": processes, "checks": checks},
    fuzzing=Fuzzing(
        {
            "nodes": 3,
            "enabled": False,
            "zombie": True,
            "restarts": 3,
            "downgrades": True,
            "wipes": 2,
            "outages": 2,
            "losses": 2,
            "copies": 1,
        },
        {"crash": 0.05, "outage": 0.05, "enable": 0.2},
    ),
)
