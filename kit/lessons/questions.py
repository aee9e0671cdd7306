"""Questions on a step that is still hidden, and on a model as a whole. The model answers each.

A question is a function of a timeline (and of what it asks about). It looks ahead on a copy, so
that what the learner sees stays where it is. Anyone may write another: what it returns is made by
``posed``. Families add questions of their own.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput, KitError, counted
from kit.lessons.replays import broken_run, guards_goals, verbs_to
from kit.lessons.stills import Still, scene_of, still
from kit.model.model import Model
from kit.model.patience import ended_after
from kit.model.registry import check_one_of, entry_for, made_again
from kit.model.timeline import Timeline
from kit.search.check import Result, check
from kit.search.search import DEADLOCK, STUCK
from kit.views.panel import is_shown
from kit.views.question import Question, coming
from kit.views.registry import for_model

M = TypeVar("M", bound=Model[Any, Any])


def model_of(timeline: Timeline, kind: type[M], what: str = "") -> M:
    """A timeline's model, of this kind. Raises BadInput for another; ``what`` names the kind."""
    if not isinstance(timeline.model, kind):
        raise BadInput("model", timeline.model.name, what or f"the model {kind.name}")
    return timeline.model


_MOST = 100_000  # states of a search that a question may take
_SECONDS = 10.0  # of computing for it
_OFFERED = 4
SHORTEST = "The shortest run that breaks one: {verbs}. {broken}"


class PosedQuestion(Struct, frozen=True):
    """A question with its answer, and a picture of the moment that settles it."""

    question: Question
    evidence: Still | None = None


def posed(
    text: str,
    choices: Iterable[str],
    right: Iterable[str],
    because: str,
    evidence: Still | None = None,
    *,
    reasons: Iterable[str] = (),
) -> PosedQuestion:
    """A question, what it offers (each once), what of that is right, and the reason.

    ``evidence`` is a picture of the moment that settles it; ``reasons`` say more than ``because``.
    """
    offered, true = tuple(dict.fromkeys(choices)), tuple(dict.fromkeys(right))
    return PosedQuestion(Question(text, offered, true, because, tuple(reasons)), evidence)


def changes(timeline: Timeline) -> PosedQuestion:
    """What does the step to the next milestone change? Where none comes: what does the next step?

    Raises KitError when no step comes, or nothing can be asked about it.
    """
    ahead = copied(timeline)
    ahead.to_milestone()
    if ahead.now.milestone is None:
        ahead = copied(timeline)
        ahead.forward()
    if ahead.at == timeline.at:
        raise KitError("predict: no next step to ask about")
    views = for_model(ahead.model)
    scene = scene_of(ahead)
    former, panels = scene.former(), [each for each in views.panels if is_shown(each, scene)]
    moved = [each.name for each in panels if former and each.text(former) != each.text(scene)]
    if (question := views.asks(scene, panels, moved, anywhere=True)) is None:
        verb = ahead.model.verb(ahead.now.action)
        raise KitError(f"predict: nothing can be asked about the step that comes: {verb}")
    behind = len(ahead.path()) - len(timeline.path()) - 1
    text = question.text.replace(coming(scene), coming(scene, behind))
    return PosedQuestion(replace(question, text=text), still(ahead, *views.evidence))


def allowed(timeline: Timeline, *kinds: str) -> PosedQuestion:
    """Which of the actions that one could think of may happen now?

    ``kinds`` are groups of actions (``commit``, ``stream``, …); left out, those that
    the model's views name.

    Raises KitError when there is nothing to choose from.
    """
    model, state = timeline.model, timeline.state
    wanted = kinds or for_model(model).offered or tuple(rule.kind for rule in model.rules)
    options = [option for option in model.options(state) if model.kind(option[0]) in wanted]
    free = [model.label(state, action) for action, why in options if why is None]
    barred = {model.label(state, action): why.reason for action, why in options if why is not None}
    if not free and not barred:
        raise KitError("predict: no action to try here")
    return posed(
        "Which of these can happen now?",
        sorted({*free, *barred}),
        free,
        f"Possible now: {listed(free)}.",
        reasons=[f"{label}: {why}" for label, why in barred.items()],
    )


def breaks(timeline: Timeline, safeguard: str) -> PosedQuestion:
    """Which property breaks first when a safeguard is switched off?

    The answer is the shortest run that breaks one, found by search in the safeguard's smallest
    configuration.

    Raises BadInput for a safeguard that the model does not have.
    Raises KitError when no run breaks anything.
    """
    model = timeline.model
    safeguards = (entry_for(model) or model).safeguards
    known = {word: each for each in safeguards for word in (each.name, each.id)}
    check_one_of("safeguard", safeguard, known)
    missing = known[safeguard]
    smallest = made_again(model, missing.smallest, (missing.name,))
    if (run := broken_run(smallest)) is None:
        unseen = "; goals were not judged" if guards_goals(smallest, missing) else ""
        raise KitError(f"predict: without {missing.id}, no run breaks any property{unseen}")
    verdicts = run.verdicts()
    broken = [verdict for verdict in verdicts if not verdict.ok]
    stuck = () if broken else (STUCK,)  # the run ends where nothing is possible any more
    return posed(
        f"{missing.id} is off: “{missing.title}”. Which property breaks first?",
        [*(verdict.title for verdict in verdicts), *stuck],
        [*(verdict.title for verdict in broken), *stuck],
        SHORTEST.format(
            verbs=listed(verbs_to(run)),
            broken=" ".join(f"{verdict.title}: {verdict.witness}." for verdict in broken)
            or f"{STUCK}.",
        ),
        still(run, *for_model(run.model).evidence, "lamps"),
    )


def fails(timeline: Timeline) -> PosedQuestion:
    """Which property or monitor breaks first, when every run of the model is searched?

    Raises KitError when the model is too large to be searched here.
    """
    model = timeline.model
    result = _searched(model)
    violation = result.violation
    judged: list[Any] = [p for p in model.properties if p.kind in ("always", "step", "goal")]
    titles = {each.name: each.title for each in [*judged, *model.monitors]}
    text = f"{model.title}: every run is searched. Which of these breaks first?"
    if model.rests_at_goals:
        titles[DEADLOCK] = "It comes to rest where no goal holds"
    if violation is None:
        none = "The search is complete: no run breaks any of them."
        beyond = f"Nothing was searched beyond a bound of the model ({result.bound})."
        bounded = f"No run breaks any of them. {beyond}"
        return posed(text, titles.values(), (), bounded if result.bound else none)
    run = Timeline.along(model, violation.actions)
    verbs = ", ".join(verbs_to(run)) or "the start itself"
    because = SHORTEST.format(verbs=verbs, broken=f"{violation.witness}.")
    return posed(
        text,
        titles.values(),
        [t for name, t in titles.items() if name == violation.property],
        because,
        _picture(run),
    )


def shortest(timeline: Timeline) -> PosedQuestion:
    """How many steps has the shortest run that breaks something?

    Raises KitError when no run breaks anything, or the model is too large.
    """
    model = timeline.model
    result = _searched(model)
    if (violation := result.violation) is None:
        beyond = f"; nothing was searched beyond a bound of it ({result.bound})"
        beyond = beyond if result.bound else ""
        raise KitError(f"predict: no run of {model.name} breaks anything{beyond}")
    run, steps = Timeline.along(model, violation.actions), len(violation.actions)
    first = max(1, steps - 2)
    return posed(
        f"{model.title}: a promise can be broken. In how few steps?",
        map(str, range(first, first + _OFFERED)),
        [str(steps)],
        f"{steps}: {', '.join(verbs_to(run))}. {violation.witness}.",
        _picture(run),
    )


def how_many(timeline: Timeline) -> PosedQuestion:
    """How many states can the model be in, whatever they break?

    Raises KitError when the model is too large, has a bound, or rests where no goal holds: then not
    all of them are counted.
    """
    model = timeline.model
    result = _searched(model, judged=())
    if result.verdict in ("bounded", "violated"):
        why = f"it is bounded by {result.bound}" if result.bound else "it rests where no goal holds"
        raise KitError(f"predict: not all states of {model.name} are counted: {why}")
    choices = sorted({result.states, result.transitions, result.depth + 1, 2 * result.states})
    return posed(
        f"{model.title}: in how many different states can it be?",
        [f"{n:,}" for n in choices],
        [f"{result.states:,}"],
        f"The search visits {counted(result.states, 'state')} through "
        f"{counted(result.transitions, 'step')}. The state furthest from the start is "
        f"{counted(result.depth, 'step')} away.",
    )


def _picture(run: Timeline) -> Still:
    names = [panel.name for panel in for_model(run.model).panels if panel.still]
    return still(run, *dict.fromkeys([*names, "lamps"]))


def _searched(model: Model[Any, Any], judged: tuple[()] | None = None) -> Result:
    with ended_after(_SECONDS) as is_over:
        result = check(model, judged, monitors=judged, max_states=_MOST, past_costs=False)
    if result.interrupted and not is_over():  # by a keyboard
        raise KeyboardInterrupt
    if result.violation is None and not result.complete:
        if result.short:
            raise KitError(f"predict: {model.name} needs more memory than there is")
        most = f"{_MOST:,} states, or more than can be searched in {_SECONDS:g} seconds"
        raise KitError(f"predict: {model.name} has more than {most}")
    return result


def copied(timeline: Timeline, to: int | None = None) -> Timeline:
    """The same way to the same moment, or ``to`` another one, to look ahead from."""
    copy = Timeline(timeline.model, timeline.script)
    for moment in timeline.path(timeline.at if to is None else to)[1:]:
        copy.do(timeline.moments[moment].action, model=timeline.model_at(moment))
    return copy


def listed(words: Iterable[str]) -> str:
    """Words with commas between them."""
    return ", ".join(words) or "nothing"
