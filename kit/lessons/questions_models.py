"""Questions on a model as a whole: what a search of it will say. The search itself answers."""

from __future__ import annotations

from kit.engine.check import Result, check
from kit.engine.timeline import Timeline
from kit.errors import KitError
from kit.lessons.questions import Asked
from kit.lessons.stills import Still, still
from kit.views.question import Question
from kit.views.registry import for_model

_MOST = 100_000  # states of a search that a question may take
_OFFERED = 4


def fails(timeline: Timeline) -> Asked:
    """Which property or monitor breaks first, when every run of the model is searched?

    Raises:
        KitError: when the model is too large to be searched here.
    """
    model = timeline.model
    violation = _searched(timeline).violation
    judged = [p for p in model.properties if p.kind in ("always", "step", "goal")]
    titles = [prop.title for prop in judged] + [monitor.title for monitor in model.monitors]
    names = [prop.name for prop in judged] + [monitor.name for monitor in model.monitors]
    text = f"{model.title}: every run is searched. Which of these breaks first?"
    if violation is None:
        return Asked(
            Question(text, tuple(titles), (), "The search is complete: no run breaks any.")
        )
    run = Timeline.along(model, violation.actions)
    verbs = ", ".join(model.verb(action) for action in violation.actions) or "the start itself"
    right = tuple(t for t, name in zip(titles, names, strict=True) if name == violation.property)
    because = f"The shortest run that breaks one: {verbs}. {violation.witness}."
    return Asked(Question(text, tuple(titles), right, because), _picture(run))


def shortest(timeline: Timeline) -> Asked:
    """How many steps has the shortest run that breaks something?

    Raises:
        KitError: when no run breaks anything, or the model is too large.
    """
    model = timeline.model
    violation = _searched(timeline).violation
    if violation is None:
        raise KitError(f"predict: no run of {model.name} breaks anything")
    steps = len(violation.actions)
    first = max(1, steps - 2)
    verbs = ", ".join(model.verb(action) for action in violation.actions)
    question = Question(
        f"{model.title}: something can be broken. In how few steps?",
        tuple(str(n) for n in range(first, first + _OFFERED)),
        (str(steps),),
        f"{steps}: {verbs}. {violation.witness}.",
    )
    return Asked(question, _picture(Timeline.along(model, violation.actions)))


def how_many(timeline: Timeline) -> Asked:
    """How many states can the model be in?

    Raises:
        KitError: when the model is too large.
    """
    model = timeline.model
    result = _searched(timeline)
    choices = sorted({result.states, result.transitions, result.depth + 1, 2 * result.states})
    question = Question(
        f"{model.title}: in how many different states can it be?",
        tuple(f"{n:,}" for n in choices),
        (f"{result.states:,}",),
        f"The search visits {result.states:,} states, by {result.transitions:,} steps; the state "
        f"furthest from the start is {result.depth} steps away.",
    )
    return Asked(question)


def _picture(run: Timeline) -> Still:
    """The panels that stay, and the lamps."""
    names = [panel.name for panel in for_model(run.model).panels if panel.still]
    return still(run, *dict.fromkeys([*names, "lamps"]))


def _searched(timeline: Timeline) -> Result:
    result = check(timeline.model, max_states=_MOST)
    if result.violation is None and not result.complete:
        raise KitError(f"predict: {timeline.model.name} has more than {_MOST:,} states")
    return result
