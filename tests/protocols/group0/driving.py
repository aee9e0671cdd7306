"""A group 0 that a test drives by verbs, and what a student sees of it."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.group0.group0 import Group0
from kit.views.fragment import Frag
from kit.views.frame import frame_text
from kit.views.panel import Panel, Scene, scene_at
from kit.views.registry import for_model

FIRST_SIX = ("barrier", "read", "make-id", "validate", "submit")


class Driven:
    """A run, its present scene, and the panels of it."""

    def __init__(self, off: tuple[str, ...] = (), **parameters: Any) -> None:
        """At the start, with these parameters."""
        model = build("group0", parameters, off)
        assert isinstance(model, Group0)
        self.model, self.timeline = model, Timeline(model)

    def do(self, *verbs: str) -> Driven:
        """Each of these, in order; one that is refused raises."""
        for verb in verbs:
            option = self.model.find(self.timeline.state, verb)
            assert option is not None, verb
            self.timeline.do(option[0])
        return self

    def submitted(self, text: str) -> Driven:
        """An operation as far as its command is on its way."""
        node = text.rsplit(maxsplit=1)[-1]
        return self.do(text, *(f"{word} {node}" for word in FIRST_SIX))

    def refused(self, verb: str) -> str:
        """Why a verb may not be done now."""
        option = self.model.find(self.timeline.state, verb)
        assert option is not None, verb
        assert option[1] is not None, f"{verb} is enabled"
        return option[1].reason

    @property
    def state(self) -> Any:
        """The present state."""
        return self.timeline.state

    @property
    def scene(self) -> Scene:
        """The present moment."""
        return scene_at(self.timeline, self.timeline.at)

    def panel(self, name: str) -> Panel:
        """A panel by its name."""
        return next(panel for panel in for_model(self.model).panels if panel.name == name)

    def drawn(self, name: str) -> Frag:
        """What a panel draws."""
        return self.panel(name).draw(self.scene)

    def words(self, name: str) -> str:
        """What a panel says."""
        return self.panel(name).text(self.scene)

    def part(self, name: str, key: str) -> Frag:
        """A part of a panel by its key."""
        return next(part for part in self.drawn(name).walk() if part.key == key)

    def text(self) -> str:
        """The whole moment in words, with what travels."""
        return frame_text(self.scene, for_model(self.model).panels)

    def flows(self) -> list[str]:
        """What travelled in the last step."""
        return [flow.text for flow in self.scene.flows()]
