"""Waiting for a fact that can be looked at, never for a length of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 180.0
"""How long, in seconds, a busy machine may take for what is sure to come."""
PAUSE = 0.02
"""Seconds between two looks."""


def until(fact: Callable[[], object], what: str) -> None:
    """Return as soon as ``fact()`` is true.

    Raises:
        AssertionError: with ``what`` was waited for, when it is not true for PATIENCE.
    """
    ends = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < ends, f"{what}: not within {PATIENCE:.0f} seconds"
        time.sleep(PAUSE)


class Gate:
    """A door between processes: a file that one makes and others wait for.

    It can be sent to Spark's workers, which see the same files.
    """

    def __init__(self, path: Path) -> None:
        """The gate is shut until somebody makes the file."""
        self.path = str(path)

    def open(self) -> None:
        """Let everybody through, now and later."""
        Path(self.path).touch()

    @property
    def is_open(self) -> bool:
        """Whether somebody has opened it."""
        return Path(self.path).exists()

    def wait(self) -> None:
        """Stand at the gate until it is open."""
        until(lambda: self.is_open, f"the gate {self.path}")
