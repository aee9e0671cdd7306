"""What each safeguard of a range's history does, as a switch."""

from __future__ import annotations

from msgspec import Struct


class VnodeSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard; each has the name of its safeguard."""

    write_before_read: bool = True
    """Off, the first of the two states reads new replicas and writes old ones."""
    old_writer_stays: bool = True
    """Off, writes go to the new replicas alone as soon as reads do."""
    streams_before_switch: bool = True
    """Off, reads move although copies are still on their way."""
    known_before_streams: bool = True
    """Off, streaming does not wait for the barrier."""
    stream_from_displaced: bool = True
    """Off, any other old replica is streamed from."""
    fencing: bool = True
    """Off, replicas admit requests of any version."""
    barrier_drains: bool = True
    """Off, a barrier does not wait for requests of older versions."""
    drain_before_leaving: bool = True
    """Off, a node that leaves is shut down without a barrier."""
    sessions: bool = True
    """Off, a replica takes what streaming brings, whichever step it was begun in."""
    cleanup_first: bool = True
    """Off, a node may get a range back before it cleaned up."""
    no_rollback_after_switch: bool = True
    """Off, an operation may be rolled back also once reads have moved."""
