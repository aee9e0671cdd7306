"""A bar for work that counts: in a terminal a line that is written over, in a notebook a bar.

Nothing is shown of what is done within a moment, and nothing stays when it is over, so that stored
outputs do not depend on how fast a machine is.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from time import monotonic
from typing import Any, Protocol

Progress = Callable[[int, int], None]
PATIENCE = 0.5  # seconds before anything is shown
PAUSE = 0.1  # seconds between two pictures
WIDTH = 30


def seldom(tell: Progress) -> Progress:
    """The same for whoever counts quickly: it is told the first count, then one in each pause."""
    spoken = 0.0

    def told_seldom(done: int, total: int) -> None:
        nonlocal spoken
        if monotonic() - spoken >= PAUSE:
            spoken = monotonic()
            tell(done, total)

    return told_seldom


class Paper(Protocol):
    """Something on which one line, or one bar, is drawn again and again."""

    def draw(self, done: int, total: int | None, words: str) -> None:
        """Draw ``done`` of ``total`` (None: nobody knows), with words beside it."""

    def clear(self) -> None:
        """Leave nothing."""


class Terminal:
    """A line of a terminal."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write or sys.stderr.write
        self._widest = 0

    def draw(self, done: int, total: int | None, words: str) -> None:
        """``[######......] 1,024 of 5,000 states``."""
        line = words
        if total is not None:
            part = WIDTH * min(done, total) // max(total, 1)
            line = f"[{'#' * part:.<{WIDTH}}] {words}"
        self._widest = max(self._widest, len(line))
        self._write(f"\r{line:<{self._widest}}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Blanks, and back to the first column."""
        self._write(f"\r{' ' * self._widest}\r")
        sys.stderr.flush()


class Cell:
    """A bar below a notebook's cell; it is gone when the work is done."""

    def __init__(self) -> None:
        self._display: Any = import_module("IPython.display")
        self._handle: Any = None

    def draw(self, done: int, total: int | None, words: str) -> None:
        """A native bar with words; one that only moves where nobody knows how much there is."""
        known = "" if total is None else f' max="{total}" value="{min(done, total)}"'
        bar = self._display.HTML(f"<progress{known}></progress> {escape(words)}")
        if self._handle is None:
            self._handle = self._display.display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def clear(self) -> None:
        """An empty text."""
        self._handle.update(self._display.HTML(""))


class ProgressBar:
    """Counts on paper: call it with what is done, and what is under way."""

    def __init__(
        self,
        words: str,
        total: int | None = None,
        *,
        paper: Paper | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``words`` such as ``{done:,} states, {now:,} in this level``; ``total`` if it is known.

        Without ``paper`` the bar finds one by itself: the notebook's, the terminal's, or none.
        """
        self._words, self._total, self._clock = words, total, clock
        self._paper = paper or _paper()
        self._next = clock() + PATIENCE
        self._drawn_on: Paper | None = None

    def __call__(self, done: int, now: int) -> None:
        """Show it, if it is time."""
        if self._paper is None or self._clock() < self._next:
            return
        self._paper.draw(done, self._total, self._words.format(done=done, now=now))
        self._drawn_on = self._paper
        self._next = self._clock() + PAUSE

    def end(self) -> None:
        """Take it away."""
        if self._drawn_on is not None:
            self._drawn_on.clear()


@contextmanager
def shown(
    progress: Progress | bool | None, words: str, total: int | None = None
) -> Iterator[Progress | None]:
    """The callback that was given; a bar for True; None for False and None."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        bar = ProgressBar(words, total)
        try:
            yield bar
        finally:
            bar.end()


HERE: list[Paper] = []
"""The paper of a place that is neither a notebook nor a terminal, such as a page."""


def in_notebook() -> bool:
    """Whether a notebook's kernel runs us."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def _paper() -> Paper | None:
    if HERE:
        return HERE[-1]
    if in_notebook():
        return Cell()
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None
