"""A drill in a notebook: the picture of a Player, and beside it a terminal."""

from typing import Any

import anywidget
import ipywidgets
import traitlets

from kit.console.drill import Drill, Grade, open_drill
from kit.edge.arguments import checked
from kit.playing.drilling import MOST_SENT, DrillSession, Terminal
from kit.views.fragment import h
from kit.views.shell import browser_module
from kit.views.static import bundle_of, static_html
from kit.views.styles import terminal_style
from kit.views.transcript import entry_part
from kit.widgets.player import Player


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


class DrillPlayer(DrillSession, Player):
    """A Player that keeps the next step to itself until somebody asks for a hint."""


class DrillBoard:
    """A drill by its name: type an operator's commands, and look at the cluster beside.

    ``checklist`` False hides the steps of the procedure. ``player`` shows the history, and its own
    controls walk and fork it too. A command acts on the moment that is shown.

    Raises BadInput for a name that no drill has.
    """

    @checked
    def __init__(self, name: str, *, checklist: bool = True) -> None:
        self.name = name
        self.drill: Drill = open_drill(name)
        self.player = DrillPlayer(self.drill.timeline, controls=False)
        self.stage = TerminalStage()
        self.stage.add_class("kit-beside")
        beside = ipywidgets.HBox([self.player, self.stage])
        beside.add_class("kit-drill")
        self.box = ipywidgets.VBox([beside])
        self.box.add_class("kit-drill-room")
        self.box.add_class("kit-unasked")
        tells = self._show, self.stage.send
        self.terminal = Terminal(self.drill, self.player, *tells, checklist=checklist)
        self.stage.shell = self.terminal.shell
        self.stage.on_msg(lambda _widget, content, _buffers: self.terminal.hear(content))
        self.player.stage.on_msg(lambda *_: self.terminal.follow())

    @checked
    def enter(self, *lines: str) -> None:
        """Type lines, one after the other. Below a line you see what is wrong with it."""
        self.terminal.enter(*lines)

    @property
    def typed(self) -> list[str]:
        """All lines that were typed, in order: the answer to an exercise that asks for them."""
        return self.terminal.typed

    def grade(self) -> Grade:
        """The run up to the moment that is shown, graded."""
        return self.terminal.grade()

    def text(self) -> str:
        """All that was typed and what came of it, the checklist, the grade, the moment."""
        return "\n".join([*self.terminal.lines(), self.player.text()])

    def static(self) -> str:
        """The same as HTML that survives an untrusted notebook."""
        shown = self.drill.transcript[-MOST_SENT:]
        title = h("p", h("b", self.drill.kind.title), ". ", self.drill.kind.task)
        parts = static_html(title, *map(entry_part, shown), self.terminal.side())
        return parts + self.player.static()

    def _show(self, parts: dict[str, Any], hinted: bool) -> None:
        if hinted:
            self.box.remove_class("kit-unasked")
        with self.stage.hold_sync():
            for name, part in parts.items():
                setattr(self.stage, name, part)

    def __repr__(self) -> str:
        steps = len(self.drill.transcript)
        return f"DrillBoard({self.drill.kind.title}: {steps} lines typed, on {self.drill.place})"

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data = bundle_of(self.box, **options)
        data = {**data, "text/plain": repr(self), "text/html": self.static()}
        return data, {"drill": self.name}
