"""Calls of every public function: of the packages, and of what each family adds to them.

They are found by scanning, so that a family that comes later is called too. Half of the arguments
fit their annotation: those come past the edge.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa

import kit
import kit.lessons
import kit.spark
from kit import Player, Timeline, build
from kit.edge.arguments import fits, hint_of
from kit.model.family import public_places
from kit.model.registry import entries
from kit.model.scenario import files as stories
from tests.hostile.calls import values
from tests.hostile.judging import answered
from tests.hostile.mutating import ROOT

Function = Callable[..., Any]
Named = dict[str, Any]
PACKAGES = (kit, kit.lessons, kit.spark)
DUMPS = ROOT / "tests" / "fixtures" / "tablets"
# What starts a process, Spark or a long search, or hands on the errors of what it calls: of these
# the answer to a wrong type is asked for, which comes before anything begins.
HEAVY = {
    *("kit.lessons.hunt", "kit.lessons.refusal", "kit.lessons.terminal", "kit.spark.session"),
    *("kit.spark.session_or_none", "kit.spark.stop"),
    *("kit.lessons.without", "kit.lessons.harms", "kit.lessons.side_by_side"),
    *("kit.lessons.shortest", "kit.lessons.breaks", "kit.lessons.fails"),
}
KEYWORDS = ("nodes", "rf", "seed", "operations", "x", "down", "tables", "tablets", "epoch")
VERBS = ("join D", "A", "n1", "QUORUM", "S-05", "S-24", "removenode n1", "migration", "server", "4")


@cache
def published() -> dict[str, Function]:
    """Every public function and class by its full name."""
    found: dict[str, Function] = {}
    for package in PACKAGES:
        added = public_places(package.__name__.partition(".")[2])
        for name in (*package.__all__, *(name for name, _, _ in added)):
            value = getattr(package, name)
            found |= dict(_called(f"{package.__name__}.{name}", value))
    return found


def _called(name: str, value: Any) -> Iterator[tuple[str, Function]]:
    """What is called below a public name: itself, or what a module offers."""
    if callable(value):
        if not (isinstance(value, type) and issubclass(value, Exception)):  # those are raised
            yield name, value
        return
    for inner, function in vars(value).items():
        if callable(function):
            yield f"{name}.{inner}", function


@cache
def _given() -> tuple[Any, ...]:
    """Good values of the types that public functions take, junk of the same types among them."""
    sample = kit.spark.sample(4, 2, rf=2)
    history = kit.spark.history(sample.ring, sample.keyspaces)
    rows = kit.spark.sweep(None, "twophase", range(2))
    opened = kit.lessons.open_tablets(DUMPS / "tablets.csv", topology=DUMPS / "topology.csv")
    tables = kit.spark.as_tables(Timeline(build("tcm")))
    return (
        *(sample, sample.ring, sample.keyspaces, history, kit.spark.pipeline(None, history)),
        *(rows, rows.to_pandas(), rows.to_pylist(), rows.to_pylist()[0], pa.table({"seed": ["x"]})),
        *(pd.DataFrame(), pd.DataFrame({"seed": [None], "plan": ["x"]}), pa.table({}), opened),
        *(tables, kit.spark.PlainTraces(tables), *VERBS, *sorted(stories())[:3], *entries()),
        *({"seed": []}, [{"seed": "x"}], [{}], {"rf": 10**30}, {"x": [1]}, [[[[]]]], ["\ud800"]),
    )


def _fresh(chance: Random) -> Timeline | Player:
    """A timeline of any model some steps on, or a Player; nobody else has changed it."""
    timeline = Timeline(build(chance.choice(sorted(entries()))))
    for _ in range(chance.randrange(8)):
        timeline.forward()
    return timeline if chance.random() < 0.8 else Player(timeline, controls=False)


def any_published(chance: Random, folder: Path) -> None:
    """A public function; each argument fits its annotation or is anything at all."""
    name = chance.choice(sorted(published()))
    function = published()[name]
    given, named = _arguments(chance, function, folder)
    if name in HEAVY:
        given, named = [object(), *given[1:]], {}
    with chdir(folder):
        answered(lambda: _shown(function(*given, **named)))


def _arguments(chance: Random, function: Function, folder: Path) -> tuple[list[Any], Named]:
    """What a function is called with: those in order, then those by name."""
    pool = [folder / v if isinstance(v, Path) else v for v in (*values(), *_given())]
    pool.append(_fresh(chance))
    given: list[Any] = []
    named: Named = {"nonsense": 1} if chance.random() < 0.02 else {}
    for parameter, hint in _parameters(function):
        if parameter.default is not parameter.empty and chance.random() < 0.6:
            continue
        fitting = [value for value in pool if fits(value, hint)]
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for _ in range(chance.randrange(3) if several else chance.random() < 0.98):
            value = chance.choice(fitting if fitting and chance.random() < 0.7 else pool)
            if parameter.kind is parameter.VAR_KEYWORD:
                named[chance.choice(KEYWORDS)] = value
            elif parameter.kind is parameter.VAR_POSITIONAL:
                given.append(value)
            else:
                named[parameter.name] = value
    return given, named


def _parameters(function: Function) -> list[tuple[inspect.Parameter, Any]]:
    """The parameters of a function or of a class, with what their annotations say."""
    bare = inspect.unwrap(function.__init__ if isinstance(function, type) else function)
    found = inspect.signature(bare).parameters.values()
    return [(one, hint_of(bare, one.name)) for one in found if one.name != "self"]


def _shown(result: Any) -> None:
    """What an answer shows in a notebook."""
    shows = getattr(result, "_repr_html_", None)
    repr(result)
    if shows is not None and not isinstance(result, type):
        shows()
