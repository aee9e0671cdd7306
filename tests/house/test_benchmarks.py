"""`make bench`: every module that it runs has rows to give, and an unknown one is told."""

from __future__ import annotations

import importlib

import pytest

from benchmarks.__main__ import chosen


@pytest.mark.parametrize("name", chosen([]))
def test_every_benchmark_has_rows_to_give(name: str) -> None:
    """A module that measures hands out figures; what only helps another one is not run."""
    assert callable(importlib.import_module(f"benchmarks.{name}").figures)


def test_an_unknown_benchmark_is_told() -> None:
    """A name that is none ends with one line, which says what there is."""
    with pytest.raises(SystemExit, match="benchmarks: got speed; allowed: placements, player, "):
        chosen(["placements", "speed"])
