"""A symmetry that is wrong, or that a property does not fit, is refused before it is believed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput, KitError
from kit.model.model import Monitor, Property, always, goal, sometimes, step
from kit.protocols.twophase.twophase import (
    Prepare,
    ReceiveDecision,
    TwoPhase,
    TwoPhaseParameters,
    TwoPhaseState,
)
from kit.search.check import check
from kit.search.search import SHARE
from tests.model.toys import Cell, Graph

Canonical = Callable[[Any], tuple[Any, Any]]


def with_symmetry(canonical: Canonical) -> TwoPhase:
    """Two-phase commit with a symmetry of somebody's own."""
    model = TwoPhase()
    model.symmetry = canonical
    return model


def everything(s: TwoPhaseState) -> tuple[TwoPhaseState, None]:
    """All states are one: 1 state, complete."""
    return TwoPhase().start(), None


def backwards(s: TwoPhaseState) -> tuple[TwoPhaseState, None]:
    """Somebody forgot to sort: the managers only change places."""
    turned = [int(f"{mask:03b}"[::-1], 2) for mask in (s.prepared, s.heard, s.committed, s.aborted)]
    return TwoPhaseState(*turned, s.tm), None


def without_the_decision(s: TwoPhaseState) -> tuple[TwoPhaseState, None]:
    """What was decided is forgotten."""
    return replace(s, tm=0), None


@pytest.mark.parametrize(
    ("canonical", "said"),
    [
        (everything, "does not behave like"),
        (backwards, "what stands for a state must stand for itself"),
        (without_the_decision, "does not behave like"),
    ],
)
def test_a_wrong_symmetry_is_refused(canonical: Canonical, said: str) -> None:
    """One line names the function with its place, and the two states that are joined."""
    with pytest.raises(KitError, match=said) as refused:
        check(with_symmetry(canonical), (), symmetry=True)
    told = str(refused.value)
    assert f"symmetry {canonical.__name__} of twophase, line " in told
    assert "of test_symmetry.py" in told
    assert told.count("TwoPhaseState(") >= 2


def test_what_stands_for_a_state_is_a_state() -> None:
    """It would be the model's own functions that fail on it, with words of their own."""
    model: Any = with_symmetry(lambda s: (s.tm, None))
    with pytest.raises(BadInput, match="got 0; allowed: a TwoPhaseState, and how its names"):
        check(model, symmetry=True)


def renamed(s: TwoPhaseState) -> tuple[TwoPhaseState, tuple[int, ...]]:
    """As the model's own, but its first manager always comes first: a coarser, right symmetry."""
    _, places = TwoPhase().in_order(s)
    kept = (0, *(place for place in places if place != 0))

    def moved(mask: int) -> int:
        return sum((mask >> rm & 1) << place for place, rm in enumerate(kept))

    masks = (moved(mask) for mask in (s.prepared, s.heard, s.committed, s.aborted))
    return TwoPhaseState(*masks, s.tm), kept


def test_a_right_symmetry_of_ones_own_is_believed() -> None:
    """Fewer states than without, more than with the model's own."""
    found = check(with_symmetry(renamed), symmetry=True)
    assert found.complete, found
    assert 80 < found.states < 288


ONE_SIDED: tuple[Property, ...] = (
    always("first", "RM0 never aborts", lambda s: "RM0 aborts" if s.aborted & 1 else None),
    always("middle", "RM1 never aborts", lambda s: "RM1 aborts" if s.aborted & 2 else None),
    sometimes("seen", "RM1 is heard", lambda s: s.heard & 2),
    always("silent", "RM0 never aborts", lambda s: "" if s.aborted & 1 else None),
    goal("may", "RM2 may commit or abort", lambda s: (s.committed | s.aborted) & 4),
    step(
        "obeys",
        "RM1 never obeys after RM2 alone",
        lambda b, a, n: "RM1 obeys" if a == ReceiveDecision(1) and b.aborted == 4 else None,
        on=(ReceiveDecision,),
    ),
)


@pytest.mark.parametrize("prop", ONE_SIDED, ids=lambda prop: prop.name)
def test_a_property_that_names_one_is_refused_with_symmetry(prop: Property) -> None:
    """What tells apart what the symmetry joins cannot be judged with it; the line says which
    property, what it said, and of which state.
    """
    with pytest.raises(KitError, match=f"property {prop.name}: it says") as refused:
        check(TwoPhase(), (prop,), symmetry=True)
    told = str(refused.value)
    assert "symmetry in_order of twophase" in told
    assert told.count("TwoPhaseState(") == 2
    if prop.kind == "step":
        assert re.search(r"it says a step ReceiveDecision of [^,]*, [^,]*, [^,]*, aborted=4", told)
    if prop.kind == "always":
        assert f"it says '{prop.check(TwoPhaseState(0, 0, 0, 7, 0))}' of TwoPhaseState(" in told


def test_a_monitor_that_names_one_is_refused_with_symmetry() -> None:
    """Also of memories, renamed as they should be, the verdict must not tell names apart."""

    def rename(memory: int, places: tuple[int, ...]) -> int:
        return sum((memory >> rm & 1) << place for place, rm in enumerate(places))

    model = TwoPhase()
    model.monitors = (
        Monitor(
            "first",
            "RM0 never prepares",
            int,
            lambda m, b, a, n: m | 1 << a.rm,
            lambda m: "RM0" if m & 1 else None,
            rename,
            on=(Prepare,),
        ),
    )
    with pytest.raises(KitError, match="property first: it says 'RM0' of TwoPhaseState"):
        check(model, symmetry=True)


def test_what_stands_for_the_start_is_judged_like_it() -> None:
    """One begins at 0, for which 1 stands: a property that tells them apart does not fit."""
    at_one = always("one", "Never at 1", lambda s: "one" if s.at == 1 else None)
    model = Graph({0: (2,), 1: (2,)}, at_one)
    model.symmetry = lambda s: (Cell(1) if s.at == 0 else s, None)
    with pytest.raises(KitError, match=r"^property one: it says 'one' of Cell\(at=1\), but not of"):
        check(model, symmetry=True)


def test_what_stands_for_a_state_lasts() -> None:
    """It can be kept and compared as long as the search goes on."""
    model = Graph({0: (1,)})
    odd: Any = float("nan")
    model.symmetry = lambda s: (Cell(odd) if s.at == 1 else s, None)
    with pytest.raises(BadInput, match=r"symmetry .*: got Cell.*; allowed: numbers that equal"):
        check(model, symmetry=True)


@pytest.mark.parametrize(("other", "compared"), [(2, 0), (1, 2)])
def test_who_stands_for_itself_is_not_compared(other: int, compared: int) -> None:
    """Where 1 stands for 2, that is compared before the search and after it; else nothing is."""
    model = Graph({0: (1, 2)})
    model.symmetry = lambda s: (Cell(other) if s.at == 2 else s, None)
    assert check(model, symmetry=True).compared == compared


def alone(s: Any) -> Any:
    """Not how it was renamed."""
    return s


def test_what_is_no_symmetry_at_all_is_refused() -> None:
    """A symmetry gives a state and how it was renamed."""
    with pytest.raises(BadInput, match=r"symmetry alone of twophase, line .*: got TwoPhaseState"):
        check(with_symmetry(alone), symmetry=True)
    several: Any = with_symmetry(lambda s: (s, None, None))
    with pytest.raises(BadInput, match="allowed: a state, and how its names were changed"):
        check(several, symmetry=True)


def test_far_away_states_are_compared_too() -> None:
    """A symmetry that is wrong behind a long way only is refused."""
    many = 400
    edges: dict[int, tuple[int, ...]] = {at: (at + 1, at) for at in range(many)}
    edges |= {many: (many + 1, many + 2), many + 2: (0,)}
    model = Graph(edges)
    model.symmetry = lambda s: (Cell(many + 1) if s.at == many + 2 else s, None)
    assert check(model).complete
    with pytest.raises(KitError, match="does not behave like"):
        check(model, symmetry=True)


def test_a_part_of_a_large_search_is_compared() -> None:
    """Of a search of many states one in so many is; without symmetry nothing is."""
    found = check(TwoPhase(TwoPhaseParameters(7)), symmetry=True)
    assert found.complete, found
    assert 10 <= found.compared <= 920 // SHARE + 10
    assert check(TwoPhase(), symmetry=True).compared > 50
    assert check(TwoPhase()).compared == 0
