"""A drill under way: a session with the picture, and the terminal beside it, whoever shows them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct, ValidationError, convert

from kit.console.drill import Drill, Grade, checklist_lines, grade_lines, open_drill
from kit.console.par import Par, par
from kit.errors import Refused
from kit.model.timeline import Moment
from kit.playing.session import Line, Session
from kit.views import transcript
from kit.views.fragment import Frag, h
from kit.views.wire import Act

MOST_SENT = 60
"""Entries, and lines of the history, that the page is sent; it keeps what it has."""


class TerminalMessage(Struct, forbid_unknown_fields=True):
    """A message of the page: a line to enter, or one to complete."""

    enter: str | None = None
    complete: str | None = None


class DrillSession(Session):
    """A session that keeps the next step to itself until somebody asks for a hint."""

    hinted = False

    def perform(self, message: Act) -> Moment:
        """Do what a control asks for; before a hint nothing that would give the procedure away.

        Raises:
            Refused: for a step that nobody has typed yet.
        """
        if not (self.hinted or message.control == "fork"):
            raise Refused("Type the commands in the terminal. Type hint to see the next step.")
        return super().perform(message)


class Terminal:
    """The terminal of a drill beside its session; ``show`` and ``answer`` are told to its page.

    ``show`` gets what is shown, by the names of its parts, and whether a hint was asked for;
    ``answer`` the lines that go on from one. ``checklist`` False hides the steps of the procedure.
    """

    def __init__(
        self,
        drill: Drill,
        player: DrillSession,
        show: Callable[[dict[str, Any], bool], object] = lambda parts, hinted: None,
        answer: Callable[[dict[str, Any]], object] = lambda content: None,
        *,
        checklist: bool = True,
    ) -> None:
        self.drill, self.player, self.checklist = drill, player, checklist
        self.show, self.answer = show, answer
        self.shell = transcript.terminal_shell(drill).html()
        self._told: tuple[int, Par | None] = (-1, None)
        self.follow()

    def enter(self, *lines: str) -> None:
        """Type lines, one after the other. Below a line you see what is wrong with it."""
        for line in lines:
            self.player.after(partial(self.drill.enter, line))
        self.follow()

    @property
    def typed(self) -> list[str]:
        """All lines that were typed, in order: the answer to an exercise that asks for them."""
        return [entry.typed for entry in self.drill.transcript]

    def grade(self) -> Grade:
        """The run up to the moment that is shown, graded."""
        return self.drill.grade()

    def hear(self, content: object) -> None:
        """Do what a page says; what it cannot say is passed over."""
        try:
            message = convert(content, TerminalMessage, strict=True)
        except ValidationError:
            return
        if message.enter is not None:
            self.enter(message.enter)
        if message.complete is not None:
            lines = self.drill.complete(message.complete)
            self.answer({"complete": message.complete, "lines": list(lines)})

    def follow(self) -> None:
        """Show what is new: entries, the machine, what may be typed now, the checklist."""
        if not self.player.hinted and any(map(transcript.is_hint, self.drill.transcript)):
            self.player.hinted = True
        self.show(self.parts(), self.player.hinted)

    def parts(self) -> dict[str, Any]:
        """The parts that are shown, by the names that the page's module gives them."""
        shown = self.drill.transcript[-MOST_SENT:]
        return {
            "entries": [[entry.number, transcript.entry_part(entry).html()] for entry in shown],
            "typed": [entry.typed for entry in shown],
            "prompt": h("b", f"{self.drill.place}$").html(),
            "buttons": transcript.command_buttons(self.drill).html(),
            "side": self.side().html(),
            "banner": transcript.banner_part(self._par()).html(),
        }

    def lines(self) -> list[str]:
        """All that was typed and what came of it, the checklist, the grade."""
        lines = []
        for entry in self.drill.transcript:
            wrong = [f"error: {entry.error}"] if entry.error else []
            lines += [f"{entry.place}$ {entry.typed}", *entry.lines]
            lines += [*(f"# {line}" for line in entry.said), *wrong]
        steps = checklist_lines(self.drill.checklist()) if self.checklist else ()
        return [self.drill.kind.title, *lines, *steps, *grade_lines(self.grade())]

    def side(self) -> Frag:
        """The checklist and the grade."""
        steps = transcript.checklist_part(self.drill.checklist()) if self.checklist else None
        return h("div", steps, transcript.grade_part(self.grade()))

    def _par(self) -> Par | None:
        if not self.grade().passed:
            return None
        if self._told[0] != self.drill.timeline.at:
            self._told = self.drill.timeline.at, par(self.drill)
        return self._told[1]


def drilled(name: str) -> Terminal:
    """A drill by its name that no page shows. Raises BadInput for a name that no drill has."""
    drill = open_drill(name)
    return Terminal(drill, DrillSession(drill.timeline, Line()))
