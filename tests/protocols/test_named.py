"""What the requirements say that breaks without a safeguard breaks: first, or in some model.

``tests/fixtures/safeguards.txt`` names the invariants. Where one of them does not break, a complete
search shows that something else keeps it, or no model has what it is about.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kit.model.registry import build, entries
from kit.playing.verdicts import elsewhere
from kit.search.check import Result, check
from kit.widgets.controls import _switch
from tests.commands.calling import call

FIXTURE = Path(__file__).parents[1] / "fixtures" / "safeguards.txt"
NAMED: dict[str, tuple[str, ...]] = {
    line.split()[0]: tuple(line.split()[1:])
    for line in FIXTURE.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
}
GUARDS = [
    (name, guard) for name, entry in entries().items() for guard in entry.safeguards
    if name != "worlds"  # whose models are searched by themselves
]  # fmt: skip
LONG = {
    *("dataplane stream-from-displaced", "vnodes stream-from-displaced", "vnodes sessions"),
    *("vnodes cleanup-first", "vnodes fencing", "tablet sessions", "tablet fallback-stage"),
    *("tablet stream-from-leaving", "tablet fencing"),
}
# What does not break, though it is named: the model, the safeguard, and what a search saw of it.
KEPT_ANYHOW = {(g.id, kept.invariant): (n, g, kept) for n, g in GUARDS for kept in g.kept}
# No model has both the safeguard and what the invariant is about.
NOT_JUDGED = {
    ("S-08", "INV-STAGE"): "vnodes have no stages of tablets",
    ("S-40", "INV-VISIBLE"): "topology has no data",
    ("S-43", "INV-MAP"): "resize tells the harm as reads that miss data",
    ("S-55", "INV-STREAM"): "tcm has no data",
    ("S-56", "INV-NORES"): "topology and join have no data",
}


@pytest.mark.spec("H-009")
@pytest.mark.parametrize(
    ("name", "guard"),
    [
        pytest.param(
            *(name, guard),
            id=f"{name}-{guard.name}",
            marks=[pytest.mark.deep] * (f"{name} {guard.name}" in LONG),
        )
        for name, guard in GUARDS
        if guard.protects
    ],
)
def test_the_first_invariant_broken_is_named_by_the_requirement(name: str, guard: Any) -> None:
    """In the smallest configuration without the safeguard."""
    model = build(name, guard.smallest, (guard.name,))
    invariants = {each.name: each.invariant for each in (*model.properties, *model.signs)}
    invariants |= {each.name: each.invariant for each in model.monitors}
    violation = check(model).violation
    assert violation is not None
    assert invariants[violation.property] in NAMED[guard.id]


@pytest.mark.spec("H-009")
def test_every_named_invariant_breaks_or_is_excused() -> None:
    """In some model without the safeguard; a list says why not."""
    shown = {(guard.id, invariant) for _, guard in GUARDS for invariant in guard.protects}
    ours = {guard.id for _, guard in GUARDS}
    named = {(id_, each) for id_, invariants in NAMED.items() if id_ in ours for each in invariants}
    # What one model keeps without a safeguard another one may show.
    assert named - shown == ({*KEPT_ANYHOW} - shown) | {*NOT_JUDGED}


@pytest.mark.parametrize(
    ("id_", "invariant"),
    [pytest.param(*pair, marks=[pytest.mark.deep] * (pair[0] == "S-61")) for pair in KEPT_ANYHOW],
)
def test_an_excused_invariant_holds_without_the_safeguard(id_: str, invariant: str) -> None:
    """The search is complete, in as many states as are said."""
    name, guard, kept = KEPT_ANYHOW[id_, invariant]
    found = searched(name, guard.name, invariant)
    assert (found.states, found.complete, found.violation) == (kept.states, True, None)


@cache
def searched(name: str, off: str, invariant: str) -> Result:
    """A search without a safeguard that is to see the judges of an invariant break nothing."""
    [guard] = [guard for each, guard in GUARDS if (each, guard.name) == (name, off)]
    [kept] = [kept for kept in guard.kept if kept.invariant == invariant]
    model = build(name, kept.parameters, (off,))
    judges = tuple(p for p in (*model.properties, *model.signs) if p.invariant == invariant)
    assert judges
    return check(model, judges, monitors=())


@pytest.mark.parametrize(("name", "guard"), [(n, g) for n, g in GUARDS if g.kept])
def test_a_safeguard_names_the_invariants_kept_anyhow(name: str, guard: Any) -> None:
    """Beside its switch, where a search finds nothing, and in ``kit show``."""
    said = [each.sentence for each in guard.kept]
    switch = _switch(guard, on=True)
    model = build(name, guard.kept[0].parameters, (guard.name,))
    shown = " ".join(call("show", name).out.split())
    found = searched(name, guard.name, guard.kept[0].invariant)
    for text in (switch.description, switch.tooltip, elsewhere(model, found), shown):
        assert all(sentence in text for sentence in said), text


def test_a_redundant_safeguard_says_so() -> None:
    """S-58 alone protects nothing; a safeguard protects an invariant or says what keeps it."""
    assert [guard.id for _, guard in GUARDS if not guard.protects] == ["S-58"]
    for _, guard in GUARDS:
        assert ("(redundant)" in guard.in_full) is (not guard.protects), guard.id
        assert guard.kept or guard.protects, guard.id
