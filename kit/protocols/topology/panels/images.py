"""The committed pictures of this family: every machine of both editions."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.topology.panels import states
from kit.views.diagrams import StateDiagram


def pictures() -> Iterator[tuple[str, str]]:
    """Yield nothing: this family draws no picture of its own ahead of time."""
    yield from ()


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagram of every machine."""
    yield from states.diagrams()
