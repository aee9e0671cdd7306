"""The safeguards of the epoch protocol, as the rules ask for them: on unless switched off.

What each is called and what breaks without it stands in ``kit.protocols.tcm.safeguards``.
"""

from __future__ import annotations

from msgspec import Struct


class TcmSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard; each has the name of its safeguard."""

    progress_barrier: bool = True
    """Off, no step and no streaming waits for who knows the last epoch (``rules.barrier``)."""
    write_before_read: bool = True
    """Off, the read switch comes before the new writers (``rules.steps``)."""
    old_writer_stays: bool = True
    """Off, the old replica stops writing in the epoch of the read switch (``rules.steps``)."""
    streams_before_switch: bool = True
    """Off, the read switch waits for no streaming (``rules.streams``)."""
    known_before_streams: bool = True
    """Off, streaming waits for nobody to know the new writers (``rules.streams``)."""
    range_locks: bool = True
    """Off, operations in flight may work on the same ranges (``rules.permit``)."""
    validate_committed: bool = True
    """Off, what is proposed is judged by what its submitter has applied (``cluster``)."""
    replication_check: bool = True
    """Off, nodes may go although too few stay (``rules.permit``)."""
    apply_in_order: bool = True
    """Off, a node applies an entry above a gap at once (the log)."""
    operator_cancel: bool = True
    """Off, whoever does not hear of a node may cancel its operation (``model``)."""
    two_event_cancel: bool = True
    """Off, one event takes reads and writes back at once (``rules.plan``)."""
    pending_in_metadata: bool = True
    """Off, the steps still to do die with their driver (``model``)."""
    split_first: bool = True
    """Off, no range is cut at a new token (``rules.steps``)."""
    merge_equality: bool = True
    """Off, ranges are merged whoever replicates them (``rules.plan``, ``rules.history``)."""
    stream_from_displaced: bool = True
    """Off, data may come from any old replica (``rules.streams``)."""
