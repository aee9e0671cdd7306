"""The scenarios of a schema and of an operation by gossip, and what scenario files show of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.engine.declared import entry
from kit.engine.registry import Fuzzing, Scenario
from kit.protocols.gossip.facts import joining
from kit.protocols.gossip.facts import moment as facts
from kit.protocols.gossip.gossip import Gossip
from kit.protocols.gossip.gossip_join import GossipJoin


def versions(m: Any, s: Any, _: str) -> str:
    """Each node's version, and what it has heard of the others."""
    return "\n".join(
        f"{row.name}: {row.version}; heard "
        + ", ".join(f"{each.endpoint} {each.version}" for each in row.heard)
        for row in facts.versions(m, s)
    )


def schemas(m: Any, s: Any, _: str) -> str:
    """What each node says of each keyspace, table and column."""
    return "\n".join(
        f"{'≠' if row.differs else '='} {row.name}: "
        + ", ".join(
            f"{node.name} {value or '–'}" for node, value in zip(s.nodes, row.values, strict=True)
        )
        for row in facts.schemas(m, s)
    )


def changes(m: Any, s: Any, _: str) -> str:
    """What became of each change that was done."""
    lines = (
        f"{row.text}: timestamp {row.timestamp}, known to {', '.join(row.known) or 'nobody'}"
        + (f", overwritten on {', '.join(row.overwritten)}" if row.overwritten else "")
        for row in facts.changes(m, s)
        if row.timestamp is not None
    )
    return "\n".join(lines) or "nothing was asked for"


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "versions": versions,
    "schemas": schemas,
    "changes": changes,
}
RIVALS = ("create table ks.t at A", "create table ks.t at C")
SCENARIOS = (
    Scenario("one-change", "A creates a table; B and C hear of another version and pull it"),
    Scenario(
        "both-sides",
        "The network splits, both sides create the same table; the newer one stays",
        {"changes": RIVALS, "partitions": 1},
        script=("partition A B | C", *RIVALS, "heal"),
    ),
    Scenario(
        "clock-is-behind",
        "A's clock is ahead: what C does later, and knowing A's change, has no effect",
        {
            "changes": ("alter keyspace ks rf 2 at A", "alter keyspace ks rf 3 at B"),
            "clocks": (9,),
            "nodes": 2,
        },
        script=(
            *("alter keyspace ks rf 2 at A", "gossip A B", "deliver A>B SYN", "deliver B>A ACK"),
            *("deliver A>B ACK2", "pull B A", "deliver B>A pull"),
        ),
    ),
)
ENTRY = entry(
    Gossip,
    scenarios=SCENARIOS,
    scenario_output=OUTPUT,
    fuzzing=Fuzzing(
        {
            "nodes": 4,
            "changes": (
                *RIVALS,
                "create table ks.u at B",
                "alter table ks.u add c text at D",
                "drop table ks.t at B",
            ),
            "partitions": 2,
            "losses": 2,
            "at_once": 3,
        },
        {"drop": 0.1, "partition": 0.1, "change": 0.3},
    ),
)

_HEARD = ("gossip A X", "gossip A B", "gossip A C")
JOIN_SCENARIOS = (
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
        for row in joining.views(m, s)
    )


def streams(m: GossipJoin, s: Any, _: str) -> str:
    """How often data were streamed."""
    return f"streamed so far: {s.streams}"


JOIN_ENTRY = entry(
    GossipJoin,
    scenarios=JOIN_SCENARIOS,
    scenario_output={"views": views, "streams": streams},
    fuzzing=Fuzzing(
        {"joiners": 2, "rf": 2, "writes": 3, "crashes": 2, "cuts": 0}, {"crash": 0.2, "write": 0.3}
    ),
)
