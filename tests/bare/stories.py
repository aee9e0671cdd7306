"""What stories show, as one digest each: moments, frames, the texts of files."""

from __future__ import annotations

import hashlib

import msgspec

from kit.engine.scenario import files, parse, read, run
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
