"""The headline of every step of every story: short, about this moment, never the same twice."""

from __future__ import annotations

import re

import pytest

from kit.views.breaks import breaking, contradiction
from kit.views.headlines import MOST_WORDS, headline_of
from kit.views.panel import scene_at
from kit.views.rendered import RenderedTimeline
from tests.protocols.test_on_record import opened, stories


@pytest.mark.parametrize("story", sorted({story for _, story in stories()}))
def test_a_headline_is_about_this_moment(story: str) -> None:
    """Of at most twelve words, not that of the step before, and no rule of the catalogue; where a
    promise breaks it is not the promise. What is told below it opens no bracket that it leaves
    open, and gives nobody's verb to something else.
    """
    timeline, last = opened(story), ""
    rules = {timeline.why(moment).rstrip(".") for moment in timeline.path(timeline.tip)}
    for moment in timeline.path(timeline.tip)[1:]:
        scene = scene_at(timeline, moment)
        head, rest = headline_of(scene)
        assert rest.find("(") <= rest.find(")")
        assert not re.match(r"It \w+s can ", rest)
        assert 0 < len(head.split()) <= MOST_WORDS
        assert head not in {last, *rules}
        last = head
    for moment in timeline.path(timeline.tip)[1:] if "off-" in story else ():
        for breach in breaking(scene_at(timeline, moment)):
            head, evidence = contradiction(scene_at(timeline, moment), breach)
            assert 0 < len(head.split()) <= MOST_WORDS
            assert evidence
            assert head not in {breach.title, *rules}


@pytest.mark.parametrize("story", sorted({story for _, story in stories()}))
def test_a_chapter_begins_where_something_else_does(story: str) -> None:
    """No chapter has the name of the one before it; the exact name of a state below its words is
    one that this step tells, or the state has.
    """
    timeline = opened(story)
    drawn = RenderedTimeline(timeline)
    former = ""
    for number in timeline.path(timeline.tip)[1:]:
        moment, name = timeline.moments[number], drawn.moments[number].milestone
        if name:
            assert name != former
            former = name
            exact = name.partition("\n")[2]
            assert exact in f"{moment.milestone}: {moment.say} {moment.state}"
