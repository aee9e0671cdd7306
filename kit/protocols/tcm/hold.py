"""A metadata service for tests: it holds back any commit, and the propagation to any node.

What is held is refused with that reason until it is released. Entries are applied in order, so
holding the next one back from a node holds back all that follow. Source: CEP-21, "Test Plan".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kit.engine.model import Model
from kit.engine.pairs import paired
from kit.errors import Refusal


class PauseState(Struct, frozen=True, cache_hash=True):
    """What is held back: sorted verbs, ``apply B`` or ``commit X``."""

    held: tuple[str, ...] = ()


class Hold(Struct, frozen=True, tag="hold"):
    """From now on this may not happen."""

    what: str


class Release(Struct, frozen=True, tag="release"):
    """Now it may again."""

    what: str


class PauseInjection(Model[PauseState, Any]):
    """What a tester holds back; it stands beside the metadata and its log."""

    name = "test"
    title = "What the test holds back"
    State = PauseState
    Action = Hold | Release

    def __init__(self, whats: tuple[str, ...]) -> None:
        """Of all these verbs any may be held."""
        self.whats = whats
        self.rules = (
            paired(Hold, "hold", self._free, lambda s, a: None, self._hold),
            paired(Release, "hold", self._held, lambda s, a: None, self._release),
        )

    def start(self) -> PauseState:
        """Nothing is held."""
        return PauseState()

    def refuses(self, s: PauseState, what: str) -> Refusal | None:
        """Why a verb may not happen now; None when it is not held."""
        return Refusal(f"the test holds it back: {what}") if what in s.held else None

    def _free(self, s: PauseState) -> Iterator[Hold]:
        return (Hold(what) for what in self.whats if what not in s.held)

    def _held(self, s: PauseState) -> Iterator[Release]:
        return (Release(what) for what in s.held)

    def _hold(self, s: PauseState, action: Hold) -> PauseState:
        return PauseState(tuple(sorted({*s.held, action.what})))

    def _release(self, s: PauseState, action: Release) -> PauseState:
        return PauseState(tuple(what for what in s.held if what != action.what))

    def describe(self, before: PauseState, action: Any, after: PauseState) -> str:
        """What the test does."""
        if isinstance(action, Hold):
            return f"The test holds back: {action.what}."
        return f"The test lets it happen again: {action.what}."
