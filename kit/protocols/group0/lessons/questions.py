"""Questions on group 0 and on discovery; the models answer each."""

from __future__ import annotations

from collections.abc import Callable

from kit.engine.actors import ActorState
from kit.engine.check import check
from kit.engine.model import sometimes
from kit.engine.timeline import Timeline
from kit.errors import KitError
from kit.lessons.questions import PosedQuestion, listed
from kit.lessons.stills import still
from kit.protocols.group0.discovery import Discovery, groups
from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.group0 import Group0
from kit.views.question import Question

_MOST = 100_000  # states of a search that a question may take


def effective(timeline: Timeline) -> PosedQuestion:
    """Which entries of the log take effect?

    Raises:
        KitError: where the model is not group 0, or nothing is committed.
    """
    model, state = timeline.model, timeline.state
    if not isinstance(model, Group0) or not len(state.log):
        raise KitError("predict: there is no log of group 0 with an entry here")
    rows = facts.entries(model, state)
    words = {row.index: f"index {row.index}: {row.text} of {row.creator}" for row in rows}
    chain = listed(f"{row.previous} → {row.new}" for row in rows if row.effective)
    question = Question(
        "Which entries of the log take effect, on every node that goes through them?",
        tuple(words.values()),
        tuple(words[row.index] for row in rows if row.effective),
        f"The states follow one another: {chain}. What was built on another state does nothing.",
    )
    return PosedQuestion(question, still(timeline, "history"))


def founders(timeline: Timeline) -> PosedQuestion:
    """Which nodes found a group, each in some run? Every run is searched.

    Raises:
        KitError: where the model is not discovery, or too large to be searched here.
    """
    model = timeline.model
    if not isinstance(model, Discovery):
        raise KitError("predict: this question is about discovery")
    founding = tuple(sometimes(name, name, _founded_by(name)) for name in model.contact_points)
    result = check(model, founding, max_states=_MOST)
    if not result.complete:
        raise KitError(f"predict: {model.name} has more than {_MOST:,} states")
    right = tuple(name for name in model.contact_points if name not in result.unreached)
    seeds = "; ".join(
        f"{name} knows {', '.join(point for point in points if point != name) or 'nobody'}"
        for name, points in model.contact_points.items()
    )
    question = Question(
        f"{seeds}. Which nodes may found a group 0, depending on the order of messages?",
        tuple(model.contact_points),
        right,
        f"Among all {result.states:,} states there is one for each of these: {listed(right)}.",
    )
    return PosedQuestion(question)


def _founded_by(name: str) -> Callable[[ActorState], bool]:
    return lambda s: name in groups(s)
