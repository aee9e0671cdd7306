"""Drills as pages: each is there at once, and what is typed there is done by the same code."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

from kit.engine.drill import drills
from kit.errors import BadInput
from kit.site.drills import drill_page, listed_drills
from kit.site.parts import Parts
from tests.protocols.tcm.test_drill import LAGS, PASSING

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
