"""The history: forward, back, branches; nothing done is ever lost."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, Refused
from kit.model.log import Apply
from kit.model.model import fingerprint
from kit.model.parameters import plainly
from kit.model.registry import build, scenario_of
from kit.model.timeline import LONGEST_RUN, Timeline
from kit.model.trace import dumps, loads
from kit.protocols.twophase.twophase import (
    GiveUp,
    Prepare,
    ReceivePrepared,
    TwoPhase,
    TwoPhaseParameters,
)
from kit.search.check import check
from tests.model.histories import a_lift, everything, scenario, to_the_end
from tests.model.toys import Door, LiftModel, LiftParameters, Up, endless
from tests.saying import like


@pytest.mark.spec("H-005")
@pytest.mark.parametrize("name", ["bootstrap", "decommission", "commit", "gap", "two-bootstraps"])
def test_back_shows_exactly_the_former_state(name: str) -> None:
    """Forward to the end, back to the start, forward again: every state is the very one it was."""
    timeline = scenario(name)
    states = [timeline.state]
    while timeline.forward() is not None:
        assert timeline.before is states[-1]
        states.append(timeline.state)
    marks = [fingerprint(state) for state in states]
    for former in states[-2::-1]:
        moment = timeline.back()
        assert moment is not None
        assert moment.state is former is timeline.state
    assert timeline.back() is None
    for later in states[1:]:
        moment = timeline.forward()
        assert moment is not None
        assert moment.state is later
    assert [fingerprint(moment.state) for moment in timeline.moments] == marks
    assert len(timeline.branches()) == 1, "walking begins no branch"


@pytest.mark.spec("H-005")
def test_forward_walks_on_before_it_acts() -> None:
    """From the past, forward walks the branch; only at its tip does it do what is suggested."""
    timeline = to_the_end(scenario("commit"))
    count = len(timeline.moments)
    timeline.goto(3)
    assert timeline.forward() == timeline.moments[4]
    assert len(timeline.moments) == count
    assert to_the_end(timeline).at == count - 1
    assert timeline.forward() is None


def test_acting_from_the_past_keeps_both_branches() -> None:
    """What was done before stays, what is done from there begins beside it."""
    timeline = to_the_end(scenario("commit"))
    first = timeline.path()
    timeline.goto(2)
    timeline.do(GiveUp(2))
    second = timeline.path()
    assert timeline.branches() == [first[-1], second[-1]]
    assert timeline.path(first[-1]) == first
    assert second == [0, 1, 2, len(first)]
    timeline.goto(first[-1])
    assert timeline.path() == first
    timeline.goto(second[-1])
    assert timeline.path() == second


@pytest.mark.parametrize(
    "action", [ReceivePrepared(0), Prepare(9), Apply("A"), None, "x"], ids=repr
)
def test_a_refused_action_leaves_the_history_as_it_was(action: Any) -> None:
    """Whatever is refused, moments, branches and place stay as they were."""
    timeline = to_the_end(Timeline(TwoPhase(TwoPhaseParameters(2))))
    timeline.goto(0)
    before = everything(timeline)
    with pytest.raises(Refused):
        timeline.do(action)
    assert everything(timeline) == before


def test_a_model_that_fails_leaves_the_history_as_it_was() -> None:
    """Even when a student's description raises, the step is not half in the history."""

    class Mute(LiftModel):
        def describe(self, before: Any, action: Any, after: Any) -> str:
            raise ValueError("no words")

    timeline = Timeline(Mute(LiftParameters()))
    before = everything(timeline)
    with pytest.raises(ValueError, match="no words"):
        timeline.do(Up())
    assert everything(timeline) == before


@pytest.mark.parametrize("moment", [-1, 1, 10**30, "0", None, 0.5], ids=repr)
def test_an_unknown_moment_is_bad_input(moment: Any) -> None:
    """A moment that is not there is named, with what there is; nothing moves."""
    timeline = a_lift()
    allowed = "moment | 0 to 0"
    with pytest.raises(BadInput, match=like(allowed)):
        timeline.goto(moment)
    if moment is not None:  # which would be the current branch
        with pytest.raises(BadInput, match=like(allowed)):
            timeline.path(moment)
    assert (timeline.at, timeline.tip) == (0, 0)


def test_a_long_history_is_walked_from_end_to_end() -> None:
    """Ten thousand moments, with forks on the way, are walked back and forward without a slip."""
    timeline = Timeline(endless())
    for number in range(10_000):
        timeline.forward()
        if number % 1000 == 999:
            timeline.fork()
    assert timeline.path() == list(range(10_001))
    while timeline.back() is not None:
        pass
    for moment in range(1, 10_001):
        assert timeline.forward() is timeline.moments[moment]
    timeline.goto(5000)
    timeline.fork()
    assert timeline.path() == list(range(5001))
    timeline.goto(10_000)
    assert len(timeline.path()) == 10_001


@pytest.mark.spec("H-004")
@pytest.mark.parametrize("name", ["bootstrap", "one-gives-up"])
def test_the_player_and_a_cell_make_the_same_trace(name: str) -> None:
    """Stepping with the Player and calling the timeline lead to one and the same trace."""
    from kit.widgets.player import Player

    player, timeline = Player(name), scenario(name, scripted=True)
    player.step()
    timeline.forward()
    player.milestone()
    timeline.to_milestone()
    player.back()
    timeline.back()
    action = list(timeline.model.actions(timeline.state))[-1]
    player.act(timeline.model.verb(action))
    timeline.do(action)
    assert player.timeline.save() == timeline.save()
    assert len(timeline.moments) > 3


def test_a_milestone_is_the_unit_of_coarse_stepping() -> None:
    """A bootstrap is a few presses: each runs to the next epoch, the last one to rest."""
    timeline = scenario("bootstrap")
    reached = []
    while (moment := timeline.to_milestone()) is not None:
        reached.append(moment.milestone)
    assert [name for name in reached if name] == [f"epoch {n}" for n in range(1, 5)]
    assert timeline.forward() is None
    timeline.goto(0)
    again = timeline.to_milestone()
    assert again is not None
    assert again.milestone == "epoch 1", "known milestones are walked to"


def test_running_to_a_milestone_that_never_comes_ends() -> None:
    """A model that goes round for ever does not hang the one who presses the button."""
    timeline = Timeline(endless())
    assert timeline.to_milestone() is timeline.now
    assert len(timeline.moments) == LONGEST_RUN + 1


def test_a_refused_macro_leaves_the_history_as_it_was() -> None:
    """When one action of a macro is refused, none of it is in the history, also after a branch."""
    timeline = a_lift(4)
    timeline.do(Up())
    timeline.do(Up())
    timeline.goto(1)
    before = everything(timeline)
    with pytest.raises(Refused, match="no such floor"):
        timeline.run([Door(True), Door(False), Up(), Up(), Up()])
    assert everything(timeline) == before
    timeline.do(Door(True))
    assert timeline.path() == [0, 1, 3]
    assert timeline.branches() == [2, 3]


def test_lines_of_a_script_take_the_place_of_suggestions() -> None:
    """Each line happens, in order, as soon as it is enabled; then the model's schedule goes on."""
    timeline = to_the_end(scenario("one-gives-up", scripted=True))
    verbs = [timeline.model.verb(moment.action) for moment in timeline.moments[1:]]
    assert tuple(verbs[:5]) == timeline.script == scenario_of("one-gives-up")[1].script


def test_what_was_chosen_is_suggested_where_one_looks_back() -> None:
    """The button and the key for one step on do the same; at a tip the schedule goes on."""
    timeline = scenario("bootstrap")
    while len(actions := [*timeline.model.actions(timeline.state)]) < 2:
        timeline.forward()
    usual = timeline.suggest()
    for chosen in actions:
        timeline.do(chosen)
        timeline.back()
        assert timeline.suggest() == chosen
    assert usual in actions


OFF = "transitive-closure"


def test_a_run_is_done_again_with_other_safeguards() -> None:
    """What is refused then is left out, with its reason; the branch is judged by its own model."""
    seeds = {"seeds": ("A", "A B")}
    entry, bare = build("discovery", seeds), build("discovery", seeds, (OFF,))
    found = check(bare).violation
    assert found is not None
    timeline = Timeline.along(bare, found.actions)
    broken = timeline.at
    assert timeline.breaches(broken)
    left_out = timeline.again(entry, broken)
    assert left_out
    assert all(reason for _, reason in left_out)
    assert timeline.here is entry
    assert timeline.model is timeline.model_at(broken) is bare
    assert not timeline.breaches(timeline.at)
    assert len(timeline.path()) - 1 == len(found.actions) - len(left_out)
    assert timeline.forward() is None or timeline.here is entry
    loaded = Timeline.load(loads(dumps(timeline.save())))
    assert [m.say for m in loaded.moments] == [m.say for m in timeline.moments]
    assert loaded.here.off == ()
    assert loaded.model_at(broken).off == (OFF,)
    with pytest.raises(BadInput, match="same configuration"):
        timeline.again(build("discovery"), broken)


def test_a_switch_is_a_branch_wherever_one_stands() -> None:
    """At any moment, the start included: the same step is shown there, and what is done at the
    start then is done on that branch; switched back, the former one is walked again.
    """
    for at in (0, 2):
        timeline = to_the_end(scenario("tcm/bootstrap"))
        entry = timeline.model
        bare = build(entry.name, plainly(entry.parameters), (entry.safeguards[0].name,))
        steps, tip = len(timeline.path()) - 1, timeline.tip
        timeline.goto(at)
        assert timeline.switch(bare) == (steps, steps)
        assert timeline.branches() == [tip, timeline.tip]
        assert (timeline.here, len(timeline.path(timeline.at)) - 1) == (bare, at)
        assert {timeline.model_at(each).off for each in timeline.path()[1:]} == {bare.off}
        assert timeline.switch(entry) == (steps, steps)
        assert (timeline.tip, timeline.at, timeline.here) == (tip, at, entry)
