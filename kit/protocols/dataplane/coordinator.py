"""The coordinator alone, in the registry."""

from __future__ import annotations

from kit.engine.registry import Entry
from kit.protocols.dataplane.former import FORMER
from kit.protocols.dataplane.solo import COORDINATORS, CoordinatorParameters, coordinator
from kit.protocols.storage.solo import Coordinator

ENTRY = Entry(
    name="coordinator",
    title=Coordinator.title,
    parameters=CoordinatorParameters,
    build=coordinator,
    safeguards=COORDINATORS,
    former=FORMER,
)
