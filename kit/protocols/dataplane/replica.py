"""The replica alone, in the registry."""

from __future__ import annotations

from kit.engine.registry import Entry
from kit.protocols.dataplane.former import FORMER
from kit.protocols.dataplane.solo import REPLICAS, ReplicaParameters, replica
from kit.protocols.storage.solo import Replica

ENTRY = Entry(
    name="replica",
    title=Replica.title,
    parameters=ReplicaParameters,
    build=replica,
    safeguards=REPLICAS,
    former=FORMER,
)
