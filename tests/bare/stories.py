"""What stories show, as one digest each: moments, frames, the texts of files."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from kit.lessons.exercises import exercise
from kit.model.scenario import files, parse, read, run
from kit.playing.opening import open_named
from kit.views.rendered import RenderedTimeline

MOST = 80  # steps of a story


def digest(name: str) -> list[str | int]:
    """Of a registered scenario: how many moments, the saved trace, the frames."""
    timeline = open_named(name).timeline
    while len(timeline.moments) <= MOST and timeline.forward() is not None:
        pass
    rendered = RenderedTimeline(timeline)
    frames = [rendered.html(moment.id) for moment in timeline.moments]
    both = (msgspec.json.encode(each) for each in (timeline.save(), frames))
    return [len(timeline.moments), *(hashlib.blake2b(each).hexdigest() for each in both)]


def shown(name: str) -> list[list[str]]:
    """What a scenario file shows, step by step."""
    _, texts = run(parse(read(files()[name]), name))
    return [list(each) for each in texts]


def replicas(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Walk clockwise from the owner of the token."""
    return sorted(tokens, key=lambda name: (tokens[name] < token, tokens[name]))[:rf]


def marks() -> list[Any]:
    """How answers to two exercises are judged: a function, a wrong one, verbs that are not all."""
    judged = [exercise("replicas").check(each) for each in (replicas, shown)]
    judged.append(exercise("prepared-in-vain").check(["prepare RM0"]))
    return [[each.passed, each.heading, each.lines] for each in judged]
