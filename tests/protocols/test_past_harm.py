"""What goes on behind the harm: a model without a safeguard can be played on, and is judged."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.model import Safeguard, always, step
from kit.model.registry import build, entries
from kit.search.check import check

SOME, MOST = 500, 20_000
GUARDS = [
    pytest.param(name, guard, id=f"{name}-{guard.name}")
    for name, entry in entries().items()
    for guard in entry.safeguards
    if name != "worlds"  # whose models are searched by themselves
]


def harmed(model: Any, most: int) -> None:
    """Search on past every harm: each state and step is judged, and whatever is said is no end."""
    judges = (*model.properties, *model.signs)

    def judged(s: Any) -> None:
        for each in judges:
            if each.kind != "step":
                each.check(s)

    def stepped(before: Any, action: Any, after: Any) -> None:
        for each in judges:
            if each.kind == "step" and isinstance(action, each.on or object):
                each.check(before, action, after)

    model.rests_at_goals = False  # where nothing more can happen a search would end
    both = always("judged", "Each state is judged", judged), step("stepped", "And step", stepped)
    found = check(model, both, monitors=(), max_states=most)
    assert found.violation is None
    assert found.complete or found.states == most


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "guard"), GUARDS)
def test_a_model_goes_on_behind_the_harm(name: str, guard: Safeguard) -> None:
    """No state that can be reached without a safeguard is one that rules or judges fail on."""
    harmed(build(name, guard.smallest, (guard.name,)), SOME)


@pytest.mark.deep
@pytest.mark.parametrize(("name", "guard"), GUARDS)
def test_a_model_goes_on_far_behind_the_harm(name: str, guard: Safeguard) -> None:
    """The same for many more states."""
    harmed(build(name, guard.smallest, (guard.name,)), MOST)
