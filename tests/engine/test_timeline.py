"""The history: forward, back, branches; nothing done is ever lost."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.declared import Declared, State, action, refused, safeguard
from kit.engine.declared import always as promise
from kit.engine.log import Apply
from kit.engine.model import Model, always, fingerprint
from kit.engine.timeline import MOST_FOLD, Moment, Timeline
from kit.errors import BadInput, BadType, Refusal, Refused
from kit.protocols.twophase.twophase import (
    GiveUp,
    Prepare,
    ReceivePrepared,
    TwoPhase,
    TwoPhaseParameters,
)
from tests.engine.histories import a_lift, everything, scenario, to_the_end
from tests.engine.toys import Door, Lift, LiftModel, LiftParameters, Up, endless
from tests.saying import like


def test_a_history_begins_with_the_start() -> None:
    """A new timeline holds the model's first state and nothing before it."""
    timeline = a_lift()
    assert timeline.state == timeline.model.start()
    assert timeline.before is None
    assert timeline.now.say == "A lift: the start."
    assert (timeline.path(), timeline.branches(), timeline.at, timeline.tip) == ([0], [0], 0, 0)
    assert timeline.back() is None


def test_what_the_kits_own_rules_lead_to_is_not_looked_at() -> None:
    """Tests have done that: a start is made once, and no step is tried but the one that is done."""
    asked: list[str] = []

    class Watched(TwoPhase):
        """Its rules are the kit's own."""

        def start(self) -> Any:
            """Nobody has prepared."""
            asked.append("start")
            return super().start()

        def verb(self, action: Any) -> str:
            """As before; whoever looks at a state asks for it of each step from there."""
            asked.append("verb")
            return super().verb(action)

    timeline = Timeline(Watched())
    timeline.do(Prepare(0))
    assert asked == ["start"]


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


def test_a_fork_is_a_tip_of_its_own() -> None:
    """After a fork in the past the branch ends here, and forward goes its own way."""
    timeline = to_the_end(scenario("commit"))
    last = timeline.tip
    timeline.goto(4)
    assert timeline.fork() is timeline.now
    assert (timeline.tip, timeline.path()) == (4, [0, 1, 2, 3, 4])
    assert timeline.branches() == [last, 4], "the new branch is the last one"
    timeline.do(ReceivePrepared(2))
    assert timeline.branches() == [last, timeline.tip]
    assert len(timeline.path(last)) == last + 1


def test_a_fork_on_which_nothing_was_done_goes_when_one_looks_elsewhere() -> None:
    """A fork without an action of its own is no branch once another one is looked at."""
    timeline = to_the_end(scenario("commit"))
    last = timeline.tip
    timeline.goto(4)
    timeline.fork()
    timeline.back()
    assert timeline.branches() == [last, 4], "back and forward stay on the fork"
    timeline.goto(6)
    assert timeline.branches() == [last]
    assert timeline.path()[-1] == last


def test_repeating_what_was_done_walks_the_branch() -> None:
    """Doing again what was done here makes no moment: it walks along the branch that did it."""
    timeline = to_the_end(scenario("commit"))
    count, path = len(timeline.moments), timeline.path()
    timeline.goto(0)
    timeline.fork()
    assert timeline.do(Prepare(0)) is timeline.moments[1]
    assert len(timeline.moments) == count
    assert timeline.path() == path, "and its end is the tip again"


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


def test_the_newest_end_beyond_a_fork_is_the_tip() -> None:
    """Going to a moment of another branch that parts further on leads to its newest end."""
    timeline = a_lift(10)
    for _ in range(2):
        timeline.do(Up())  # 1, 2
    timeline.goto(1)
    timeline.do(Door(True))  # 3: newer than 2
    timeline.do(Door(False))  # 4
    timeline.goto(0)
    timeline.do(Door(True))  # 5: another branch
    assert timeline.goto(1).id == 1
    assert (timeline.tip, timeline.path()) == (4, [0, 1, 3, 4])


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


def test_branches_come_in_the_order_in_which_they_were_begun() -> None:
    """Going on with an older branch does not move it behind a younger one."""
    timeline = a_lift(10)
    timeline.do(Up())
    timeline.do(Up())  # 2: the first branch
    timeline.goto(1)
    timeline.do(Door(True))  # 3: the second
    timeline.goto(0)
    timeline.do(Door(True))  # 4: the third
    assert timeline.branches() == [2, 3, 4]
    timeline.goto(2)
    timeline.do(Up())  # 5 goes on with the first
    assert timeline.branches() == [5, 3, 4]


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


def test_models_are_shared_and_states_are_not() -> None:
    """Two timelines on one model know nothing of one another."""
    model: Model[Any, Any] = LiftModel(LiftParameters())
    one, other = Timeline(model), Timeline(model)
    one.do(Up())
    assert other.moments == [other.now]


CLOSED, OPEN = (LiftModel(LiftParameters(floors=5), off) for off in ((), ("door",)))


def test_a_script_is_done_before_safeguards_are_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, as far as the longest run goes; of another history no more than was done."""
    timeline = Timeline(OPEN, ("up", "up", "up", "up", "up"))
    monkeypatch.setattr("kit.engine.timeline.LONGEST_RUN", 3)
    assert timeline.switch(CLOSED) == (2, 2)
    assert (timeline.at, timeline.state.floor) == (0, 0)
    assert Timeline(OPEN).switch(CLOSED) == (0, 0)


@pytest.mark.parametrize("story", ["", "To the top"])
@pytest.mark.parametrize(("begun", "again"), [(0, 3), (1, 1), (2, 2), (3, 3)])
def test_a_story_that_somebody_has_begun_is_not_told_to_its_end(
    begun: int, again: int, story: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was done is done again; one that nobody has begun is done as a whole."""
    timeline = Timeline(OPEN, () if story else ("up", "up", "up"))
    timeline.story = story
    assert timeline.moments == [Moment(0, -1, None, OPEN.start(), "A lift: the start.")]
    for _ in range(begun):
        timeline.forward()
    monkeypatch.setattr("kit.engine.timeline.LONGEST_RUN", 4)
    assert timeline.switch(CLOSED) == (again, again)
    assert len(timeline.moments) == 1 + 2 * again
    assert len(timeline.path()) == 1 + again


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


def test_where_no_step_can_be_done_all_stays_as_it_was() -> None:
    """A lift of one floor does not move; what is no model is told so."""
    timeline = Timeline(OPEN)
    timeline.do(Up())
    assert timeline.switch(LiftModel(LiftParameters(floors=1))) == (0, 1)
    assert (timeline.at, timeline.tip, len(timeline.moments)) == (1, 1, 2)
    wrong: Any = "lift"
    with pytest.raises(BadType, match=r"^model: got 'lift'; allowed: a model"):
        timeline.switch(wrong)


def test_forward_to_a_milestone_stops_where_a_promise_breaks() -> None:
    """At its first break; what stays broken is passed."""
    model = LiftModel(LiftParameters(floors=5))
    low = always("low", "It stays low", lambda s: "it is high" if s.floor > 1 else None)
    model.properties = (*model.properties, low)
    timeline = Timeline(model, ("up", "up", "up", "up"))
    moment = timeline.to_milestone()
    assert moment is not None
    assert moment.state.floor == 2


def test_what_a_model_of_ones_own_suggests_is_looked_at() -> None:
    """It may be anything."""
    model: Any = LiftModel(LiftParameters())
    model.suggest = lambda s: "up"
    with pytest.raises(BadInput, match=r"^suggest.*an action of lift, or None"):
        Timeline(model).suggest()


@pytest.mark.parametrize("fold", [0, MOST_FOLD])
def test_a_fold_is_a_number_within_limits(fold: int) -> None:
    """Both limits may be taken."""
    assert a_lift().do(Up(), fold=fold).fold == fold
    for wrong in (-1, MOST_FOLD + 1, True):
        with pytest.raises(BadInput, match=r"^fold: "):
            a_lift().do(Up(), fold=wrong)


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


def test_the_first_moment_is_number_0_and_comes_after_none() -> None:
    """A history begins there, and shows it."""
    timeline = Timeline(LiftModel(LiftParameters()))
    [start] = timeline.moments
    assert (start.id, start.parent, start.action, timeline.at, timeline.tip) == (0, -1, None, 0, 0)
    assert timeline.children == [[]]
    assert not timeline.model.is_busy(start.state), "a model has nothing in flight by itself"


class Told(LiftModel):
    """A lift that says what it is for."""

    premise = "Is it a lift? It is. It goes up."

    def why_here(self, before: Any, action: Any, after: Any) -> str:
        """From where to where."""
        return f"from {before.floor} to {after.floor}"


def test_a_step_is_told_by_what_was_remarked_of_it() -> None:
    """Wherever the same step leads to the same; else by what it is for, and the start by the first
    sentence of the premise.
    """
    timeline: Timeline = Timeline(Told(LiftParameters()))
    timeline.do(Up())
    timeline.remark("The first floor.")
    timeline.remark("It is dark.")
    timeline.do(Up())
    timeline.goto(0)
    timeline.do(Door(True))  # 3
    timeline.do(Door(False))  # 4
    timeline.do(Up())  # 5: to where the first step led
    told = [timeline.why(moment) for moment in range(6)]
    remarked = "The first floor. It is dark."
    assert told == [
        "Is it a lift?",
        remarked,
        "from 1 to 2",
        "from 0 to 0",
        "from 0 to 0",
        remarked,
    ]
    other: Timeline = Timeline(Told(LiftParameters()))
    other.do(Up())
    assert (other.why(1), other.story, other.premise) == ("from 0 to 1", "", "")
    other.tell("A ride", "It is short", timeline)
    assert (other.why(1), other.story, other.premise) == (remarked, "A ride", "It is short")
    other.tell("Another ride")
    assert (other.why(1), other.story, other.premise) == (remarked, "Another ride", "")


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


class Spoiled(LiftModel):
    """A lift of somebody's own, one function of which answers with a number on one floor."""

    def __init__(self, function: str, floor: int) -> None:
        super().__init__(LiftParameters())
        right = getattr(self, function)
        there = {"label": 0, "describe": 2, "milestone": 2}[function]  # where the state is given

        def spoiled(*given: Any) -> Any:
            return 7 if given[there].floor == floor else right(*given)

        setattr(self, function, spoiled)


@pytest.mark.parametrize("function", ["label", "describe", "milestone"])
def test_what_a_step_of_ones_own_model_leads_to_is_looked_at(function: str) -> None:
    """What it is called and told as has to be text; the history stays as it was."""
    timeline: Timeline = Timeline(Spoiled(function, 2))
    timeline.do(Up())
    before = everything(timeline)
    with pytest.raises(BadInput, match="got 7"):
        timeline.do(Up())
    assert everything(timeline) == before


def test_the_start_of_ones_own_model_is_looked_at() -> None:
    """So are the steps from there; it is the same each time."""
    with pytest.raises(BadInput, match="got 7"):
        Timeline(Spoiled("label", 0))
    model: Any = LiftModel(LiftParameters())
    floors = iter(range(9))
    model.start = lambda: Lift(next(floors))
    with pytest.raises(BadInput, match="a different state each time"):
        Timeline(model)


def test_a_model_that_is_not_as_models_are_has_no_history() -> None:
    """It is told before anything is done with it."""
    model: Any = LiftModel(LiftParameters())
    model.rests_at_goals = 1
    with pytest.raises(BadType, match=r"^rests_at_goals of lift"):
        Timeline(model)


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
