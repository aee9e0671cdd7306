"""A drill in a notebook: the picture of a Player, and beside it a terminal."""

from functools import partial
from typing import Any

import anywidget
import ipywidgets
import traitlets
from msgspec import Struct, ValidationError, convert

from kit.edge.arguments import checked
from kit.edge.words import say
from kit.engine.drill import Drill, Grade, checklist_lines, grade_lines, open_drill
from kit.engine.par import Par, par
from kit.engine.timeline import Moment
from kit.errors import Refused
from kit.views.fragment import Frag, h
from kit.views.shell import browser_module
from kit.views.static import bundle_of, static_html
from kit.views.styles import terminal_style
from kit.views.transcript import (
    banner_part,
    checklist_part,
    command_buttons,
    entry_part,
    grade_part,
    is_hint,
    terminal_shell,
)
from kit.views.wire import Act
from kit.widgets.player import Player

MOST_SENT = 60
"""Entries, and lines of the history, that the page is sent; it keeps what it has."""


class TerminalMessage(Struct, forbid_unknown_fields=True):
    """What the page says: a line to enter, or one to complete."""

    enter: str | None = None
    complete: str | None = None


class TerminalStage(anywidget.AnyWidget):
    """Shows what it is sent, and reports what is typed. Nothing that is typed is ever run."""

    _esm = browser_module("terminal")
    _css = terminal_style()
    shell = traitlets.Unicode("").tag(sync=True)
    prompt = traitlets.Unicode("").tag(sync=True)
    entries: Any = traitlets.List().tag(sync=True)
    typed: Any = traitlets.List().tag(sync=True)
    buttons = traitlets.Unicode("").tag(sync=True)
    side = traitlets.Unicode("").tag(sync=True)
    banner = traitlets.Unicode("").tag(sync=True)


class DrillPlayer(Player):
    """A Player that keeps the next step to itself until somebody asks for a hint."""

    hinted = False

    def perform(self, message: Act) -> Moment:
        """Do what a control asks for; before a hint nothing that would give the procedure away.

        Raises:
            Refused: for a step that nobody has typed yet.
        """
        if not (self.hinted or message.control == "fork"):
            raise Refused(
                say("Type the commands beside; hint in the terminal shows the next step, here too.")
            )
        return super().perform(message)


class DrillBoard:
    """A drill by its name: type an operator's commands, and look at the cluster beside.

    ``checklist`` False hides the steps of the procedure. ``player`` shows the history, which is
    also walked and forked by its own controls; a command meets the moment that is shown.

    Raises BadInput for a name that no drill has.
    """

    @checked
    def __init__(self, name: str, *, checklist: bool = True) -> None:
        self.drill: Drill = open_drill(name)
        self.checklist = checklist
        self._told: tuple[int, Par | None] = (-1, None)
        self.player = DrillPlayer(self.drill.timeline, controls=False)
        self.stage = TerminalStage(shell=terminal_shell(self.drill).html())
        self.stage.add_class("kit-beside")
        self.stage.on_msg(self._hear)
        self.player.stage.on_msg(lambda *_: self._follow())
        beside = ipywidgets.HBox([self.player, self.stage])
        beside.add_class("kit-drill")
        self.box = ipywidgets.VBox([beside])
        self.box.add_class("kit-drill-room")
        self.box.add_class("kit-unasked")
        self._follow()

    @checked
    def enter(self, *lines: str) -> None:
        """Type lines, one after the other; what is wrong with one is told below it."""
        for line in lines:
            self.player.after(partial(self.drill.enter, line))
        self._follow()

    @property
    def typed(self) -> list[str]:
        """All lines that were typed, in order: the answer to an exercise that asks for them."""
        return [entry.typed for entry in self.drill.transcript]

    def grade(self) -> Grade:
        """The run up to the moment that is shown, graded."""
        return self.drill.grade()

    def text(self) -> str:
        """All that was typed and what came of it, the checklist, the grade, the moment."""
        lines = []
        for entry in self.drill.transcript:
            wrong = [f"error: {entry.error}"] if entry.error else []
            lines += [f"{entry.place}$ {entry.typed}", *entry.lines]
            lines += [*(f"# {line}" for line in entry.said), *wrong]
        steps = checklist_lines(self.drill.checklist()) if self.checklist else ()
        graded = grade_lines(self.grade())
        return "\n".join([self.drill.kind.title, *lines, *steps, *graded, self.player.text()])

    def static(self) -> str:
        """The same as HTML that survives an untrusted notebook."""
        shown = self.drill.transcript[-MOST_SENT:]
        title = h("p", h("b", self.drill.kind.title), ". ", self.drill.kind.task)
        return static_html(title, *map(entry_part, shown), self._side()) + self.player.static()

    def _hear(self, _widget: Any, content: object, _buffers: object) -> None:
        try:
            message = convert(content, TerminalMessage, strict=True)
        except ValidationError:
            return
        if message.enter is not None:
            self.player.after(partial(self.drill.enter, message.enter))
            self._follow()
        if message.complete is not None:
            lines = self.drill.complete(message.complete)
            self.stage.send({"complete": message.complete, "lines": list(lines)})

    def _follow(self) -> None:
        """Show what is new: entries, the machine, what may be typed now, the checklist."""
        shown = self.drill.transcript[-MOST_SENT:]
        if not self.player.hinted and any(is_hint(entry) for entry in self.drill.transcript):
            self.player.hinted = True
            self.box.remove_class("kit-unasked")
        with self.stage.hold_sync():
            self.stage.entries = [[entry.number, entry_part(entry).html()] for entry in shown]
            self.stage.typed = [entry.typed for entry in shown]
            self.stage.prompt = h("b", f"{self.drill.place}$").html()
            self.stage.buttons = command_buttons(self.drill).html()
            self.stage.side = self._side().html()
            self.stage.banner = banner_part(self._par()).html()

    def _par(self) -> Par | None:
        """How far what was typed is from par, once the drill is passed; worked out once."""
        if not self.grade().passed:
            return None
        if self._told[0] != self.drill.timeline.at:
            self._told = self.drill.timeline.at, par(self.drill)
        return self._told[1]

    def _side(self) -> Frag:
        steps = checklist_part(self.drill.checklist()) if self.checklist else None
        return h("div", steps, grade_part(self.grade()))

    def __repr__(self) -> str:
        steps = len(self.drill.transcript)
        return f"DrillBoard({self.drill.kind.title}: {steps} lines typed, on {self.drill.place})"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        data = bundle_of(self.box, **options)
        return {**data, "text/plain": repr(self), "text/html": self.static()}
