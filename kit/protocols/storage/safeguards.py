"""The safeguards of requests: what each is called, and what may break without it.

Ids, invariants and minimal traces are those of the project's requirements. What each one does
stands beside its switch in ``kit.protocols.storage.rules.exchange``.
"""

from __future__ import annotations

from kit.engine.safeguards import Safeguard

EPOCH_EXCHANGE = Safeguard(
    "epoch-exchange",
    "S-02",
    "Messages and answers carry epochs, and whoever is behind catches up",
    ("INV-VISIBLE",),
)
PLAN_REVALIDATION = Safeguard(
    "plan-revalidation",
    "S-03",
    "A plan is validated again before success is answered",
    ("INV-CL", "INV-VISIBLE"),
)
MEMBERSHIP_CHECK = Safeguard(
    "membership-check",
    "S-04",
    "A replica that is ahead answers only while it is a member",
    ("INV-OWN", "INV-NORES"),
)
