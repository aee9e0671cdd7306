"""What reads and writes of a tablet need while its replicas change.

Ids, invariants and minimal traces are those of the project's requirements. What each one does
stands beside its switch in ``kit.protocols.tablets.requests.switches``.
"""

from __future__ import annotations

from kit.engine.safeguards import Safeguard
from kit.protocols.storage.parameter_types import USUAL_REQUESTS

DELETED = ("K1 write QUORUM", "K2 delete QUORUM", "K3 read QUORUM")
ONE = {"rf": 1}
SERVER = {**ONE, "edition": "server"}
REPAIRED = {"rf": 2, "kind": "repair", "collecting": True, "late": 1, "requests": DELETED}

SAFEGUARDS: tuple[Safeguard, ...] = (
    Safeguard(
        "fencing",
        "S-20",
        "Replicas refuse requests of versions below fence_version",
        ("INV-FENCE", "INV-TABL-1", "INV-VISIBLE"),
        {**SERVER, "excluded": "K1"},
    ),
    Safeguard(
        "barrier-drains",
        "S-21",
        "A barrier waits until requests of older versions are over",
        ("INV-STAGE", "INV-STREAM", "INV-VISIBLE"),
        ONE,
    ),
    Safeguard(
        "allow-stage",
        "S-22",
        "New replicas know of themselves before anybody writes to them",
        ("INV-STAGE", "INV-AVAIL"),
        ONE,
    ),
    Safeguard(
        "level-in-both-sets",
        "S-23",
        "A write is acknowledged in the old and in the new set",
        ("INV-VISIBLE",),
        ONE,
    ),
    Safeguard(
        "sessions",
        "S-24",
        "What streams works under its session only",
        ("INV-SESSION", "INV-NORES"),
        # A migration that is tried again shows the same in 46 steps.
        REPAIRED,
    ),
    Safeguard(
        "one-transition",
        "S-25",
        "A tablet has one transition at a time",
        ("INV-STREAM", "INV-VISIBLE"),
        {**SERVER, "second": "other"},
    ),
    Safeguard(
        "stable-ownership",
        "S-46",
        "Old and new replicas serve reads throughout the transition",
        ("INV-AVAIL",),
        ONE,
    ),
    Safeguard(
        "stream-from-leaving",
        "S-57",
        "Data comes from the replica whose place is taken",
        ("INV-STREAM", "INV-VISIBLE"),
        # What one write can show; that a client misses it needs a read.
        {"edition": "server", "losses": 1, "requests": USUAL_REQUESTS[:1]},
        wider={"INV-VISIBLE": {"requests": USUAL_REQUESTS}},
    ),
    Safeguard(
        "fallback-stage",
        "S-61",
        "Reads go back before writes do",
        ("INV-ONESTAGE", "INV-VISIBLE"),
        {**SERVER, "excluded": "D"},
    ),
)
STREAMING = "stream-from-leaving"
"""Without it, what streaming promises is itself broken."""
ANSWERS = ("allow-stage", "stable-ownership")
"""Those without which no data is lost, but answers."""
