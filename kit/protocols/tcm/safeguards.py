"""The safeguards of the epoch protocol: what each is called, and what may break without it.

Ids, invariants and minimal traces are those of the project's requirements. What each one does, and
where, stands beside its switch in ``kit.protocols.tcm.rules.safeguards``.
"""

from __future__ import annotations

from kit.engine.safeguards import Safeguard

PROGRESS_BARRIER = Safeguard(
    "progress-barrier",
    "S-01",
    "Each event waits until a majority of old and new replicas has applied the last one",
    ("INV-ONESTEP", "INV-VISIBLE"),
)
WRITE_BEFORE_READ = Safeguard(
    "write-before-read",
    "S-05",
    "New replicas are written to before they are read from",
    ("INV-QI", "INV-RF", "INV-VISIBLE"),
    wider={"INV-QI": {"rf": 1}},
)
OLD_WRITER_STAYS = Safeguard(
    "old-writer-stays",
    "S-06",
    "The old replica keeps getting writes until the read switch is known",
    ("INV-QI", "INV-VISIBLE"),
)
STREAMS_BEFORE_SWITCH = Safeguard(
    "streams-before-switch",
    "S-07",
    "Reads move only when the data has moved",
    ("INV-STREAM", "INV-VISIBLE"),
)
KNOWN_BEFORE_STREAMS = Safeguard(
    "known-before-streams",
    "S-08",
    "Streaming begins only when the new writers are known",
    ("INV-STREAM", "INV-VISIBLE"),
)
RANGE_LOCKS = Safeguard(
    "range-locks",
    "S-09",
    "Operations in flight lock their ranges",
    ("INV-LOCK", "INV-RF"),
)
VALIDATE_COMMITTED = Safeguard(
    "validate-committed",
    "S-10",
    "What is proposed must make sense in the committed state",
    ("INV-VALID", "INV-RF"),
)
REPLICATION_CHECK = Safeguard(
    "replication-check",
    "S-11",
    "No node may go when too few would be left",
    ("INV-RF",),
)
APPLY_IN_ORDER = Safeguard(
    "apply-in-order",
    "S-16",
    "Nodes apply epochs in order, without gaps",
    ("INV-SAMESTATE", "INV-LOG"),
)
OPERATOR_CANCEL = Safeguard(
    "operator-cancel",
    "S-17",
    "Only an operator cancels, no timeout does",
    ("INV-CANCEL",),
)
TWO_EVENT_CANCEL = Safeguard(
    "two-event-cancel",
    "S-18",
    "After the read switch a cancel takes two events, with a barrier between",
    ("INV-QI", "INV-VISIBLE"),
)
PENDING_IN_METADATA = Safeguard(
    "pending-in-metadata",
    "S-53",
    "Steps yet to do are kept in the metadata",
    ("INV-RESUME", "INV-PROGRESS"),
)
SPLIT_FIRST = Safeguard(
    "split-first",
    "S-54",
    "Ranges are split before their owners change",
    ("INV-COVER",),
)
MERGE_EQUALITY = Safeguard(
    "merge-equality",
    "S-55",
    "Only neighbours with equal replica groups are merged",
    ("INV-RF",),
)
STREAM_FROM_DISPLACED = Safeguard(
    "stream-from-displaced",
    "S-57",
    "Data comes from the replica whose place is taken",
    ("INV-STREAM", "INV-VISIBLE"),
)

# Those that metadata alone can judge, each with the smallest case that needs it. What is streamed,
# when, and what clients then see, only requests on stored data can tell.
SAFEGUARDS: tuple[Safeguard, ...] = (
    PROGRESS_BARRIER.seen_by("INV-ONESTEP"),
    WRITE_BEFORE_READ.seen_by("INV-QI", "INV-RF"),
    OLD_WRITER_STAYS.seen_by("INV-QI").shown_by({"rf": 3}),
    RANGE_LOCKS.shown_by({"operations": ("bootstrap X --tokens 150", "bootstrap Y --tokens 130")}),
    VALIDATE_COMMITTED.shown_by({"nodes": 4, "operations": ("decommission D", "replace D Y")}),
    REPLICATION_CHECK.shown_by({"rf": 3, "operations": ("decommission C",)}),
    APPLY_IN_ORDER.shown_by({"nodes": 2, "rf": 1, "window": 2}),
    OPERATOR_CANCEL.shown_by({"cancels": 1}),
    TWO_EVENT_CANCEL.seen_by("INV-QI").shown_by({"rf": 3, "cancels": 1}),
    PENDING_IN_METADATA.shown_by({"crashes": 1}),
    SPLIT_FIRST,
    MERGE_EQUALITY.shown_by({"nodes": 4, "operations": ("decommission D",)}),
)
