"""What reads and writes need while a node operation moves their range.

Ids, invariants and minimal traces are those of the project's requirements. What each one does
stands beside its switch in ``kit.protocols.vnodes.rules.safeguards``.
"""

from __future__ import annotations

from kit.engine.safeguards import Safeguard
from kit.protocols.storage.parameter_types import USUAL_REQUESTS

DELETED = ("K1 write QUORUM", "K1 delete QUORUM", "K2 read QUORUM")
_LOST = ("INV-STREAM", "INV-VISIBLE")
_ONE = {"nodes": 3, "rf": 1}
# A second operation, and a deletion whose tombstones are forgotten meanwhile.
_AGAIN = {"leaves": True, "collecting": True, "requests": DELETED}

DRAIN_BEFORE_LEAVING = Safeguard(
    "drain-before-leaving",
    "S-28",
    "A node is shut down only when nobody writes to it any more",
    ("INV-AVAIL",),
    {**_ONE, "operation": "decommission"},
)
SAFEGUARDS: tuple[Safeguard, ...] = (
    Safeguard(
        "write-before-read",
        "S-05",
        "New replicas are written to before they are read from",
        ("INV-VISIBLE",),
        _ONE,
    ),
    Safeguard(
        "old-writer-stays",
        "S-06",
        "The old replica keeps getting writes until all know the read switch",
        ("INV-VISIBLE",),
        _ONE,
    ),
    Safeguard(
        "streams-before-switch",
        "S-07",
        "Reads move only when the data has moved",
        _LOST,
        _ONE,
    ),
    Safeguard(
        "known-before-streams",
        "S-08",
        "Streaming begins only after the barrier of write_both_read_old",
        _LOST,
        _ONE,
    ),
    Safeguard(
        "stream-from-displaced",
        "S-57",
        "Data comes from the replica whose place is taken",
        _LOST,
        # What one write can show; that a client misses it needs a read.
        {"nodes": 4, "rf": 3, "losses": 1, "requests": USUAL_REQUESTS[:1]},
        wider={"INV-VISIBLE": {"requests": USUAL_REQUESTS}},
    ),
    Safeguard(
        "fencing",
        "S-20",
        "Replicas refuse requests of versions below fence_version",
        ("INV-FENCE", "INV-VISIBLE"),
        {**_ONE, "edition": "server", "drain_fails": True},
    ),
    Safeguard(
        "barrier-drains",
        "S-21",
        "A barrier waits until requests of older versions are over",
        ("INV-STREAM", "INV-VISIBLE"),
        _ONE,
    ),
    DRAIN_BEFORE_LEAVING,
    Safeguard(
        "sessions",
        "S-24",
        "What streams works under its session only",
        ("INV-SESSION", "INV-NORES"),
        {**_ONE, "operation": "decommission", **_AGAIN, "late": 1},
    ),
    Safeguard(
        "cleanup-first",
        "S-41",
        "Nodes clean up before a change that gives ranges back",
        ("INV-NORES",),
        {**_ONE, **_AGAIN},
    ),
    Safeguard(
        "no-rollback-after-switch",
        "S-60",
        "An operation is rolled back only before reads have moved",
        ("INV-VISIBLE",),
        _ONE,
    ),
)
