"""The bar of searches and walks: it shows itself late, moves now and then, and leaves nothing."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from kit.edge.progress import ProgressBar, Terminal, seldom, shown
from kit.protocols.twophase.twophase import TwoPhase
from kit.search.check import check

WORDS = "{done:,} states, {now:,} now"


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Now."""
        return self.now


def test_nothing_is_shown_of_what_is_quick() -> None:
    """Before half a second has passed nothing is written, and nothing taken away at the end."""
    said: list[str] = []
    clock = Clock()
    bar = ProgressBar(WORDS, paper=Terminal(said.append), clock=clock)
    clock.now = 0.4
    bar(10, 1)
    bar.end()
    assert said == []


def test_a_line_is_written_over_and_taken_away() -> None:
    """A line at most ten times a second, over the last one; at the end blanks as wide."""
    said: list[str] = []
    clock = Clock()
    bar = ProgressBar(WORDS, 2000, paper=Terminal(said.append), clock=clock)
    for moment, done in ((0.6, 1000), (0.65, 1100), (0.8, 1200), (2.0, 9000)):
        clock.now = moment
        bar(done, 7)
    bar.end()
    full = "#" * 30
    assert said[0] == f"\r[{'#' * 15}{'.' * 15}] 1,000 states, 7 now"
    assert said[1] == f"\r[{'#' * 18}{'.' * 12}] 1,200 states, 7 now"
    assert said[2] == f"\r[{full}] 9,000 states, 7 now"
    assert said[3:] == [f"\r{' ' * (len(said[0]) - 1)}\r"]


class Screen(StringIO):
    """What a terminal shows."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.mark.parametrize(
    ("stream", "seen"), [(Screen(), "\r5 states, 1 now"), (StringIO(), ""), (None, "")]
)
def test_a_line_is_for_terminals(
    stream: StringIO | None, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes to a file, or nowhere, has none."""
    monkeypatch.setattr(sys, "stderr", stream)
    clock = Clock()
    bar = ProgressBar(WORDS, clock=clock)
    clock.now = 0.6
    bar(5, 1)
    assert (stream.getvalue() if stream else "") == seen


def test_of_quick_counts_few_are_told() -> None:
    """The first one is."""
    told: list[int] = []
    tell = seldom(lambda done, total: told.append(done))
    for done in range(1000):
        tell(done, 1000)
    assert told[0] == 0
    assert len(told) < 100


def test_without_a_total_there_are_only_words() -> None:
    """Where nobody knows how much there is, the counts alone are told."""
    said: list[str] = []
    Terminal(said.append).draw(5, None, "5 states")
    assert said == ["\r5 states"]


def test_a_callback_a_bar_or_nothing() -> None:
    """A callback is passed on, False and None are none, and True is a bar."""

    def heard(done: int, now: int) -> None:
        """Hear nothing."""

    with shown(heard, WORDS) as told:
        assert told is heard
    for nothing in (None, False):
        with shown(nothing, WORDS) as told:
            assert told is None
    with shown(True, WORDS) as told:
        assert isinstance(told, ProgressBar)
    assert check(TwoPhase(), progress=True).complete
