"""What a safeguard is said to protect breaks without it, alone, and goes on behind the harm."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.model import Safeguard, always, step
from kit.model.registry import build, entries
from kit.model.scenario import begun_by
from kit.search.check import check

LONG = {
    ("tcm", "range-locks", "INV-RF"),
    ("dataplane", "stream-from-displaced", "INV-VISIBLE"),
    ("vnodes", "stream-from-displaced", "INV-STREAM"),
    ("vnodes", "stream-from-displaced", "INV-VISIBLE"),
    ("tablet", "sessions", "INV-NORES"),
    ("tablet", "stream-from-leaving", "INV-VISIBLE"),
}


GUARDS = [
    (name, guard) for name, entry in entries().items() for guard in entry.safeguards
    if name != "worlds"  # whose models are searched by themselves
]  # fmt: skip


PROTECTED = [
    pytest.param(
        *(name, guard, invariant),
        id=f"{name}-{guard.name}-{invariant}",
        marks=[pytest.mark.deep] * ((name, guard.name, invariant) in LONG),
    )
    for name, guard in GUARDS
    for invariant in guard.protects
]


def without(name: str, guard: Safeguard, invariant: str) -> Any:
    """The model without a safeguard, where the invariant is to break; a run may lead there."""
    for case in guard.later:
        if case.breaks == invariant:
            return begun_by(case, (guard.name,)).model
    return build(name, guard.breaking(invariant), (guard.name,))


@pytest.mark.parametrize(("name", "guard", "invariant"), PROTECTED)
def test_each_invariant_breaks_without_its_safeguard(
    name: str, guard: Safeguard, invariant: str
) -> None:
    """A search that judges it alone finds the violation."""
    model = without(name, guard, invariant)
    judges = [each for each in (*model.properties, *model.signs) if each.invariant == invariant]
    monitors = [each for each in model.monitors if each.invariant == invariant]
    assert judges or monitors
    violation = check(model, tuple(judges), monitors=tuple(monitors)).violation
    assert violation is not None
    assert violation.property in [each.name for each in (*judges, *monitors)]


def test_every_safeguard_protects_an_invariant_or_says_what_keeps_it() -> None:
    """One that protects nothing says which search shows it to be redundant."""
    assert all(guard.protects or guard.kept for _, guard in GUARDS)


SOME, MOST = 500, 20_000


HARMFUL = [
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
    assert found.violation is None, found
    assert found.complete or found.states == most


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "guard"), HARMFUL)
def test_rules_and_judges_work_behind_a_violation(name: str, guard: Safeguard) -> None:
    """Without the safeguard, and past every broken promise."""
    harmed(build(name, guard.smallest, (guard.name,)), SOME)


@pytest.mark.deep
@pytest.mark.parametrize(("name", "guard"), HARMFUL)
def test_rules_and_judges_work_far_behind_a_violation(name: str, guard: Safeguard) -> None:
    """Through many more states."""
    harmed(build(name, guard.smallest, (guard.name,)), MOST)
