"""What the model of the old procedure takes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.protocols.recovery.parameters import CommitIndexes, Dead, times
from kit.protocols.topology.parameter_types import AnyEdition, Crashes


class OldParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A group 0 that lost its majority, or a Raft upgrade that is stuck; what may still happen.

    In edition ``documents`` all members vote, in ``server`` at most five: they are chosen again
    whenever a majority of them is there. No server had both limited voters and all of this
    procedure; here they meet.
    """

    edition: AnyEdition = "documents"
    commit_indexes: CommitIndexes = (1, 2, 2, 2)
    dead: Dead = "C D"
    rf: Annotated[int, Meta(description="replicas of each range of data", ge=1, le=9)] = 3
    stuck: Annotated[
        bool,
        Meta(
            description="whether they died in the midst of a Raft upgrade, which needs every node; "
            "then they may be fewer than half"
        ),
    ] = False
    crashes: Crashes = 0
    deaths: Annotated[int, times("deaths", "how many more nodes may die for good")] = 0
    returns: Annotated[int, times("returns", "how many of those given up may come back")] = 0
    changes: Annotated[int, times("schema changes", "how many columns may be added")] = 0
    mistypes: Annotated[
        int, times("mistyped values", "how often group0_upgrade_state may be written wrongly")
    ] = 0
