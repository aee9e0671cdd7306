"""What is live on a page of several parts, Players and drills: one worker has all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from kit.engine.drill import open_drill
from kit.errors import BadInput, misfit
from kit.playing.drilling import DrillSession, Terminal
from kit.playing.session import Line
from kit.playing.stored import StoredRun
from kit.site.programs import Program
from kit.site.worker import Engine, Tell, unpacked


class Part(Protocol):
    """What hears what the page says to it."""

    def said(self, text: str) -> None:
        """Do that."""


class Drilled:
    """A drill as a page shows it: its session and its terminal, at the end of one line."""

    def __init__(self, name: str, pack: bytes, tell: Tell) -> None:
        drill, line = open_drill(name), Line()
        self.session = DrillSession(drill.timeline, line, drawn=unpacked(pack))
        line.tell = tell
        self.terminal = Terminal(
            drill,
            self.session,
            lambda parts, hinted: line.send({"terminal": parts, "hinted": hinted}),
            lambda content: line.send({"answer": content}),
        )

    def said(self, text: str) -> None:
        """Do what the page says: a message of the wire, or a line of the terminal."""
        content = msgspec.json.decode(text)
        if isinstance(content, dict) and "message" in content:
            self.session.hear(content)
            self.terminal.follow()
        else:
            self.terminal.hear(content)


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

        try:
            # Of two structs it could not tell which it is, so a program is a row of its fields.
            opening = msgspec.json.decode(about, type=str | StoredRun | tuple[str, dict[str, str]])
        except msgspec.MsgspecError as error:
            raise misfit("about", about, error, "a drill, a run or a program") from None
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
