"""The scenarios of a schema by gossip, and what a scenario file shows of a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.engine.declared import entry
from kit.engine.registry import Fuzzing, Scenario
from kit.protocols.gossip.facts import moment as facts
from kit.protocols.gossip.gossip import Gossip


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
