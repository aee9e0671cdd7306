"""A question on a schema by gossip; the model answers it."""

from __future__ import annotations

from kit.engine.timeline import Timeline
from kit.errors import KitError
from kit.lessons.questions import PosedQuestion, copied
from kit.lessons.stills import still
from kit.protocols.gossip.facts import moment as facts
from kit.protocols.gossip.gossip import Gossip, agreed
from kit.views.question import Question


def overwritten(timeline: Timeline) -> PosedQuestion:
    """Which changes that clients were told are done are overwritten once all nodes agree?

    From here on the default schedule is followed until all nodes have one version.

    Raises:
        KitError: where the model is no schema by gossip, or the nodes cannot agree from here.
    """
    model = timeline.model
    if not isinstance(model, Gossip):
        raise KitError("predict: this question is about a schema by gossip")
    ahead = copied(timeline)
    while not agreed(ahead.state):
        if ahead.forward() is None:
            raise KitError("predict: from here the nodes do not come to one version")
    rows = [row for row in facts.changes(model, ahead.state) if row.timestamp is not None]
    said = ", ".join(f"{row.text} has timestamp {row.timestamp}" for row in rows)
    question = Question(
        "Gossip goes on until all nodes have one version. Which changes are overwritten then?",
        tuple(row.text for row in rows),
        tuple(row.text for row in rows if row.overwritten),
        f"The newer timestamp stays: {said}." if rows else "No change has been done.",
    )
    return PosedQuestion(question, still(ahead, "schemas"))
