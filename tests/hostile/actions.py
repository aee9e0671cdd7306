"""Random well-typed actions, at random moments, on every model: done or refused, never else."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin

import msgspec

from kit import Timeline, build
from kit.model.registry import entries
from kit.model.trace import action_from, dumps, loads
from kit.model.vet import is_own
from tests.hostile.judging import answered

NUMBERS = (0, 1, 2, 3, 7, 100, 150, -1, 10**6, 2**62)
TEXTS = ("A", "B", "X", "n1", "K1", "", "W1", "R1", "\x1b", "ks")


@cache
def models() -> tuple[Any, ...]:
    """Every model, each in its smallest and its fuzzing configuration."""
    pairs = [
        (build(entry.name), build(entry.name, dict(entry.fuzzing.parameters)))
        for entry in entries().values()
    ]
    return tuple(model for pair in pairs if is_own(pair[0]) for model in pair)


def random_action(chance: Random, folder: Path) -> None:
    """After a short walk, an action of the right type with any content."""
    model = chance.choice(models())
    timeline = Timeline(model)
    for _ in range(chance.randrange(8)):
        actions = list(model.actions(timeline.state))
        if not actions:
            break
        timeline.do(chance.choice(actions))
    before = timeline.state
    for _ in range(3):
        action = _drawn(chance, model.Action)
        if action is None:
            continue
        refusal = answered(lambda one=action: model.refusal(before, one))
        assert refusal is None or isinstance(refusal.reason, str)
        answered(lambda one=action: timeline.do(one))
        timeline.goto(0)
        timeline.goto(len(timeline.moments) - 1)
    if chance.random() < 0.2:
        answered(lambda: Timeline.load(loads(dumps(timeline.save())), model))


def _drawn(chance: Random, hint: Any, depth: int = 0) -> Any:
    """A value of a type."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind is Literal:
        return chance.choice(inside)
    if kind is tuple:
        if len(inside) == 2 and inside[1] is ...:
            return tuple(_drawn(chance, inside[0], depth + 1) for _ in range(chance.randrange(3)))
        return tuple(_drawn(chance, one, depth + 1) for one in inside)
    if kind is bool:
        return chance.random() < 0.5
    if kind is int:
        return chance.choice(NUMBERS)
    if kind is str:
        return chance.choice(TEXTS)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        try:
            return kind(*(_drawn(chance, field.type, depth + 1) for field in fields))
        except (TypeError, ValueError):
            return None
    if inside:
        return _drawn(chance, chance.choice(inside), depth + 1)
    return None


def plain_action(chance: Random, folder: Path) -> None:
    """An action as plain data, spoiled."""
    model = chance.choice(models())
    state = model.start()
    actions = list(model.actions(state))
    plain: Any = msgspec.to_builtins(chance.choice(actions)) if actions else {}
    if isinstance(plain, dict):
        key = chance.choice([*plain, "type", "part", "x"])
        plain[key] = chance.choice([None, [], {}, "x", 1, "\ud800", 10**30, [[]], {"type": []}])
    answered(lambda: action_from(model, plain, "action"))
