"""The picture of two-phase commit: who stands where, what is unread, and the same in words."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.protocols.twophase.panels import FEW, HEIGHT, WIDTH, draw_managers, places, size
from kit.protocols.twophase.twophase import MOST_MANAGERS
from kit.views.fragment import Frag
from kit.views.labels import Box, wide
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.views.frames import check_frame, part, scenes, walk

SCENARIOS = ("twophase/commit", "twophase/one-gives-up")


def unread(scene: Scene) -> list[str]:
    """The envelopes of a picture."""
    keys = (one.key or "" for one in draw_managers(scene).walk())
    return [key.removeprefix("unread:") for key in keys if key.startswith("unread:")]


def box(scene: Scene, key: str) -> Frag:
    """The box of who takes part."""
    found = part(draw_managers(scene), key)
    assert found is not None
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_frame_is_sound(name: str) -> None:
    """Keys are unique, every panel has words as well as a picture, every drawing a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


@pytest.mark.parametrize("name", SCENARIOS)
def test_boxes_say_what_the_state_holds(name: str) -> None:
    """Each manager's box and row have its state, in every state of a scenario."""
    for scene in scenes(walk(name)):
        said = scene.model.readable(scene.state)
        table = next(panel for panel in for_model(scene.model).panels if panel.name == "table")
        for rm in range(scene.model.rms):
            manager = f"RM{rm}"
            assert box(scene, f"n:{manager}").text().endswith(f"{manager} {said[manager]}")
            row = part(table.draw(scene), f"row:{manager}")
            assert row is not None
            assert row.text().startswith(f"{manager} {said[manager]}")


def test_an_envelope_is_a_message_that_nobody_has_read() -> None:
    """A manager's message lies there until it is read, the decision until it is carried out."""
    timeline = walk("twophase/one-gives-up")
    seen = [unread(scene) for scene in scenes(timeline)]
    assert seen == [
        [],
        [],
        ["RM1: prepared"],
        ["RM1: prepared", "abort for RM1", "abort for RM2"],
        ["RM1: prepared", "abort for RM2"],
        ["RM1: prepared"],
    ]


def test_the_decision_stands_in_the_middle_and_in_the_badge() -> None:
    """Both say nothing of it before it is made."""
    first, *_, last = scenes(walk("twophase/commit"))
    status = next(panel for panel in for_model(last.model).panels if panel.name == "status")
    assert box(first, "n:TM").text().endswith("manager undecided")
    assert box(last, "n:TM").text().endswith("manager commit")
    assert status.draw(first).text() == "heard 0 of 3 … undecided"
    assert status.draw(last).text() == "heard 3 of 3 ✓ commit"


@pytest.mark.parametrize("count", range(1, MOST_MANAGERS + 1))
def test_boxes_lie_apart_and_within_the_picture(count: int) -> None:
    """Whatever their number; what is written in a box has room there."""
    boxes = [Box(at.real, at.imag, *size(count)) for at in places(count)]
    boxes.append(Box(WIDTH / 2, HEIGHT / 2, 100, 56))
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    for one in boxes:
        assert one.width / 2 <= one.x <= WIDTH - one.width / 2
        assert one.height / 2 <= one.y <= HEIGHT - one.height / 2
    assert wide("committed" if count <= FEW else "RM15 ✓", 12) < size(count)[0]


def test_of_many_a_sign_says_the_state() -> None:
    """Above eight there is no room for the word; the title has it."""
    for scene in scenes(walk("twophase/one-gives-up", rms=FEW + 1)):
        for rm in range(FEW + 1):
            state = scene.model.where(scene.state, rm)
            sign = {"working": "", "prepared": " ○", "committed": " ✓", "aborted": " ✗"}[state]
            assert box(scene, f"n:RM{rm}").text() == f"RM{rm}: {state} RM{rm}{sign}"
