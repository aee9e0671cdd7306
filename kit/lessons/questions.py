"""Questions on a step that is still hidden. Every answer is computed from the model.

A question is a function of a timeline (and of what it asks about). It looks ahead on a copy, so
that what the learner sees stays where it is. Anyone may write another: what it returns is an
:class:`Asked`. Families add questions of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from kit.engine.check import check
from kit.engine.registry import build, entry_of, one_of
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.stills import Still, scene_of, still
from kit.views.actions import refusal_text
from kit.views.question import Question
from kit.views.registry import for_model


class Asked(Struct, frozen=True):
    """A question with its answer, and a picture of the moment that settles it."""

    question: Question
    evidence: Still | None = None


def changes(timeline: Timeline) -> Asked:
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
    return Asked(question, still(ahead, *for_model(ahead.model).evidence))


def allowed(timeline: Timeline, *kinds: str) -> Asked:
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
    barred = {
        model.label(state, action): refusal_text(why) for action, why in options if why is not None
    }
    if not free and not barred:
        raise KitError("predict: nobody could think of doing anything here")
    reasons = [f"{label}: {why}" for label, why in barred.items()]
    return Asked(
        Question(
            "Which of these may happen now?",
            tuple(sorted({*free, *barred})),
            tuple(dict.fromkeys(free)),
            " ".join([f"Possible now: {listed(free)}.", *reasons]),
        )
    )


def breaks(timeline: Timeline, safeguard: str) -> Asked:
    """Which property breaks first when a safeguard is switched off?

    The answer is the shortest run that breaks one, found by search in the safeguard's smallest
    configuration.

    Raises:
        BadInput: for a safeguard that the model does not have.
        KitError: when no run breaks anything.
    """
    entry = entry_of(timeline.model.name)
    known = {word: guard for guard in entry.safeguards for word in (guard.name, guard.id)}
    if safeguard not in known:
        raise BadInput("safeguard", safeguard, one_of(safeguard, list(known)))
    guard = known[safeguard]
    run = Timeline(build(entry.name, guard.smallest, (guard.name,)))
    violation = check(run.model).violation
    if violation is None:
        raise KitError(f"predict: without {guard.id} no run breaks any property")
    for action in violation.actions:
        run.do(action)
    broken = [verdict for verdict in run.verdicts() if not verdict.ok]
    verbs = listed(run.model.verb(action) for action in violation.actions)
    question = Question(
        f"{guard.id} is off: “{guard.title}”. Which property breaks first?",
        tuple(verdict.title for verdict in run.verdicts()),
        tuple(verdict.title for verdict in broken),
        f"The shortest run that breaks one: {verbs}. "
        + " ".join(f"{verdict.title}: {verdict.witness}." for verdict in broken),
    )
    return Asked(question, still(run, *for_model(run.model).evidence, "lamps"))


def copied(timeline: Timeline) -> Timeline:
    """The same way to the same moment, to look ahead from."""
    copy = Timeline(timeline.model, timeline.script)
    for moment in timeline.path(timeline.at)[1:]:
        copy.do(timeline.moments[moment].action)
    return copy


def listed(words: Iterable[str]) -> str:
    """Words with commas between them."""
    return ", ".join(words) or "nothing"
