"""The coordinator alone, in the registry."""

from __future__ import annotations

from kit.dataplane.solo import COORDINATORS, CoordinatorParameters, coordinator
from kit.registry import Entry
from kit.storage.solo import Coordinator

ENTRY = Entry("coordinator", Coordinator.title, CoordinatorParameters, coordinator, COORDINATORS)
