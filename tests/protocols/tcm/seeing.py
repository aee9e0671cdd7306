"""What a student sees of a cluster that a test drives: its buttons, its panels' words."""

from __future__ import annotations

from typing import Any

from kit.model.registry import scenario_of
from kit.protocols.tcm.facts import moment as facts
from kit.views.actions import action_board
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene
from kit.views.registry import for_model
from tests.protocols.tcm.driving import Drive


class Watched(Drive):
    """A cluster that is driven by verbs, with its present scene."""

    @property
    def scene(self) -> Scene:
        """The present moment, beside the one before."""
        before = self.states[-2] if len(self.states) > 1 else None
        return Scene(self.model, self.state, before)

    def words(self, panel: str) -> list[str]:
        """The lines of a panel's text form."""
        return self._panel(panel).text(self.scene).splitlines()

    def drawn(self, panel: str) -> Frag:
        """A panel's picture."""
        return self._panel(panel).draw(self.scene)

    def panels(self) -> list[Panel]:
        """The panels, in the order in which they are drawn."""
        return list(for_model(self.model).panels)

    def _panel(self, name: str) -> Panel:
        return next(one for one in self.panels() if one.name == name)

    def dc(self, name: str) -> str:
        """The datacenter of a node."""
        return next(n.dc for n in facts.nodes(self.model, self.state) if n.name == name)

    def button(self, label: str) -> Frag:
        """A button among the actions, by its whole text."""
        return next(one for one in buttons(action_board(self.scene)) if one.text() == label)

    def steps(self) -> list[Frag]:
        """The numbered buttons of the steps of all operations under way."""
        return buttons(self.drawn("operation"))


def buttons(drawn: Frag) -> list[Frag]:
    """The buttons of a drawing."""
    return [one for one in drawn.walk() if one.tag == "button"]


def pressable(drawn: list[Frag]) -> list[bool]:
    """Which of these buttons do something when they are pressed."""
    return [one.get("aria-disabled") is None for one in drawn]


def watched(scenario: str, **changes: Any) -> Watched:
    """The scenario of this name at its start."""
    _, one = scenario_of(f"tcm/{scenario}")
    return Watched(**{**dict(one.parameters), **changes})
