"""The panels of reads and writes show what the facts say, in pictures and in words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage import facts
from kit.protocols.storage.panels.lanes import LANES
from kit.protocols.storage.panels.spacetime import SPACETIME, run_of
from kit.views.export import LIMIT, export_html
from kit.views.fragment import Frag
from kit.views.panel import Scene, scene_at
from tests.saying import line_with
from tests.views.frames import classed, part


@cache
def told(name: str) -> Timeline:
    """The history of a scenario file, looked at from its end."""
    timeline = open_file(file_named(f"dataplane/{name}"))
    timeline.goto(timeline.tip)
    return timeline


def scenes(timeline: Timeline) -> list[Scene]:
    """The scenes of every moment."""
    return [scene_at(timeline, moment) for moment in timeline.path(timeline.tip)]


def last(name: str) -> Scene:
    """The scene at the end of a scenario file."""
    timeline = told(name)
    return scene_at(timeline, timeline.tip)


def after(name: str, verb: str) -> Scene:
    """The scene after the first step with this verb."""
    timeline = told(name)
    path = timeline.path(timeline.tip)[1:]
    verbs = [timeline.model.verb(timeline.moments[moment].action) for moment in path]
    return scene_at(timeline, path[verbs.index(verb)])


def words(drawn: Frag) -> list[str]:
    """The words that a drawing holds, piece by piece."""
    return [one.text() for one in drawn.walk() if one.tag == "text"]


@pytest.mark.spec("A-015", "B-027", "B-030", "B-032")
def test_an_arrow_of_the_spacetime_picture_names_the_epochs_of_message_and_answer() -> None:
    """One goes there, and one back."""
    scene = last("ahead-and-member")
    said = [each.label for each in run_of(scene).arrows]
    assert {"w1 @99", "w1 @100"} <= {*said}
    assert line_with(SPACETIME.text(scene), "A, at epoch 100, takes write 1", "K1 hears of", "100")


@pytest.mark.spec("A-016", "B-029", "B-033")
def test_a_replica_or_coordinator_that_catches_up_is_marked_with_its_new_epoch() -> None:
    """The mark is an arrow upwards, and the text says who catches up."""
    behind = last("behind-catches-up")
    assert "catches up" in SPACETIME.text(behind)
    assert any(word.startswith("↑") for word in words(SPACETIME.draw(behind)))
    told_back = last("plan-revalidated")
    assert line_with(SPACETIME.text(told_back), "K1 hears of epoch 101 and catches up")


@pytest.mark.spec("B-031")
def test_an_answer_of_a_former_replica_is_an_error_and_says_why() -> None:
    """The replica is no longer a read replica, so it answers with an error."""
    scene = last("no-longer-a-member")
    assert any("✗" in word and "no read replica" in word for word in words(SPACETIME.draw(scene)))
    assert line_with(SPACETIME.text(scene), "not a read replica", "answers with an error")


@pytest.mark.spec("B-034")
def test_a_request_with_a_stale_plan_says_that_its_answers_no_longer_count() -> None:
    """Its two answers are enough for the plan, and too few for the newest epoch."""
    scene = after("plan-revalidated", "write 1 reaches B")
    [row] = facts.requests(scene.model, scene.state)[:1]
    assert row.enough
    assert not row.valid
    assert line_with(LANES.text(scene), "no longer valid", "2 of A, B, C, X (3 needed)")


@pytest.mark.spec("A-027")
def test_a_former_replicas_card_names_its_data_not_owned() -> None:
    """Card and text say it from the moment in which the facts do."""
    scene = next(
        one
        for one in scenes(told("data-not-owned"))
        if any(row.not_owned for row in facts.replicas(one.model, one.state))
    )
    name = next(row.name for row in facts.replicas(scene.model, scene.state) if row.not_owned)
    assert line_with(LANES.text(scene), f"{name}: ", "data not owned", "no longer a replica")
    row = part(LANES.draw(scene), f"row:{name}")
    assert row is not None
    assert "data not owned" in row.text()


@pytest.mark.spec("B-022", "B-023")
@pytest.mark.parametrize("name", ["anomaly-invisible-write", "anomaly-lost-write"])
def test_a_read_that_misses_a_write_is_marked_with_its_step(name: str) -> None:
    """No other request is marked, and the write that it misses is joined with it."""
    [breach] = last(name).breaches()
    timeline = told(name)
    scene = scene_at(timeline, timeline.path(timeline.tip)[breach.step + 1])
    cards = [one for one in LANES.draw(scene).walk() if (one.key or "").startswith("request:")]
    assert [one.key for one in cards if "wrong" in (one.get("class") or "")] == ["request:1"]
    assert classed(LANES.draw(scene), "joined")
    assert any("alarm" in (one.key or "") for one in SPACETIME.draw(scene).walk())


@pytest.mark.parametrize("name", ["deleted-data-returns", "anomaly-lost-write"])
def test_an_exported_story_takes_less_than_half_of_the_limit(name: str, tmp_path: Path) -> None:
    """Both are long stories, none of their frames is left out, and the typeface is within."""
    made = export_html(told(name), tmp_path / "page.html")
    assert made.left_out == ()
    assert made.size < LIMIT / 2
