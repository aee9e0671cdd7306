"""What the model of a table's resize takes: a table, its replicas, how its size may change."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.protocols.topology.parameter_types import AnyEdition, faults

MOST_FAULTS = 9


def _times(title: str, meaning: str) -> Meta:
    return faults(title, meaning, MOST_FAULTS)


class ResizeParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a few tablets, and what may happen to its size and its replicas."""

    edition: AnyEdition = "server"
    tablets: Annotated[
        tuple[str, ...],
        Meta(
            description="the replicas of each tablet, a power of two of them: A B, or A:0 B:1",
            extra_json_schema={"written": True},
        ),
    ] = ("A B", "A B")
    nodes: Annotated[int, Meta(description="how many nodes there are", ge=1, le=26)] = 3
    size: Annotated[
        int, Meta(description="the average tablet in percent of the target size", ge=1, le=10_000)
    ] = 75
    initial: Annotated[
        int, Meta(description="the tablet count that the schema asks for", ge=0, le=1024)
    ] = 0
    grows: Annotated[int, _times("growth", "how often the table grows to four times its size")] = 1
    shrinks: Annotated[int, _times("shrinking", "how often the table shrinks to a quarter")] = 0
    moves: Annotated[
        int, _times("moves", "how many replicas the balancer moves to even out the load")
    ] = 0
    repairs: Annotated[int, _times("repairs", "how many repairs of a tablet begin")] = 0
    ignored: Annotated[
        tuple[str, ...],
        Meta(
            description="the nodes that are dead and ignored: nothing waits for them, or moves",
            extra_json_schema={"written": True},
        ),
    ] = ()
