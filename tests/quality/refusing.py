"""Each reason for which a rule of a model refuses, and what a search says without it.

``python -m tests.quality.refusing MODEL…`` prints the rows of ``refusals.txt`` as they are found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.model.model import Model, Rule
from kit.search.check import Result, check
from tests.quality.breaking import broken, lift_again, tables, unrefused
from tests.quality.unguarding import Cut, reason_of

Build = Callable[[], Model[Any, Any]]
Known = tuple[str, ...]
ROWS = Path(__file__).with_name("refusals.txt")
MOST = 6_000
MORE = 40_000


class Limited(Struct, frozen=True):
    """A configuration of which a search leaves out what lies beyond a bound, as nothing else ends
    it once a refusal is gone. Sound models never come to lie there.
    """

    make: Build
    inside: Callable[[Any], bool]

    def __call__(self) -> Model[Any, Any]:
        """The model itself."""
        return self.make()

    def limit(self, model: Model[Any, Any]) -> None:
        """No step of it leads beyond the bound; what is near it may not come to an end."""
        model.rests_at_goals = False
        model.properties = tuple(each for each in model.properties if each.kind != "goal")

        def limited(rule: Rule[Any, Any]) -> Rule[Any, Any]:
            @wraps(rule.outcome)
            def outcome(state: Any, given: Any) -> Any:
                end = rule.outcome(state, given)
                beyond = end is not None and not isinstance(end, Refusal) and not self.inside(end)
                return None if beyond else end

            return replace(rule, outcome=outcome)

        model.rules = tuple(map(limited, model.rules))


class Row(Struct, frozen=True):
    """What becomes of a model without one reason for which a rule refuses.

    ``end`` is the property that ``breaks``; ``harmless`` is a complete search of so many states in
    the configuration of that number; ``together``: what follows it in the same guard refuses still,
    and without that, too, the property ``end`` breaks; ``undefined``: the step has no effect to
    speak of (the error that it ends in); ``budget``: what is refused is one more of a number that
    a run may have.
    """

    model: str
    action: str
    reason: str
    verdict: str
    configuration: int
    end: str
    why: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The rule and its reason."""
        return self.action, self.reason

    @property
    def line(self) -> str:
        """The row as the file has it."""
        parts = self.action, self.reason, self.verdict, str(self.configuration), self.end, self.why
        return " | ".join(part for part in parts if part)


ALL_PARTS = "a condition over all parts"
"""The reason of what a product adds to the rules of its parts; the action is its name."""


def read_rows() -> dict[str, list[Row]]:
    """The rows of the file, by model."""
    found: dict[str, list[Row]] = {}
    model = ""
    for line in ROWS.read_text("utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            model = line[1:-1]
        elif line and not line.startswith("#"):
            action, reason, verdict, number, end, *why = line.split(" | ")
            row = Row(model, action, reason, verdict, int(number), end, *why)
            found.setdefault(model, []).append(row)
    return found


def refused(model: Model[Any, Any], most: int) -> set[tuple[str, str]]:
    """The reasons for which rules of a model refuse anything in a search of so many states."""
    found: set[tuple[str, str]] = set()

    def noting(rule: Rule[Any, Any]) -> Rule[Any, Any]:
        @wraps(rule.outcome)
        def outcome(state: Any, given: Any) -> Any:
            end = rule.outcome(state, given)
            if isinstance(end, Refusal):
                found.add((rule.action.__name__, reason_of(end)))
            return end

        return replace(rule, outcome=outcome)

    for part in tables(model):
        for rule in part.rules:
            broken(model, rule.action, noting)
    check(model, max_states=most)
    conditions = getattr(model, "_conditions", ())
    return found | {(each.__name__, ALL_PARTS) for each in conditions}


def without(model: Any, name: str) -> Any:
    """A product without one of the conditions over all of its parts."""
    model._conditions = tuple(c for c in model._conditions if c.__name__ != name)
    lift_again(model)
    return model


def search(
    make: Build, key: tuple[str, str], most: int, known: Known = (), *, wide: bool = False
) -> Result:
    """A search of the model in which one rule does not refuse for one reason.

    What the sound model breaks, too (``known``), is not judged. Where the cut is ``wide``, the
    guard that gives the reason is cut whole.
    """
    action, reason = key
    model = make()
    if reason == ALL_PARTS:
        model = without(model, action)
    else:
        rules = (rule for part in tables(model) for rule in part.rules)
        kind = next(rule.action for rule in rules if rule.action.__name__ == action)
        model = broken(model, kind, partial(unrefused, cut=Cut(reason, wide)))
    if isinstance(make, Limited):
        make.limit(model)
    return check(unjudged(model, known), max_states=most, past_costs=False)


def unjudged(model: Model[Any, Any], known: Known) -> Model[Any, Any]:
    """The model without some of its promises."""
    model.properties = tuple(each for each in model.properties if each.name not in known)
    model.monitors = tuple(each for each in model.monitors if each.name not in known)
    if "deadlock" in known:
        model.rests_at_goals = False
        model.properties = tuple(each for each in model.properties if each.kind != "goal")
    return model


@cache
def known_harm(make: Build) -> Known:
    """What the sound model breaks."""
    known: Known = ()
    while violation := check(unjudged(make(), known), max_states=MOST, past_costs=False).violation:
        known = (*known, violation.property)
    return known


def is_budget(reason: str) -> bool:
    """Whether it is a run that has no more of something."""
    return "budget" in reason or reason == "this run has no failures of work left"


def row_of(name: str, makes: tuple[Build, ...], key: tuple[str, str], where: list[int]) -> Row:
    """What searches say, in the configurations in which the rule refuses for that reason."""
    if is_budget(key[1]):
        return Row(name, *key, "budget", where[0], "-")
    ends: list[Row] = []
    for most in (MOST, MORE):
        for number in where:
            known = known_harm(makes[number])
            try:
                found = search(makes[number], key, most, known)
            except Exception as error:  # the effect is asked of a state that it has none for
                ends.append(Row(name, *key, "undefined", number, type(error).__name__))
                continue
            if found.violation:
                return Row(name, *key, "breaks", number, found.violation.property)
            verdict = "harmless" if found.complete else "open"
            ends.append(Row(name, *key, verdict, number, str(found.states)))
        if settled := [row for row in ends if row.verdict == "harmless"]:
            most_states = max(settled, key=lambda row: int(row.end))
            return together(name, makes, key, where) or most_states
        if any(row.verdict == "undefined" for row in ends):
            return next(row for row in ends if row.verdict == "undefined")
    return ends[-1]


def together(
    name: str, makes: tuple[Build, ...], key: tuple[str, str], where: list[int]
) -> Row | None:
    """Which promise breaks where the whole guard is cut that gives a reason."""
    for number in where:
        try:
            found = search(makes[number], key, MOST, known_harm(makes[number]), wide=True)
        except Exception:  # the effect is asked of a state that it has none for
            continue
        if found.violation:
            return Row(name, *key, "together", number, found.violation.property)
    return None


def main(models: dict[str, tuple[Build, ...]], names: list[str]) -> None:
    """Print the rows of models."""
    for name in names:
        print(f"\n[{name}]", flush=True)
        reasons: dict[tuple[str, str], list[int]] = {}
        for number, make in enumerate(models[name]):
            for key in sorted(refused(make(), MOST)):
                reasons.setdefault(key, []).append(number)
        for key, where in sorted(reasons.items()):
            print(row_of(name, models[name], key, where).line, flush=True)


if __name__ == "__main__":
    from tests.quality.test_guards import MODELS

    # Not this copy, whose classes are others.
    import_module("tests.quality.refusing").main(MODELS, sys.argv[1:])
