"""Exercises whose answer is a run: a list of verbs, replayed step by step on the model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from kit.errors import Refused, counted
from kit.lessons.tasks import Case, Marks, Task
from kit.model.model import Model, Safeguard
from kit.model.registry import build, model_names, scenario_of
from kit.model.timeline import PassedStep, Timeline
from kit.search.check import Result, check
from kit.search.fuzz import Chance, least

Goal = Callable[[Timeline], str | None]
"""What a run must meet: it says what is missing, None: nothing."""
Goals = tuple[Goal, ...]


class Ground(Struct, frozen=True):
    """The setting of a run: a scenario's ring (or a model as it is), budgets, safeguards off."""

    scenario: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    off: tuple[str, ...] = ()

    def model(self) -> Model[Any, Any]:
        """The model to replay on."""
        if self.scenario in model_names():
            return build(self.scenario, self.extra, self.off)
        entry, scenario = scenario_of(self.scenario)
        return build(entry.name, {**scenario.parameters, **self.extra}, self.off or scenario.off)


def broken(timeline: Timeline) -> set[str]:
    """The promises that the run has broken, at its end or on the way."""
    now = {verdict.name for verdict in timeline.verdicts() if not verdict.ok}
    return now | {breach.name for breach in timeline.breaches(timeline.at)}


def after_its_steps(timeline: Timeline) -> str:
    """How a message on a whole run begins: ``After 3 steps``."""
    return f"After {counted(len(timeline.path()) - 1, 'step')},"


def ends(holds: Callable[[Any], bool], otherwise: str) -> Goal:
    """The goal that something holds of the state in which a run ends."""
    return lambda timeline: None if holds(timeline.state) else otherwise


def takes(wanted: Callable[[Any, PassedStep], bool], otherwise: str) -> Goal:
    """The goal that a run takes a step that is ``wanted``, by the model and that step."""
    return lambda timeline: (
        None if any(wanted(timeline.model, step) for step in timeline.passed()) else otherwise
    )


def breaking(promise: str, otherwise: str) -> Goal:
    """The goal that a run breaks a promise; else the number of its steps, and what they miss."""
    return lambda timeline: (
        None if promise in broken(timeline) else f"{after_its_steps(timeline)} {otherwise}"
    )


def replay(ground: Ground, verbs: list[str]) -> tuple[Timeline, str | None]:
    """Do the verbs one after the other; with the word on the first that cannot be done."""
    timeline = Timeline(ground.model())
    model = timeline.model
    for number, verb in enumerate(verbs, start=1):
        if (option := model.find(timeline.state, verb.strip())) is None:
            free = ", ".join(model.verb(action) for action in model.actions(timeline.state))
            none = "there is no such action"
            return timeline, f"Step {number}, {verb!r}: {none}. Possible now: {free}."
        try:
            timeline.do(option[0])
        except Refused as refused:
            return timeline, f"Step {number}, {verb!r}, is refused: {refused}."
    return timeline, None


class ReplayJudge(Struct, frozen=True):
    """Replays a run on its ground and then asks for every goal; a goal says what is missing.

    ``known`` is a run that meets them, where none is found in reasonable time.
    """

    ground: Ground
    goals: Goals
    known: tuple[str, ...] = ()

    def __call__(self, verbs: list[str]) -> Marks:
        """Judge a run, given as verbs."""
        timeline, stopped = replay(self.ground, verbs)
        if stopped is not None:
            return Marks((Case(False, stopped), *(Case(False, "") for _ in self.goals[1:])))
        missing = [goal(timeline) for goal in self.goals]
        return Marks(tuple(Case(text is None, text or "") for text in missing))

    def answers(self) -> tuple[str, ...]:
        """A run that meets the goals, in a line; nothing where walks found none."""
        verbs = self.solved()
        return (", ".join(verbs),) if verbs else ()

    def solved(self) -> tuple[str, ...]:
        """The verbs of that run, one by one."""
        return self.known or run_to(self.ground.model(), self.goals) or ()


def run_task(
    name: str,
    title: str,
    text: str,
    hint: str,
    ground: Ground,
    *goals: Goal,
    known: tuple[str, ...] = (),
) -> Task:
    """An exercise that asks for a run on a ground which meets every goal."""
    return Task(name, title, text, "verbs", hint, ReplayJudge(ground, goals, known))


def verbs_to(timeline: Timeline) -> tuple[str, ...]:
    """The verbs on the way to the moment that a timeline looks at."""
    steps = timeline.path(timeline.at)[1:]
    return tuple(timeline.model.verb(timeline.moments[at].action) for at in steps)


def shortest_breach(model: Model[Any, Any], most: int | None = None) -> Result:
    """A search of at most so many states for a run whose last moment shows what is broken.

    No state shows that a *goal* is lost, so that goals are left out.
    """
    shown = tuple(prop for prop in model.properties if prop.kind != "goal")
    return check(model, shown, monitors=model.monitors, max_states=most, past_costs=False)


def guards_goals(model: Model[Any, Any], safeguard: Safeguard) -> bool:
    """Whether a safeguard protects a goal, too, which such a search does not judge."""
    goals = (each for each in model.properties if each.kind == "goal")
    return any(name in safeguard.protects for each in goals for name in (each.name, each.invariant))


def broken_run(model: Model[Any, Any], most: int | None = None) -> Timeline | None:
    """The run that such a search finds, at its last moment; None: it finds none."""
    violation = shortest_breach(model, most).violation
    return None if violation is None else Timeline.along(model, violation.actions)


# -- a run that does what an exercise asks for -----------------------------------------------------

# Where a safeguard is off it may be the shortest run that breaks a promise. Else walks follow the
# model's own schedule and leave it now and then; the first that meets every goal is made small.
# Where none does, walks go one goal after the other: from the end of one that met some on to one
# that meets more.

LONGEST = 90  # steps of a walk
SEEDS, LEAVES = 400, (0.05, 0.12, 0.25, 0.5)
"""How many walks to the goals there are, and how often they leave the schedule, in turn."""
MORE_SEEDS, MORE_LEAVES = 3000, (0.3, 0.6, 0.9)
"""The same of walks from one goal to the next."""


def run_to(model: Model[Any, Any], goals: Goals) -> tuple[str, ...] | None:
    """The verbs of a run that meets every goal and needs each of its steps; None: none was found.

    The same model and goals give the same run on every machine.
    """
    broken = broken_run(model) if model.off else None
    if broken is not None and _count(goals, broken) == len(goals):
        return verbs_to(broken)
    walks = (_walk(model, goals, (), len(goals), seed, LEAVES) for seed in range(SEEDS))
    actions = next(filter(None, walks), None) or _one_by_one(model, goals)
    if actions is None:
        return None
    small = least(actions, lambda some: _meeting(model, goals, some))
    return tuple(model.verb(action) for action in small)


def _one_by_one(model: Model[Any, Any], goals: Goals) -> Any:
    begun, met = (), _count(goals, Timeline(model))
    for seed in range(MORE_SEEDS):
        if (walk := _walk(model, goals, begun, met + 1, seed, MORE_LEAVES)) is not None:
            begun, met = walk, _count(goals, Timeline.along(model, walk))
            if met == len(goals):
                return begun
    return None


def _walk(
    model: Model[Any, Any],
    goals: Goals,
    begun: Sequence[Any],
    wanted: int,
    seed: int,
    leaves: Sequence[float],
) -> Any:
    """The actions of a walk up to the first moment at which so many goals are met; None: never."""
    timeline, chance, share = Timeline.along(model, begun), Chance(seed), leaves[seed % len(leaves)]
    while len(timeline.moments) <= LONGEST:
        if not (options := list(model.actions(timeline.state))):
            return None
        if (suggested := model.suggest(timeline.state)) is None or chance.under(share):
            kind = chance.pick(tuple(dict.fromkeys(map(model.kind, options))))
            some = [action for action in options if model.kind(action) == kind]
            suggested = some[chance.below(len(some))]
        timeline.do(suggested)
        if _count(goals, timeline) >= wanted:
            return tuple(moment.action for moment in timeline.moments[1:])
    return None


def _count(goals: Goals, timeline: Timeline) -> int:
    return sum(goal(timeline) is None for goal in goals)


def _meeting(model: Model[Any, Any], goals: Goals, actions: Sequence[Any]) -> Any:
    timeline = Timeline(model)
    for action in actions:
        if model.refusal(timeline.state, action) is None:
            timeline.do(action)
    done = tuple(moment.action for moment in timeline.moments[1:])
    return done if _count(goals, timeline) == len(goals) else None
