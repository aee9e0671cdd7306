"""What a safeguard is said to protect breaks without it: each invariant of every model, alone."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.model import Safeguard
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
def test_what_a_safeguard_protects_breaks_without_it(
    name: str, guard: Safeguard, invariant: str
) -> None:
    """The model judges the invariant, and with the safeguard off a search finds it broken."""
    model = without(name, guard, invariant)
    judges = [each for each in (*model.properties, *model.signs) if each.invariant == invariant]
    monitors = [each for each in model.monitors if each.invariant == invariant]
    assert judges or monitors
    violation = check(model, tuple(judges), monitors=tuple(monitors)).violation
    assert violation is not None
    assert violation.property in [each.name for each in (*judges, *monitors)]


def test_every_safeguard_protects_something() -> None:
    """One that protects nothing says which search shows it to be redundant."""
    assert all(guard.protects or guard.kept for _, guard in GUARDS)
