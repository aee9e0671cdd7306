"""The safeguards of the tablet tracks: what rules ask for, what each is called, and what it costs.

Off, each has a smallest configuration in which one of its invariants breaks.
"""

from __future__ import annotations

from msgspec import Struct, field

from kit.engine.safeguards import Safeguard
from kit.protocols.topology.rules.safeguards import TopologySafeguards


class TrackSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard; those of the cluster are its own."""

    topology: TopologySafeguards = field(default_factory=TopologySafeguards)
    one_transition: bool = True
    """Off, a tablet in transition may begin another one, planned on its old replicas."""
    drain_tablets_first: bool = True
    """Off, the coordinator does not look whether a node that is to leave has tablets."""


SAFEGUARDS = (
    Safeguard(
        "sessions",
        "S-24",
        "Work of a stage runs while its session is open, and no barrier passes it",
        ("INV-SESSION", "INV-TABL-1", "INV-STREAM"),
        {"nodes": 2, "tablets": ("A",), "moves": 1, "late": 1},
        wider={"INV-TABL-1": {"moves": 2}, "INV-STREAM": {"moves": 2}},
    ),
    Safeguard(
        "one-transition",
        "S-25",
        "A tablet has one transition at a time",
        ("INV-TABL-2", "INV-STREAM"),
        {"nodes": 4, "tablets": ("A B",), "moves": 2},
    ),
    Safeguard(
        "tablet-track-excludes",
        "S-26",
        "No node operation begins while tablets move",
        ("INV-EXCL", "INV-RF"),
        {"nodes": 2, "tablets": ("A",), "moves": 1, "operations": ("decommission B",)},
    ),
    Safeguard(
        "drain-tablets-first",
        "S-27",
        "A node's tablets move away before it leaves",
        ("INV-RF",),
        {"nodes": 2, "tablets": ("B",), "moves": 0, "operations": ("decommission B",)},
    ),
    Safeguard(
        "commit-with-guard",
        "S-59",
        "A command names the state that it was decided on",
        ("INV-ONCE", "INV-EXCL"),
        {"nodes": 2, "tablets": ("A",), "moves": 1, "changes": 1},
    ),
)
