"""What the model of the Raft upgrade takes: how the cluster begins, what may go wrong."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from kit.engine.safeguards import Safeguard

MOST = 9
Beginning = Literal["without Raft", "older version", "new cluster"]


def _times(title: str, meaning: str) -> Meta:
    return Meta(title=title, description=meaning, ge=0, le=MOST)


class RaftUpgradeParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster on the way into Raft."""

    nodes: Annotated[int, Meta(description="how many nodes there are", ge=2, le=9)] = 3
    beginning: Annotated[
        Beginning,
        Meta(description="nodes without the option, of an older version, or a new cluster"),
    ] = "without Raft"
    schema_problem: Annotated[
        bool,
        Meta(description="whether the last node has a definition that no other node can take over"),
    ] = False
    changes: Annotated[int, _times("schema changes", "how many clients ask for")] = 0
    crashes: Annotated[int, _times("crashes", "how often a node may go down")] = 0
    deaths: Annotated[int, _times("deaths", "how many nodes may be lost for good")] = 0
    cuts: Annotated[int, _times("cuts", "how often a pair may lose its connection")] = 0
    turns: Annotated[int, _times("turns", "how often the option may be turned off again")] = 0
    restarts: Annotated[int, _times("restarts", "how often a node may restart without need")] = 0
    edits: Annotated[int, _times("edits", "how often an operator may write the row")] = 0
    retries: Annotated[int, _times("retries", "how often each node says that it waits")] = 0


class RaftUpgradeSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard."""

    schema_synchronization: bool = True
    """Off, no node waits for equal schema."""
    all_alive: bool = True
    """Off, a node goes on without those that it cannot reach."""


SAFEGUARDS = (
    Safeguard(
        "schema-synchronization",
        "S-52",
        "The Raft upgrade ends only when all nodes have one schema",
        ("INV-SCHEMA", "INV-RAFT"),
        {"nodes": 2, "changes": 1},
        wider={"INV-RAFT": {"changes": 2}},
    ),
    Safeguard(
        "all-alive",
        "S-62",
        "The Raft upgrade starts only when all nodes are alive",
        ("INV-ONEGROUP", "INV-SCHEMA"),
        {"nodes": 2, "crashes": 1},
        wider={"INV-SCHEMA": {"changes": 1}},
    ),
)
