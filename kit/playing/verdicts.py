"""What a search found, in words: of which configuration, by which run, what it judged."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from kit.errors import BadInput, KitError, counted
from kit.model.model import Model
from kit.model.patience import patient
from kit.model.timeline import Timeline
from kit.model.vet import rules_of
from kit.search.check import Result, Violation
from kit.search.search import DEADLOCK, LOST, may_rest, out_of_reach
from kit.views.dangers import written
from kit.views.fragment import Frag, h

MOST_STATES = 500_000
LARGEST_BOUND = 20_000_000
MOST_VERBS = 60
FEW = 100
"""States in which a run's goals are looked for when it is opened: nobody waits for them."""
WHOLE = "complete: no violation"


def verdict(model: Model[Any, Any], result: Result) -> str:
    """The verdict of a search, in one or two sentences."""
    seen = counted(result.states, "state")
    if result.violation is not None:
        steps = counted(len(result.violation.actions), "step")
        return f"Broken after {steps} (the shortest run; {seen} searched)."
    if result.interrupted:
        at_work = f" The search stopped in {result.at_work}." if result.at_work else ""
        return stopped(result.states) + at_work
    if not result.complete:
        reached = f"The search is not complete: it reached its bound of {seen}."
        advice = "Raise the bound, or use a smaller configuration."
        return f"{reached} It found no violation, but nothing is proven. {advice}"
    unreached = ", ".join(result.unreached)
    never = f" Never reached: {unreached}." if unreached else ""
    if result.sentence != WHOLE:
        return f"{seen}: {result.sentence}.{never}"
    return f"Complete: {seen}, no violation." + never


def check_bound(most: int) -> None:
    """Raises BadInput for a number of states that no search looks at."""
    if not 1 <= most <= LARGEST_BOUND:
        raise BadInput("states at most", most, f"1 to {LARGEST_BOUND:,}")


def ending(model: Model[Any, Any], violation: Violation) -> str:
    """The part that a picture of its last state does not show: that a goal is lost from there on.

    Nothing of a violation that is something else.
    """
    if violation.property != DEADLOCK and violation.witness != LOST:
        return ""
    return _ended(model, violation.property, Timeline.along(model, violation.actions).state)


def end_of(timeline: Timeline) -> str:
    """The same of a run that is opened at its end, and breaks nothing, as a small search tells."""
    model, state = timeline.here, timeline.state
    if 0 < timeline.at == timeline.tip and not timeline.script:
        with suppress(KitError), patient():
            if timeline.breaches(timeline.at):
                return ""
            if _stands(model, state) and not may_rest(model, state):
                return _ended(model, DEADLOCK, state)
            goals = (prop for prop in model.properties if prop.kind == "goal")
            rules = rules_of(model)
            for goal in goals:
                if out_of_reach(model, rules, goal, state, FEW):
                    return _ended(model, goal.name, state)
    return ""


def _stands(model: Model[Any, Any], state: Any) -> bool:
    return next(model.actions(state), None) is None


def _ended(model: Model[Any, Any], name: str, last: Any) -> str:
    if cost := model.known_cost(name, last):
        return f"{_title(model, name)}: {cost.remark()}"
    if name == DEADLOCK:
        return "Nothing more can happen here, and no goal is reached: a deadlock."
    lost = f"From here this is out of reach: {_title(model, name)}."
    if _stands(model, last):
        return f"{lost} Nothing more can happen."
    return f"{lost} Steps go on, but none that is sure to happen leads there."


def stopped(states: int) -> str:
    """The sentence on a search that somebody stopped after so many states."""
    seen = counted(states, "state")
    return f"Stopped after {seen}: no violation so far, but nothing is proven."


def stopped_box(model: Model[Any, Any], states: int) -> Frag:
    """The box of a search that was stopped before it had a result of its own to tell."""
    return h("div", _judged(model, "…", stopped(states)), class_="kit-found", role="status")


def _judged(model: Model[Any, Any], sign: str, sentence: str, budgets: str = "") -> Frag:
    off = ", ".join(safeguard.id for safeguard in model.safeguards if safeguard.name in model.off)
    which = " with every safeguard on" if model.safeguards else ""
    which = f" without {off}" if off else which
    return h("p", h("strong", f"{sign} {sentence}"), f" ({model.name}{which}{budgets})")


def outcome_box(model: Model[Any, Any], result: Result) -> Frag:
    """The box: what was found in which configuration, by which run; what was judged, what not."""
    broken = result.broken
    sign = "✓" if result.sentence == WHOLE else "!" if result.violation else "…"
    parts: list[Frag] = [_judged(model, sign, verdict(model, result), result.scope.budgets)]
    if other := elsewhere(model, result):
        parts.append(h("p", other))
    if broken is not None:
        parts += [
            h("p", f"{_title(model, broken.property)}: ", h("strong", broken.witness)),
            h("p", "The run is now a branch of the history, shown at its last step:"),
            h("ol", [h("li", model.verb(action)) for action in broken.actions[:MOST_VERBS]]),
        ]
        if len(broken.actions) > MOST_VERBS:
            parts.append(h("p", f"and {counted(len(broken.actions) - MOST_VERBS, 'more step')}"))
    parts += [h("p", f"{each.property}: {each.remark}") for each in result.costs]
    parts += [h("p", line, class_="say") for line in result.scope.lines()]
    parts += [h("p", f"not judged: goal {name}", class_="say") for name in result.unjudged]
    parts += [h("p", f"not judged: live {name}", class_="say") for name in result.endless]
    return h("div", parts, class_="kit-found", role="status")


def elsewhere(model: Model[Any, Any], result: Result) -> str:
    """The place where a safeguard that is off is needed, if not here, and what holds without it."""
    if result.violation is not None:
        return ""
    here = _plain(model.parameters)
    off = [each for each in model.safeguards if each.name in model.off]
    said = [f"{each.id}: {kept.sentence}." for each in off for kept in each.kept]
    said += [
        f"{each.id} is needed in another scenario: {written(_plain(each.smallest)) or 'its own'}."
        for each in off
        if each.protects
        and any(here.get(name) != value for name, value in _plain(each.smallest).items())
    ]
    return " ".join(said)


def _plain(values: object) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(values))
    return plain


def _title(model: Model[Any, Any], name: str) -> str:
    promises: tuple[Any, ...] = (*model.properties, *model.monitors)
    known = ((each.invariant, each.title) for each in promises if each.name == name)
    invariant, title = next(known, ("", name))
    return f"{invariant} broken: {title}" if invariant else title
