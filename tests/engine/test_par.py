"""Par of a drill: searched where that is possible, else the best that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.drill import (
    CheckedStep,
    CommandReply,
    Drill,
    DrillKind,
    DrillMoment,
    Grade,
    GradeRow,
)
from kit.engine.forms import Form, Given, Slot
from kit.engine.par import Par, par
from tests.drills import errors, typed
from tests.engine.toys import Door, LiftModel, LiftParameters, Up
from tests.protocols.recovery.drill.walks import DRILL, WHOLE

STUCK = "topology/stuck-barrier"
ENOUGH = 100.0  # seconds, which no search of these takes


def test_the_fewest_commands_are_searched() -> None:
    """One restart frees the barrier: the search finds it by itself. Whoever looks around pays
    nothing.
    """
    found = par(typed(STUCK), seconds=ENOUGH)
    assert (found.used, found.least, found.fewest) == (0, 1, True)
    looked = par(typed(STUCK, "nodetool status", "help", "restart B"), seconds=ENOUGH)
    assert (looked.used, looked.least, looked.needless) == (1, 1, ())
    wandered = par(typed(STUCK, "restart C", "restart B"), seconds=ENOUGH)
    assert (wandered.used, wandered.least, wandered.fewest) == (2, 1, True)
    assert wandered.lines()[0] == "2 changing commands; par is 1."


def test_beyond_the_search_the_best_known_is_told() -> None:
    """It is the learner's own walk without what is needless; steps of the procedure never are."""
    walk = WHOLE["documents"]
    found = par(typed(DRILL["documents"], *walk), max_states=1, seconds=ENOUGH)
    assert not found.fewest
    assert found.least == found.used - len(found.needless) > 10
    assert "best known, after 1 state of a search, is" in found.lines()[0]
    assert found.needless
    assert found.lines()[1].startswith("It also passes without: ")
    assert not any("firewall" in line for line in found.needless)
    again = par(typed(DRILL["documents"], *walk, "restart A"), max_states=1, seconds=ENOUGH)
    assert (again.used, again.least) == (found.used + 1, found.least)


def test_a_search_for_which_there_is_no_time_looks_at_nothing() -> None:
    """What was typed is the best that is known, if it passes, though none could be shorter."""
    looks = ("grep barrier /var/log/scylla.log", "on B", "cat /var/log/scylla.log")
    for lines, least in (((), None), (looks, None), ((*looks, "restart B"), 1)):
        found = par(typed(STUCK, *lines), seconds=0.0)
        assert (found.least, found.fewest, found.states) == (least, False, 0)


@pytest.mark.parametrize(("seconds", "states"), [(0.0, 0), (1.0, 3)])
def test_a_search_ends_when_its_time_is_up(
    seconds: float, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that stands still there is all the time that was given, or none."""
    monkeypatch.setattr("kit.engine.par.monotonic", lambda: 5.0)
    drill = lift_drill(UP, passes=lambda now: False)
    assert par(drill, seconds=seconds) == Par(0, None, False, states)


def test_who_has_not_passed_hears_of_no_walk() -> None:
    """Nothing is said of a shortest walk that nobody knows."""
    found = par(typed(DRILL["documents"], "stop A"), max_states=1, seconds=ENOUGH)
    assert (found.used, found.least, found.fewest) == (1, None, False)
    assert found.lines() == ("1 changing command.",)


def test_who_does_not_pass_has_no_needless_command() -> None:
    """Not even where it would have passed without one: what was typed is no way to the end."""
    looks = ("grep barrier /var/log/scylla.log", "on B", "cat /var/log/scylla.log")
    lost = typed(STUCK, *looks, "restart C", "restart B")
    assert par(lost, seconds=0.0) == Par(2, None, False, 0, ())
    passed = typed(STUCK, *looks, "restart B", "stop A")
    assert par(passed, seconds=0.0) == Par(2, 1, False, 0, ("stop A (on B)",))
    twice = typed(STUCK, *looks, "restart B", "on A", "restart B")  # the later one is left out
    assert par(twice, seconds=0.0) == Par(2, 1, False, 0, ("restart B (on A)",))


def test_what_was_typed_is_played_again_on_its_own_machine() -> None:
    """One may have gone there by a button, which is no line."""
    drill = typed(STUCK)
    for place, line in (
        ("A", "grep barrier /var/log/scylla.log"),
        ("B", "cat /var/log/scylla.log"),
        ("B", "restart B"),
        ("B", "stop A"),
    ):
        drill.place = place
        drill.enter(line)
    assert par(drill, seconds=0.0) == Par(2, 1, False, 0, ("stop A (on B)",))


def test_only_what_led_to_the_moment_that_is_shown_is_counted() -> None:
    """Whoever goes back has not typed what follows there."""
    drill = typed(STUCK, "restart C", "restart B")
    assert par(drill, seconds=0.0).used == 2
    drill.timeline.goto(0)
    assert par(drill, seconds=0.0).used == 0


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("topology_upgrade", 8),
        ("topology_upgrade/joined-in-the-old-way", 14),
        ("topology_upgrade/coordinator-dies-halfway", 12),
    ],
)
def test_a_search_that_looks_around_does_not_wait(name: str, states: int) -> None:
    """One command is enough where the cluster has not gone on yet; to wait costs nothing."""
    assert par(typed(name), seconds=ENOUGH) == Par(0, 1, True, states)


UP = Form("up", "one floor up", lambda now, given: CommandReply(actions=(Up(),)))
DOOR = Form(
    "door",
    "it opens or closes",
    lambda now, given: CommandReply(actions=(Door(not now.state.door),)),
)
LOOK = Form("cat log", "what happened", lambda now, given: CommandReply(marks=("seen",)))


def lift_drill(*forms: Form, passes: Callable[[DrillMoment], bool], **slots: Slot) -> Drill:
    """A drill on a lift of three floors, passed as it says; one of its steps is to look around."""
    kind = DrillKind(
        title="A lift",
        task="Go up",
        forms=forms,
        slots=slots,
        opened=lambda model: model,
        starts_at=lambda model: "here",
        checklist=lambda now: (
            CheckedStep("look", "look around", LOOK not in forms or "seen" in now.marks),
        ),
        grade=lambda now: Grade((GradeRow("up", passes(now), ""),)),
    )
    return Drill(kind, LiftModel(LiftParameters(), ()))


@pytest.mark.parametrize(
    ("forms", "typed", "floor", "expected"),
    [
        ((UP,), (), 9, Par(0, None, False, 3)),  # every state was seen, and none passes
        ((UP, DOOR), (), 9, Par(0, None, False, 6)),  # each once, however one comes back to it
        ((replace(UP, text="happen up"),), (), 1, Par(0, None, False, 1)),  # nobody's command
        ((UP,), (), 2, Par(0, 2, True, 2)),
        ((UP, DOOR), (), 2, Par(0, 2, True, 3)),
        ((UP, LOOK), (), 0, Par(0, 0, True, 0)),  # who looks pays nothing
        ((UP, LOOK), (), 1, Par(0, 1, True, 1)),
        ((UP, LOOK), ("up",), 1, Par(1, 1, True, 1)),
        ((replace(UP, offered=False),), ("up",), 1, Par(1, 1, True, 1)),  # what is not offered
        ((replace(UP, offered=False), DOOR), (), 1, Par(0, None, False, 2)),
    ],
)
def test_walks_are_searched_to_their_end(
    forms: tuple[Form, ...], typed: tuple[str, ...], floor: int, expected: Par
) -> None:
    """The first that passes is the shortest; where all states were seen, there is no other one."""
    drill = lift_drill(*forms, passes=lambda now: now.state.floor == floor)
    for line in typed:
        drill.enter(line)
    assert par(drill, seconds=ENOUGH) == expected


def test_what_a_command_notes_costs_it_in_each_walk() -> None:
    """It changes nothing else, so that other walks come by at the same moment without it."""
    note = Form("note", "for later", lambda now, given: CommandReply(marks=("noted",)))
    drill = lift_drill(note, UP, passes=lambda now: now.state.floor == 1 and "noted" in now.marks)
    assert par(drill, seconds=ENOUGH) == Par(0, 2, True, 3)


@pytest.mark.parametrize("place", ["here", "there"])
@pytest.mark.parametrize("leaves_first", [True, False])
def test_a_search_looks_and_acts_on_every_machine(place: str, leaves_first: bool) -> None:
    """On each there is a log, a look leads away from it, and on one of them the lift goes up."""

    def goes_up(now: DrillMoment, given: Given) -> CommandReply:
        return CommandReply(actions=(Up(),) if now.place == place else ())

    log = Form("cat log", "what happened", lambda now, given: CommandReply(marks=(now.place,)))
    leave = Form("ssh there", "to the other", lambda now, given: CommandReply(place="there"))
    drill = lift_drill(
        *((leave, log) if leaves_first else (log, leave)),
        Form("up", "one floor up", goes_up),
        passes=lambda now: now.state.floor == 1 and {"here", "there"} <= now.marks,
    )
    model: Any = drill.timeline.model
    model.names = ("here", "there")
    assert par(drill, seconds=ENOUGH) == Par(0, 1, True, 1)


@pytest.mark.parametrize("place", ["here", "there"])
def test_what_only_one_machine_offers_is_typed_there(place: str) -> None:
    """The key that makes the lift go up hangs on one of them."""
    drill = lift_drill(
        replace(UP, text="up {key}"),
        passes=lambda now: now.state.floor == 1,
        key=Slot("a key", lambda now: ["blue"] if now.place == place else []),
    )
    model: Any = drill.timeline.model
    model.names = ("here", "there")
    assert par(drill, seconds=ENOUGH) == Par(0, 1, True, 1)


def test_a_search_types_more_lines_than_a_transcript_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its lines are nobody's, and none of them is kept."""
    monkeypatch.setattr("kit.engine.drill.MOST_ENTRIES", 2)
    drill = lift_drill(UP, DOOR, LOOK, passes=lambda now: now.state.floor == 2)
    assert par(drill, seconds=ENOUGH) == Par(0, 2, True, 3)


def test_a_refused_line_is_no_part_of_the_way() -> None:
    """A lift with its door open does not go up. It would have gone, had nobody touched the door;
    but who closed it again has no command too many: without either it stays where it is.
    """
    drill = lift_drill(UP, DOOR, passes=lambda now: now.state.floor == 1)
    for line in ("door", "up", "door", "up"):
        drill.enter(line)
    assert errors(drill) == ["the door is open"]
    assert par(drill, seconds=0.0) == Par(3, 3, False, 0, ())
    assert par(drill, seconds=ENOUGH) == Par(3, 1, True, 1, ())


def test_who_has_taken_the_fewest_is_told_so_as_soon_as_that_is_known() -> None:
    """One restart was typed: once each walk without a command was seen, none is shorter."""
    looks = ("grep barrier /var/log/scylla.log", "on B", "cat /var/log/scylla.log")
    found = par(typed(STUCK, *looks, "restart B"), seconds=ENOUGH)
    assert found == Par(1, 1, True, 1, ())
