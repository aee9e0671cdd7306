"""Predictions on group 0: what becomes of the command that was just committed?"""

from __future__ import annotations

from kit.protocols.group0.actions import CommitCommand
from kit.protocols.group0.facts import moment as facts
from kit.views.panel import Scene
from kit.views.question import Question

EFFECT, NOTHING = "it takes effect on every node", "it does nothing on any node"


def question(scene: Scene) -> Question | None:
    """Ask at each commit whether the command will take effect; the history gives the answer."""
    if not isinstance(scene.action, CommitCommand):
        return None
    entry = facts.entries(scene.model, scene.state)[-1]
    rows = [row.new for row in facts.entries(scene.model, scene.before) if row.effective]
    newest = rows[-1] if rows else 0
    built = "any state" if entry.previous is None else f"state {entry.previous}"
    return Question(
        f"{entry.text} of {entry.creator}, built on {built}, is committed. What becomes of it?",
        (EFFECT, NOTHING),
        (EFFECT if entry.effective else NOTHING,),
        f"The newest state before it is {newest}; it was built on {built}.",
    )
