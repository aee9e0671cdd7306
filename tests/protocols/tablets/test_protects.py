"""What a safeguard is said to protect breaks without it: each invariant, judged alone."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.registry import build, entries

MODELS = ("tablet", "tablets", "resize", "truncate")
# What the smallest configuration is too small for: what is needed besides.
WIDER: dict[tuple[str, str, str], dict[str, Any]] = {
    ("tablets", "sessions", "INV-TABL-1"): {"moves": 2},
    ("tablets", "sessions", "INV-STREAM"): {"moves": 2},
}
LONG = {("sessions", "INV-NORES"), ("stream-from-leaving", "INV-VISIBLE")}
PROTECTED = [
    pytest.param(
        model,
        safeguard,
        invariant,
        id=f"{model}-{safeguard.name}-{invariant}",
        marks=[pytest.mark.deep] * ((safeguard.name, invariant) in LONG),
    )
    for model in MODELS
    for safeguard in entries()[model].safeguards
    for invariant in safeguard.protects
]


@pytest.mark.parametrize(("name", "safeguard", "invariant"), PROTECTED)
def test_what_a_safeguard_protects_breaks_without_it(
    name: str, safeguard: Any, invariant: str
) -> None:
    """The model judges the invariant, and with the safeguard off a search finds it broken."""
    given = {**safeguard.smallest, **WIDER.get((name, safeguard.name, invariant), {})}
    model: Any = build(name, given, (safeguard.name,))
    judges = [each for each in (*model.properties, *model.signs) if each.invariant == invariant]
    monitors = [each for each in model.monitors if each.invariant == invariant]
    assert judges or monitors
    violation = check(model, tuple(judges), monitors=tuple(monitors)).violation
    assert violation is not None
    assert violation.property in [each.name for each in (*judges, *monitors)]
