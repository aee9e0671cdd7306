"""What the parameters that both models of the topology take are called, mean and may be."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kit.protocols.topology.rules.machines import Edition

AnyEdition = Annotated[
    Edition, Meta(description="the documents (seed) or the published server (code)")
]


def members(most: int) -> Meta:
    """How many members a cluster may begin with."""
    return Meta(description="how many members there are at first", ge=1, le=most)


def faults(title: str, meaning: str, most: int) -> Meta:
    """How often something may go wrong: a number of at most ``most``."""
    return Meta(title=title, description=meaning, ge=0, le=most)
