"""The engine of a page without a kernel: what runs in the workers of a browser.

The page holds a pack of the whole story, so it is read before the engine is there. A worker opens
the same story, takes what the page has drawn already, and from then on the two speak the wire. What
the page's drawer says goes beside it. A second worker searches.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import msgspec

from kit.edge.json_text import decoded
from kit.edge.progress import seldom
from kit.errors import KitError
from kit.model.registry import entry_of, model_names
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.playing.session import Line, Session
from kit.playing.stored import foretold
from kit.site.drawer import Drawer, searched
from kit.site.elsewhere import Count, Inquiry, Message, answered
from kit.site.programs import Program
from kit.views.fragment import h
from kit.views.parts import prose
from kit.views.wire import Pack

Tell = Callable[[str | bytes], object]


def whole_story(name: str) -> Timeline:
    """A story as a page tells it: played to its end, or as far as one counts, seen from its start.

    ``name`` is a scenario's, or that of a file of the kit's. Raises BadInput for an unknown one.
    """
    file = files().get(name)
    if file is not None and not is_scenario(name):
        return open_file(file)
    return foretold(open_named(name).timeline)


def is_scenario(name: str) -> bool:
    """Whether a registered model has a scenario of this name, which begins with the model's."""
    model, _, own = name.partition("/")
    return model in model_names() and own in [each.name for each in entry_of(model).scenarios]


def unpacked(pack: bytes) -> Pack | None:
    """The frames that a page has drawn already; None: none."""
    return msgspec.json.decode(gzip.decompress(pack), type=Pack) if pack else None


class Engine(Session):
    """The session of a page, with its drawer; ``tell`` sends the page a message or a pack.

    ``program`` makes the model of the history, where that is not the kit's.
    """

    def __init__(self, story: str | Timeline, pack: bytes, tell: Tell, program: str = "") -> None:
        line = Line()
        self.drawer: Drawer | None = None
        timeline = whole_story(story) if isinstance(story, str) else story
        super().__init__(timeline, line, drawn=unpacked(pack))
        line.tell = tell
        self.drawer = Drawer(self, line.send, program)
        self.drawer.show()

    def said(self, text: str) -> None:
        """Do what the page says: a message of the wire, of its drawer, or of
        the second worker.
        """
        content = decoded(text, Any, "page")
        if isinstance(content, dict) and "setup" in content and self.drawer is not None:
            self.drawer.hear(content)
        elif isinstance(content, dict) and "inquiry" in content and self.drawer is not None:
            self.drawer.work.hear(content)
        else:
            self.hear(content)

    def _follow(self) -> None:
        super()._follow()
        if self.drawer is not None:
            self.drawer.follow()


def known(program: str) -> None:
    """Let the model that a program makes, if there is one, be found by its name."""
    if program:
        Program(program).timeline()


def search(trace: str, most: int, tell: Tell, program: str = "") -> None:
    """Search the model of a trace; the page hears how far it is, and then what was found.

    ``program`` makes one that is not the kit's.
    """

    def count(states: int, now: int) -> None:
        words = f"{states:,} states, {now:,} being examined"
        tell(msgspec.json.encode({"states": states, "count": words}).decode())

    try:
        known(program)
        verdict = msgspec.to_builtins(searched(trace, most, seldom(count)))
    except KitError as error:
        wrong = h("p", prose(str(error)), class_="kit-wrong", role="alert")
        verdict = {"setup": "verdict", "trace": trace, "html": wrong.html()}
    tell(msgspec.json.encode({"verdict": verdict}).decode())


def inquire(text: str, tell: Tell) -> None:
    """Answer what is asked of a break; the page passes on how far that is, and what was found."""

    def send(said: Message) -> None:
        tell(msgspec.json.encode(said).decode())

    inquiry = decoded(text, Inquiry, "inquiry")
    known(inquiry.program)
    send(answered(inquiry, lambda done, now: send(Count(done, now))))
