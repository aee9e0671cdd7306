"""What the model of failures takes: a cluster's datacenters, and how its data are replicated."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.engine.safeguards import Safeguard
from kit.protocols.topology.parameter_types import AnyEdition

MOST_NODES = 9


class FailuresParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster in which nodes fail and come back."""

    edition: AnyEdition = "documents"
    datacenters: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MOST_NODES)], ...],
        Meta(
            description="the number of nodes of each datacenter; A is the first node of the first",
            min_length=1,
            max_length=MOST_NODES,
            extra_json_schema={"written": True},
        ),
    ] = (3,)
    racks: Annotated[
        int, Meta(description="how many racks each datacenter has", ge=1, le=MOST_NODES)
    ] = 3
    rf: Annotated[
        int,
        Meta(
            title="RF",
            description="replicas of each range in each datacenter",
            ge=1,
            le=MOST_NODES,
        ),
    ] = 3
    together: Annotated[
        str,
        Meta(
            description="nodes that may fail at once, such as A B; a datacenter may do so anyway",
            extra_json_schema={"written": True},
        ),
    ] = ""
    changes: Annotated[
        int,
        Meta(title="schema changes", description="how many columns may be added", ge=0, le=9),
    ] = 2


class FailuresSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard."""

    majority: bool = True
    """Off, a schema change needs nobody but the nodes that hear of it."""


SAFEGUARDS = (
    Safeguard(
        "majority",
        "S-32",
        "A majority of the voters stores a schema change",
        ("INV-LIN",),
        {"datacenters": (3,), "changes": 2},
    ),
)
