"""The history: forward, back, branches; nothing done is ever lost."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.declared import Declared, State, action, refused, safeguard
from kit.engine.declared import always as promise
from kit.engine.log import Apply
from kit.engine.model import always, fingerprint
from kit.engine.timeline import Timeline
from kit.errors import BadInput, Refusal, Refused
from kit.protocols.twophase.twophase import (
    GiveUp,
    Prepare,
    ReceivePrepared,
    TwoPhase,
    TwoPhaseParameters,
)
from tests.engine.histories import a_lift, everything, scenario, to_the_end
from tests.engine.toys import Door, LiftModel, LiftParameters, Up, endless
from tests.saying import like


def test_a_history_begins_with_the_start() -> None:
    """A new timeline holds the model's first state and nothing before it."""
    timeline = a_lift()
    assert timeline.state == timeline.model.start()
    assert timeline.before is None
    assert timeline.now.say == "A lift: the start."
    assert (timeline.path(), timeline.branches(), timeline.at, timeline.tip) == ([0], [0], 0, 0)
    assert timeline.back() is None


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


def test_repeating_the_action_of_another_branch_goes_over_to_it() -> None:
    """Where two branches part, the action decides which one is walked."""
    timeline = a_lift()
    timeline.do(Up())
    timeline.do(Up())
    timeline.goto(0)
    door = timeline.do(Door(True))
    timeline.goto(0)
    assert timeline.do(Up()).id == 1
    assert timeline.tip == 2
    timeline.back()
    assert timeline.do(Door(True)) is door
    assert timeline.tip == door.id


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


def test_any_moment_can_be_looked_at() -> None:
    """Going to a moment of another branch makes that branch, to its newest end, the current one."""
    timeline = to_the_end(scenario("commit"))
    last = timeline.tip
    timeline.goto(2)
    timeline.do(GiveUp(2))
    assert timeline.goto(7).id == 7
    assert timeline.tip == last
    assert timeline.goto(1).id == 1
    assert timeline.tip == last, "a moment of the branch keeps its tip"


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


def test_lamps_speak_of_the_moment_and_the_step_that_led_to_it() -> None:
    """The lamps of a moment are those of its state and of the step into it."""
    timeline = scenario("bootstrap")
    assert all(verdict.ok for verdict in timeline.verdicts())
    to_the_end(timeline)
    assert {verdict.name for verdict in timeline.verdicts()} == {
        prop.name for prop in timeline.model.properties if prop.kind in ("always", "step")
    }


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
    """Pressing controls, as the browser's messages do, and calling the timeline from a cell lead
    to one and the same trace.
    """
    from kit.widgets.player import Player

    player, timeline = Player(name), scenario(name, scripted=True)

    def press(control: str) -> None:
        player._hear(
            None, {"message": "act", "control": control, "at": player.timeline.at, "have": 0}, None
        )

    press("step")
    timeline.forward()
    press("milestone")
    timeline.to_milestone()
    player.back()
    timeline.back()
    press("fork")
    timeline.fork()
    action = list(timeline.model.actions(timeline.state))[-1]
    player.act(timeline.model.verb(action))
    timeline.do(action)
    assert player.timeline.save() == timeline.save()
    assert len(timeline.moments) > 3


CLOSED, OPEN = (LiftModel(LiftParameters(floors=5), off) for off in ((), ("door",)))


def test_the_same_step_is_looked_at_under_other_safeguards() -> None:
    """What is refused there is left out: only what was refused before it counts."""
    timeline = Timeline(OPEN)
    for each in (Up(), Door(True), Up(), Door(False)):
        timeline.do(each)
    timeline.goto(2)
    assert timeline.switch(CLOSED) == (3, 4)
    assert timeline.now.action == Door(True)
    timeline = Timeline(OPEN)
    for each in (Door(True), Up(), Door(False)):
        timeline.do(each)
    assert timeline.switch(CLOSED) == (2, 3)
    assert timeline.now.action == Door(False)


def test_forward_to_a_milestone_stops_where_a_promise_breaks() -> None:
    """At its first break; what stays broken is passed."""
    model = LiftModel(LiftParameters(floors=5))
    low = always("low", "It stays low", lambda s: "it is high" if s.floor > 1 else None)
    model.properties = (*model.properties, low)
    timeline = Timeline(model, ("up", "up", "up", "up"))
    moment = timeline.to_milestone()
    assert moment is not None
    assert moment.state.floor == 2


class GateState(State, frozen=True):
    """How often it was opened."""

    opened: int = 0


class Gate(Declared[GateState]):
    """A gate of somebody's own, which nobody has registered."""

    name, title, State = "gate", "A gate", GateState
    locks: bool = safeguard("S-1", "It is locked once it was opened", ("once",))

    @action()
    def open_it(self, s: GateState) -> GateState | Refusal:
        """It opens."""
        if self.locks and s.opened:
            return refused("it is locked")
        return s.but(opened=s.opened + 1)

    @promise()
    def once(self, s: GateState) -> str | None:
        """It is opened once."""
        return None if s.opened < 2 else "again"


def test_a_branch_without_a_safeguard_of_ones_own_model_is_loaded() -> None:
    """The model that is given says how one without it is made."""
    timeline = Timeline(Gate())
    weak = Gate(off=("locks",))
    for _ in range(2):
        timeline.do(Gate.open_it(), model=weak)
    saved = timeline.save()
    again = Timeline.load(saved, Gate())
    assert again.state == GateState(2)
    assert again.here.off == ("locks",)
    assert again.save() == saved
    with pytest.raises(BadInput, match=r"^model of the trace: got 'gate'"):
        Timeline.load(saved)


def test_what_is_foreseen_has_not_happened() -> None:
    """One stands a step on, on the branch or at its end, and then where one was."""
    timeline = a_lift(4, ("up", "up"))
    timeline.forward()
    for moments in (2, 3):
        before = everything(timeline)
        with timeline.foreseen() as moment:
            assert moment is timeline.now
            assert (timeline.at, timeline.state.floor, len(timeline.moments)) == (2, 2, 3)
            timeline.breaches(2)
        assert everything(timeline) == before
        assert len(timeline.moments) == moments
        timeline.forward()
        timeline.goto(1)


def test_a_branch_knows_what_was_done_on_it() -> None:
    """To its end, or to any moment; with the states between, and what monitors remember."""
    timeline = a_lift(9)
    for each in (Up(), Door(True)):
        timeline.do(each)
    timeline.goto(1)
    timeline.do(Up())  # 3
    timeline.back()
    assert timeline.actions() == (Up(), Up())
    assert timeline.actions(1) == (Up(),)
    assert timeline.actions(2) == (Up(), Door(True))
    assert [(each.before, each.action, each.after) for each in timeline.passed()] == [
        (timeline.moments[0].state, Up(), timeline.moments[1].state)
    ]
    assert [each.action for each in timeline.passed(3)] == [Up(), Up()]
    assert timeline.passed(0) == ()


def test_forward_walks_on_also_where_something_else_is_suggested() -> None:
    """What was done comes before what would be."""
    timeline = a_lift(2, ("up",))
    assert timeline.run([Door(True), Door(False)]) is timeline.moments[2]
    timeline.goto(0)
    assert timeline.forward() is timeline.moments[1]
    assert timeline.to_milestone() is timeline.moments[-1]
    for moment in (-1, len(timeline.moments)):
        with pytest.raises(BadInput, match=r"^moment: "):
            timeline.breaches(moment)
