"""The panels of reads and writes show what the facts say, in pictures and in words."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from kit.model.registry import build
from kit.model.scenario import file_named, files, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage import facts
from kit.protocols.storage.facts import about, message_key
from kit.protocols.storage.panels.cards import (
    draw_operations,
    draw_replicas,
    draw_requests,
    operations,
    operations_text,
    replicas_text,
    requests_text,
)
from kit.protocols.storage.panels.groups import STATUS, VIEWS
from kit.protocols.storage.panels.spacetime import draw_spacetime, spacetime_text
from kit.views.export import LIMIT, export_html
from kit.views.fragment import Frag
from kit.views.panel import Scene, scene_at
from kit.views.promises import lamps_text
from kit.views.static import static_html
from tests.saying import line_with
from tests.views.frames import check_frame, classed, part

REPAIRED = ("K1 write QUORUM", "K2 read QUORUM")
FILES = [path for name, path in files().items() if name.startswith("dataplane/")]


@cache
def told(name: str) -> Timeline:
    """The history of a scenario file, looked at from its end."""
    timeline = open_file(file_named(f"dataplane/{name}"))
    timeline.goto(timeline.tip)
    return timeline


def scenes(timeline: Timeline) -> list[Scene]:
    """The scenes of every moment."""
    return [scene_at(timeline, moment) for moment in timeline.path(timeline.tip)]


def test_steps_have_the_numbers_that_the_counter_shows() -> None:
    """Where nodes catch up in one step, clients, messages and lamps name a step alike."""
    timeline = told("deleted-data-returns")
    scene = scene_at(timeline, timeline.at)
    known = {scene.counted(breach.step) for breach in scene.breaches()}
    assert max(known) < len(timeline.path()) - 1  # some steps are folded into one
    lamps = {int(number) for number in re.findall(r"at step (\d+)", lamps_text(scene))}
    assert lamps < known
    clients = re.findall(r"^! step (\d+)", operations_text(scene), re.MULTILINE)
    messages = re.findall(r"^! *(\d+) ", spacetime_text(scene), re.MULTILINE)
    assert [int(number) for number in clients] == sorted(known)
    assert [int(number) for number in messages] == sorted(known)
    for number in known:
        assert f"(step {number})" in STATUS.text(scene)


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


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_frame_of_every_scenario_is_sound(path: Path) -> None:
    """Keys are unique, every panel has words as well as a picture, every drawing a label."""
    for scene in scenes(told(path.stem)):
        check_frame(scene)


@pytest.mark.spec("A-015", "B-027", "B-030", "B-032")
def test_every_arrow_carries_an_epoch() -> None:
    """Left of each point stands the message's epoch, right of it the one of the answer."""
    scene = last("ahead-and-member")
    drawn = draw_spacetime(scene)
    found = [words(one) for one in drawn.walk() if (one.key or "").startswith("at:")]
    assert ["@99", "w1", "@100", "↑100"] in found
    assert line_with(spacetime_text(scene), "write 1", "@99", "A", "100")
    assert line_with(spacetime_text(scene), "answer", "@100", "K1 catches up", "100")


@pytest.mark.spec("A-016", "B-029", "B-033")
def test_catching_up_is_marked_where_it_happens() -> None:
    """A replica that is behind gets an arrow upwards with its new epoch; so does a coordinator."""
    behind = last("behind-catches-up")
    assert "catches up" in spacetime_text(behind)
    assert any(word.startswith("↑") for word in words(draw_spacetime(behind)))
    told_back = last("plan-revalidated")
    assert line_with(spacetime_text(told_back), "K1 catches up", "101")


@pytest.mark.spec("B-031")
def test_an_error_is_crossed_and_said() -> None:
    """A replica that is no member answers with a cross and the reason."""
    scene = last("no-longer-a-member")
    drawn = draw_spacetime(scene)
    assert classed(drawn, "error")
    assert classed(drawn, "cross")
    assert any("✗" in word and "no read replica" in word for word in words(drawn))
    assert line_with(spacetime_text(scene), "✗", "no read replica")


@pytest.mark.spec("B-034")
def test_a_plan_that_went_stale_says_so() -> None:
    """With enough answers by its own plan a request shows that they no longer count."""
    scene = after("plan-revalidated", "write 1 reaches B")
    [row] = facts.requests(scene.model, scene.state)[:1]
    assert row.enough
    assert not row.valid
    assert line_with(draw_requests(scene).text(), "2 of A, B, C (2 needed)")
    assert line_with(requests_text(scene), "no longer valid", "2 of A, B, C, X (3 needed)")


def test_a_read_that_writes_back_says_that_it_waits() -> None:
    """Its card, its messages and its bar: from its first message until its client is told."""
    scene = after("read-repair-blocking", "answer read 2")
    card = requests_text(scene).splitlines()[1]
    assert line_with(card, "found write 1", "writes it back")
    assert line_with(card, "1 of B, X (2 needed)")
    assert line_with(spacetime_text(scene), "K2", "read 2", "write 1 back", "@101", "X")
    assert "w1 back" in words(draw_spacetime(scene))
    away = classed(draw_spacetime(scene), "away")
    assert [one.get("class") for one in away].count("inked away") == 1  # a write
    then = after("read-repair-blocking", "read 2 writes back to X")
    assert line_with(spacetime_text(then), "write 1 back", "@101", "X", "takes write 1")
    first, last = next(span for span in operations(then) if span[0].event.title == "read 2")
    assert (first.step, last) == (1, None)


def test_a_repair_in_the_step_of_the_answer_is_told() -> None:
    """Who answered with something older is named, and marked on its lifeline."""
    model = build("dataplane", {"requests": REPAIRED, "together": True, "repair": "answered"})
    timeline = Timeline(model)
    for verb in ("write 1 at epoch 99", "write 1 reaches A", "read 2 at epoch 99",
                 "read 2 reaches A", "read 2 reaches B", "answer read 2"):  # fmt: skip
        timeline.do(next(a for a in model.actions(timeline.state) if model.verb(a) == verb))
    scene = scene_at(timeline, timeline.tip)
    assert line_with(spacetime_text(scene), "read 2", "returned write 1", "back to B")
    assert "repaired" in words(draw_spacetime(scene))


@pytest.mark.spec("A-027")
def test_leftover_data_is_said_on_the_card() -> None:
    """A former replica's card says that its data stays, and that nothing removes it by itself."""
    scene = next(
        one
        for one in scenes(told("data-not-owned"))
        if any(row.not_owned for row in facts.replicas(one.model, one.state))
    )
    name = next(row.name for row in facts.replicas(scene.model, scene.state) if row.not_owned)
    card = part(draw_replicas(scene), f"card:{name}")
    assert card is not None
    assert line_with(card.text(), "data not owned", "no replica")
    assert "data not owned" in replicas_text(scene)


def test_rows_are_marked_where_they_changed_and_tell_who_knows_them() -> None:
    """An epoch that changes the range's groups is marked; beside it stand those who know it."""
    scene = last("anomaly-invisible-write")
    drawn = VIEWS.draw(scene)
    rows = facts.epochs(scene.model, scene.state)
    assert [row.epoch for row in rows] == [99, 100, 101, 102, 103]
    assert [row.changed for row in rows] == [False, False, True, True, True]
    moved = [one.key for one in classed(drawn, "moved")]
    assert moved == ["view:103", "view:102", "view:101"]
    row = part(drawn, "view:102")
    assert row is not None
    assert row.text().startswith("102 switch reads B C +X −A A B C X")
    assert "nodes here: A, B" in VIEWS.text(scene).splitlines()[2]


@pytest.mark.spec("B-022", "B-023")
@pytest.mark.parametrize("name", ["anomaly-invisible-write", "anomaly-lost-write"])
def test_the_offending_request_is_marked(name: str) -> None:
    """The read that misses a write is marked on the timeline of requests, and stays so; the status
    says what is broken, and since which step of the run.
    """
    scene = last(name)
    drawn = draw_operations(scene)
    assert [one.key for one in drawn.walk() if classed(one, "wrong") and one.key] == ["op:1"]
    assert "misses write 1" in operations_text(scene)
    [step] = {scene.counted(breach.step) for breach in scene.breaches()}
    said = "BROKEN: Every acknowledged write is seen by every later read"
    assert f"{said} (step {step})" in STATUS.text(scene)
    assert any("alarm" in (one.key or "") for one in draw_spacetime(scene).walk())


def test_the_guilty_messages_are_marked() -> None:
    """The answers of those who answered the read that misses a write are red, others are not."""
    scene = last("anomaly-invisible-write")
    [breach] = scene.breaches()
    named = about(scene.model, breach.witness)
    drawn = draw_spacetime(scene)
    messages = [one for one in drawn.walk() if (one.get("data-of") or "").startswith("message:")]
    guilty = {one.key for one in classed(drawn, "guilty")}
    assert guilty == {one.key for one in messages if one.get("data-of") in named}
    read = next(row for row in facts.requests(scene.model, scene.state) if row.title == "read 2")
    assert {message_key(read.number, name) for name in read.answered} <= named
    assert 0 < len(guilty) < len(messages)


def test_a_broken_step_stays_marked_in_later_pictures() -> None:
    """A promise that one step broke is told in every picture that comes after it."""
    timeline = told("deleted-data-returns")
    found = [scene for scene in scenes(timeline) if "BROKEN" in STATUS.text(scene)]
    assert found[-1].state == timeline.moments[timeline.tip].state
    assert len(found) > 1
    states = [scene.state for scene in scenes(timeline)]
    assert [scene.state for scene in found] == states[-len(found) :]


def test_a_message_on_its_way_ends_in_the_open() -> None:
    """What was sent and did not arrive is drawn dotted, also after the client has its answer."""
    scene = after("late-message", "answer write 1")
    assert len(classed(draw_spacetime(scene), "away")) == len(
        facts.requests(scene.model, scene.state)[0].on_the_way
    )


def test_a_scene_without_its_past_still_draws_its_step() -> None:
    """A scene that somebody made by hand shows at least the step that led to it."""
    timeline = told("anomaly-invisible-write")
    now = timeline.now
    scene = Scene(timeline.model, now.state, timeline.before, now.action)
    assert len(spacetime_text(scene).splitlines()) == 1
    assert draw_spacetime(Scene(timeline.model, timeline.moments[0].state)).text()


def test_the_picture_stays_without_style_and_script() -> None:
    """In stored outputs the drawings are images with their words as text alternative."""
    shown = static_html(draw_spacetime(last("anomaly-invisible-write")))
    assert "<svg" not in shown
    assert 'alt="space-time diagram: ' in shown


@pytest.mark.parametrize("name", ["deleted-data-returns", "anomaly-lost-write"])
def test_an_exported_run_is_small(name: str, tmp_path: Path) -> None:
    """The longest scenarios take less than a third of what a page may take."""
    made = export_html(told(name), tmp_path / "page.html")
    assert made.left_out == ()
    assert made.size < LIMIT / 3
