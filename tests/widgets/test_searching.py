"""Searching from the Player: the button, its thread, the counterexample box, and kept histories."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from kit.errors import BadInput
from kit.model.declared import action, goal
from kit.model.model import always
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.model.vet import is_own
from kit.playing.verdicts import LARGEST_BOUND, MOST_STATES, elsewhere, end_of, verdict
from kit.protocols.dataplane.dataplane import Dataplane
from kit.protocols.storage import facts
from kit.search.check import check
from kit.widgets import Player
from kit.widgets.controls import Controls, SearchBoard
from tests.model.toys import LiftModel, LiftParameters
from tests.toy.slots import Client, Slots, SlotState


def controls_of(player: Player) -> Controls:
    """The controls of a player that has some."""
    assert player.controls is not None
    return player.controls


def finish(board: SearchBoard) -> None:
    """Wait for the search that is under way."""
    thread = board.work.thread
    if thread is not None:
        thread.join(120)
        assert not thread.is_alive()


def opened(off: tuple[str, ...] = (), **parameters: Any) -> tuple[Player, Controls]:
    """A Player of the dataplane in a small configuration, with safeguards switched off by hand."""
    player = Player(Timeline(build("dataplane", {"rf": 1, **parameters})))
    controls = controls_of(player)
    for name in off:
        controls.switches[name].value = False
    return player, controls


OWN = {
    "S-64",
    "S-65",
    "S-66",
    *(
        f"S-{number}"
        for number in (*range(70, 76), *range(80, 90), 91, *range(93, 99), *range(100, 103))
    ),
}
"""Safeguards that the kit's own searches asked for, beside the numbered ones of the documents."""


@pytest.mark.spec("H-009")
def test_a_safeguard_off_and_a_search_give_the_run_as_a_branch() -> None:
    """Switch one off, press search: the box names the invariant, the run is there to be stepped."""
    player, controls = opened(("progress-barrier",))
    controls.board.button.click()
    finish(controls.board)
    box = controls.board.found.value
    assert "INV-" in box
    assert "without S-01" in box
    assert player.timeline.at == player.timeline.tip
    assert any(not verdict.ok for verdict in player.timeline.verdicts())
    player.goto(0)
    run = player.timeline.path()
    assert len(run) > 5
    for _ in run[1:]:
        assert all(verdict.ok for verdict in player.timeline.verdicts())
        player.step()
    assert any(not verdict.ok for verdict in player.timeline.verdicts())
    assert player.timeline.at == player.timeline.tip


@pytest.mark.spec("H-009")
def test_each_safeguard_of_each_model_has_a_switch() -> None:
    """All of the list are switches of some Player."""
    switched: set[str] = set()
    for entry in entries().values():
        model = build(entry.name)
        if is_own(model):
            controls = controls_of(Player(Timeline(model)))
            assert set(controls.switches) == {guard.name for guard in model.safeguards}
            switched |= {guard.id.rpartition(":")[2] for guard in model.safeguards}
    assert switched == {f"S-{number:02}" for number in range(1, 64)} | OWN


@pytest.mark.spec("B-025", "H-009")
def test_with_everything_on_the_search_says_complete() -> None:
    """No safeguard off: the box says complete, how many states, and none."""
    player, controls = opened()
    controls.board.button.click()
    finish(controls.board)
    result = controls.board.result
    assert result is not None
    assert result.complete, result
    assert f"Complete: {result.states:,} states, no violation." in controls.board.found.value
    assert len(player.timeline.moments) == 1


def test_a_bounded_search_proves_nothing_and_says_so() -> None:
    """At its bound a search says that it is not complete."""
    _, controls = opened()
    controls.board.most.value = 50
    controls.board.button.click()
    finish(controls.board)
    assert "not complete: it reached its bound of 50 states" in controls.board.found.value


@pytest.mark.parametrize("most", [0, -1, LARGEST_BOUND + 1])
def test_a_bound_out_of_its_limits_is_refused_beside_its_field(most: int) -> None:
    """The field has its former value again, and what is allowed is said until a bound is right."""
    board = opened()[1].board
    board.most.value = most
    assert board.most.value == MOST_STATES
    said = f"states at most: got {most}; allowed: 1 to {LARGEST_BOUND:,}"
    assert said in board.wrong.value.replace("<wbr>", "")
    board.most.value = 50
    assert board.wrong.value == ""


def test_a_search_can_be_stopped_and_keeps_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a search is under way there is a stop; pressed, the box says how far it came."""
    monkeypatch.setattr("kit.search.search.REPORT_EVERY", 64)
    _, controls = opened(rf=3)
    board = controls.board
    board.button.click()
    assert board.button.disabled
    assert board.halt.layout.display == ""
    board.halt.click()
    finish(board)
    assert not board.button.disabled
    assert board.halt.layout.display == "none"
    assert "Stopped after" in board.found.value
    assert "nothing is proven" in board.found.value


def test_a_stop_that_comes_before_the_search_has_begun_is_answered_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the interrupt leaves no result, the box still says how far it came, and of what."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kit.widgets.controls.check", interrupted)
    _, controls = opened()
    board = controls.board
    board.button.click()
    finish(board)
    assert not board.button.disabled
    assert (
        "Stopped after 0 states: no violation so far, but nothing is proven."
    ) in board.found.value
    assert "dataplane with every safeguard on" in board.found.value


def test_a_function_without_end_is_stopped_too() -> None:
    """In a student's model the box names the function and line that were at work."""
    at_work = threading.Event()

    def spins(s: Any) -> None:
        if s.floor == 2 and threading.current_thread() is board.work.thread:
            at_work.set()
            while True:
                pass

    model = LiftModel(LiftParameters())
    model.properties = (*model.properties, always("ends", "It ends", spins))
    board = controls_of(Player(Timeline(model))).board
    board.button.click()
    assert at_work.wait(60)
    board.halt.click()
    finish(board)
    assert "Stopped after 4 states" in board.found.value
    assert "The search stopped in spins, line " in board.found.value
    assert not board.button.disabled


def test_a_verdict_goes_with_the_switch_that_makes_it_stale() -> None:
    """The box speaks of the model that is shown: another switch takes it away."""
    _, controls = opened(("progress-barrier",))
    controls.board.button.click()
    finish(controls.board)
    assert controls.board.found.value
    controls.switches["progress-barrier"].value = True
    assert controls.board.found.value == ""
    assert controls.board.result is None


def test_a_safeguard_that_is_not_needed_here_says_where_it_is() -> None:
    """A search that finds nothing without a safeguard names the scenario that needs it."""
    model = build("tcm", {"nodes": 3, "rf": 1}, ("range-locks",))
    words = elsewhere(model, check(model, max_states=50, progress=False))
    assert words == (
        "S-09 is needed in another scenario: operations bootstrap X --tokens 150, "
        "bootstrap Y --tokens 130."
    )
    needed = next(guard for guard in model.safeguards if guard.name == "range-locks")
    there = build("tcm", dict(needed.smallest), ("range-locks",))
    assert elsewhere(there, check(there, max_states=50, progress=False)) == ""


def test_the_result_is_put_on_the_stage_by_the_loop_that_runs() -> None:
    """Pressed within a loop, the thread only searches; the loop itself shows what was found."""
    _, controls = opened(("progress-barrier",))
    shown_by: list[int] = []
    controls.board.found.observe(lambda _: shown_by.append(threading.get_ident()), "value")

    async def press() -> None:
        controls.board.button.click()
        while controls.board.work.running:
            await asyncio.sleep(0.01)

    asyncio.run(press())
    assert set(shown_by) == {threading.get_ident()}


def test_switching_makes_a_branch_of_the_run() -> None:
    """Off does the run again beside the former one, on again goes back there; the switches follow
    the branch that is shown.
    """
    player, controls = opened()
    for _ in range(4):
        player.step()
    timeline, former = player.timeline, player.timeline.tip
    switch = "plan-revalidation"
    controls.switches[switch].value = False
    assert player.timeline is timeline
    assert timeline.branches() == [former, timeline.tip]
    assert len(timeline.path(timeline.at)) - 1 == 4
    assert "4 of 4 steps were possible" in controls.message.value
    assert player.model.off == (switch,)
    player.goto(former)
    assert player.model.off == ()
    assert controls.switches[switch].value
    controls.switches[switch].value = False
    assert (len(timeline.moments), len(timeline.branches())) == (9, 2)
    controls.switches[switch].value = True
    assert timeline.tip == former


def test_a_switch_before_the_first_step_is_a_branch_of_the_script() -> None:
    """Both runs are there from the start; what is done there then is done on the new branch."""
    player = Player("dataplane/write-and-read")
    controls = controls_of(player)
    controls.switches["write-before-read"].value = False
    timeline = player.timeline
    assert timeline.at == 0
    assert [timeline.model_at(tip).off for tip in timeline.branches()] == [
        (), ("write-before-read",)
    ]  # fmt: skip
    first = timeline.moments[timeline.path()[1]].action
    player.act(next(each for each in timeline.here.actions(player.state) if each != first))
    assert timeline.now.parent == 0
    assert timeline.here.off == ("write-before-read",)


def test_a_run_that_needs_a_safeguard_off_is_repeated_without_what_is_refused() -> None:
    """Switched on again, the steps that are refused there are left out, and counted."""
    player, controls = opened(("progress-barrier",))
    for verb in ("bootstrap X --tokens 150", "apply X", "commit X"):
        player.act(verb)
    steps = len(player.timeline.path()) - 1
    controls.switches["progress-barrier"].value = True
    assert player.model.off == ()
    done = len(player.timeline.path()) - 1
    assert done < steps
    assert f"{done} of {steps} steps were possible" in controls.message.value


def test_the_method_searches_and_branches() -> None:
    """In a cell the same search gives its result, and the run as a branch."""
    player, _ = opened(("progress-barrier",))
    result = player.search(progress=False)
    assert result.violation is not None
    assert len(player.timeline.path()) == len(result.violation.actions) + 1
    assert "Broken after" in verdict(player.model, result)
    with pytest.raises(BadInput, match="max_states"):
        player.search(max_states=0)


class Tries(Slots):
    """A model in which nobody forgets that somebody was inside."""

    rests_at_goals = False

    @goal()
    def empty(self, s: SlotState) -> bool:
        """Nobody has been inside."""
        return s.number == 0

    @action()
    def depart(self, s: SlotState, client: Client) -> SlotState | None:
        """{client} changes the place."""
        return s.but(number=3 - s.number) if s.number >> client & 1 else None


class Ends(Tries):
    """The same, where nobody comes out."""

    depart = action(when=lambda m: False)(Tries.depart.run)


class Rests(Ends):
    """The same, which may come to rest at its goal only."""

    rests_at_goals = True


ENDINGS = {
    Tries: "out of reach: Nobody has been inside. Steps go on, but none that is sure",
    Ends: "out of reach: Nobody has been inside. Nothing more can happen.",
    Rests: "Nothing more can happen here, and no goal is reached: a deadlock.",
}


@pytest.mark.parametrize("kind", ENDINGS)
def test_a_run_that_loses_a_goal_says_how_it_ends(kind: Any) -> None:
    """Its last state breaks nothing that one could see; beside the picture stands what is lost."""
    player = Player(kind())
    for _ in range(2):  # a second search says it once
        assert player.search(progress=False).violation
        why = player.timeline.why(player.timeline.at)
        assert ENDINGS[kind] in why
        assert why.count("Nothing more") + why.count("Steps go on") == 1
        assert ENDINGS[kind].split(".")[0] in player.static()


@pytest.mark.parametrize("kind", ENDINGS)
def test_so_does_such_a_run_that_is_opened(kind: Any) -> None:
    """As a Player of a search says it: where the run ends, once, and nowhere else."""
    broken = check(kind()).violation
    assert broken is not None
    run = Timeline.along(kind(), broken.actions)
    for player in (Player(run), Player(run)):
        assert player.timeline.why(run.tip).count(ENDINGS[kind]) == 1
        assert ENDINGS[kind].split(".")[0] in player.static()
    run.goto(0)
    assert ENDINGS[kind] not in run.why(0)


def test_a_run_that_may_go_on_to_its_goal_says_nothing_of_its_end() -> None:
    """Nor does one that breaks another promise, or that is not looked at where it ends."""
    model = Rests()
    run = Timeline(model)
    Player(run)
    assert not end_of(run)
    run.do(Rests.enter(0))
    assert end_of(run)
    run.back()
    assert not end_of(run)


def test_a_model_that_is_not_registered_is_searched_as_it_is() -> None:
    """A model of one's own has a search, too; one that breaks the contract is told in place."""
    model = LiftModel(LiftParameters())
    player = Player(Timeline(model))
    board = controls_of(player).board
    board.button.click()
    finish(board)
    assert board.found.value


def test_requests_are_written_as_text() -> None:
    """Other requests and levels are typed in; a wrong one is told in place and changes nothing."""
    player, controls = opened()
    controls.fields["requests"].value = "K1 write ALL; K1 delete ALL; K2 read ONE"
    rows = facts.requests(cast(Dataplane, player.model), player.state)
    assert [(row.title, row.level) for row in rows] == [
        ("write 1", "ALL"),
        ("delete 2", "ALL"),
        ("read 3", "ONE"),
    ]
    controls.fields["requests"].value = "K1 write SOMETIMES"
    assert "SOMETIMES" in controls.message.value
    assert len(list(player.model.actions(player.state))) > 0
