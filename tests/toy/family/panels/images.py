"""The committed picture of this family: all states of one client and one lease."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.registry import build
from kit.views.states import dot_of, reached


def graphs() -> Iterator[tuple[str, str]]:
    """Yield (name, DOT text)."""
    yield "states-lease", dot_of(reached(build("lease", {"clients": 1, "leases": 1})))
