"""A schema by gossip in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.gossip.model import TITLE, Gossip
from kit.protocols.gossip.parameters import GossipParameters
from kit.protocols.gossip.scenario_output import OUTPUT

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
ENTRY = Entry(
    name="gossip",
    title=TITLE,
    parameters=GossipParameters,
    build=Gossip,
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
