"""What the model of the topology upgrade takes, and its safeguard."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.engine.safeguards import Safeguard

MOST = 9


class TopologyUpgradeParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster whose schema group 0 keeps already, and nodes that want to join it."""

    nodes: Annotated[int, Meta(description="how many members there are", ge=1, le=9)] = 3
    older: Annotated[
        int, Meta(description="how many of them, A first, run an older version", ge=0, le=9)
    ] = 0
    joiners: Annotated[int, Meta(description="how many nodes may join", ge=0, le=3)] = 1
    crashes: Annotated[
        int, Meta(title="crashes", description="how often a node may go down", ge=0, le=MOST)
    ] = 0


class TopologyUpgradeSafeguards(Struct, frozen=True, kw_only=True):
    """The one switch that there is."""

    requests_after_done: bool = True
    """Off, the coordinator serves requests while it builds its state."""


SAFEGUARDS = (
    Safeguard(
        "requests-after-done",
        "S-63",
        "Topology requests are served only after upgrade_state is done",
        ("INV-MEMBER", "INV-SAMESTATE"),
        {"nodes": 1, "joiners": 1},
    ),
)
