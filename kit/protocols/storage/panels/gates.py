"""The barriers before the next events of one range as gates: who must know which epoch."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.storage.facts.barriers import barriers
from kit.views.gate import Gate
from kit.views.panel import Scene


def gates(scene: Scene) -> Iterator[Gate]:
    """Yield a gate for each barrier that counts replicas before one of the next events."""
    for i, row in enumerate(barriers(scene.model, scene.state)):
        yield Gate(
            f"barrier:{i}",
            row.event,
            f"applied {scene.model.history.unit} {row.epoch}",
            row.there,
            row.missing,
            row.needed,
        )
