"""The badges over the picture: what was decided, and how many were heard to be prepared."""

from __future__ import annotations

from kit.protocols.twophase.facts import moment as facts
from kit.protocols.twophase.twophase import decision
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, badges

DECIDED = {"": "… undecided", "commit": "✓ commit", "abort": "✗ abort"}


def draw_status(scene: Scene) -> Frag:
    """Draw the count of those who were heard, and the decision."""
    decided = decision(scene.state)
    return badges(
        f"{facts.heard(scene.state)} of {scene.model.rms}",
        badge("decision", DECIDED[decided], "" if decided else "busy"),
        counts="heard",
    )


STATUS = Panel("status", "Status", draw_status, still=True)
