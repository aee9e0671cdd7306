"""The engine of a page without a kernel: a session in a worker of the browser.

The page holds a pack of the whole story, so it is read before the engine is there. The worker opens
the same story, takes what the page has drawn already, and from then on the two speak the wire.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable

import msgspec

from kit.engine.timeline import Timeline
from kit.playing.opening import open_named
from kit.playing.session import Line, Session
from kit.views.rendered import MOST_AHEAD
from kit.views.wire import Pack


def told(name: str) -> Timeline:
    """A story as a page tells it: played to its end, or as far as one counts, seen from its start.

    Raises BadInput for an unknown name.
    """
    timeline = open_named(name).timeline
    for _ in range(MOST_AHEAD):
        if timeline.forward() is None:
            break
    timeline.goto(0)
    return timeline


class Worker:
    """What a page talks to; ``tell`` sends the page a message or a pack."""

    def __init__(self, name: str, pack: bytes, tell: Callable[[str | bytes], object]) -> None:
        drawn = msgspec.json.decode(gzip.decompress(pack), type=Pack) if pack else None
        line = Line()
        self.session = Session(told(name), line, drawn=drawn)
        line.tell = tell

    def hear(self, text: str) -> None:
        """Do what the page says."""
        self.session.hear(msgspec.json.decode(text))
