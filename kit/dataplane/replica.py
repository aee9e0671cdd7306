"""The replica alone, in the registry."""

from __future__ import annotations

from kit.dataplane.solo import REPLICAS, ReplicaParameters, replica
from kit.registry import Entry
from kit.storage.solo import Replica

ENTRY = Entry("replica", Replica.title, ReplicaParameters, replica, REPLICAS)
