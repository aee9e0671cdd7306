"""Calls of public functions with arguments of any type, and with good ones but for one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy

import kit
import kit.lessons
import kit.spark
from kit import Timeline, build
from kit.model import registry, scenario, trace
from kit.search import check, fuzz
from kit.widgets.player import Player
from tests.hostile.judging import answered

# What starts a process, a Spark or a server, or needs one, is no matter of a quick call.
HEAVY = {"session", "session_or_none", "terminal", "watch", "about", "hunt"}
PASSES_ON = ("refusal",)  # errors of what it calls, whatever they are
MODULES = (check, fuzz, registry, scenario, trace)


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Every public function by name: of the packages, the engine's modules, and of two classes."""
    found: dict[str, Any] = {}
    for package in (kit, kit.lessons, kit.spark):
        for name in package.__all__:
            if name not in HEAVY and name not in PASSES_ON:
                found[f"{package.__name__}.{name}"] = getattr(package, name)
    for module in MODULES:
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if own and not name.startswith("_"):
                found[f"{module.__name__}.{name}"] = value
    return {name: value for name, value in found.items() if callable(value)}


METHODS = {
    Timeline: ("do", "forward", "back", "goto", "path", "memories", "run"),
    Player: ("act", "run", "goto", "save", "export", "search", "show"),
}


class Lies:
    """What says that it is a number and a path, and is neither."""

    def __index__(self) -> int:
        raise RuntimeError

    def __fspath__(self) -> str:
        return 5  # type: ignore[return-value]  # the lie


@cache
def values() -> tuple[Any, ...]:
    """Arguments of many types, right and wrong."""
    model = build("twophase")
    timeline = Timeline(model)
    timeline.forward()
    return (
        *(None, True, False, 0, 1, -1, 3, 10**30, 1.5, float("nan"), float("inf"), "", "x", b"x"),
        *("twophase", "bootstrap", "tcm", "n1", "\x1b[31m", "\ud800", "\0", "x" * 5000, "S-05"),
        *([], (), {}, set(), [None], ["x"], ("S-05",), {"rms": 2}, {1: 2}, {"x": None}, [[]]),
        *(object(), object, len, lambda *a: None, count(), iter(()), range(3), range(10**12)),
        *(model, timeline, timeline.now, timeline.now.action, timeline.state, timeline.save()),
        *(Path("missing"), Path(), Exception("x"), Random, slice(3), 1j, NotImplemented),
        *(numpy.int64(2), numpy.float32(0.5), numpy.bool_(True), numpy.str_("twophase")),
        *(numpy.array(1), numpy.array([1]), numpy.array([1, 2]), numpy.array(["x"]), Lies()),
    )


def any_call(chance: Random, folder: Path) -> None:
    """A public function with arguments drawn from all values."""
    name = chance.choice(sorted(functions()))
    _call(chance, functions()[name], folder)


def any_method(chance: Random, folder: Path) -> None:
    """A method of a timeline or a player with such arguments; what it shows stays whole."""
    timeline = Timeline(build("twophase", {"rms": 2}))
    owner: Any = timeline
    if chance.random() < 0.1:
        owner = Player(timeline, controls=False)
    names = METHODS[type(owner)]
    for _ in range(4):
        method = getattr(owner, chance.choice(names), None)
        if method is not None:
            _call(chance, method, folder)
    assert Timeline.load(timeline.save()).at == timeline.at


def _call(chance: Random, function: Callable[..., Any], folder: Path) -> None:
    given = [_safe(chance.choice(values()), folder) for _ in range(chance.randrange(4))]
    named = {}
    if chance.random() < 0.4:
        try:
            names = list(inspect.signature(function).parameters)
        except ValueError:
            names = []
        keywords = [*names, "nonsense"]
        named = {chance.choice(keywords): _safe(chance.choice(values()), folder)}
    named = _bounded(function, named)
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError:
        if not hasattr(function, "__wrapped__"):
            return  # a class or a method that Python itself refuses to call
    with chdir(folder):
        answered(lambda: function(*given, **named))


def _safe(value: Any, folder: Path) -> Any:
    """The value; a text that may become the name of a file is one below the folder."""
    return folder / value if isinstance(value, Path) else value


def _bounded(function: Callable[..., Any], named: dict[str, Any]) -> dict[str, Any]:
    """Searches get a bound, so that a good call ends soon."""
    if getattr(function, "__name__", "") in ("check", "search"):
        return {"max_states": 50, **named}
    return named
