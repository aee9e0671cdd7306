"""What is live on a page of several parts, Players and drills: one worker has all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from kit.console.drill import open_drill
from kit.edge.json_text import decoded
from kit.errors import BadInput
from kit.playing.drilling import DrillSession, Terminal
from kit.playing.session import Line
from kit.playing.stored import StoredRun
from kit.site.programs import Program
from kit.site.worker import Engine, Tell, unpacked


class Part(Protocol):
    """A listener to what the page says to it."""

    def said(self, text: str) -> None:
        """Do that."""


class Done(Struct, frozen=True, array_like=True):
    """A message to a drill, and the moment and branch at which it came.

    Nothing: where one stands.
    """

    at: int
    tip: int
    said: dict[str, Any] = {}


class Drilled:
    """A drill as a page shows it: its session and its terminal, at the end of one line.

    The page is told what was done and where one stands, and says it ``again`` when it is loaded
    again. So it remembers only what took effect, and that comes back as it was left.
    """

    def __init__(self, name: str, pack: bytes, tell: Tell) -> None:
        drill, self.line = open_drill(name), Line()
        line = self.line
        self.session = DrillSession(drill.timeline, line, drawn=unpacked(pack))
        line.tell = tell
        self.terminal = Terminal(
            drill,
            self.session,
            lambda parts, hinted: line.send({"terminal": parts, "hinted": hinted}),
            lambda content: line.send({"answer": content}),
        )
        self.done: list[Done] = []
        self.told = [self._here()]

    def said(self, text: str) -> None:
        """Do what the page says: a message of the wire, a line of the terminal, or all of them
        again.
        """
        content = decoded(text, Any, "page")
        if isinstance(content, dict) and "again" in content:
            self._again(content["again"])
        else:
            self._do(content)
        now = [*self.done, self._here()]
        if now != self.told:
            self.told = now
            self.line.send({"kept": now})

    def _here(self) -> Done:
        return Done(self.session.timeline.at, self.session.timeline.tip)

    def _do(self, content: Any) -> None:
        here, made = self._here(), len(self.session.timeline.moments)
        if not isinstance(content, dict):
            return
        if "message" in content:
            self.session.hear(content)
            self.terminal.follow()
        else:
            self.terminal.hear(content)
        if made != len(self.session.timeline.moments) or content.get("enter"):
            self.done.append(Done(here.at, here.tip, content))

    def _again(self, kept: object) -> None:
        try:
            known = msgspec.convert(kept, list[Done])
        except msgspec.ValidationError:
            known = []
        for each in known:
            there = {"at": each.at, "tip": each.tip, "sequence": self.session.rendered.sequence}
            self._do({"message": "look", "position": there})
            if each.said:
                self._do(each.said)
        self.session.after(lambda: None)  # the page goes there, too
        if [*self.done, self._here()] != known:
            self.session.tell_refused("Not all that you did here before could be repeated.")


class Parts:
    """The parts of a page, each by its number; ``tell`` gets it with what one says."""

    def __init__(self, tell: Callable[[tuple[int, str | bytes]], object]) -> None:
        self.tell = tell
        self.opened: dict[int, Part] = {}

    def open(self, number: int, about: str, pack: bytes) -> None:
        """Open a part, whose pack the page has, on what is said of it as JSON: a drill by its name,
        a run that a notebook has stored, or the program of one.

        Raises BadInput for what is neither.
        """

        def tell(said: str | bytes) -> None:
            self.tell((number, said))

        # Of two structs it could not tell which it is, so a program is a row of its fields.
        opening = decoded(about, str | StoredRun | tuple[str, dict[str, str]], "about")
        if isinstance(opening, str):
            self.opened[number] = Drilled(opening, pack, tell)
        elif isinstance(opening, StoredRun):
            self.opened[number] = Engine(opening.timeline(), pack, tell)
        else:
            self.opened[number] = Engine(Program(*opening).timeline(), pack, tell, opening[0])
        tell("live")

    def said(self, number: int, text: str) -> None:
        """Do what the page says to a part. Raises BadInput for one that is not open."""
        if number not in self.opened:
            raise BadInput("part", number, "one that is open")
        self.opened[number].said(text)
