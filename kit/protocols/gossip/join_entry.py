"""A join and a removal by gossip in the registry, with the runs worth seeing."""

from __future__ import annotations

from typing import Any

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.gossip.facts import joining as facts
from kit.protocols.gossip.joining.model import TITLE, GossipJoin
from kit.protocols.gossip.joining.parameters import (
    JOIN_SAFEGUARDS_BY_GOSSIP,
    GossipJoinParameters,
)

_HEARD = ("gossip A X", "gossip A B", "gossip A C")
SCENARIOS = (
    Scenario("one-join", "X joins: shadow round, BOOT, RING_DELAY, streaming, NORMAL"),
    Scenario(
        "death-of-the-joiner",
        "X dies after it has streamed: it starts from scratch, and streams again",
        {"crashes": 1},
        script=("shadow X A", "boot X", *_HEARD, "stream X", "crash X"),
    ),
    Scenario(
        "cut-off-meanwhile",
        "C does not hear of X while it is cut off: RING_DELAY passes all the same",
        {"cuts": 1},
        script=("shadow X A", "boot X", "gossip A X", "gossip A B", "cut-off C", "stream X"),
    ),
    Scenario(
        "two-shadow-rounds",
        "X and Y begin at once: neither hears of the other before both join",
        {"joiners": 2, "rf": 3},
        off=("one-at-a-time",),
        script=("shadow X A", "shadow Y A", "boot X", "boot Y"),
    ),
    Scenario(
        "death-of-a-neighbour",
        "A dies while it drives the removal of Z: on B the operator starts from scratch",
        {"operation": "removenode", "rf": 3, "crashes": 1},
        script=(
            "removenode A Z",
            "gossip A B",
            "gossip A C",
            "restore A",
            "crash A",
            "removenode B Z",
        ),
    ),
)


def views(m: GossipJoin, s: Any, _: str) -> str:
    """What each node has heard, and where it finds the key."""
    return "\n".join(
        f"{row.name}: reads {', '.join(row.reads) or '–'}"
        + (f", writes to {', '.join(row.pending)}, too" if row.pending else "")
        + (f", holds write {', '.join(map(str, row.holds))}" if row.holds else "")
        for row in facts.views(m, s)
    )


def streams(m: GossipJoin, s: Any, _: str) -> str:
    """How often data were streamed."""
    return f"streamed so far: {s.streams}"


ENTRY = Entry(
    name="gossip_join",
    title=TITLE,
    parameters=GossipJoinParameters,
    build=GossipJoin,
    safeguards=JOIN_SAFEGUARDS_BY_GOSSIP,
    scenarios=SCENARIOS,
    scenario_output={"views": views, "streams": streams},
    fuzzing=Fuzzing(
        {"joiners": 2, "rf": 2, "writes": 3, "crashes": 2, "cuts": 0},
        {"crash": 0.2, "write": 0.3},
    ),
)
