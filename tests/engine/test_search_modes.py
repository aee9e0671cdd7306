"""Ways to search: breadth or depth first, bounded, with symmetry, interrupted, with deadlocks."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import force_setattr, replace

from kit.edge.limits import UNLIMITED, Usage
from kit.engine.check import Mode, Result, check
from kit.engine.model import Monitor, Property, always, goal, sometimes, step
from kit.engine.search import NO_LIMIT, Nodes, Search, Violation
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError, Refusal
from kit.protocols.twophase.twophase import (
    Prepare,
    ReceiveDecision,
    TwoPhase,
    TwoPhaseParameters,
    TwoPhaseState,
)
from tests.engine.test_check import COUNTS, WRONG, Rash, distances
from tests.engine.toys import Cell, Go, Graph
from tests.examples import examples
from tests.quality.breaking import answering, own_answer
from tests.saying import like

edges = st.dictionaries(
    st.integers(0, 8), st.lists(st.integers(0, 8), unique=True, max_size=4).map(tuple), max_size=9
)
MODES: tuple[Mode, ...] = ("breadth", "depth")


def committing(rms: int) -> TwoPhase:
    """Two-phase commit with so many managers."""
    return TwoPhase(TwoPhaseParameters(rms))


def replayed(model: Any, actions: tuple[Any, ...]) -> Any:
    """The state in which a run ends; every step must be enabled."""
    timeline = Timeline(model)
    for action in actions:
        timeline.do(action)
    return timeline.state


# -- depth first -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rms", [3, 5])
def test_depth_first_visits_the_same_states(rms: int) -> None:
    """The order changes neither states nor steps nor what is reached, only the runs."""
    result = check(committing(rms), mode="depth")
    assert (result.states, result.transitions) == COUNTS[rms]
    assert (result.complete, result.unreached) == (True, ())
    assert result.depth >= 3 * rms + 1


@pytest.mark.parametrize("name", WRONG)
def test_depth_first_finds_a_run_too(name: str) -> None:
    """Depth first, a wrong property is refuted by a run that replays, if not by the shortest."""
    prop, shortest = WRONG[name]
    model = TwoPhase()
    violation = check(model, (prop,), mode="depth").violation
    assert violation is not None
    assert len(violation.actions) >= shortest
    assert prop.check(replayed(model, violation.actions)) == violation.witness


@given(edges, st.integers(0, 8), st.integers(1, 5), st.sampled_from(MODES))
@examples(400)
def test_any_graph_within_a_depth(
    graph: dict[int, tuple[int, ...]], bad: int, depth: int, mode: Mode
) -> None:
    """Within a bound on depth, both orders visit exactly the nodes that near and the steps between
    them, and are complete exactly when there are no others.
    """
    away = distances(graph, 0)
    near = {node for node, steps in away.items() if steps <= depth}
    result = check(Graph(graph), max_depth=depth, mode=mode)
    assert result.states == len(near)
    assert result.transitions == sum(
        other in near for node in near for other in graph.get(node, ())
    )
    assert result.complete is (len(near) == len(away))
    assert mode == "depth" or result.depth == max(away[node] for node in near)
    prop = always("bad", "Never there", lambda s: "there" if s.at == bad else None)
    found = check(Graph(graph), (prop,), max_depth=depth, mode=mode).violation
    assert (found is not None) == (bad in near)
    assert found is None or len(found.actions) <= depth
    onto = step("onto", "No step there", lambda b, a, n: f"{b.at}" if n.at == bad else None)
    found = check(Graph(graph), (onto,), max_depth=depth, mode=mode).violation
    assert (found is not None) == (bad in near and any(bad in graph.get(n, ()) for n in near))


@given(edges, st.integers(0, 8))
@examples(200)
def test_depth_first_judges_goals_alike(graph: dict[int, tuple[int, ...]], home: int) -> None:
    """Possible progress does not depend on the order."""
    prop = goal("home", "One can come home", lambda s: s.at == home)
    breadth, depth = (check(Graph(graph), (prop,), mode=mode) for mode in MODES)
    assert breadth.complete is depth.complete
    assert (breadth.violation is None) is (depth.violation is None)


@pytest.mark.parametrize("mode", MODES)
def test_a_bound_on_states_is_kept_in_both_orders(mode: Mode) -> None:
    """So many states and no more; complete only where there are no others."""
    for bound, complete in ((1, False), (287, False), (288, True)):
        result = check(TwoPhase(), max_states=bound, mode=mode)
        assert (result.states, result.complete, result.short) == (bound, complete, False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_depth": 0}, "max_depth | 0 | from 1"),
        ({"max_states": -3}, "max_states | -3 | from 1"),
        ({"mode": "random"}, "mode | 'random' | breadth, depth"),
    ],
)
def test_senseless_limits_are_bad_input(given: dict[str, Any], said: str) -> None:
    """A bound below one and an unknown order are refused in one line."""
    with pytest.raises(BadInput, match=like(said)):
        check(TwoPhase(), **given)


# -- symmetry --------------------------------------------------------------------------------------


def orbits(rms: int) -> set[Any]:
    """All reachable states without symmetry, each as the multiset of what its managers did."""
    model = committing(rms)
    seen, frontier = {model.start()}, [model.start()]
    while frontier:
        for _, after in model.successors(frontier.pop()):
            if after not in seen:
                seen.add(after)
                frontier.append(after)
    return {
        (
            s.tm,
            tuple(
                sorted(
                    tuple(mask >> i & 1 for mask in (s.prepared, s.heard, s.committed, s.aborted))
                    for i in range(rms)
                )
            ),
        )
        for s in seen
    }


@pytest.mark.parametrize("rms", [1, 2, 3, 5])
def test_symmetry_visits_one_of_each_kind(rms: int) -> None:
    """With symmetry as many states are visited as there are multisets of what managers did."""
    found = check(committing(rms), symmetry=True)
    assert found.states == len(orbits(rms))
    assert found.complete


def test_seven_with_symmetry() -> None:
    """Of seven managers 920 states are left, with the verdict of the search without symmetry."""
    found = check(committing(7), symmetry=True)
    assert (found.states, found.complete, found.unreached) == (920, True, ())
    assert found.violation is None


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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROPERTIES)
def test_symmetry_changes_no_verdict(name: str, mode: Mode) -> None:
    """With and without symmetry the same property is broken, breadth first by as long a run, which
    replays on the real model and ends with the witness that is told.
    """
    properties = PROPERTIES[name]
    whole = check(TwoPhase(), properties, mode=mode)
    some = check(TwoPhase(), properties, mode=mode, symmetry=True)
    assert some.states <= whole.states
    assert (some.complete, some.unreached) == (whole.complete, whole.unreached)
    assert (some.violation is None) is (whole.violation is None)
    if some.violation is not None and whole.violation is not None:
        assert some.violation.property == whole.violation.property
        if mode == "breadth":
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


def test_a_false_symmetry_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a symmetry joins states that do not behave alike, so that a run cannot be replayed, the
    model's symmetry is named as what is wrong, also where no walk came by.
    """
    home = goal("home", "One can come to 9", lambda s: s.at == 9)
    model = Graph({0: (1, 7, 9), 1: (2, 9), 2: (6, 9), 7: (9,)}, home)
    model.symmetry = lambda s: (Cell(2) if s.at == 7 else s, None)
    with monkeypatch.context() as patch:
        patch.setattr("kit.engine.search.SymmetryCheck.compare", lambda *_: None)
        said = "graph: its symmetry merges states that behave differently"
        with pytest.raises(KitError, match=f"^{said}; after 1 steps a run cannot be replayed$"):
            check(model, symmetry=True, mode="depth", max_depth=5)
        model.monitors = (
            Monitor("idle", "", int, lambda m, *_: m, lambda _: None, lambda m, _: m),
        )
        with pytest.raises(
            KitError, match=f"^{said}, or a monitor remembers what tells them apart"
        ):
            check(model, symmetry=True, mode="depth", max_depth=5)


@pytest.mark.parametrize(("seen", "told"), [((6, 7), "to 6"), ((7,), None)])
def test_a_broken_step_is_told_by_a_run_that_can_be_played(
    seen: tuple[int, ...], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step from 5 to 7 was seen behind a longer way, but from 0 one comes to 4 that stands for
    5, and on to 6. Where nothing is said of that step, states do not behave alike.
    """
    barred = step("barred", "", lambda b, a, n: f"to {n.at}" if n.at in seen else None)
    model = Graph({0: (1, 4), 1: (2,), 2: (5,), 5: (7,), 4: (6,)}, barred)
    model.symmetry = lambda s: (Cell({5: 4, 7: 6}.get(s.at, s.at)), None)
    monkeypatch.setattr("kit.engine.search.SymmetryCheck.compare", lambda *_: None)
    if told is None:
        with pytest.raises(KitError, match="behave differently; after 1 steps a run cannot be re"):
            check(model, symmetry=True, mode="depth", max_depth=3)
        return
    violation = check(model, symmetry=True, mode="depth", max_depth=3).violation
    assert violation == Violation("barred", told, (Go(4), Go(6)))


def test_canonical_states_are_alike() -> None:
    """The canonical state is one of the same kind, and its own canonical state; the permutation
    says where each manager went.
    """
    model = committing(4)
    for s in (TwoPhaseState(0b1010, 0b1000, 0, 0b0001, 0), TwoPhaseState(0b1111, 0b1, 0b100, 0, 1)):
        canonical, places = model.in_order(s)
        assert sorted(places) == [0, 1, 2, 3]
        assert model.in_order(canonical)[0] == canonical
        for name in ("prepared", "heard", "committed", "aborted"):
            before, after = getattr(s, name), getattr(canonical, name)
            assert after == sum((before >> rm & 1) << place for place, rm in enumerate(places))


# -- interrupted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupted_search_keeps_what_it_found(mode: Mode) -> None:
    """Stopped from the keyboard, a search tells its counts, that it is not complete, and why."""
    seen = set[Any]()

    def stop(s: Any) -> None:
        seen.add(s)
        if len(seen) == 1000:
            raise KeyboardInterrupt

    result = check(committing(5), (always("stop", "Stop", stop),), mode=mode)
    assert (result.interrupted, result.complete, result.violation) == (True, False, None)
    assert result.states == 1000
    assert result.transitions >= 999
    assert 0 < result.memory < 10**6


def test_memory_grows_with_what_is_kept() -> None:
    """The memory told is that of the visited states: more states, more of it, and about right."""
    small, large = check(committing(3)), check(committing(6))
    assert small.memory < large.memory
    each = large.memory / large.states
    assert 60 < each < 400
    assert check(TwoPhase(), (goal("g", "", lambda s: s.committed | s.aborted == 7),)).memory > (
        small.memory
    )


def test_who_led_to_a_state_is_kept_for_goals_alone() -> None:
    """A property of steps needs no more memory than none does."""
    fine = step("fine", "All is well", lambda b, a, n: None)
    assert check(TwoPhase(), (fine,)).memory == check(TwoPhase(), ()).memory


def told(result: Result) -> Result:
    """A result without what differs from run to run."""
    return replace(result, seconds=0.0)


@pytest.mark.parametrize("mode", MODES)
def test_every_search_repeats_itself(mode: Mode) -> None:
    """The same search gives the same result, in every order, with and without symmetry."""
    for symmetry in (False, True):
        one, two = (check(committing(4), mode=mode, symmetry=symmetry) for _ in range(2))
        assert told(one) == told(two)


# -- deadlocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_deadlock_is_a_violation_where_the_model_says_so(mode: Mode) -> None:
    """A model that rests at its goals only has a deadlock where it rests elsewhere."""
    home = goal("home", "One can come to 3", lambda s: s.at == 3)
    model = Graph({0: (1, 3), 1: (2, 3), 2: (), 3: ()}, home)
    assert check(model, mode=mode, max_states=4).violation is not None
    model.rests_at_goals = True
    found = check(model, mode=mode).violation
    assert found is not None
    assert (found.property, found.actions) == ("deadlock", (Go(1), Go(2)))
    assert found.witness == "nothing more can happen"
    clean = Graph({0: (1,), 1: (3,), 3: ()}, home)
    clean.rests_at_goals = True
    assert check(clean, mode=mode).complete
    assert check(clean, (), mode=mode).complete
    restless = Graph({0: (0,)})
    restless.rests_at_goals = True
    assert check(restless, mode=mode).complete
    restless = Graph({0: (1,)})
    restless.rests_at_goals = True
    assert check(restless, mode=mode).violation is not None


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


def test_a_search_stops_before_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the machine's memory nearly used up a search is bounded, and keeps what it has found."""
    monkeypatch.setattr("kit.engine.check.limits", lambda: Usage(0, UNLIMITED, UNLIMITED))
    found = check(committing(7))
    assert not found.complete
    assert found.violation is None
    assert 16 <= found.states < 4096


def test_an_unknown_mode_is_refused() -> None:
    """It is named with those that there are."""
    wrong: Any = "deep"
    with pytest.raises(BadInput, match=like("mode | 'deep' | one of breadth, depth")):
        check(Graph({}), mode=wrong)


def test_a_run_that_cannot_be_replayed_is_told() -> None:
    """Without symmetry only a model can be the cause that does not do the same thing twice."""
    graph = Graph({0: (1,)})
    nodes = Nodes(graph, (), symmetry=False)
    parents = {Cell(0): Cell(0), Cell(1): Cell(0), Cell(9): Cell(1)}
    assert nodes.run_to(parents, Cell(1)) == ((Go(1),), Cell(1))
    with pytest.raises(KitError, match=r"it does not do the same thing twice; .*; after 1 steps"):
        nodes.run_to(parents, Cell(9))


def test_a_step_beyond_the_bound_is_judged_once_its_end_came_nearer() -> None:
    """From 2 the bound allows no step; 3 is one step from the start, which is seen later."""
    forbids = step("never", "None goes from 2", lambda b, a, n: "2 to 3" if b.at == 2 else None)
    graph = Graph({0: (1, 3), 1: (2,), 2: (3,)}, forbids)
    found = check(graph, mode="depth", max_depth=2)
    assert found.violation is not None
    assert [action.to for action in found.violation.actions] == [1, 2, 3]
    assert check(graph, (), mode="depth", max_depth=2).complete
    assert not check(Graph({0: (1,), 1: (2,), 2: (3,)}), mode="depth", max_depth=2).complete


@pytest.mark.parametrize(("mode", "first"), [("breadth", 14), ("depth", 0)])
def test_who_asks_is_told_the_nodes_under_way(mode: Mode, first: int) -> None:
    """Breadth first those of a level, depth first those of the run, from the start on."""
    graph, seen = Graph({at: (at + 1,) for at in range(40)}), list[Any]()
    search = Search(graph, (), (), symmetry=False, most=NO_LIMIT, deepest=NO_LIMIT)
    search.run(mode, lambda done, now: seen.append((done, [*search.under_way()])))
    last = 14 if mode == "breadth" else 15
    assert seen[0] == (16, [Cell(at) for at in range(first, last + 1)])


@pytest.mark.parametrize(("mode", "steps"), [("breadth", 1), ("depth", 2)])
def test_where_there_is_no_room_a_search_ends(mode: Mode, steps: int) -> None:
    """There is none for 2, and no further step is taken: breadth first not even that from 1."""
    found = check(Graph({0: (1, 2, 0), 1: (0,)}), max_states=2, mode=mode)
    assert (found.states, found.transitions, found.complete) == (2, steps, False)


def test_memory_that_becomes_short_ends_a_search_within_a_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a tree in which two follow each, it is looked at behind the eighth: then there are 17."""
    monkeypatch.setattr("kit.engine.check.limits", lambda: Usage(0, UNLIMITED, UNLIMITED))
    found = check(Graph({at: (2 * at + 1, 2 * at + 2) for at in range(40)}))
    assert (found.states, found.short, found.complete) == (17, True, False)


@pytest.mark.parametrize(
    ("last", "bound", "way"),
    [(3, None, (1, 3)), (3, 9, (3,)), (2, 9, (1, 3))],
)
def test_depth_first_keeps_the_first_way_unless_a_bound_needs_the_shortest(
    last: int, bound: int | None, way: tuple[int, ...]
) -> None:
    """Home is out of reach from 3, to which 1 leads first; then the start does, or 2."""
    home = goal("home", "One can come to 4", lambda s: s.at == 4)
    graph = Graph({0: (1, last), 1: (3, 4), 2: (3, 4)}, home)
    found = check(graph, mode="depth", max_depth=bound).violation
    assert found is not None
    assert found.actions == tuple(map(Go, way))


@pytest.mark.parametrize("mode", MODES)
def test_a_deadlock_is_as_deep_as_its_run(mode: Mode) -> None:
    """No step is taken there; a step that breaks a promise is one more, also back to the start."""
    line = Graph({0: (1,), 1: (2,)})
    line.rests_at_goals = True
    assert check(line, mode=mode).depth == 2
    back = step("back", "Nobody goes back", lambda b, a, n: "back" if n.at < b.at else None)
    assert check(Graph({0: (1,), 1: (0,)}), (back,)).depth == 2


def test_depth_first_tells_what_it_meets_first() -> None:
    """Beyond the bound no state is new, but steps to known ones are judged before it goes on."""
    back = step("back", "Nobody goes back", lambda b, a, n: "back" if n.at < b.at else None)
    bad = always("bad", "Never 2", lambda s: "bad" if s.at == 2 else None)
    found = check(Graph({0: (1, 2), 1: (0,)}), (back, bad), mode="depth", max_depth=1).violation
    assert found is not None
    assert (found.property, found.actions) == ("back", (Go(1), Go(0)))


@pytest.mark.parametrize("mode", ["breadth", "depth"])
def test_what_was_visited_is_given_back(mode: Any) -> None:
    """All of it: the nodes, who led to them, and those under way."""
    graph = Graph({0: (1, 2), 1: (3,), 2: (3,), 3: (0,)})
    search = Search(graph, (), (), symmetry=False, most=3, deepest=NO_LIMIT)
    search.run(mode, lambda done, now: None)
    assert search.parents.keys() >= {Cell(0), Cell(1)}
    search.sources.setdefault(Cell(0), [])
    search.forget()
    held = (search.parents, search.sources, search.frontier, search.keys, search.stack)
    assert held == ({}, {}, [], [], [])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("into", range(9, 39))
def test_states_that_change_while_they_are_kept_are_refused(mode: Mode, into: int) -> None:
    """Also where no step changes them, but what judges them: they are not found again.

    Whatever they change into: for some, the place in which a dict looks first is the same.
    """

    def written(s: Cell) -> None:
        if s.at == 2:
            force_setattr(s, "at", into)

    graph = Graph({0: (1, 2), 1: (3,), 2: (4,)}, always("never", "Never", written))
    with pytest.raises(BadInput, match=r"^graph: .*states that change after they were made"):
        check(graph, mode=mode)


SEVEN: Any = 7


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "judges",
    [
        {"properties": (step("it", "", lambda b, a, n: SEVEN),)},
        {"properties": (always("it", "", lambda s: SEVEN),)},
        {"monitors": (Monitor("it", "", int, lambda m, *_: m, lambda m: SEVEN),)},
    ],
)
def test_what_is_wrong_is_said_in_a_text(judges: dict[str, Any], mode: Mode) -> None:
    """A judge that says something else of a violation is named."""
    with pytest.raises(BadInput, match=r"^property it, line .*got 7; allowed: a string"):
        check(Graph({0: (1,)}), mode=mode, **judges)


def test_a_start_that_differs_each_time_is_refused() -> None:
    """Nobody could replay a run of it."""
    graph: Any = Graph({0: (1, 2)})
    starts = count()
    graph.start = lambda: Cell(next(starts))
    with pytest.raises(BadInput, match=r"^start, line .*a different state each time"):
        check(graph)
