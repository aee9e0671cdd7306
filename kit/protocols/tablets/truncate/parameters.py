"""What the model of a truncate takes, what can be switched off in it, and its safeguard."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.engine.safeguards import Safeguard
from kit.protocols.topology.parameter_types import faults

MOST_FAULTS = 9


def _times(title: str, meaning: str) -> Meta:
    return faults(title, meaning, MOST_FAULTS)


class TruncateParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table with its replicas, and what may go wrong while it is truncated."""

    nodes: Annotated[int, Meta(description="how many nodes there are", ge=1, le=26)] = 3
    replicas: Annotated[
        str,
        Meta(
            description="the nodes that hold replicas of the table",
            extra_json_schema={"written": True},
        ),
    ] = "A B"
    late: Annotated[int, _times("late RPCs", "how many truncate RPCs may be late")] = 1
    changes: Annotated[
        int, _times("coordinator changes", "how often another coordinator takes over")
    ] = 0
    moves: Annotated[int, _times("moves", "how often tablets begin to move")] = 0


class TruncateSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard."""

    truncate_session: bool = True
    """Off, a node carries out a truncate RPC whatever its session."""


SAFEGUARDS = (
    Safeguard(
        "truncate-session",
        "S-42",
        "A truncate has effect within its session only",
        ("INV-SESSION", "INV-VISIBLE"),
        {"nodes": 1, "replicas": "A", "late": 1},
    ),
)
