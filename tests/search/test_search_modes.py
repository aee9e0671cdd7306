"""Ways to search: bounded, with symmetry, interrupted, with deadlocks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model.declared import Declared, State, action, parameter
from kit.model.model import Monitor, Property, always, goal, sometimes, step
from kit.model.timeline import Timeline
from kit.protocols.twophase.twophase import Prepare, ReceiveDecision, TwoPhase, TwoPhaseParameters
from kit.search.check import check
from tests.model.toys import Go, Graph
from tests.quality.breaking import answering, own_answer
from tests.saying import like
from tests.search.test_check import WRONG, Rash


def committing(rms: int) -> TwoPhase:
    """Two-phase commit with so many managers."""
    return TwoPhase(TwoPhaseParameters(rms))


def replayed(model: Any, actions: tuple[Any, ...]) -> Any:
    """The state in which a run ends; every step must be enabled."""
    timeline = Timeline(model)
    for each in actions:
        timeline.do(each)
    return timeline.state


def test_a_senseless_bound_is_bad_input() -> None:
    """A bound below one is refused in one line."""
    with pytest.raises(BadInput, match=like("max_states | -3 | from 1")):
        check(TwoPhase(), max_states=-3)


# -- symmetry --------------------------------------------------------------------------------------


PROPERTIES: dict[str, tuple[Property, ...]] = {
    **{name: (prop,) for name, (prop, _) in WRONG.items()},
    "clean": TwoPhase().properties,
    "a step": (
        step(
            "step",
            "Nobody obeys an abort after preparing",
            lambda b, a, n: (
                f"RM{a.rm}" if isinstance(a, ReceiveDecision) and n.aborted & b.prepared else None
            ),
        ),
    ),
    "a goal": (goal("goal", "All can still commit", lambda s: s.committed == 0b111),),
    "a good goal": (goal("goal", "All can be done", lambda s: s.committed | s.aborted == 0b111),),
    "sometimes": (sometimes("both", "Both", lambda s: s.committed & s.aborted),),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_symmetry_changes_no_verdict(name: str) -> None:
    """With and without symmetry the same property is broken, by as long a run, which replays on the
    real model and ends with the witness that is told.
    """
    properties = PROPERTIES[name]
    whole = check(TwoPhase(), properties)
    some = check(TwoPhase(), properties, symmetry=True)
    assert some.states <= whole.states
    assert (some.complete, some.unreached) == (whole.complete, whole.unreached)
    assert (some.violation is None) is (whole.violation is None)
    if some.violation is not None and whole.violation is not None:
        assert some.violation.property == whole.violation.property
        assert len(some.violation.actions) == len(whole.violation.actions)
        state = replayed(TwoPhase(), some.violation.actions)
        if properties[0].kind == "always":
            assert properties[0].check(state) == some.violation.witness


def test_a_planted_bug_is_found_with_symmetry() -> None:
    """Committing too early is found with symmetry by as short a run."""
    found = check(Rash(), symmetry=True).violation
    assert found is not None
    assert (found.property, len(found.actions)) == ("consistent", 5)
    assert TwoPhase().properties[0].check(replayed(Rash(), found.actions)) == found.witness


def test_monitors_are_renamed_with_the_state() -> None:
    """A monitor that can rename takes part in the symmetry; its verdict is the one without."""

    def watch(memory: int, before: Any, action: Any, after: Any) -> int:
        if isinstance(action, Prepare):
            return memory | 1 << action.rm
        return -1 if isinstance(action, ReceiveDecision) and after.aborted & memory else memory

    def rename(memory: int, places: tuple[int, ...]) -> int:
        if memory < 0:
            return memory
        return sum((memory >> rm & 1) << place for place, rm in enumerate(places))

    hope = Monitor("hope", "", int, watch, lambda m: "in vain" if m < 0 else None, rename)
    quiet = replace(hope, verdict=lambda m: None, name="quiet")
    for monitor in (hope, quiet):
        model = TwoPhase()
        model.monitors = (monitor,)
        whole, some = check(model), check(model, symmetry=True)
        assert some.complete is whole.complete
        assert some.states < whole.states
        assert (some.violation is None) is (whole.violation is None)
        if some.violation is not None and whole.violation is not None:
            assert len(some.violation.actions) == len(whole.violation.actions)
    model = TwoPhase()
    model.monitors = (replace(hope, rename=None),)
    with pytest.raises(BadInput, match=like("symmetry | 'hope' | monitors | can | rename")):
        check(model, symmetry=True)


def test_a_model_without_symmetry_says_so() -> None:
    """Asking for a symmetry that is not there is bad input."""
    with pytest.raises(BadInput, match=like("symmetry | 'graph' | model")):
        check(Graph({}), symmetry=True)


# -- interrupted -----------------------------------------------------------------------------------


def test_an_interrupted_search_keeps_what_it_found() -> None:
    """Stopped from the keyboard, a search tells its counts, that it is not complete, and why."""
    seen = set[Any]()

    def stop(s: Any) -> None:
        seen.add(s)
        if len(seen) == 1000:
            raise KeyboardInterrupt

    result = check(committing(5), (always("stop", "Stop", stop),))
    assert (result.interrupted, result.complete, result.violation) == (True, False, None)
    assert result.states == 1000
    assert result.transitions >= 999
    assert 0 < result.memory < 10**6


# -- deadlocks -------------------------------------------------------------------------------------


def test_a_deadlock_is_a_violation_where_the_model_says_so() -> None:
    """A model that rests at its goals only has a deadlock where it rests elsewhere."""
    home = goal("home", "One can come to 3", lambda s: s.at == 3)
    model = Graph({0: (1, 3), 1: (2, 3), 2: (), 3: ()}, home)
    assert check(model, max_states=4).violation is not None
    model.rests_at_goals = True
    found = check(model).violation
    assert found is not None
    assert (found.property, found.actions) == ("deadlock", (Go(1), Go(2)))
    assert found.witness == "nothing more can happen"
    clean = Graph({0: (1,), 1: (3,), 3: ()}, home)
    clean.rests_at_goals = True
    assert check(clean).complete
    assert check(clean, ()).complete
    restless = Graph({0: (0,)})
    restless.rests_at_goals = True
    assert check(restless).complete
    restless = Graph({0: (1,)})
    restless.rests_at_goals = True
    assert check(restless).violation is not None


def test_a_deadlock_names_what_is_refused() -> None:
    """Its witness says what one would try there, and why that may not happen."""
    model = Graph({0: (1,), 1: (2,)})
    model.rests_at_goals = True
    way = model.rules[0]
    shut = Refusal("the door is shut")
    model.rules = (answering(way, lambda s, a: shut if s.at == 1 else own_answer(way)(s, a)),)
    found = check(model).violation
    assert found is not None
    assert found.witness == "nothing more can happen; go 2: the door is shut"


SENTENCE = "bounded, limited by the memory available: no violation found so far"


class At(State, frozen=True):
    """Two numbers."""

    row: int = 0
    column: int = 0


class Grid(Declared[At]):
    """From each number of a row one goes to every one of the next."""

    name, title = "grid", "A grid"
    State = At
    rows: int = parameter(3, "how many rows", ge=1)
    wide: int = parameter(1, "how many numbers in each", ge=1)
    short_at: int = parameter(0, "the row at which memory runs out", ge=0)

    def start(self) -> At:
        """The first number."""
        return At()

    @action(tag="go", each=lambda m, s: range(m.wide))
    def go(self, s: At, to: int) -> At | None:
        """To a number of the next row."""
        if s.row == self.rows:
            return None
        if self.short_at and s.row == self.short_at:
            raise MemoryError
        return At(s.row + 1, to)


@pytest.mark.parametrize(("rows", "wide"), [(300, 1), (1, 300), (20, 20)])
def test_progress_is_told_whatever_the_shape(rows: int, wide: int) -> None:
    """A long row of states with one step each, one state with many, and what lies between."""
    seen: list[int] = []
    result = check(Grid(rows=rows, wide=wide), progress=lambda done, _: seen.append(done))
    assert result.verdict == "complete"
    assert seen == sorted(seen)
    assert seen[0] < (100 if wide < 300 else 302)
    assert all(b <= a * 1.25 + wide + 16 for a, b in pairwise(seen))


def test_no_memory_at_all_is_no_fault_of_the_model() -> None:
    """What was visited is counted, and then given back."""
    result = check(Grid(rows=90, short_at=40))
    assert result.sentence.startswith(SENTENCE)
    assert result.states == 41
    assert result.memory > 0
