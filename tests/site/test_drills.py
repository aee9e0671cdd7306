"""Drills as pages: each is there at once, and what is typed there is done by the same code."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

from kit.console.drill import drills
from kit.errors import BadInput
from kit.site.pages import drill_page, listed_drills
from kit.site.parts import Drilled, Parts
from tests.protocols.tcm.test_drill import LAGS, PASSING

MAJORITY = "recovery/majority-is-lost"
PARTS = {"banner", "buttons", "entries", "prompt", "side", "typed"}


class Desk:
    """A page that heard of its drill: what it was told last, by name."""

    def __init__(self, name: str) -> None:
        self.told: list[Any] = []
        page, pack = drill_page(name)
        self.page = page
        self.parts = Parts(lambda said: self.told.append(said[1]))
        self.parts.open(0, json.dumps(name), pack)

    def say(self, **said: Any) -> None:
        """Tell the drill something."""
        self.parts.said(0, json.dumps(said))

    def last(self, name: str) -> Any:
        """The last message's part of that name."""
        heard = [json.loads(said) for said in self.told if isinstance(said, str) and said[0] == "{"]
        return next(said[name] for said in reversed(heard) if name in said)


def test_a_page_has_all_that_its_terminal_shows_first() -> None:
    """Before there is an engine one sees the task, the machine, the picture and what may be typed;
    the engine then draws nothing that the page has.
    """
    desk = Desk(LAGS)
    [data] = re.findall(r'data-parts="([^"]*)"', desk.page)
    first = json.loads(html.unescape(data))
    assert {*first} == PARTS
    assert first == desk.last("terminal")
    assert "Find out what is wrong with A" in desk.page
    assert not [said for said in desk.told if isinstance(said, bytes)]
    desk.say(message="sync", texts=0, moments=0, session="0")
    assert f'"{desk.last("session")}"' == '"0"'


def test_a_drill_is_passed_by_typing() -> None:
    """Each line is told with what came of it; at the end the page says so."""
    desk = Desk(LAGS)
    for line in PASSING[LAGS]:
        desk.say(enter=line)
    assert desk.last("terminal")["typed"] == [*PASSING[LAGS]]
    assert "✓ Passed" in desk.last("terminal")["banner"]
    desk.say(complete="nodetool cm")
    assert desk.last("answer") == {"complete": "nodetool cm", "lines": ["nodetool cms"]}


def test_a_button_keeps_the_next_step_until_there_is_a_hint() -> None:
    """As in a notebook: before it, a step is refused; the page is told once it was asked for."""
    desk = Desk(LAGS)
    desk.say(message="act", control="step", at=0, have=0)
    assert "hint" in desk.last("error")
    assert not desk.last("hinted")
    desk.say(enter="hint")
    assert desk.last("hinted")


def test_a_drill_comes_again_as_it_was_left() -> None:
    """What was typed in the past of the run, what buttons did, and where one looks, in the very
    order: a page that says it again has the same history. A completion and what was refused are
    not kept.
    """
    desk, again = Desk(MAJORITY), Desk(MAJORITY)
    desk.say(message="act", control="step", at=0, have=0)  # nobody has asked for a hint
    desk.say(complete="on")
    assert not [said for said in desk.told if isinstance(said, str) and '"kept"' in said]
    for line in ("on B", "happen crash B"):
        desk.say(enter=line)
    drilled = desk.parts.opened[0]
    assert isinstance(drilled, Drilled)
    look(desk, drilled.terminal.drill.beginning)
    desk.say(enter="happen crash A")
    desk.say(enter="hint")
    at = drilled.session.timeline.at
    desk.say(message="act", control="step", at=at, have=0)
    look(desk, at)
    again.say(again=desk.last("kept"))
    repeated = again.parts.opened[0]
    assert isinstance(repeated, Drilled)
    own, other = drilled.session.timeline, repeated.session.timeline
    assert other.moments == own.moments
    assert (other.at, other.tip) == (own.at, own.tip) == (at, own.tip)
    assert again.last("terminal") == desk.last("terminal")
    assert again.last("kept") == desk.last("kept")
    assert again.last("position")["at"] == at
    assert not any('"error"' in said for said in again.told)


@pytest.mark.parametrize("kept", [["on B"], [[0, 99, {"enter": "on B"}]], "x", [[0]]])
def test_what_cannot_be_done_again_is_told(kept: object) -> None:
    """Of another edition of the drill, or written by somebody else: the drill is usable."""
    desk = Desk(MAJORITY)
    desk.say(again=kept)
    assert "Not all that you did here before could be repeated." in desk.last("error")
    desk.say(enter="on B")
    assert desk.last("terminal")["typed"][-1:] == ["on B"]


def look(desk: Desk, at: int) -> None:
    """Look at a moment of the branch that is shown, as its page says."""
    drilled = desk.parts.opened[0]
    assert isinstance(drilled, Drilled)
    session = drilled.session
    there = {"at": at, "tip": session.timeline.tip, "sequence": session.rendered.sequence}
    desk.say(message="look", position=there)


def test_what_no_page_opens_is_refused() -> None:
    """A part that there is not, a drill that there is not, and what is neither."""
    parts = Parts(lambda said: None)
    with pytest.raises(BadInput, match="part"):
        parts.said(0, "{}")
    for about in ('"nowhere"', "7", '{"trace": 1}'):
        with pytest.raises(BadInput):
            parts.open(0, about, b"")
    assert parts.opened == {}


def test_the_list_names_every_drill() -> None:
    """With the story in which it is drilled."""
    listed = [*listed_drills()]
    assert [each.name for each in listed] == [*drills()]
    assert all(each.about for each in listed if "/" in each.name)
