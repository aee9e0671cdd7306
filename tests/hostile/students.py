"""Random students' models: each with one fault; it is named, or does no harm."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from kit import Timeline
from kit.engine.check import check
from kit.engine.fuzz import fuzz
from kit.engine.model import Model, Monitor, Property, Rule, always, sometimes, step
from kit.errors import Refusal
from kit.widgets.player import Player
from tests.hostile.judging import answered

TOP = 4


class Count(Struct, frozen=True):
    """A number, and anything else."""

    number: int = 0
    more: Any = ()


class Loose(Struct):
    """A state that can be written to, with a hash."""

    number: int = 0

    def __hash__(self) -> int:
        return hash(self.number)


class Up(Struct, frozen=True, tag="up"):
    """One more."""

    by: Any = 1


class Down(Struct, frozen=True, tag="down"):
    """One less."""


FULL = Refusal("it is full")


def sound() -> Any:
    """A model without a fault."""
    model: Any = Model()
    model.name, model.title, model.State, model.Action = "mine", "Mine", Count, Up | Down
    model.start = Count
    model.rules = (
        Rule(Up, "up", lambda s: (Up(),), _may_rise, lambda s, a: Count(s.number + 1)),
        Rule(Down, "down", lambda s: (Down(),), _may_fall, lambda s, a: Count(s.number - 1)),
    )
    model.properties = (
        always("low", "Low", lambda s: None if s.number <= TOP else "too high"),
        sometimes("top", "Top", lambda s: s.number == TOP),
        step("small", "Small", lambda b, a, s: None if abs(s.number - b.number) < 2 else "a jump"),
    )
    return model


def _may_rise(s: Any, action: Any) -> Refusal | None:
    return FULL if s.number >= TOP else None


def _may_fall(s: Any, action: Any) -> Refusal | None:
    return FULL if s.number <= 0 else None


def _ruled(**changes: Any) -> Callable[[Any], None]:
    def spoil(model: Any) -> None:
        first, *rest = model.rules
        fields = {name: getattr(first, name) for name in first.__struct_fields__}
        model.rules = (Rule(**{**fields, **changes}), *rest)

    return spoil


def _judged(*properties: Any) -> Callable[[Any], None]:
    def spoil(model: Any) -> None:
        model.properties = (*model.properties, *properties)

    return spoil


def _with(**attributes: Any) -> Callable[[Any], None]:
    def spoil(model: Any) -> None:
        for name, value in attributes.items():
            setattr(model, name, value)

    return spoil


def _mutates(s: Any, action: Any) -> Any:
    s.number += 1
    return Loose(s.number)


def _watching(**changes: Any) -> Callable[[Any], None]:
    fields: dict[str, Any] = {
        "name": "watch",
        "title": "Watch",
        "begin": lambda: 0,
        "step": lambda memory, before, action, after: memory,
        "verdict": lambda memory: None,
    }
    return _with(monitors=(Monitor(**{**fields, **changes}),))


NAN = float("nan")
FAULTS: dict[str, Callable[[Any], None]] = {
    "condition True": _ruled(condition=lambda s, a: True),
    "condition False": _ruled(condition=lambda s, a: False),
    "condition text": _ruled(condition=lambda s, a: "no" if s.number > 2 else None),
    "condition late": _ruled(condition=lambda s, a: s.number > 2 or None),
    "candidates None": _ruled(candidates=lambda s: None),
    "candidates number": _ruled(candidates=lambda s: 7),
    "candidates text": _ruled(candidates=lambda s: "up"),
    "candidates other": _ruled(candidates=lambda s: (Down(),)),
    "candidates endless": _ruled(candidates=lambda s: (Up(by) for by in count())),
    "candidates endless late": _ruled(
        candidates=lambda s: (Up(by) for by in (count() if s.number > 2 else range(1)))
    ),
    "candidates unhashable": _ruled(candidates=lambda s: (Up([]),)),
    "candidates huge": _ruled(candidates=lambda s: (Up(10**5000),)),
    "effect None": _ruled(effect=lambda s, a: None),
    "effect chance": _ruled(effect=lambda s, a: Count(random.randrange(10**9))),
    "effect list": _ruled(effect=lambda s, a: Count(s.number + 1, [1])),
    "effect NaN": _ruled(effect=lambda s, a: Count(s.number + 1, NAN)),
    "effect huge": _ruled(effect=lambda s, a: Count(s.number + 1, 10**5000)),
    "effect writes": _ruled(effect=lambda s, a: setattr(s, "number", 3)),
    "effect no function": _ruled(effect=None),
    "action no class": _ruled(action=7),
    "action twice": lambda model: setattr(model, "rules", (*model.rules, *model.rules)),
    "rules None": _with(rules=None),
    "rules of None": _with(rules=(None,)),
    "name None": _with(name=None),
    "name evil": _with(name="a\nb\x1b[31m"),
    "title missing": lambda model: delattr(model, "title"),
    "start missing": lambda model: delattr(model, "start"),
    "start mutable": lambda model: (
        setattr(model, "start", Loose),
        _ruled(effect=_mutates)(model),
    )[0],
    "start list": _with(start=lambda: [1]),
    "kind unknown": _judged(Property("odd", "allways", "Odd", lambda s: None)),  # type: ignore[arg-type]  # the fault
    "always bool": _judged(always("flat", "Flat", lambda s: s.number < 3)),
    "always True": _judged(always("flat", "Flat", lambda s: True)),
    "step False": _judged(step("flat", "Flat", lambda b, a, s: False)),
    "property twice": _judged(always("low", "Low", lambda s: None)),
    "property None": _judged(None),
    "check None": _judged(Property("odd", "always", "Odd", None)),  # type: ignore[arg-type]  # the fault
    "monitor unhashable": _watching(begin=list),
    "monitor late": _watching(step=lambda memory, b, a, s: [s.number]),
    "monitor False": _watching(verdict=lambda memory: False),
    "monitors None": _with(monitors=None),
}


def student_model(chance: Random, _folder: Path) -> None:
    """A fault is refused by a search, in one line; walks and players give one line or go on."""
    name = chance.choice(sorted(FAULTS))
    way = chance.randrange(4)
    model = sound()
    FAULTS[name](model)
    if way == 0:
        found = answered(lambda: check(model, max_states=500))
        assert found is None, f"{name}: accepted, {found}"
    if way == 1:
        answered(lambda: fuzz(model, range(3), steps=10))
    elif way == 2:
        answered(lambda: _walked(model))
    else:
        answered(lambda: _played(model))


def _walked(model: Any) -> None:
    timeline = Timeline(model)
    for _ in range(6):
        if timeline.forward() is None:
            return


def _played(model: Any) -> None:
    player = Player(model)
    for _ in range(3):
        player.step()
