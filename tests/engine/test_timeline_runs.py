"""Runs of many steps in a history: milestones, macros that stand or fall whole, scripts."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.parameters import plainly
from kit.engine.registry import build, scenario_of
from kit.engine.timeline import LONGEST_RUN, MOST_FOLD, Timeline
from kit.engine.trace import dumps, loads
from kit.errors import BadInput, Refused
from kit.protocols.twophase.twophase import TwoPhase
from tests.engine.histories import a_lift, everything, scenario, to_the_end
from tests.engine.toys import Door, Lift, LiftModel, LiftParameters, Up, endless


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


def test_a_macro_is_one_fold_of_ordinary_steps() -> None:
    """The steps of a macro are ordinary moments that share a fold; each macro has its own."""
    timeline = a_lift(10)
    timeline.do(Up())
    timeline.run([Up(), Up()])
    timeline.run(Up() for _ in range(3))
    assert [moment.fold for moment in timeline.moments] == [0, 0, 1, 1, 2, 2, 2]
    assert timeline.state.floor == 6
    timeline.back()
    assert timeline.state.floor == 5, "within a fold one steps as anywhere"


def test_a_fold_is_a_number_wherever_it_comes_from() -> None:
    """What is no number is refused by the step, so that whatever was done can be saved and loaded;
    a number given by hand is kept, and the next macro has another.
    """
    timeline = a_lift(10)
    for wrong in (range(3), None, "", 1.0, True, -1, MOST_FOLD + 1):
        with pytest.raises(BadInput, match="fold: got"):
            timeline.do(Up(), fold=wrong)  # type: ignore[arg-type]  # that is the point
    assert len(timeline.moments) == 1
    timeline.do(Up(), fold=700)
    timeline.run([Up(), Up()])
    loaded = Timeline.load(timeline.save(), timeline.model)
    assert [moment.fold for moment in loaded.moments] == [0, 700, 701, 701]


def test_a_macro_may_look_where_it_is() -> None:
    """A macro's actions may be chosen as it goes, from the state that the last one left."""
    timeline = Timeline(TwoPhase())
    timeline.run(action for action in iter(timeline.suggest, None))
    assert timeline.state.committed == 0b111
    assert {moment.fold for moment in timeline.moments[1:]} == {1}


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


def test_a_line_waits_until_it_is_enabled() -> None:
    """A line that may not happen yet lets the model's own suggestions go first."""
    timeline = to_the_end(Timeline(TwoPhase(), ("decide commit", "receive-decision RM2")))
    verbs = [timeline.model.verb(moment.action) for moment in timeline.moments[1:]]
    assert verbs.index("decide commit") == 6
    assert verbs[7] == "receive-decision RM2"


def test_each_branch_follows_the_script_on_its_own() -> None:
    """Going back goes back in the script, too; what a branch did otherwise does not count."""
    timeline = a_lift(9, ("up", "door True", "door False", "up"))
    for _ in range(3):
        timeline.forward()
    timeline.goto(1)
    timeline.do(Up())
    verbs = []
    for _ in range(3):
        moment = timeline.forward()
        assert moment is not None
        verbs.append(timeline.model.verb(moment.action))
    assert verbs == ["door True", "door False", "up"]


def test_a_script_without_an_end_in_sight_is_no_error() -> None:
    """Lines that never become possible leave the model's schedule as it is."""
    plain = to_the_end(scenario("commit"))
    odd = to_the_end(Timeline(plain.model, ("no such verb", "receive-decision RM0")))
    assert [m.state for m in odd.moments] == [m.state for m in plain.moments]


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


def test_a_run_is_done_again_by_the_same_model_alone() -> None:
    """Another one may begin alike, or have the name."""
    timeline: Timeline = Timeline(LiftModel(LiftParameters()))
    timeline.do(Up())
    for name, start in (("paternoster", 0), ("lift", 1)):
        other: Any = LiftModel(LiftParameters())
        other.name, other.start = name, lambda start=start: Lift(start)
        with pytest.raises(BadInput, match=rf"^model: got '{name}'; allowed: lift, in the same"):
            timeline.again(other, 1)
    assert timeline.again(LiftModel(LiftParameters()), 1) == ()
