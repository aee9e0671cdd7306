"""The safeguards that only requests can judge, each with the smallest case that needs it.

Ids, invariants and minimal traces are those of the project's requirements; where each one acts:
*progress-barrier* in ``tcm.rules.barrier``, *epoch-exchange*, *membership-check* and
*plan-revalidation* in ``storage.rules.exchange``, *write-before-read* and *old-writer-stays* in the
step table, *streams-before-switch*, *known-before-streams* and *stream-from-displaced* in
``tcm.rules.streams``, *two-event-cancel* in ``tcm.rules.plan``.
"""

from __future__ import annotations

from kit.engine.model import Safeguard

SAFEGUARDS: tuple[Safeguard, ...] = (
    Safeguard(
        "progress-barrier",
        "S-01",
        "A step waits until a majority of old and new replicas knows the last one",
        ("INV-QI", "INV-ONESTEP", "INV-VISIBLE"),
        {"rf": 1},
    ),
    Safeguard(
        "epoch-exchange",
        "S-02",
        "Messages and answers carry epochs, and whoever is behind catches up",
        ("INV-QI", "INV-VISIBLE"),
        {"rf": 1},
    ),
    Safeguard(
        "plan-revalidation",
        "S-03",
        "A plan is validated again before success is answered",
        ("INV-CL", "INV-VISIBLE"),
        {"rf": 1},
    ),
    Safeguard(
        "membership-check",
        "S-04",
        "A replica that is ahead answers only while it is a member",
        ("INV-OWN", "INV-NORES"),
        {"rf": 1},
    ),
    Safeguard(
        "write-before-read",
        "S-05",
        "New replicas are written to before they are read from",
        ("INV-QI", "INV-RF", "INV-VISIBLE"),
        {"rf": 1},
    ),
    Safeguard(
        "old-writer-stays",
        "S-06",
        "The old replica keeps getting writes until the read switch is known",
        ("INV-QI", "INV-VISIBLE"),
        {"rf": 1},
    ),
    Safeguard(
        "streams-before-switch",
        "S-07",
        "Reads move only when the data has moved",
        ("INV-STREAM", "INV-VISIBLE"),
        {"rf": 1},
    ),
    Safeguard(
        "known-before-streams",
        "S-08",
        "Streaming begins only when the new writers are known",
        ("INV-STREAM", "INV-VISIBLE"),
        {"rf": 1},
    ),
    Safeguard(
        "two-event-cancel",
        "S-18",
        "After the read switch a cancel takes two events, with a barrier between",
        ("INV-QI", "INV-VISIBLE"),
        {"rf": 1, "cancels": 1},
    ),
    Safeguard(
        "stream-from-displaced",
        "S-57",
        "Data comes from the replica whose place is taken",
        ("INV-STREAM", "INV-VISIBLE"),
    ),
)
STREAMING = frozenset({"streams-before-switch", "known-before-streams", "stream-from-displaced"})
