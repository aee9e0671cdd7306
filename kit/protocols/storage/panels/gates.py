"""The barriers before the next events of one range as gates: who must know which epoch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from kit.protocols.storage.rules.conditions import AllKnow, MajorityKnows
from kit.views.gate import Gate
from kit.views.panel import Scene


def gates(scene: Scene) -> Iterator[Gate]:
    """Yield a gate for each barrier that counts replicas before an event that may be the next, met
    or not.
    """
    m, s = scene.model, scene.state
    newest, number = len(m.views(s)) - 1, count()
    for edge in m.newest(s).edges:
        for condition in edge.conditions:
            if isinstance(condition, MajorityKnows | AllKnow) and condition.age <= newest:
                replicas = m.history.names(condition.replicas)
                missing = tuple(m.history.replicas[i] for i in condition.missing(s, newest))
                yield Gate(
                    f"barrier:{next(number)}",
                    edge.verb,
                    f"applied {m.history.unit} {m.epoch(s, newest) - condition.age}",
                    tuple(name for name in replicas if name not in missing),
                    missing,
                    condition.needed if isinstance(condition, MajorityKnows) else len(replicas),
                )
