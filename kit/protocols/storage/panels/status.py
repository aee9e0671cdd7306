"""The badges over the picture: the newest epoch, how much was computed, whether the range moves."""

from __future__ import annotations

from kit.protocols.storage.facts import moment as facts
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, badges

COMPUTED = "how often placements were computed"


def _verdict(scene: Scene) -> str:
    """What was broken on the way here, with the step (as the counter of steps has it)."""
    broken = scene.breaches()
    return "; ".join(f"{breach.title} (step {scene.counted(breach.step)})" for breach in broken)


def _computed(scene: Scene) -> str:
    return f"placement computations: {facts.computed(scene.model, scene.state)}"


def _session(number: int) -> str:
    return f"session {number} is open" if number else "no session is open"


def draw_status(scene: Scene) -> Frag:
    """Draw three badges, each a word and a shape as well as a colour; sessions have a fourth."""
    rest = facts.stable(scene.model, scene.state)
    times = facts.computed(scene.model, scene.state)
    session = facts.session(scene.model, scene.state)
    return badges(
        facts.epoch(scene.model, scene.state),
        h("li", f"placements: {times}", k="badge:computed", class_="plain", title=COMPUTED),
        badge("rest", "= stable") if rest else badge("rest", "… moving", "busy"),
        None
        if session is None
        else h("li", f"session {session or '–'}", k="badge:session", class_="plain"),
        counts=scene.model.history.unit,
    )


def status_text(scene: Scene) -> str:
    """Write the badges as one line."""
    rest = "reads equal writes" if facts.stable(scene.model, scene.state) else "the range moves"
    wrong = _verdict(scene)
    verdict = f"BROKEN: {wrong}" if wrong else "all promises kept so far"
    epoch = facts.epoch(scene.model, scene.state)
    session = facts.session(scene.model, scene.state)
    permits = "" if session is None else f"{_session(session)}, "
    return f"{scene.model.history.unit} {epoch}, {_computed(scene)}, {rest}, {permits}{verdict}"


STATUS = Panel("status", "Status", draw_status, status_text, still=True)
