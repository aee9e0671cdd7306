"""What the parameters that models under the coordinator share are called, mean and may be."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kit.protocols.topology.rules.machines import Edition

AnyEdition = Annotated[Edition, Meta(description="the documents, or the published server")]
DownAtFirst = Annotated[
    tuple[str, ...] | None,
    Meta(
        description="who is down at first; else the nodes that are removed or replaced",
        extra_json_schema={"hidden": True},
    ),
]
Names = Annotated[
    tuple[str, ...],
    Meta(
        description="the names of the members, where they have names of their own; else A, B, C",
        extra_json_schema={"hidden": True},
    ),
]
Ignored = Annotated[
    tuple[str, ...], Meta(description="the nodes to ignore", extra_json_schema={"written": True})
]
MOST_FAULTS = 9


def members(most: int) -> Meta:
    """How many members a cluster may begin with."""
    return Meta(description="how many members there are at first", ge=1, le=most)


def faults(title: str, meaning: str, most: int) -> Meta:
    """How often something may go wrong: a number of at most ``most``."""
    return Meta(title=title, description=meaning, ge=0, le=most)


Crashes = Annotated[int, faults("crashes", "how often a node may crash", MOST_FAULTS)]
CoordinatorChanges = Annotated[
    int,
    faults("coordinator changes", "how often a coordinator that is up may be deposed", MOST_FAULTS),
]
