"""Declarations of students' models that hold a wrong kind of value: one line, whatever it is.

Each parameter of each helper, and each name that a class may set, gets values of all kinds; then
the model is made, searched and walked. What is refused is refused in one line of the kit's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

from kit import Timeline
from kit.errors import KitError
from kit.model import declared
from kit.model.declared import (
    Declared,
    Each,
    Judged,
    State,
    action,
    always,
    budget,
    entry,
    goal,
    parameter,
    purpose,
    safeguard,
    sometimes,
    step,
)
from kit.model.model import Model
from kit.search.check import check
from tests.hostile.judging import answered

WRONG: tuple[Any, ...] = (
    *(3, 2**70, None, float("nan"), b"x", object(), int, len),
    *("x", "{nope}", "\ud800", "a\nb", [1], {1}, (None,), ("x",)),
    *(lambda: 1, lambda *_: 5, lambda *_: "x"),
)
JUDGES = {"always": always, "step": step, "sometimes": sometimes, "goal": goal}
LIMITS = ("ge", "le", "gt", "multiple_of", "pattern", "max_length", "title", "nonsense")


class Count(State, frozen=True):
    """A number, and what is left of a budget."""

    number: int = 0
    left: int = 1


def up(self: Any, s: Count) -> Count | None:
    """One more."""
    return s.but(number=1) if s.number == 0 else None


def low(*_: Any) -> Any:
    """It is low."""
    return None


def model(**body: Any) -> type[Declared[Any]]:
    """A model with one action, and this in its body."""
    named = {"name": "mine", "title": "Mine", "State": Count, "__module__": __name__}
    return type("Mine", (Declared,), {**named, "up": action()(fresh(up)), **body})


def fresh(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method as another object, since declarations leave marks on it."""
    made: Any = type(method)(method.__code__, method.__globals__, method.__name__)
    made.__doc__ = method.__doc__
    return made  # type: ignore[no-any-return]  # a function


def used(kind: type[Declared[Any]]) -> None:
    """Make a model, and do with it what students do."""
    made = kind()
    check(made, max_states=5)
    Timeline(made).forward()


def said_of_a_parameter(name: str, value: Any) -> Any:
    """A parameter's limit, or its type, is this value."""
    if name == "annotation":
        return model(left=parameter(1, "How many"), __annotations__={"left": value})
    if name in ("default", "description"):
        given = {"default": 1, "description": "How many", name: value}
        return model(left=parameter(**given), __annotations__={"left": int})
    return model(left=parameter(1, "How many", **{name: value}), __annotations__={"left": int})


def said_of_a_budget(name: str, value: Any) -> Any:
    """A budget's default, or a limit of it, is this value."""
    given: Any = {"default": 1, "description": "How often", "le": 3, name: value}
    return model(left=budget(**given), __annotations__={"left": int})


def said_of_a_safeguard(name: str, value: Any) -> Any:
    """A part of a safeguard is this value."""
    given: Any = {"id": "S-1", "title": "A rule", "protects": ("low",), name: value}
    body = {"rule": safeguard(**given), "low": always()(fresh(low))}
    return model(**body, __annotations__={"rule": bool})


def said_of_each(name: str, value: Any) -> Any:
    """Over what a parameter ranges is this value, or how it is shown."""
    ranges: Any = {"values": range(2), name: value}

    def two(self: Any, s: Count, x: int) -> None:
        """Two {x}."""

    two.__annotations__ = {"x": Annotated[int, Each(**ranges)]}
    return model(two=action()(two))


def said_of_a_purpose(name: str, value: Any) -> Any:
    """The text of a purpose, or what it stands above, is this value."""
    marked: Any = purpose(value)(fresh(up)) if name == "text" else purpose("So that")(value)
    return model(up=action()(marked))


def said_of_an_entry(name: str, value: Any) -> Any:
    """The model of an entry, or more that it says, is this value."""
    entry(value) if name == "model" else entry(model(), **{name: value})
    return model()


def cases() -> Iterator[Any]:
    """Every helper with each of its parameters, and every name of a class."""
    for name in declared.action.__struct_fields__[1:]:
        yield pytest.param(
            lambda value, name=name: model(up=action(**{name: value})(fresh(up))),
            id=f"action({name}=…)",
        )
    yield pytest.param(lambda value: model(up=action()(value)), id="action()(…)")
    for word, judge in JUDGES.items():
        yield pytest.param(lambda value, judge=judge: model(low=judge()(value)), id=f"{word}()(…)")
        for name in (*Judged.__struct_fields__[1:], "nonsense"):
            yield pytest.param(
                lambda value, judge=judge, name=name: model(low=judge(**{name: value})(fresh(low))),
                id=f"{word}({name}=…)",
            )
    helpers: dict[str, tuple[Callable[[str, Any], Any], tuple[str, ...]]] = {
        "parameter": (
            said_of_a_parameter,
            ("annotation", "default", "description", "field", "written", "counts", *LIMITS),
        ),
        "budget": (said_of_a_budget, ("default", "description", "own", *LIMITS)),
        "safeguard": (
            said_of_a_safeguard,
            ("id", "title", "protects", "smallest", "name", "nonsense"),
        ),
        "Each": (said_of_each, ("values", "shown", "by_place")),
        "purpose": (said_of_a_purpose, ("text", "method")),
        "entry": (said_of_an_entry, ("model", "name", "scenarios", "nonsense")),
    }
    for helper, (said, names) in helpers.items():
        for name in names:
            yield pytest.param(
                lambda value, said=said, name=name: said(name, value), id=f"{helper}({name}=…)"
            )
    every = {each for kind in (Model, Declared) for each in vars(kind) if each[0] != "_"}
    for name in sorted({*every, "Parameters", "name", "title", "Action"} - {"State"}):
        yield pytest.param(lambda value, name=name: model(**{name: value}), id=f"class: {name} = …")


@pytest.mark.sweep(4)
@pytest.mark.parametrize("declares", [*cases()])
def test_a_wrong_kind_of_value_gets_one_line(declares: Callable[[Any], Any]) -> None:
    """Numbers, texts, lists, functions of too few arguments: refused, or they do no harm."""
    for value in WRONG:
        answered(lambda value=value: used(declares(value)))


@pytest.mark.parametrize(
    ("declares", "said"),
    [
        (lambda: model(up=action(each=3)(fresh(up))), "each of action up of Mine: got 3"),
        (lambda: model(up=action(when="x")(fresh(up))), "when of action up of Mine: got 'x'"),
        (lambda: model(up=action(travels="x")(fresh(up))), "travels of action up of Mine"),
        (model(up=action(when=lambda: True)(fresh(up))), "when of action up"),
        (lambda: model(Parameters=3), "Parameters of Mine: got 3"),
        (lambda: model(first=3), "first of Mine: got 3"),
        (lambda: model(describe="x"), "describe of Mine: got 'x'; allowed: a method: def describe"),
        (lambda: model(low=always(on=3)(fresh(low))), "on of @always: got 3"),
        (lambda: said_of_a_safeguard("protects", 3), "protects of safeguard S-1: got 3"),
        (lambda: said_of_a_parameter("field", 3), "field of a parameter: got 3"),
        (lambda: entry(3), "entry: got 3"),  # type: ignore[arg-type]  # the fault
    ],
)
def test_the_line_names_the_declaration(declares: Callable[[], Any], said: str) -> None:
    """It says which helper, of which class, which value, and what is allowed."""
    with pytest.raises(KitError) as caught:
        declares()
    assert said in str(caught.value)
    assert "; allowed: " in str(caught.value)
