"""Failures: majorities, cuts and voters step by step, every reachable state, and questions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kit.lessons.exercises import exercise
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.recovery import facts
from kit.protocols.recovery.failures import CatchUp, Failures, Rejoin, Stop
from kit.protocols.recovery.lessons import (
    failures_table,
    must_return,
    orders_table,
    sides_possible,
    still_possible,
)
from kit.protocols.recovery.rules.availability import FAILURES, after_deaths, standings
from kit.protocols.topology.rules.machines import Edition
from kit.search.check import check
from tests.lessons.answers import RIGHT
from tests.protocols.storage.proofs import assert_holds, assert_needed
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges
from tests.views.frames import after, last_flows, panel_text

TWO: dict[str, Any] = {"datacenters": (3, 3)}


THREE: dict[str, Any] = {"datacenters": (3, 3, 3)}


ran = partial(after, "failures")


"""A cluster with these parameters after these verbs."""


def why_not(timeline: Timeline, verb: str) -> str:
    """Why a step may not happen; empty if it may."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    return str(option[1]) if option[1] else ""


def test_without_a_majority_a_schema_change_waits() -> None:
    """The reason names the missing voters, and how many can be reached and are needed."""
    timeline = ran({}, "stop C", "alter A", "stop B")
    why = why_not(timeline, "alter A")
    assert "a majority of the voters" in why
    assert "missing=('B', 'C')" in why
    assert "1 of 3 voters can be reached, but 2 are needed" in why
    timeline = ran({}, "stop C", "alter A", "stop B", "start B", "catch up B", "alter A")
    assert timeline.state.entries == 2


@pytest.mark.spec("C-016")
def test_losing_a_datacenter_of_two_stops_schema_changes_and_of_three_does_not() -> None:
    """The gauge below the nodes counts the voters that are left and those that are needed."""
    two = ran(TWO, "lose dc2")
    assert "A, B, C: 3 of 6 voters, 4 are needed, so schema changes are impossible" in panel_text(
        two, "nodes"
    )
    assert "! no schema changes" in panel_text(two, "badges")
    assert why_not(two, "alter A")
    three = ran(THREE, "lose dc2")
    assert "6 of 9 voters, 5 are needed, so schema changes are possible" in panel_text(
        three, "nodes"
    )
    assert not why_not(three, "alter A")
    assert "✓ schema changes" in panel_text(ran(TWO, "lose dc2", "start dc2"), "badges")


@pytest.mark.spec("G-016")
def test_without_the_majority_safeguard_each_side_of_a_cut_changes_the_schema() -> None:
    """The gauges ask for no voter then."""
    timeline = ran({"datacenters": (3, 2)}, "cut off dc2", "alter A", "alter D", off=("majority",))
    nodes = panel_text(timeline, "nodes")
    assert "A, B, C: 3 of 5 voters, none is needed, so schema changes are possible" in nodes
    assert "D, E: 2 of 5 voters, none is needed, so schema changes are possible" in nodes
    assert "✓ schema changes at A, B, C, D, E" in panel_text(timeline, "badges")


@pytest.mark.spec("G-016")
def test_the_smaller_side_of_a_cut_serves_data_and_changes_no_schema() -> None:
    """Each side has its LOCAL_QUORUM, neither has QUORUM; after the cut both change the schema."""
    timeline = ran({"datacenters": (3, 2)}, "cut off dc2")
    assert not why_not(timeline, "alter A")
    assert "2 of 5 voters can be reached, but 3 are needed" in why_not(timeline, "alter D")
    data = panel_text(timeline, "ranges")
    assert "  LOCAL_QUORUM in dc2  ✓  5 of 5" in data.partition("clients of D, E")[2]
    assert data.count("\n  QUORUM  !  0 of 5") == 2
    assert "RF 3: levels count replicas that dc2 cannot have" in data
    data = panel_text(ran({"datacenters": (3, 2), "rf": 2}, "cut off dc2"), "ranges")
    assert data.count("\n  QUORUM  !  0 of 5") == 2
    timeline = ran({"datacenters": (3, 2)}, "cut off dc2", "alter A", "rejoin", "catch up D")
    assert not why_not(timeline, "alter A")
    assert "D: dc2 r1, serving, schema 1" in panel_text(timeline, "nodes")


@pytest.mark.spec("G-018")
def test_a_restarted_node_serves_only_after_catching_up() -> None:
    """B missed a column while it was down: it asks A, and serves with the column."""
    timeline = ran({}, "stop B", "alter A", "start B")
    assert "B: dc1 r2, catching up, schema –" in panel_text(timeline, "nodes")
    assert "the newest schema must be fetched first" in why_not(timeline, "serve B")
    timeline = ran({}, "stop B", "alter A", "start B", "catch up B")
    assert "B: dc1 r2, serving, schema 1" in panel_text(timeline, "nodes")
    said = [flow.text for flow in last_flows(timeline)]
    assert said == ["B → A: newest?", "A → B: schema 1"]
    timeline = ran({}, "stop B", "start B", "catch up B")
    assert last_flows(timeline)[1].text == "A → B: up to date"


def test_without_a_majority_a_started_node_serves_data_by_its_stored_schema() -> None:
    """Metadata without a majority must not stop requests for data (Q-27)."""
    timeline = ran({"rf": 1}, "stop B", "alter A", "stop C", "stop A", "start B")
    assert "fetched from a majority" in why_not(timeline, "catch up B")
    assert "B: dc1 r2, started, schema –" in panel_text(timeline, "nodes")
    timeline = ran({"rf": 1}, "stop B", "alter A", "stop C", "stop A", "start B", "serve B")
    assert "QUORUM  !  1 of 3" in panel_text(timeline, "ranges")


@pytest.mark.spec("G-019")
def test_stopping_nodes_fills_the_rows_of_the_documents_tables() -> None:
    """Each row gets its verdict, and who must be back, from a run; rows that no run met wait."""
    for row in FAILURES:
        given = {"datacenters": (3,) * row.datacenters}
        dead = list(row.failures())[-1]
        model: Any = build("failures", given)
        stops = [f"stop {name}" for name in model.named(dead)]
        timeline = ran(given, *stops)
        [line] = [
            each
            for each in panel_text(timeline, "failures").splitlines()
            if each.startswith(f"  {row.words}  ")
        ]
        documents, _, computed = line.partition(row.advice)
        verdict = "possible" if row.schema else "impossible"
        assert f"schema changes {verdict}" in documents, line
        assert ("and safe" in documents) is row.schema, line
        assert f"schema changes {verdict}" in computed, line
        assert row.advice in line
        assert ("must be back" in computed) is not row.schema, line
    first = panel_text(ran(TWO), "failures").splitlines()
    assert len(first) == 5
    assert all(line.endswith("not met yet") for line in first[2:])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_voters_after_deaths_in_turn_follow_the_advisers_rule(edition: Edition, seed: int) -> None:
    """And the rule knows whether a quorum holds."""
    random = Random(seed)
    given = {"edition": edition, "datacenters": [(3, 3), (3, 3, 3), (5,), (2, 4)][seed % 4]}
    model: Any = build("failures", given)
    dying = random.sample(range(len(model.names)), random.randint(0, len(model.names)))
    timeline = ran(given, *(f"stop {model.names[i]}" for i in dying))
    quorum = after_deaths(edition, model.places, [1 << i for i in dying])
    assert timeline.state.voters == quorum.voters
    assert timeline.state.has_majority == quorum.holds


def test_voters_that_fail_at_once_are_not_replaced() -> None:
    """Three of five voters of seven nodes: in turn others follow them, at once none does."""
    given = {"edition": "server", "datacenters": (7,), "together": "C A B"}
    at_once, in_turn = ran(given, "stop A, B, C"), ran(given, "stop A", "stop B", "stop C")
    assert at_once.state.up == in_turn.state.up
    model: Any = at_once.model
    quorum = after_deaths("server", model.places, [0b111])
    assert (at_once.state.voters, quorum.holds) == (quorum.voters, False)
    assert [each.state.has_majority for each in (at_once, in_turn)] == [False, True]
    assert (
        "A, B, C go down at once. Group 0 has no majority: it needs 3 voters, but 2 of 5 are up"
        in at_once.moments[1].say
    )
    assert at_once.model.find(at_once.state, "stop A, B, C") is None
    assert ran(given, "stop A").model.find(ran(given, "stop A").state, "stop A, B, C") is None


@pytest.mark.parametrize("seed", range(20))
def test_the_ring_serves_ranges_within_the_bounds_of_the_advisers_rule(seed: int) -> None:
    """At every level, even with a replication factor above the nodes of a datacenter."""
    random = Random(seed)
    sizes = tuple(random.randint(1, 4) for _ in range(random.randint(1, 2)))
    factor = random.randint(2, 5)
    given = {"datacenters": sizes, "racks": random.randint(1, 3), "rf": factor}
    model: Any = build("failures", given)
    down = [name for name in model.names if random.random() < 0.3]
    timeline = ran(given, *(f"stop {name}" for name in down))
    dead = sum(1 << model.number(name) for name in down)
    told = standings(model.places, dead, dict.fromkeys(model.dcs, factor))
    bounds = {(each.level, each.datacenter): each.standing for each in told}
    for line in facts.level_lines(model, timeline.state, timeline.state.up):
        home = line.datacenter if line.level == "LOCAL_QUORUM" else ""
        if bounds[line.level, home] != "of some ranges":
            assert line.standing == bounds[line.level, home], line


@pytest.mark.parametrize(
    ("given", "up", "lines"),
    [
        (
            {"datacenters": (2, 2), "racks": 1, "rf": 2},
            0b1111,
            (
                "ONE dc1 4, LOCAL_QUORUM dc1 4, LOCAL_QUORUM dc2 4, QUORUM dc1 4, "
                "EACH_QUORUM dc1 4, ALL dc1 4"
            ),
        ),
        (
            {"datacenters": (2, 2), "racks": 1, "rf": 2},
            0b1100,
            "ONE dc2 4, LOCAL_QUORUM dc2 4, QUORUM dc2 0, EACH_QUORUM dc2 0, ALL dc2 0",
        ),
        ({"datacenters": (3,), "racks": 1, "rf": 3}, 0b011, "ONE dc1 3, QUORUM dc1 3, ALL dc1 0"),
        ({"datacenters": (3,), "racks": 1, "rf": 3}, 0, "ONE - 0, QUORUM - 0, ALL - 0"),
    ],
)
def test_each_level_counts_the_ranges_served_to_a_local_client(
    given: dict[str, Any], up: int, lines: str
) -> None:
    """The client is in the first datacenter of the side that is up; LOCAL_QUORUM in each."""
    model: Any = build("failures", given)
    found = facts.level_lines(model, model.start(), up)
    said = (f"{line.level} {line.datacenter or '-'} {line.met}" for line in found)
    assert ", ".join(said) == lines


[MAJORITY] = Failures.safeguards


# parameters, states, steps of the longest of the shortest runs; the same for both editions
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "three nodes": ({**MAJORITY.smallest}, 2268, 10),
    "two datacenters of two": ({"datacenters": (2, 2), "changes": 1}, 1458, 8),
    "two fail at once": ({"datacenters": (4,), "changes": 1, "together": "A B"}, 7290, 11),
    "three datacenters of one": ({"datacenters": (1, 1, 1), "changes": 1}, 945, 9),
    "voters are chosen again": (
        {"edition": "server", "datacenters": (2, 2), "changes": 1}, 7884, 13,
    ),
}  # fmt: skip


LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "five nodes": ({"datacenters": (5,), "changes": 1}, 128_061, 15),
    "voters of five nodes": ({"edition": "server", "datacenters": (5,), "changes": 1}, 128_061, 15),
    "voters of six nodes": (
        {"edition": "server", "datacenters": (2, 2, 2), "changes": 0}, 25_242, 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [*CLEAN, *(pytest.param(name, marks=pytest.mark.deep) for name in LARGE)]
)
def test_no_run_breaks_a_promise(name: str) -> None:
    """No order of steps and failures breaks a promise: the search is complete."""
    parameters, states, depth = (CLEAN | LARGE)[name]
    assert_holds(check(build("failures", parameters)), states, depth)


def test_without_the_majority_safeguard_a_side_of_a_cut_misses_a_column() -> None:
    """The shortest run takes 3 steps, and A is cut off in the first or the second."""
    model = build("failures", MAJORITY.smallest, (MAJORITY.name,))
    result = check(model)
    assert_needed(result, model, MAJORITY, ("sees-all", 3))
    assert result.violation is not None
    verbs = [model.verb(action) for action in result.violation.actions]
    assert verbs[1] == "cut off A" or verbs[0] == "cut off A"


def without_fetching() -> Any:
    """A node serves at once, with what it has stored."""
    model: Any = build("failures", {"changes": 1})

    def serving(s: Any, action: Any) -> Any:
        return replace(s, serving=s.serving | 1 << model.number(action.node))

    return broken(model, CatchUp, doing(serving))


REPORTED: dict[str, Callable[[], Any]] = {
    "sees-all": lambda: build("failures", MAJORITY.smallest, ("majority",)),
    "newest": without_fetching,
    "no-majority": lambda: broken(build("failures", {"datacenters": (1,)}), Stop, never),
    "whole": lambda: broken(build("failures", {"changes": 0}), Rejoin, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("failures")))


def test_the_lesson_knows_what_is_possible_after_each_of_two_failures() -> None:
    """Two of three nodes have QUORUM and the schema, a single one has ONE."""
    question = still_possible(ran({}, "stop C")).question
    assert question.right == ("schema changes", "data at ONE", "data at QUORUM")
    assert still_possible(ran({}, "stop C", "stop B")).question.right == ("data at ONE",)
    assert set(question.right) <= set(question.choices)


@pytest.mark.parametrize("seed", range(10))
def test_the_starts_in_the_answer_bring_schema_changes_back(seed: int) -> None:
    """With a start fewer, a schema change still waits."""
    random = Random(seed)
    given = {"datacenters": random.choice([(3,), (5,), (3, 3), (2, 3, 3)])}
    names = list(ran(given).model.names)  # type: ignore[attr-defined]  # the model of this family
    down = random.sample(names, random.randint(1, len(names)))
    stopped = [f"stop {name}" for name in down]
    [answer] = must_return(ran(given, *stopped)).question.right
    for starts in range(len(down) + 1):
        timeline = ran(given, *stopped, *(f"start {name}" for name in down[:starts]))
        [missing] = must_return(timeline).question.right if starts < len(down) else ("0",)
        assert (missing == "0") == (starts >= int(answer)), f"{starts} starts, {answer} needed"


def test_the_lesson_asks_what_each_side_of_a_cut_can_do() -> None:
    """The larger side changes the schema; each has its LOCAL_QUORUM, and none four of six."""
    question = sides_possible(ran({"datacenters": (3, 2)}, "cut off dc2")).question
    assert question.right == (
        "A, B, C: schema changes",
        "A, B, C: data at LOCAL_QUORUM in dc1",
        "D, E: data at LOCAL_QUORUM in dc2",
    )


@pytest.mark.parametrize("datacenters", [1, 2, 3])
def test_the_computed_verdicts_on_schema_changes_agree_with_the_documents(datacenters: int) -> None:
    """Two tables have a row for each failure."""
    rows = failures_table(datacenters).rows
    assert len(rows) == {1: 2, 2: 3, 3: 3}[datacenters]
    for words, schema, computed, *_ in rows:
        assert computed == f"✓ {'always' if schema == 'possible' else 'never'}", words
    assert [row[0] for row in orders_table(datacenters).rows] == [row[0] for row in rows]


def test_limited_voters_always_outlive_deaths_in_turn_and_sometimes_deaths_at_once() -> None:
    """Three of six nodes fail; where all nodes vote, the quorum is always lost."""
    [row] = [row for row in orders_table(2).rows if row[0] == "3 nodes"]
    assert row[1:] == ("never", "sometimes", "always")


def broken_majority(sizes: list[int], lost: list[int]) -> bool:
    """Half of all is not more than half."""
    return 2 * sum(size for at, size in enumerate(sizes) if at not in lost) >= sum(sizes)


def all_met(replicas: list[str], down: list[str]) -> list[str]:
    """Nobody is ever down."""
    needed = {"ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": 1, "ALL": 1}
    return [level for level, count in needed.items() if len(replicas) >= count]


WRONG: dict[str, Any] = {
    "majority-of-datacenters": broken_majority,
    "levels-that-are-met": all_met,
    "one-start-is-enough": [
        *("alter A", "lose dc2", "start D", "start E", "catch up D", "catch up E", "alter A")
    ],
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.usefixtures("judged_here")
def test_each_exercise_accepts_a_right_answer_and_rejects_a_near_miss(name: str) -> None:
    """The near misses are in WRONG."""
    assert exercise(name).check(RIGHT[name]()).passed
    assert not exercise(name).check(WRONG[name]).passed
