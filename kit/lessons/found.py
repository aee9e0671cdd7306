"""Exercises whose right answers are found among candidates: what an answer key prints of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from kit.lessons.tasks import Marks


class FoundJudge(Struct, frozen=True):
    """A judge of answers in words, and the candidates among which the key finds one that passes."""

    judge: Callable[[str], Marks]
    candidates: Callable[[], Iterable[str]]

    def __call__(self, answer: str) -> Marks:
        """Judge an answer."""
        return self.judge(answer)

    def answers(self) -> tuple[str, ...]:
        """The first candidate that passes, in a line; nothing where none does."""
        right = (answer for answer in self.candidates() if self.judge(answer).passed)
        return tuple(next(([answer] for answer in right), []))


class ListedJudge(Struct, frozen=True):
    """A judge whose right answers are worked out, a line for each of some cases."""

    judge: Callable[[Any], Marks]
    listed: Callable[[], Iterable[str]]

    def __call__(self, answer: Any) -> Marks:
        """Judge an answer."""
        return self.judge(answer)

    def answers(self) -> tuple[str, ...]:
        """The right answers."""
        return tuple(self.listed())
