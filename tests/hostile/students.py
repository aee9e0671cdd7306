"""Random students' models: each with one fault; it is named, or does no harm."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit import Timeline
from kit.errors import Refusal
from kit.model.model import Model, Monitor, Property, always, sometimes, step
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.widgets.player import Player
from tests.hostile.judging import answered
from tests.pairs import paired

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


def _may_rise(s: Any, action: Any) -> Refusal | None:
    return FULL if s.number >= TOP else None


UP: dict[str, Any] = {
    "action": Up,
    "kind": "up",
    "candidates": lambda s: (Up(),),
    "condition": _may_rise,
    "effect": lambda s, a: Count(s.number + 1),
}


def sound() -> Any:
    """A model without a fault."""
    model: Any = Model()
    model.name, model.title, model.State, model.Action = "mine", "Mine", Count, Up | Down
    model.start = Count
    model.rules = (
        paired(**UP),
        paired(
            action=Down,
            kind="down",
            candidates=lambda s: (Down(),),
            condition=_may_fall,
            effect=lambda s, a: Count(s.number - 1),
        ),
    )
    model.properties = (
        always("low", "Low", lambda s: None if s.number <= TOP else "too high"),
        sometimes("top", "Top", lambda s: s.number == TOP),
        step("small", "Small", lambda b, a, s: None if abs(s.number - b.number) < 2 else "a jump"),
    )
    return model


def _may_fall(s: Any, action: Any) -> Refusal | None:
    return FULL if s.number <= 0 else None


def ruled(**changes: Any) -> Callable[[Any], None]:
    """Change the first rule."""

    def spoil(model: Any) -> None:
        model.rules = (paired(**{**UP, **changes}), *model.rules[1:])

    return spoil


def judged(*properties: Any) -> Callable[[Any], None]:
    """Judge more."""

    def spoil(model: Any) -> None:
        model.properties = (*model.properties, *properties)

    return spoil


def with_(**attributes: Any) -> Callable[[Any], None]:
    """Set attributes of the model."""

    def spoil(model: Any) -> None:
        for name, value in attributes.items():
            setattr(model, name, value)

    return spoil


def _mutates(s: Any, action: Any) -> Any:
    s.number += 1
    return Loose(s.number)


def watching(**changes: Any) -> Callable[[Any], None]:
    """Watch with a monitor."""
    fields: dict[str, Any] = {
        "name": "watch",
        "title": "Watch",
        "begin": lambda: 0,
        "step": lambda memory, before, action, after: memory,
        "verdict": lambda memory: None,
    }
    return with_(monitors=(Monitor(**{**fields, **changes}),))


NAN = float("nan")
FAULTS: dict[str, Callable[[Any], None]] = {
    "condition True": ruled(condition=lambda s, a: True),
    "condition False": ruled(condition=lambda s, a: False),
    "condition text": ruled(condition=lambda s, a: "no" if s.number > 2 else None),
    "condition late": ruled(condition=lambda s, a: s.number > 2 or None),
    "candidates None": ruled(candidates=lambda s: None),
    "candidates number": ruled(candidates=lambda s: 7),
    "candidates text": ruled(candidates=lambda s: "up"),
    "candidates other": ruled(candidates=lambda s: (Down(),)),
    "candidates endless": ruled(candidates=lambda s: (Up(by) for by in count())),
    "candidates endless late": ruled(
        candidates=lambda s: (Up(by) for by in (count() if s.number > 2 else range(1)))
    ),
    "candidates unhashable": ruled(candidates=lambda s: (Up([]),)),
    "candidates huge": ruled(candidates=lambda s: (Up(10**5000),)),
    "effect None": ruled(effect=lambda s, a: None),
    "effect chance": ruled(effect=lambda s, a: Count(random.randrange(10**9))),
    "effect list": ruled(effect=lambda s, a: Count(s.number + 1, [1])),
    "effect NaN": ruled(effect=lambda s, a: Count(s.number + 1, NAN)),
    "effect huge": ruled(effect=lambda s, a: Count(s.number + 1, 10**5000)),
    "effect writes": ruled(effect=lambda s, a: setattr(s, "number", 3)),
    "outcome no function": lambda model: setattr(
        model, "rules", (replace(model.rules[0], outcome=None), *model.rules[1:])
    ),
    "action no class": ruled(action=7),
    "action twice": lambda model: setattr(model, "rules", (*model.rules, *model.rules)),
    "rules None": with_(rules=None),
    "rules of None": with_(rules=(None,)),
    "name None": with_(name=None),
    "name evil": with_(name="a\nb\x1b[31m"),
    "title missing": lambda model: delattr(model, "title"),
    "start missing": lambda model: delattr(model, "start"),
    "start mutable": lambda model: (setattr(model, "start", Loose), ruled(effect=_mutates)(model))[
        0
    ],
    "start list": with_(start=lambda: [1]),
    "kind unknown": judged(Property("odd", "allways", "Odd", lambda s: None)),  # type: ignore[arg-type]  # the fault
    "always bool": judged(always("flat", "Flat", lambda s: s.number < 3)),
    "always True": judged(always("flat", "Flat", lambda s: True)),
    "step False": judged(step("flat", "Flat", lambda b, a, s: False)),
    "property twice": judged(always("low", "Low", lambda s: None)),
    "property None": judged(None),
    "check None": judged(Property("odd", "always", "Odd", None)),  # type: ignore[arg-type]  # the fault
    "monitor unhashable": watching(begin=list),
    "monitor late": watching(step=lambda memory, b, a, s: [s.number]),
    "monitor False": watching(verdict=lambda memory: False),
    "monitors None": with_(monitors=None),
}


def faults() -> dict[str, Callable[[Any], None]]:
    """All of them."""
    from tests.hostile.silent import SILENT  # which needs what stands above

    return FAULTS | SILENT


def student_model(chance: Random, _folder: Path) -> None:
    """A fault is refused by a search, in one line; walks and players give one line or go on."""
    name = chance.choice(sorted(faults()))
    way = chance.randrange(4)
    model = sound()
    if answered(lambda: faults()[name](model) or model) is None:
        return  # refused as it is written
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
