"""The committed picture of this family: all states with one resource manager."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.registry import build
from kit.views.states import dot_of, reached


def graphs() -> Iterator[tuple[str, str]]:
    """Yield (name, DOT text)."""
    yield "states-twophase-1", dot_of(reached(build("twophase", {"rms": 1})))
