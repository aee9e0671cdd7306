"""What each safeguard of one tablet's requests does, as a switch."""

from __future__ import annotations

from msgspec import Struct


class TabletSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard; each has the name of its safeguard."""

    fencing: bool = True
    """Off, replicas admit requests of any version."""
    barrier_drains: bool = True
    """Off, a barrier drains no version: it waits for no older request, and sets no fence."""
    allow_stage: bool = True
    """Off, a transition begins with ``write_both_read_old``."""
    level_in_both_sets: bool = True
    """Off, answers of any old or new replicas make up the level."""
    sessions: bool = True
    """Off, a replica takes what streaming brings, whichever stage it was begun in."""
    one_transition: bool = True
    """Off, a second transition may be written over the first."""
    stable_ownership: bool = True
    """Off, a replica serves reads only while the selector of its own stage names it."""
    stream_from_leaving: bool = True
    """Off, any other old replica is streamed from."""
    fallback_stage: bool = True
    """Off, edition ``server`` leaves ``write_both_read_new`` backwards in one step, too."""
