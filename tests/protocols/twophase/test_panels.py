"""The picture of two-phase commit: who stands where, what travels, and the same in words."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import flows
from kit.model.registry import build
from kit.protocols.twophase.panels import gates, managers
from kit.protocols.twophase.twophase import MOST_MANAGERS, TwoPhase, TwoPhaseParameters
from kit.views.fragment import Frag
from kit.views.gate import gates_of
from kit.views.panel import Panel, Scene
from kit.views.registry import for_model
from tests.recording.walking import Visit
from tests.views.frames import check_frame, part, scenes, walk

SCENARIOS = ("twophase/commit", "twophase/one-gives-up")


def panel(scene: Scene, name: str = "managers") -> Panel:
    """A panel of the family."""
    return next(each for each in for_model(scene.model).panels if each.name == name)


def unread(scene: Scene) -> list[str]:
    """The envelopes of a picture."""
    parked = panel(scene).draw(scene).walk()
    words = (str(one) for one in parked if one.get("class") == "envelope")
    return [each.partition("<title>")[2].partition("</title>")[0] for each in words]


def character(scene: Scene, key: str) -> Frag:
    """Who takes part."""
    found = part(panel(scene).draw(scene), key)
    assert found is not None
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_frame_is_sound(name: str) -> None:
    """Keys are unique, every panel has words as well as a picture, every drawing a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


@pytest.mark.parametrize("name", SCENARIOS)
def test_characters_say_what_the_state_holds(name: str) -> None:
    """Each manager's box and row have its state, in every state of a scenario."""
    for scene in scenes(walk(name)):
        said = scene.model.readable(scene.state)
        table = panel(scene, "table")
        for rm in range(scene.model.rms):
            name = f"RM{rm}"
            assert f"{name} {said[name]} " in character(scene, f"n:{name}").text()
            row = part(table.draw(scene), f"row:{name}")
            assert row is not None
            assert row.text().startswith(f"{name} {said[name]}")


def test_an_envelope_is_a_message_that_nobody_has_read() -> None:
    """A manager's message lies there until it is read, the decision until it is carried out."""
    timeline = walk("twophase/one-gives-up")
    seen = [unread(scene) for scene in scenes(timeline)]
    assert seen == [
        [],
        [],
        ["RM1 → TM: prepared"],
        ["RM1 → TM: prepared", "TM → RM1: abort", "TM → RM2: abort"],
        ["RM1 → TM: prepared", "TM → RM2: abort"],
        ["RM1 → TM: prepared"],
    ]


def test_the_decision_stands_below_who_makes_it_and_in_the_badge() -> None:
    """Both say nothing of it before it is made."""
    first, *_, last = scenes(walk("twophase/commit"))
    status = panel(last, "status")
    assert character(first, "n:TM").text().endswith("undecided heard 0 of 3")
    assert character(last, "n:TM").text().endswith("commit heard 3 of 3")
    assert status.draw(first).text() == "heard 0 of 3 … undecided"
    assert status.draw(last).text() == "heard 3 of 3 ✓ commit"


def test_before_the_gate_are_those_that_the_decision_waits_for() -> None:
    """First those that are not heard to be prepared, then those that have not carried it out."""
    for scene in scenes(walk("twophase/commit")):
        gate = (
            panel(scene).draw(scene).text().rpartition(" commit" if not scene.state.tm else " all")
        )
        s = scene.state
        there = s.committed | s.aborted if s.tm else s.heard
        assert gate[2].endswith(f"{there.bit_count()} of 3")
        for rm in range(3):  # it is called there as in the picture
            assert character(scene, f"gate:n:TM:RM{rm}").text().endswith(f"RM{rm}")


def test_nobody_waits_for_what_cannot_come() -> None:
    """In every state: who is missing can still come, a disk promises only what is still to be done,
    and a decision that was carried out stands in the table.
    """
    m: Any = build("twophase", {"rms": 2})
    every = Visit(m)
    assert [*every.lines()]
    for s in every.known:
        scene = Scene(m, s)
        aborted = {f"RM{rm}" for rm in range(m.rms) if s.aborted >> rm & 1}
        waited = [gate.missing for gate in gates_of(scene, gates) if not gate.is_open]
        waited += [why.missing for _, why in scene.options() if why]
        assert not aborted.intersection(name for names in waited for name in names)
        for name, state, _, follows in managers(scene):
            assert ("carried out" in follows) == (s.tm > 0 and state in ("committed", "aborted"))
            said = character(scene, f"n:{name}").text()
            assert ("has yet to read" in said) == ("unread" in follows)
            assert said.endswith("promised") == (state == "prepared")


@pytest.mark.parametrize("count", [1, 9, MOST_MANAGERS])
def test_any_number_of_them_is_drawn(count: int) -> None:
    """Each has its state in words, and its letters say which it is."""
    for scene in scenes(walk("twophase/one-gives-up", rms=max(count, 3))):
        said = panel(scene).text(scene)
        for rm in range(count):
            assert f"RM{rm}: {scene.model.where(scene.state, rm)}" in said


COMMIT = ("prepare RM0", "receive-prepared RM0", "decide commit", "receive-decision RM0")


ABORT = ("give-up RM0", "decide abort", "receive-decision RM0")


@pytest.mark.parametrize(
    ("verbs", "told"),
    [
        (COMMIT, ["RM0 → transaction manager: prepared", "transaction manager → RM0: commit"]),
        (ABORT[1:], ["transaction manager → RM0: abort"]),
    ],
)
def test_a_message_travels_when_it_is_read(verbs: tuple[str, ...], told: list[str]) -> None:
    """Until then it is in the network; the decision says what was decided."""
    model = TwoPhase(TwoPhaseParameters(1))
    state, sentences = model.start(), []
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None
        after = model.act(state, option[0])
        sentences += [flow.text for flow in flows(model, state, option[0], after)]
        state = after
    assert sentences == told


def test_giving_up_tells_nobody() -> None:
    """A manager that aborts on its own sends nothing."""
    model = TwoPhase(TwoPhaseParameters(1))
    state = model.start()
    option = model.find(state, ABORT[0])
    assert option is not None
    assert flows(model, state, option[0], model.act(state, option[0])) == ()
