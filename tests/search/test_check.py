"""The search: exact counts, shortest counterexamples, honest about what it left out."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plain_twophase import explore
from kit.model.model import Property, always, goal, sometimes, step
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseParameters
from kit.search.check import check
from tests.examples import examples
from tests.model.toys import Cell, Go, Graph, endless
from tests.quality.breaking import answering, own_answer, unguarded

COUNTS = {3: (288, 761), 5: (8_832, 37_345), 7: (296_448, 1_735_809)}


@pytest.mark.parametrize("rms", [3, 5, pytest.param(7, marks=pytest.mark.deep)])
def test_two_phase_commit_has_the_published_number_of_states(rms: int) -> None:
    """All reachable states are visited, none twice; everybody may commit, everybody may abort."""
    result = check(TwoPhase(TwoPhaseParameters(rms)))
    assert (result.states, result.transitions) == COUNTS[rms]
    assert result.complete, result
    assert result.violation is None, result
    assert result.unreached == ()
    assert result.depth == 3 * rms + 1
    assert result.seconds > 0


@pytest.mark.parametrize("rms", [1, 2, 3, 5])
def test_the_plain_loop_counts_the_same(rms: int) -> None:
    """A loop without models or properties, written for itself, finds the same states and steps."""
    result = check(TwoPhase(TwoPhaseParameters(rms)))
    assert explore(rms) == (result.states, result.transitions)


def never(name: str, bad: Any) -> Property:
    """The wrong belief that something never happens."""
    return always(name, f"Never {name}", lambda s: name if bad(s) else None)


WRONG = {
    "all commit": (never("all commit", lambda s: s.committed == 0b111), 10),
    "decided to commit": (never("decided to commit", lambda s: s.tm == 1), 7),
    "somebody aborts": (never("somebody aborts", lambda s: s.aborted), 1),
    "prepared and aborted": (never("prepared and aborted", lambda s: s.aborted & s.prepared), 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_property_gets_the_shortest_counterexample(name: str) -> None:
    """The run that refutes a wrong property is as short as any, ends where it breaks, and not
    before; replayed in a timeline the lamp goes out at its last step, so that it opens in the
    player, also from a saved trace.
    """
    prop, shortest = WRONG[name]
    model = TwoPhase(TwoPhaseParameters(3))
    result = check(model, (prop,))
    assert result.violation is not None
    assert (result.violation.property, result.violation.witness) == (name, name)
    assert len(result.violation.actions) == shortest == result.depth
    assert not result.complete
    model.properties = (prop,)
    timeline = Timeline(model)
    for action in result.violation.actions:
        assert timeline.verdicts()[0].ok
        timeline.do(action)
    assert not timeline.verdicts()[0].ok
    again = Timeline.load(loads(dumps(timeline.save())))
    assert again.state == timeline.state


@pytest.mark.parametrize("name", ["write-before-read", "old-writer-stays", "range-locks"])
def test_a_safeguard_off_gives_a_run_that_opens_in_another_process(name: str) -> None:
    """The counterexample of a switched-off safeguard replays on a model built anew."""
    guard = next(g for g in build("tcm").safeguards if g.name == name)
    model = build("tcm", guard.smallest, (name,))
    violation = check(model, max_states=20_000).violation
    assert violation is not None
    timeline = Timeline(build("tcm", guard.smallest, (name,)))
    for action in violation.actions:
        timeline.do(action)
    assert violation.property in [verdict.name for verdict in timeline.verdicts() if not verdict.ok]
    again = Timeline.load(loads(dumps(timeline.save())))
    assert [verdict.ok for verdict in again.verdicts()] == [
        verdict.ok for verdict in timeline.verdicts()
    ]


class Rash(TwoPhase):
    """Two-phase commit whose transaction manager commits as soon as it heard one manager."""

    def __init__(self) -> None:
        super().__init__()
        prepare, give_up, hear, decide, obey = self.rules
        own, at_once = own_answer(decide), own_answer(unguarded(decide))
        rash = answering(decide, lambda s, a: at_once(s, a) if s.heard else own(s, a))
        self.rules = (prepare, give_up, hear, rash, obey)


def test_a_planted_bug_is_found() -> None:
    """Committing before everybody was heard breaks consistency, in the fewest steps possible."""
    violation = check(Rash()).violation
    assert violation is not None
    assert violation.property == "consistent"
    assert len(violation.actions) == 5
    assert "committed" in violation.witness
    assert "aborted" in violation.witness


def test_a_start_that_is_wrong_needs_no_step() -> None:
    """A property that the first state breaks has the empty run as its counterexample."""
    result = check(TwoPhase(), (never("start", lambda s: True),))
    assert result.violation is not None
    assert result.violation.actions == ()
    assert (result.states, result.transitions, result.depth) == (1, 0, 0)


def test_a_step_to_a_known_state_is_judged_too() -> None:
    """Also steps that lead back to states seen before are judged."""
    prop = step("onwards", "Nobody goes back", lambda b, a, n: "back" if n.at < b.at else None)
    result = check(endless(), (prop,))
    assert result.violation is not None
    assert result.violation.actions == (Go(1), Go(2), Go(0))
    assert (result.states, result.transitions) == (3, 3)


def test_what_is_never_reached_is_named() -> None:
    """A *sometimes* property that no state shows is named; those shown are not."""
    properties = (
        sometimes("twice", "Somebody does both", lambda s: s.committed & s.aborted),
        sometimes("start", "The start", lambda s: not s.prepared),
        sometimes("all", "Everybody commits", lambda s: s.committed == 0b111),
    )
    result = check(TwoPhase(), properties)
    assert result.complete, result
    assert result.unreached == ("twice",)


def test_coming_to_rest_is_no_error() -> None:
    """A state without successors ends a run, and nothing else."""
    result = check(Graph({0: (1,)}))
    assert (result.complete, result.violation, result.states, result.depth) == (True, None, 2, 1)
    alone = check(Graph({}))
    assert (alone.complete, alone.states, alone.transitions, alone.depth) == (True, 1, 0, 0)


@pytest.mark.parametrize(
    ("bound", "complete"), [(1, False), (287, False), (288, True), (999, True)]
)
def test_a_bound_is_kept_and_told(bound: int, complete: bool) -> None:
    """A bounded search keeps at most so many states, and is complete only when it missed none."""
    result = check(TwoPhase(), max_states=bound)
    assert result.states == min(bound, 288)
    assert result.complete is complete


def test_progress_is_told_now_and_then() -> None:
    """The progress callback hears growing counts, often enough, but not at every state."""
    heard: list[tuple[int, int]] = []
    result = check(
        TwoPhase(TwoPhaseParameters(6)), progress=lambda seen, level: heard.append((seen, level))
    )
    seen = [count for count, _ in heard]
    assert seen == sorted(set(seen))
    assert 3 < len(heard) <= result.states // 4096 + 50
    assert all(0 < level <= count <= result.states for count, level in heard)


TRAP = Graph({0: (1, 2), 1: (0, 3), 2: (4,), 4: (2,), 3: ()})


def test_a_goal_out_of_reach_is_a_violation() -> None:
    """The shortest way to where a goal cannot be reached any more is the counterexample."""
    result = check(TRAP, (goal("home", "One can always come to 3", lambda s: s.at == 3),))
    assert result.violation is not None
    assert result.violation.property == "home"
    assert result.violation.actions == (Go(2),)
    assert not result.complete


def test_a_goal_that_stays_in_reach_is_fine() -> None:
    """Where the goal can be reached from everywhere, loops included, all is well."""
    home = goal("home", "One can always come to 3", lambda s: s.at == 3)
    result = check(Graph({0: (1,), 1: (0, 2), 2: (1, 3), 3: (0,)}), (home,))
    assert (result.complete, result.violation, result.unjudged) == (True, None, ())


def test_what_a_search_cannot_judge_is_named() -> None:
    """A search that was bounded, or that ended at another violation, leaves goals open, and says
    so; a complete one leaves nothing.
    """
    home = goal("home", "One can always come to 3", lambda s: s.at == 3)
    model = Graph(TRAP.edges, home)
    assert check(model, max_states=2).unjudged == ("home",)
    wrong = Graph(TRAP.edges, home, never("one", lambda s: s.at == 1))
    assert check(wrong).unjudged == ("home",)
    assert check(Graph({0: (3,)}, home)).unjudged == ()


def test_a_property_that_fails_is_not_swallowed() -> None:
    """An error in a student's property comes through, and the collector is as it was before."""

    def broken(s: Any) -> str | None:
        raise ZeroDivisionError

    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with pytest.raises(ZeroDivisionError):
                check(TwoPhase(), (always("broken", "Broken", broken),))
            assert gc.isenabled() is enabled
            check(TwoPhase())
            assert gc.isenabled() is enabled
        finally:
            gc.enable()


edges = st.dictionaries(
    st.integers(0, 8), st.lists(st.integers(0, 8), unique=True, max_size=4).map(tuple), max_size=9
)


def distances(graph: dict[int, tuple[int, ...]], start: int) -> dict[int, int]:
    """How many steps each node is away; the textbook's loop."""
    found, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for other in graph.get(node, ()):
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


@given(edges, st.integers(0, 8))
@examples(300)
def test_any_graph_is_searched_right(graph: dict[int, tuple[int, ...]], bad: int) -> None:
    """On any graph the counts, the depth and the length of the counterexample are the textbook's,
    and a goal holds exactly when it can be reached from every reachable node.
    """
    away = distances(graph, 0)
    result = check(Graph(graph))
    assert (result.states, result.depth) == (len(away), max(away.values()))
    assert result.transitions == sum(len(graph.get(node, ())) for node in away)

    violation = check(Graph(graph), (never("bad", lambda s: s.at == bad),)).violation
    assert (violation is not None) == (bad in away)
    if violation is not None:
        assert len(violation.actions) == away[bad]
        assert [Cell(0), *(Cell(a.to) for a in violation.actions)][-1] == Cell(bad)

    lost = {node for node in away if bad not in distances(graph, node)}
    result = check(Graph(graph), (goal("bad", "Come to it", lambda s: s.at == bad),))
    assert result.complete is not bool(lost)
    if result.violation is not None:
        assert len(result.violation.actions) == min(away[node] for node in lost)
