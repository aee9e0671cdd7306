"""*What if …?*: a quiet link where something waits for a safeguard, and what a press does."""

from __future__ import annotations

import re

import pytest

from kit.model.registry import entries
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.playing.session import Line, Session
from kit.views.breaks import draw_what_if
from kit.views.headlines import words_of
from kit.views.panel import scene_of
from kit.views.wire import Act
from kit.widgets import Player


def asked(session: Session) -> str:
    """The question at the step that is shown; empty: there is none."""
    link = draw_what_if(scene_of(session.timeline, session.timeline.at))
    return link.text() if link else ""


def stepped(name: str, steps: int) -> Session:
    """A story some steps on."""
    session = Session(name, Line())
    for _ in range(steps):
        session.step()
    return session


def test_a_question_stands_where_the_barrier_holds_something_up() -> None:
    """At RF 3 a write could be lost without it, at RF 2 none could; where nothing waits for it
    there is nothing to ask.
    """
    found = {steps for steps in range(24) if asked(stepped("tcm/rf3", steps))}
    assert found == {6, 7, 8, 9}
    assert asked(stepped("tcm/rf3", 7)) == "What if nobody waited?"
    assert not any(asked(stepped("tcm/bootstrap", steps)) for steps in range(23))


@pytest.mark.parametrize(
    ("name", "steps"),
    [("tcm/rf3", 7), ("dataplane/write-and-read", 12), ("discovery/three-nodes", 3)],
)
def test_its_answer_is_a_branch_that_does_what_waits(name: str, steps: int) -> None:
    """The run is done again without the safeguard, as far as here, and one step more."""
    session = stepped(name, steps)
    before = session.timeline.path()
    link = draw_what_if(scene_of(session.timeline, session.timeline.at))
    assert link is not None
    control = str(link.get("data-act"))
    session.perform(Act(control, session.timeline.at, len(session.rendered.store)))
    _, safeguard, _ = control.split(":")
    assert session.model.off == (safeguard,)
    assert len(session.timeline.path()) == len(before) + 1
    assert (
        session.timeline.moments[before[-1]].state
        == session.timeline.moments[session.timeline.path()[-2]].state
    )
    waiting = Timeline(session.timeline.model_at(before[-1]))
    assert waiting.model.refusal(
        session.timeline.moments[before[-1]].state, session.timeline.now.action
    )


def test_a_page_that_can_do_nothing_asks_nothing() -> None:
    """On an exported page no branch can be made."""
    session = stepped("tcm/rf3", 7)
    assert draw_what_if(scene_of(session.timeline, session.timeline.at, "read only")) is None


def test_the_next_story_and_its_sibling_open() -> None:
    """From the end of one; every sibling that a family declares is a story."""
    session = Session("tcm/decommission", Line())
    while session.timeline.forward() is not None:
        pass
    html = session.rendered.html(session.timeline.at) if session.rendered.draw_new() else ""
    stories = re.findall(r'data-act="story:([^"]+)"', html)
    assert stories == ["tcm/rf3", "topology/decommission-with-coordinator"]
    player = Player("tcm/decommission")
    for opener in (session, player):
        opener.perform(Act(f"story:{stories[1]}", opener.timeline.at, 0))
        assert opener.model.name == "topology"
        assert len(opener.timeline.moments) == 1
    assert player.controls is not None
    assert player.controls.source.value == stories[1]


def test_siblings_are_stories_that_name_each_other() -> None:
    """By names that open."""
    for model, entry in entries().items():
        own = {each.name for each in entry.scenarios}
        for name, sibling in words_of(model).siblings.items():
            assert name in own
            assert open_named(sibling).name == sibling
            other, _, story = sibling.partition("/")
            assert words_of(other).siblings[story].startswith(f"{model}/")
