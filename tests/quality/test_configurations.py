"""No promise breaks in any legal configuration while every safeguard is on: drawn, and by row."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from kit.commands.cli import main
from kit.model.parameters import parameters_of
from kit.model.registry import entries
from tests.quality.configurations import (
    FEW,
    Given,
    all_broken,
    beside_the_dead,
    broken,
    budgets_alone,
    drawn_all,
    fresh_seed,
    refusal,
    shrunk,
)

DRAWN = 2_000
"""Configurations of all models together that are drawn anew for each commit."""
WITH_OPERATIONS = [
    name
    for name, entry in entries().items()
    if "operations" in {each.name for each in parameters_of(entry.parameters)}
]


def told(name: str, several: Iterator[Given], **bounds: int) -> str:
    """What breaks, with the commands that show it; empty where nothing does."""
    return "\n".join(map(str, all_broken(name, several, **bounds)))


@pytest.mark.parametrize("name", entries())
def test_each_budget_alone_breaks_nothing(name: str) -> None:
    """The default configuration with one budget at 1, and at 2, keeps every promise."""
    assert told(name, budgets_alone(name), **FEW) == ""


@pytest.mark.parametrize("name", WITH_OPERATIONS)
def test_each_operation_beside_a_dead_node_ends(name: str) -> None:
    """Whoever is dead, and whether or not somebody is to remove it, no run is stuck."""
    assert told(name, beside_the_dead(name), **FEW) == ""


@pytest.mark.deep
@pytest.mark.parametrize("name", entries())
def test_drawn_configurations_break_nothing(name: str) -> None:
    """Any parameters together, drawn anew for each commit, keep every promise."""
    seed, many = fresh_seed(), -(-DRAWN // len(entries()))
    found = told(name, drawn_all(name, seed, many))
    assert found == "", f"make sweep SEED={seed} MANY={many}"


def test_what_breaks_is_made_small_and_can_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """What does not matter falls back to its default, and the command shows the same break."""
    given: Given = {"nodes": 3, "operations": ["remove B"], "down": [], "clients": 1, "late": 2}
    off = ("refuse-live-removal",)
    first = broken("topology", given, off=off)
    assert first is not None
    small = shrunk(first, off=off, **FEW)
    assert {*small.given} == {"operations", "down", "clients"}
    assert main(shlex.split(small.command)[3:]) == 1
    assert small.what.split()[0] in capsys.readouterr().out
    assert broken("topology", small.given) is None


def test_draws_are_legal_and_the_same_each_time() -> None:
    """A seed gives the same configurations again, another seed others, all of them legal."""
    for name in entries():
        first = [*drawn_all(name, 5, 6)]
        assert first == [*drawn_all(name, 5, 6)]
        assert all(refusal(name, given) is None for given in first)
    assert [*drawn_all("topology", 5, 6)] != [*drawn_all("topology", 6, 6)]
