"""A rehearsal in a notebook: a Player on somebody's own cluster, below what is to be read first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ipywidgets

from kit.engine.timeline import Timeline
from kit.views.fragment import Frag, h
from kit.views.static import static_html
from kit.widgets.player import Player


class Rehearsal:
    """A Player and the warnings above it; a family adds what else is to be read first.

    ``timeline`` is the history that is played, ``warnings`` are lines, ``player`` steps through it.
    """

    def __init__(
        self, timeline: Timeline, warnings: Iterable[str], *, controls: bool = False
    ) -> None:
        """A Player on a history, which shows it where it stands."""
        self.timeline = timeline
        self.warnings = tuple(warnings)
        self.player = Player(timeline, controls=controls)
        introduction = ipywidgets.HTML(h("div", self._introduction(), class_="kp").html())
        self.box = ipywidgets.VBox([introduction, self.player])

    def _introduction(self) -> list[Frag]:
        """What stands above the Player: here the warnings."""
        lines = [h("li", h("b", "! "), line, class_="soft") for line in self.warnings]
        return [h("ul", lines, aria_label="warnings")]

    def _lines(self) -> Sequence[str]:
        """What stands between the warnings and the moment, as text: here nothing."""
        return ()

    def text(self) -> str:
        """All of it as text: warnings first, then the moment that is shown."""
        warnings = (f"warning: {line}" for line in self.warnings)
        return "\n".join([*warnings, *self._lines(), self.player.text()])

    def static(self) -> str:
        """All of it as HTML that survives an untrusted notebook."""
        return static_html(*self._introduction()) + self.player.static()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = self.box._repr_mimebundle_(**options) or {}
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**data, "text/plain": repr(self), "text/html": self.static()}
