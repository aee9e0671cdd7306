"""Questions on a step that is still hidden, and on a model as a whole. The model answers each.

A question is a function of a timeline (and of what it asks about). It looks ahead on a copy, so
that what the learner sees stays where it is. Anyone may write another: what it returns is an
``PosedQuestion``. Families add questions of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec import Struct

from kit.engine.check import Result, check
from kit.engine.model import Model
from kit.engine.registry import build, entry_of, one_of
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.replays import shortest_breach
from kit.lessons.stills import Still, scene_of, still
from kit.views.question import Question
from kit.views.registry import for_model

M = TypeVar("M", bound=Model[Any, Any])


def model_of(timeline: Timeline, kind: type[M], what: str) -> M:
    """The model of a timeline, where it must be of this kind; ``what`` names it to people.

    Raises:
        BadInput: when it is another.
    """
    if not isinstance(timeline.model, kind):
        raise BadInput("model", timeline.model.name, what)
    return timeline.model


_MOST = 100_000  # states of a search that a question may take
_OFFERED = 4


class PosedQuestion(Struct, frozen=True):
    """A question with its answer, and a picture of the moment that settles it."""

    question: Question
    evidence: Still | None = None


def changes(timeline: Timeline) -> PosedQuestion:
    """Whose replicas does the next epoch change?

    Raises:
        KitError: when no epoch comes next.
    """
    ahead = copied(timeline)
    ahead.to_milestone()
    scene = scene_of(ahead)
    question = None if ahead.now.milestone is None else for_model(ahead.model).question(scene)
    if question is None:
        raise KitError("predict: nothing comes next that this question could be about")
    return PosedQuestion(question, still(ahead, *for_model(ahead.model).evidence))


def allowed(timeline: Timeline, *kinds: str) -> PosedQuestion:
    """Which of the actions that one could think of may happen now?

    ``kinds`` are groups of actions (``commit``, ``stream``, …); left out, those that
    the model's views name.

    Raises:
        KitError: when there is nothing to choose from.
    """
    model, state = timeline.model, timeline.state
    wanted = kinds or for_model(model).offered or tuple(rule.kind for rule in model.rules)
    options = [option for option in model.options(state) if model.kind(option[0]) in wanted]
    free = [model.label(state, action) for action, why in options if why is None]
    barred = {model.label(state, action): why.reason for action, why in options if why is not None}
    if not free and not barred:
        raise KitError("predict: nobody could think of doing anything here")
    reasons = [f"{label}: {why}" for label, why in barred.items()]
    return PosedQuestion(
        Question(
            "Which of these may happen now?",
            tuple(sorted({*free, *barred})),
            tuple(dict.fromkeys(free)),
            f"Possible now: {listed(free)}.",
            tuple(reasons),
        )
    )


def breaks(timeline: Timeline, safeguard: str) -> PosedQuestion:
    """Which property breaks first when a safeguard is switched off?

    The answer is the shortest run that breaks one, found by search in the safeguard's smallest
    configuration.

    Raises:
        BadInput: for a safeguard that the model does not have.
        KitError: when no run breaks anything.
    """
    entry = entry_of(timeline.model.name)
    known = {word: each for each in entry.safeguards for word in (each.name, each.id)}
    if safeguard not in known:
        raise BadInput("safeguard", safeguard, one_of(safeguard, list(known)))
    missing = known[safeguard]
    run = Timeline(build(entry.name, missing.smallest, (missing.name,)))
    violation = shortest_breach(run.model).violation
    if violation is None:
        raise KitError(f"predict: without {missing.id} no run breaks any property")
    for action in violation.actions:
        run.do(action)
    broken = [verdict for verdict in run.verdicts() if not verdict.ok]
    verbs = listed(run.model.verb(action) for action in violation.actions)
    question = Question(
        f"{missing.id} is off: “{missing.title}”. Which property breaks first?",
        tuple(verdict.title for verdict in run.verdicts()),
        tuple(verdict.title for verdict in broken),
        f"The shortest run that breaks one: {verbs}. "
        + " ".join(f"{verdict.title}: {verdict.witness}." for verdict in broken),
    )
    return PosedQuestion(question, still(run, *for_model(run.model).evidence, "lamps"))


def fails(timeline: Timeline) -> PosedQuestion:
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
        return PosedQuestion(
            Question(text, tuple(titles), (), "The search is complete: no run breaks any.")
        )
    run = Timeline.along(model, violation.actions)
    verbs = ", ".join(model.verb(action) for action in violation.actions) or "the start itself"
    right = tuple(t for t, name in zip(titles, names, strict=True) if name == violation.property)
    because = f"The shortest run that breaks one: {verbs}. {violation.witness}."
    return PosedQuestion(Question(text, tuple(titles), right, because), _picture(run))


def shortest(timeline: Timeline) -> PosedQuestion:
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
    return PosedQuestion(question, _picture(Timeline.along(model, violation.actions)))


def how_many(timeline: Timeline) -> PosedQuestion:
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
    return PosedQuestion(question)


def _picture(run: Timeline) -> Still:
    """The panels that stay, and the lamps."""
    names = [panel.name for panel in for_model(run.model).panels if panel.still]
    return still(run, *dict.fromkeys([*names, "lamps"]))


def _searched(timeline: Timeline) -> Result:
    result = check(timeline.model, max_states=_MOST)
    if result.violation is None and not result.complete:
        raise KitError(f"predict: {timeline.model.name} has more than {_MOST:,} states")
    return result


def copied(timeline: Timeline) -> Timeline:
    """The same way to the same moment, to look ahead from."""
    copy = Timeline(timeline.model, timeline.script)
    for moment in timeline.path(timeline.at)[1:]:
        copy.do(timeline.moments[moment].action)
    return copy


def listed(words: Iterable[str]) -> str:
    """Words with commas between them."""
    return ", ".join(words) or "nothing"
