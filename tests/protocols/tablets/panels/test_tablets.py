"""What a student sees of many tablets: the grid, stages with selectors, the table, what travels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import check_frame, panel_text, scenes, walk

SCENARIOS = [
    f"{model}/{one.name}"
    for model in ("tablets", "resize", "truncate")
    for one in entries()[model].scenarios
]


def starting(off: tuple[str, ...] = (), **given: Any) -> Timeline:
    """A cluster with tablets."""
    return Timeline(build("tablets", given, off))


def until(timeline: Timeline, there: Callable[[Any], bool]) -> Timeline:
    """The default schedule, as far as a state."""
    while not there(timeline.state):
        assert timeline.forward() is not None
    return timeline


def stage(name: str) -> Callable[[Any], bool]:
    """The condition that tablet 0 is in a stage."""
    return lambda s: any(each.stage == name for each in s.tablets[0].transitions)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


CHOICES: dict[tuple[str, tuple[str, ...]], str] = {
    ("documents", ()): "3 of old left, 3 of new left → use_new",
    ("documents", ("crash A",)): "2 of old left, 3 of new left → use_new",
    ("documents", ("crash D",)): "3 of old left, 2 of new left → cleanup_target",
    ("documents", ("crash B",)): "2 of old left, 2 of new left → use_new",
    ("server", ()): "0 of old excluded, 0 of new excluded → retried",
    ("server", ("crash D",)): "0 of old excluded, 0 of new excluded → retried",
    ("server", ("crash D", "exclude D")): (
        "0 of old excluded, 1 of new excluded → write_both_read_old_fallback_cleanup"
    ),
    ("server", ("crash A", "exclude A")): "1 of old excluded, 0 of new excluded → retried",
    ("server", ("crash B", "exclude B")): "1 of old excluded, 1 of new excluded → retried",
}


@pytest.mark.spec("E-018")
@pytest.mark.parametrize(("edition", "verbs"), CHOICES, ids=str)
def test_a_diamond_has_both_counts(edition: str, verbs: tuple[str, ...]) -> None:
    """In ``write_both_read_new`` it says what a failure would lead to, by which counts; before and
    after it there is none.
    """
    timeline = starting(edition=edition, moves=1, crashes=1, exclusions=1)
    assert "◇" not in panel_text(until(timeline, stage("streaming")), "now")
    until(timeline, stage("write_both_read_new"))
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    assert f"if it fails: ◇ {CHOICES[edition, verbs]}" in panel_text(timeline, "now")
    drawn = next(each for each in for_model(timeline.model).panels if each.name == "now")
    assert f"◇ {CHOICES[edition, verbs]}" in drawn.draw(scene_of(timeline, timeline.at)).text()


def test_hundreds_of_tablets_are_listed_as_far_as_they_matter() -> None:
    """Of many tablets the row that moves is in the table, the others are counted."""
    tablets = tuple(f"{a} {b} {c}" for a, b, c in ("ABC", "BCD", "CDA", "DAB")) * 50
    timeline = until(starting(tablets=tablets, moves=1), lambda s: any(r.transitions
                     for r in s.tablets))  # fmt: skip
    number = next(i for i, row in enumerate(timeline.state.tablets) if row.transitions)
    words = panel_text(timeline, "tablets")
    assert f"tablet {number}:" in words
    assert "and 152 rows more" in words
