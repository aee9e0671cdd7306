"""A student's model in the old style, its rules three functions each, still runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from kit.engine import model as engine_model
from kit.engine.check import check
from kit.engine.contract import check_contract
from kit.engine.fuzz import fuzz
from kit.engine.model import Model, always
from kit.engine.rule import Rule
from kit.engine.timeline import Timeline
from kit.errors import BadInput, BadType, Refusal
from tests.engine.toys import old_rule

TOP = Refusal("that is the top")
MADE: Callable[..., Rule[Any, Any]] = engine_model.Rule


class Floor(Struct, frozen=True):
    """Where the lift is."""

    number: int = 0


class Up(Struct, frozen=True, tag="up"):
    """One floor up."""

    by: int = 1


def candidates(s: Floor) -> Any:
    """Somebody always wants to go up."""
    return (Up(),)


def condition(s: Floor, action: Up) -> Refusal | None:
    """There is a last floor."""
    return TOP if s.number == 3 else None


def effect(s: Floor, action: Up) -> Floor:
    """The lift goes up."""
    return Floor(s.number + action.by)


PARTS: dict[str, Any] = {
    "action": Up,
    "kind": "up",
    "candidates": candidates,
    "condition": condition,
    "effect": effect,
}


def lift(rule: Rule[Any, Any]) -> Model[Any, Any]:
    """A lift whose only rule it is."""
    model: Model[Any, Any] = Model()
    model.name, model.title, model.State, model.Action = "lift", "A lift", Floor, Up
    model.start = Floor
    model.rules = (rule,)
    model.properties = (
        always("inside", "It stays inside", lambda s: None if s.number < 4 else "out"),
    )
    return model


@pytest.mark.parametrize("given", [(PARTS.values(), {}), ((Up, "up"), PARTS), ((), PARTS)])
def test_a_rule_of_three_functions_still_runs(given: Any) -> None:
    """By place or by name; its model is searched, walked and stepped as before."""
    places, names = given
    taken = {name: part for at, (name, part) in enumerate(names.items()) if at >= len(places)}
    with pytest.warns(FutureWarning):
        model = lift(MADE(*places, **taken))
    check_contract(model)
    assert isinstance(model.rules[0], Rule)
    assert check(model).states == 4
    assert not fuzz(model, range(3)).findings
    timeline = Timeline(model)
    for number in (1, 2, 3):
        timeline.forward()
        assert timeline.state == Floor(number)
    assert model.refusal(Floor(3), Up()) == TOP


def test_one_line_says_how_to_write_it_today() -> None:
    """It is told at the student's own line, and nobody who writes rules of today is told."""
    with pytest.warns(
        FutureWarning, match=r"^a rule of three functions .*declared.*write-your-own-model$"
    ) as told:
        MADE(**PARTS)
    frame = inspect.currentframe()
    assert frame is not None
    assert [each.filename for each in told] == [__file__]
    assert told[0].lineno < frame.f_lineno
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Rule(Up, "up", choices=lambda s: (), outcome=lambda s, up: None, given=lambda up: up)


def drawn(s: Any, action: Any) -> Any:
    """Another answer each time."""
    DRAWN.append(None)
    return Refusal(str(len(DRAWN)))


DRAWN: list[None] = []
WRONG: tuple[tuple[str, Callable[..., Any], str], ...] = (
    ("candidates", lambda s: None, "candidates of up, line .*actions in a tuple"),
    ("candidates", lambda s: (Floor(),), "choices of up, line .*actions of type Up"),
    ("condition", lambda s, action: False, "condition of up, line .*got False.*a Refusal"),
    ("condition", lambda s, action: Refusal(7), "condition of up, line .*a reason as text"),  # type: ignore[arg-type]  # the fault
    ("condition", drawn, r"condition of up, line .*\(def drawn.*a different answer each time"),
    ("effect", lambda s, action: None, "effect of up, line .*got None.*a new state"),
    ("effect", lambda s, action: TOP, "effect of up, line .*a new state"),
    ("effect", lambda s, action: 7, "outcome of up, line .*a state of lift"),
)


@pytest.mark.parametrize(("part", "function", "said"), WRONG)
def test_which_of_the_three_is_wrong_is_named(
    part: str, function: Callable[..., Any], said: str
) -> None:
    """With its own line in the student's file."""
    model = lift(old_rule(**{**PARTS, part: function}))
    with pytest.raises(BadInput, match=f"^{said}") as caught:
        check(model)
    line = inspect.unwrap(function).__code__.co_firstlineno
    assert f"line {line} of test_pairs.py" in str(caught.value)


@pytest.mark.parametrize("part", ["candidates", "condition", "effect"])
def test_what_is_no_function_is_refused(part: str) -> None:
    """Before anything is done with it."""
    with pytest.raises(BadType, match=f"^{part} of a Rule: got 7; allowed: a function"):
        old_rule(**{**PARTS, part: 7})


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("candidates", lambda s, more: ()),
        ("condition", lambda s: None),
        ("effect", lambda s, action, more: s),
    ],
)
def test_a_function_that_takes_something_else_is_named_where_it_is_given(
    name: str, function: Any
) -> None:
    """Before anybody calls it."""
    three = {"candidates": candidates, "condition": lambda s, a: None, "effect": lambda s, a: s}
    with pytest.raises(BadInput, match=f"{name} of up"):
        old_rule(action=Up, kind="up", **{**three, name: function})
