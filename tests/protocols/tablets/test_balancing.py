"""Tablets moved by hand: what is refused, what the planner would do, what a search reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.exercises import exercise
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.protocols.tablets.balance import Balance, BalanceState
from kit.protocols.tablets.lessons.balancing import against_planner, goes_to, may_take, moves_judged
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges
from tests.saying import like

SCENARIOS = {scenario.name: scenario.parameters for scenario in entry_of("balance").scenarios}
STUCK: dict[str, Any] = {"nodes": 2, "tablets": ("A B",), "leaving": ("B",)}


def at(name: str, *verbs: str, **given: Any) -> Timeline:
    """A scenario, or what is given, once these moves are done."""
    timeline = Timeline(build("balance", given or SCENARIOS[name]))
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def led(timeline: Timeline) -> Timeline:
    """The same, when the planner has done all that it wants."""
    while timeline.forward() is not None:
        pass
    return timeline


def panel(timeline: Timeline, name: str) -> str:
    """What a panel says of the moment."""
    [found] = [each for each in for_model(timeline.model).panels if each.name == name]
    return found.text(Scene(timeline.model, timeline.state))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_planner_ends_each_balancing_story_with_even_loads(name: str) -> None:
    """Every suggested move is in the plan, and the end is told."""
    timeline = led(at(name))
    moves = [timeline.moments[moment] for moment in timeline.path()[1:]]
    assert moves
    assert all("The plan includes this move" in move.say for move in moves)
    m: Any = timeline.model
    assert m.is_even(timeline.state)
    assert [move.milestone for move in moves] == [None] * (len(moves) - 1) + ["no move left"]
    assert m.milestone(timeline.state, None, timeline.state) is None
    assert "There is nothing to move." in panel(timeline, "plan")


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_a_search_of_balancing_by_hand_sees_every_placement(edition: str) -> None:
    """Three tablets on three nodes have 27 of them."""
    result = check(build("balance", {"edition": edition}))
    assert (result.verdict, result.states) == ("complete", 27)


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_the_planner_ends_from_any_placement_that_moves_by_hand_reach(edition: str) -> None:
    """Of all goals "ends" alone is judged, as chance does not reach the other one."""
    m = build("balance", {**SCENARIOS["two-tables"], "edition": edition, "shards": 2})
    walked = fuzz(m, range(6), steps=30, within=60)
    assert (walked.findings, walked.scope.judged["goal"]) == ((), ("ends",))


def test_a_move_by_hand_is_refused_with_its_reason() -> None:
    """A replica there, a full rack, a node that is emptied, and another datacenter."""
    racks = ("dc1/r1", "dc1/r2", "dc1/r1", "dc1/r2", "dc2/r1")
    m: Any = build("balance", {"nodes": 5, "tablets": ("A B",), "racks": racks, "leaving": ("C",)})
    refused = {m.verb(action): why.reason for action, why in m.waiting(m.start())}
    assert "has a replica of the tablet" in refused["move 0 A:0 B:0"]
    assert "rack r2 would have 2" in refused["move 0 A:0 D:0"]
    assert "takes no tablets" in refused["move 0 A:0 C:0"]
    assert "dc2" in refused["move 0 A:0 E:0"]


def test_a_load_is_the_size_of_tablets_by_the_room_of_the_disk() -> None:
    """What is copied is the tablet's size."""
    given = {"nodes": 2, "tablets": ("A 50", "A 50"), "room": ("2", "4"), "edition": "server"}
    line = at("", "move 0 A:0 B:0", **given)
    assert "A goes from 50.00% to 25.00%, B from 0.00% to 12.50%" in line.now.say
    assert panel(line, "loads").splitlines()[1].split() == ["A", "1", "25.00%"]
    sheet = against_planner(line)
    assert sheet.rows[0][:3] == ("by hand", "1", "2.5 GiB")
    m: Any = line.model
    assert m.bytes_of(0) == TARGET_SIZE // 2


def test_moves_by_hand_are_compared_with_the_planners() -> None:
    """Each move has its badness and the planner's reason."""
    line = at("by-hand", "move 0 A:0 D:0", "move 1 A:1 D:0", "move 2 B:0 D:0", "move 3 C:1 D:0")
    mine, planner = against_planner(line).rows
    assert (mine[1], planner[1], planner[-1]) == ("4", "3", "0")
    judged = moves_judged(line).rows
    assert [row[0] for row in judged][-1] == "move 3 C:1 D:0"
    assert "the target would then have" in judged[-1][-1]
    own = moves_judged(led(at("by-hand"))).rows
    assert [row[1] for row in own] == ["✓"] * 3


def test_questions_about_balancing_have_the_planners_answers() -> None:
    """A tablet, source, place or model that does not exist is refused."""
    start = at("by-hand")
    question = may_take(start, "0", "A:0").question
    assert (question.right, question.choices) == (("C", "D"), ("B", "C", "D"))
    assert question.reasons[0].startswith("B: ")
    assert goes_to(start).question.right == ("D",)
    with pytest.raises(BadInput, match=like("tablet | '9'")):
        may_take(start, "9", "A:0")
    with pytest.raises(BadInput, match=like("source | 'D:0'")):
        may_take(start, "0", "D:0")
    with pytest.raises(KitError, match="nothing to do"):
        goes_to(led(start))
    with pytest.raises(KitError, match="no other node"):
        may_take(at("", nodes=1, tablets=("A",)), "0", "A:0")
    with pytest.raises(BadInput, match="model"):
        goes_to(Timeline(build("twophase")))


def test_the_plan_panel_names_a_replica_that_no_node_can_take() -> None:
    """There are as many nodes as replicas."""
    line = at("", **STUCK)
    assert "no node can take tablet 0 at B:0" in panel(line, "plan")


def test_an_even_end_after_more_moves_than_the_planners_fails_its_exercise() -> None:
    """The reply has both numbers."""
    slow = ["move a0 A:0 B:0", "move a0 B:0 A:0", "move b0 A:0 C:0", "move a0 A:0 C:0",
            "move b3 B:0 C:0"]  # fmt: skip
    said = repr(exercise("even-by-hand").check(slow))
    assert "You made 5 moves; the planner needs 3." in said


TWO: dict[str, Any] = {"tablets": ("A B",), "nodes": 3}
RACKS: dict[str, Any] = {**TWO, "racks": ("dc1/r1", "dc1/r2", "dc1/r2")}
UNEVEN: dict[str, Any] = {"nodes": 2, "tablets": ("A", "A")}

REPORTED: dict[str, Callable[[], Any]] = {
    "whole-map": lambda: broken(build("balance", TWO), Balance.move.struct, unguarded),
    "racks": lambda: broken(build("balance", RACKS), Balance.move.struct, unguarded),
    "even": lambda: broken(build("balance", UNEVEN), Balance.move.struct, never),
    "ends": lambda: broken(build("balance", UNEVEN), Balance.move.struct, doing(stays)),
}


def stays(s: BalanceState, action: Any) -> BalanceState:
    """A move that does nothing."""
    return s


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_of_balancing_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_of_balancing_has_a_broken_model() -> None:
    """The table names all of them."""
    assert set(REPORTED) == set(judges(build("balance")))
