"""The safeguards of the topology, as the rules ask for them: on unless switched off.

What each is called and what breaks without it stands in ``kit.protocols.topology.control``.
"""

from __future__ import annotations

from msgspec import Struct, field

from kit.protocols.group0.rules.commands import Group0Safeguards
from kit.protocols.topology.rules.machines import Edition


class TopologySafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard; each has the name of its safeguard."""

    group0: Group0Safeguards = field(default_factory=Group0Safeguards)
    """Those of the commands, among them that each carries its guard."""
    tablet_track_excludes: bool = True
    """Off, a node operation begins while tablets move (``rules.queue``)."""
    drain_before_leaving: bool = True
    """Off, a node is told to shut down before the others stopped writing to it (``rules.work``)."""
    continue_from_tables: bool = True
    """Off, what is under way is known to the coordinator that began it alone (``coordinator``)."""
    start_marker: bool = True
    """Off, a new coordinator begins without a command of its own (``coordinator``)."""
    no_rollback_after_switch: bool = True
    """Off, an operation may roll back once reads use the new replicas (``rules.work``)."""
    fencing: bool = True
    """Off, a replica serves requests of any version (``rules.fence``)."""
    barrier_drains: bool = True
    """Off, a node answers a barrier while its older requests run (``rules.fence``)."""
    sessions: bool = True
    """Off, work is let in and left alone whatever its session (``rules.fence``)."""
    refuse_live_removal: bool = True
    """Off, a node that is up may be removed (``rules.requests``)."""
    cleanup_first: bool = True
    """Off, a node may get a range back before it cleaned up (``rules.queue``)."""
    refuse_left: bool = True
    """Off, a host id that has left may join once more (``rules.requests``)."""


class Setting(Struct, frozen=True, cache_hash=True):
    """How a cluster is run: its edition, and which safeguards are on."""

    edition: Edition = "server"
    safeguards: TopologySafeguards = TopologySafeguards()
