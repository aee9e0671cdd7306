"""Chance that is the same on every machine."""

from __future__ import annotations

from random import Random


class Chance:
    """Draws that are the same on every machine: of a generator, only its plain numbers count."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed).random

    def under(self, share: float) -> bool:
        """True in so large a share of all cases."""
        return self._draw() < share

    def below(self, count: int) -> int:
        """A number from 0 to below ``count``."""
        return int(self._draw() * count)

    def pick(self, things: list[str] | tuple[str, ...]) -> str:
        """One of several."""
        return things[self.below(len(things))]
