"""The safeguards that metadata alone can judge, each with the smallest case that needs it.

Those that need stored data are in ``dataplane.safeguards``. Ids, invariants and minimal traces are
those of the project's requirements; where each one acts: *progress-barrier* in ``rules_barrier``,
*validate-committed* and *operator-cancel* in ``model``, *apply-in-order* in the log,
*two-event-cancel* in ``rules_plan``, *write-before-read*, *old-writer-stays* and *split-first* in
the step table, *range-locks* and *replication-check* in ``rules_permit``, *merge-equality* in
``rules_plan`` and ``ring.applying``, *pending-in-metadata* in ``model``.
"""

from __future__ import annotations

from kit.engine.model import Safeguard

SAFEGUARDS: tuple[Safeguard, ...] = (
    Safeguard(
        "progress-barrier",
        "S-01",
        "A step waits until a majority of old and new replicas knows the last one",
        ("INV-QI", "INV-ONESTEP", "INV-VISIBLE"),
    ),
    Safeguard(
        "write-before-read",
        "S-05",
        "New replicas are written to before they are read from",
        ("INV-QI", "INV-RF"),
    ),
    Safeguard(
        "old-writer-stays",
        "S-06",
        "The old replica keeps getting writes until the read switch is known",
        ("INV-QI",),
        {"rf": 3},
    ),
    Safeguard(
        "range-locks",
        "S-09",
        "Operations in flight lock their ranges",
        ("INV-LOCK", "INV-RF"),
        {"operations": ("join X --tokens 150", "join Y --tokens 130")},
    ),
    Safeguard(
        "validate-committed",
        "S-10",
        "What is proposed must make sense in the committed state",
        ("INV-VALID", "INV-RF"),
        {"nodes": 4, "operations": ("leave D", "replace D Y")},
    ),
    Safeguard(
        "replication-check",
        "S-11",
        "No node may go when too few would be left",
        ("INV-RF",),
        {"rf": 3, "operations": ("leave C",)},
    ),
    Safeguard(
        "apply-in-order",
        "S-16",
        "Nodes apply epochs in order, without gaps",
        ("INV-SAMESTATE", "INV-LOG"),
        {"nodes": 2, "rf": 1, "window": 2},
    ),
    Safeguard(
        "operator-cancel",
        "S-17",
        "Only an operator cancels, no timeout does",
        ("INV-CANCEL", "INV-PROGRESS"),
        {"cancels": 1},
    ),
    Safeguard(
        "two-event-cancel",
        "S-18",
        "After the read switch a cancel takes two events, with a barrier between",
        ("INV-QI",),
        {"rf": 3, "cancels": 1},
    ),
    Safeguard(
        "pending-in-metadata",
        "S-53",
        "Steps yet to do are kept in the metadata",
        ("INV-RESUME", "INV-PROGRESS"),
        {"crashes": 1},
    ),
    Safeguard(
        "split-first",
        "S-54",
        "Ranges are split before their owners change",
        ("INV-COVER", "INV-SAMESTATE"),
    ),
    Safeguard(
        "merge-equality",
        "S-55",
        "Only neighbours with equal replica groups are merged",
        ("INV-STREAM", "INV-RF"),
        {"nodes": 4, "operations": ("leave D",)},
    ),
)
