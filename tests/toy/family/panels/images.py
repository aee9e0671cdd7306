"""The committed pictures of this family: a lease, and all states of one client and one lease."""

from __future__ import annotations

from collections.abc import Iterator

from kit.model.registry import build
from kit.protocols.toy.panels import LEASE
from kit.views.diagrams import StateDiagram
from kit.views.states import dot_of, reached


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagrams."""
    yield LEASE


def graphs() -> Iterator[tuple[str, str]]:
    """Yield (name, DOT text)."""
    yield "states-lease", dot_of(reached(build("lease", {"clients": 1, "leases": 1})))
