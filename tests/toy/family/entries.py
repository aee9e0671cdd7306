"""The lease in the registry."""

from __future__ import annotations

from kit.engine.registry import Entry, Scenario
from kit.protocols.toy.model import FENCE, Lease, LeaseParameters

ENTRY = Entry(
    name="lease",
    title=Lease.title,
    parameters=LeaseParameters,
    build=Lease,
    safeguards=(FENCE,),
    scenarios=(
        Scenario(
            "slept",
            "A client sleeps past its lease, then writes",
            script=("take C0", "lapse", "take C1", "write C1"),
        ),
    ),
)
