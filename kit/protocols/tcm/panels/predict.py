"""Predictions on the epoch protocol: which rows does this commit change?"""

from __future__ import annotations

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.placement import large, lines
from kit.views.panel import Scene
from kit.views.question import MOST, Question


def question(scene: Scene) -> Question | None:
    """Ask, for every committed epoch, whose replicas change; the tables give the answer."""
    if scene.action is None or scene.milestone is None:
        return None
    name = facts.keyspaces(scene.model)[0]
    if large(scene, name):
        return None
    rows = lines(scene, name)
    focus = facts.focus(scene.model)
    if focus is not None:
        rows = [
            line for line in rows if focus.left <= line.row.left and line.row.right <= focus.right
        ]
    offered = [(line, side) for side in ("reads", "writes") for line in rows]
    right = [(line, side) for line, side in offered if getattr(line, side).any]
    if len(right) > MOST or not rows:
        return None
    if len(offered) > MOST:
        others = [pair for pair in offered if pair not in right]
        kept = [*right, *others[: MOST - len(right)]]
        offered = [pair for pair in offered if pair in kept]
    answers = tuple(f"{side} of {line.row.label}" for line, side in right)
    changed = (
        "; ".join(
            f"{side} of {line.row.label} become {getattr(line, side).text()}"
            for line, side in right
        )
        or "no replicas change"
    )
    return Question(
        f"Before you look: {scene.milestone}, {scene.model.label(scene.before, scene.action)}. "
        "Whose replicas change?",
        tuple(f"{side} of {line.row.label}" for line, side in offered),
        answers,
        f"In {scene.milestone}, {changed}.",
        things=tuple(line.key for line, _ in offered),
    )
