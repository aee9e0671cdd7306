"""``make bench``: every module that it runs has rows to give, and an unknown one is told."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest

from benchmarks import __main__ as command
from benchmarks import flows, newcomer, player
from benchmarks.__main__ import chosen, run
from benchmarks.figures import Figure


def test_every_benchmark_has_rows_to_give() -> None:
    """A module that measures hands out figures; what only helps another one is not run."""
    modules = [importlib.import_module(f"benchmarks.{name}") for name in chosen([])]
    assert not [module.__name__ for module in modules if not hasattr(module, "figures")]


def test_an_unknown_benchmark_is_told() -> None:
    """A name that is none ends with one line, which says what there is."""
    with pytest.raises(SystemExit, match="benchmarks: got speed; allowed: placements, player, "):
        chosen(["placements", "speed"])


def test_a_row_without_its_browser_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no Chromium is, the rows that need one say so, and the others are measured."""
    for module in (player, flows, newcomer):
        monkeypatch.setattr(module, "chromium", lambda: None)
    rows = [*player.in_the_browser(10, 1), *flows.figures(), *newcomer.figures()]
    assert [row.ours for row in rows] == ["not measured"] * 6
    assert all("Chromium" in row.baseline for row in rows)


def test_a_row_without_its_peer_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark whose package is not installed is one row that names the package."""
    monkeypatch.setitem(sys.modules, "benchmarks.placements", None)
    [row] = run("placements")
    assert (row.name, row.ours) == ("placements", "not measured")
    assert "benchmarks.placements" in row.baseline


def test_what_fails_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows given before a failure stay, the next benchmark runs, and the end names what failed."""

    def figures(name: str) -> Iterator[Figure]:
        yield Figure(name, "1 s", "2 s")
        if name == "search":
            raise ZeroDivisionError

    monkeypatch.setattr(command, "run", figures)
    monkeypatch.setattr("sys.argv", ["benchmarks", "search", "imports"])
    assert command.main() == 1
    table = capsys.readouterr().out
    assert all(f"{name} " in table for name in ("search", "imports"))
    assert "could not be measured: search" in table
