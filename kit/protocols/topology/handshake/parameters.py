"""What the model of a join takes: a cluster, what the joiner's configuration says, faults."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.protocols.topology.parameter_types import AnyEdition, faults, members
from kit.protocols.topology.rules.joining import CLUSTER, FEATURE, SNITCH

MOST_MEMBERS = 5
MOST_FAULTS = 5


def _faults(title: str, meaning: str) -> Meta:
    return faults(title, meaning, MOST_FAULTS)


def _written(meaning: str, title: str = "") -> Meta:
    named = {"title": title} if title else {}
    return Meta(description=meaning, extra_json_schema={"written": True, **named})


class JoinParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Members A, B and so on, of which A coordinates, the joiner N, and what may go wrong."""

    edition: AnyEdition = "server"
    nodes: Annotated[int, members(MOST_MEMBERS)] = 2
    cluster: Annotated[
        str, Meta(description=f"the cluster that the joiner's configuration names ({CLUSTER})")
    ] = CLUSTER
    snitch: Annotated[
        str, Meta(description=f"the snitch that the joiner's configuration names ({SNITCH})")
    ] = SNITCH
    supports: Annotated[
        bool, Meta(description=f"the joiner supports feature {FEATURE}, as members do")
    ] = True
    enabled: Annotated[bool, Meta(description=f"feature {FEATURE} is enabled from the start")] = (
        True
    )
    replaces: Annotated[
        str, Meta(description="the member that the joiner replaces; empty: none")
    ] = ""
    down: Annotated[tuple[str, ...], _written("the members that are down")] = ()
    removed: Annotated[
        bool, Meta(description="the joiner's host id was removed from the cluster before")
    ] = False
    zombie: Annotated[
        bool, Meta(description="a removed node, Z, wakes up with an old write to A")
    ] = False
    restarts: Annotated[int, _faults("restarts", "how often the joiner crashes and starts")] = 0
    downgrades: Annotated[
        bool, Meta(description=f"the joiner may start again without feature {FEATURE}")
    ] = False
    wipes: Annotated[int, _faults("wipes", "how often its data directory is cleared")] = 0
    outages: Annotated[int, _faults("outages", "how often a member crashes and starts")] = 0
    losses: Annotated[int, _faults("losses", "how often a message is lost")] = 0
    copies: Annotated[int, _faults("copies", "how often a message is copied")] = 0
