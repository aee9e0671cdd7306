"""What the next events of a range wait for: which replicas must know which epoch."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.protocols.storage.actions import StorageState
from kit.protocols.storage.model import Storage
from kit.protocols.storage.rules.conditions import AllKnow, MajorityKnows


class EventBarrier(Struct, frozen=True):
    """``needed`` of the replicas must know ``epoch`` before ``event``; ``there`` do."""

    event: str
    epoch: int
    there: tuple[str, ...]
    missing: tuple[str, ...]
    needed: int


def barriers(m: Storage, s: StorageState) -> Iterator[EventBarrier]:
    """The barriers that count replicas, of each event that may be the next; met ones too."""
    newest = len(m.views(s)) - 1
    for edge in m.newest(s).edges:
        for condition in edge.conditions:
            if isinstance(condition, MajorityKnows | AllKnow) and condition.age <= newest:
                lacking = condition.missing(s, newest)
                replicas = m.history.names(condition.replicas)
                missing = tuple(m.history.replicas[i] for i in lacking)
                yield EventBarrier(
                    edge.verb,
                    m.epoch(s, newest) - condition.age,
                    tuple(name for name in replicas if name not in missing),
                    missing,
                    condition.needed if isinstance(condition, MajorityKnows) else len(replicas),
                )
