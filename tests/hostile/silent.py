"""Faults of students' models that once were accepted without a word, or told by a raw error."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from kit.errors import Refusal
from kit.model.model import PartialOrder, always, goal, sometimes, step
from tests.hostile.students import Count, Down, Up, judged, ruled, watching, with_

NUMBERS = count()


@dataclasses.dataclass(frozen=True)
class Other:
    """A state, but none of the model's class."""

    number: Any = 0


async def later(*_: Any) -> None:
    """What has to be awaited."""


def _flat(by: Any) -> Callable[[Any], Any]:
    return lambda s: by


def _drawn(*_: Any) -> float:
    return random.random()


def _said(reason: Any, **more: Any) -> Callable[..., Refusal | None]:
    return lambda s, a: Refusal(reason, **more) if s.number > 2 else None


def _used_up(model: Any, offered: Iterator[Up]) -> None:
    ruled(candidates=lambda s: offered)(model)


def _with_names(spoil: Callable[[Any], None]) -> Callable[[Any], None]:
    """The fault in a model whose states hold a set."""

    def spoiled(model: Any) -> None:
        with_(start=lambda: Count(0, frozenset({1, 2})))(model)
        spoil(model)

    return spoiled


SILENT: dict[str, Callable[[Any], None]] = {
    # what is always true, or drawn
    "sometimes uncalled": judged(sometimes("odd", "Odd", lambda s: s.__hash__)),
    "sometimes generator": judged(sometimes("odd", "Odd", lambda s: (x for x in ()))),  # type: ignore[arg-type, return-value]  # the fault
    "sometimes awaited": judged(sometimes("odd", "Odd", later)),  # type: ignore[arg-type]  # the fault
    "goal awaited": judged(goal("odd", "Odd", later)),  # type: ignore[arg-type]  # the fault
    "goal NotImplemented": judged(goal("odd", "Odd", lambda s: NotImplemented)),
    "goal drawn": judged(goal("odd", "Odd", lambda s: next(NUMBERS) % 2 == 0)),
    "always drawn": judged(always("odd", "Odd", lambda s: "bad" if next(NUMBERS) % 2 else None)),
    "always of drawn": judged(
        always("odd", "Odd", lambda s: str(next(NUMBERS)), of=lambda s: s.number)
    ),
    "step drawn": judged(step("odd", "Odd", lambda b, a, s: str(next(NUMBERS)))),
    "step on a name": judged(step("odd", "Odd", lambda b, a, s: "bad", on=("up",))),  # type: ignore[arg-type]  # the fault
    "step on one class": judged(step("odd", "Odd", lambda b, a, s: "bad", on=Up)),  # type: ignore[arg-type]  # the fault
    "always of a name": judged(always("odd", "Odd", lambda s: None, of="number")),  # type: ignore[arg-type]  # the fault
    "property title None": judged(always("odd", None, lambda s: None)),  # type: ignore[arg-type]  # the fault
    "monitor step drawn": watching(step=_drawn),
    "monitor begin drawn": watching(begin=_drawn),
    "monitor verdict drawn": watching(verdict=lambda memory: str(next(NUMBERS))),
    "monitor on a name": watching(on=("up",)),
    "monitor rename text": watching(rename="names"),
    "start drawn": with_(start=lambda: Count(0, next(NUMBERS))),
    "candidates drawn": ruled(candidates=lambda s: (Up(next(NUMBERS)),)),
    "candidates used up": lambda model: _used_up(model, iter([Up(), Up(2)])),
    "candidates twice": ruled(candidates=lambda s: (Up(), Up())),
    # what a set's order decides
    "set decides the candidates": _with_names(ruled(candidates=lambda s: map(Up, s.more))),
    "set decides the effect": _with_names(
        ruled(effect=lambda s, a: Count(s.number + 1, (next(iter(s.more)),)))
    ),
    "set decides the reason": _with_names(ruled(condition=lambda s, a: Refusal(str(s.more)))),
    "set decides a witness": _with_names(
        judged(always("odd", "Odd", lambda s: None if next(iter(s.more)) == 1 else "two"))
    ),
    "set in a memory decides": watching(
        begin=lambda: frozenset({1, 2}), verdict=lambda memory: str(list(memory))
    ),
    # of a wrong type
    "start None": with_(start=lambda: None),
    "start of another class": with_(start=Other),
    "effect number": ruled(effect=lambda s, a: s.number + 1),
    "effect refusal": ruled(effect=lambda s, a: Refusal("no")),
    "effect of another class": ruled(effect=lambda s, a: Other(s.number + 1)),
    "effect NaN in a dataclass": ruled(effect=lambda s, a: Count(1, Other(float("nan")))),
    "refusal number": ruled(condition=_said(7)),
    "refusal evidence text": ruled(condition=_said("no", evidence="abc")),
    "refusal missing number": ruled(condition=_said("no", missing=7)),
    "rule kind None": ruled(kind=None),
    "rule kind evil": ruled(kind="a\n\x1b[31m"),
    "action dataclass": ruled(action=Other, candidates=lambda s: (Other(),)),
    "signs None": with_(signs=None),
    "signs of a number": with_(signs=(7,)),
    "faults text": with_(faults="up"),
    "safeguards None": with_(safeguards=None),
    "off None": with_(off=None),
    "parameters dict": with_(parameters={"a": 1}),
    "rests text": with_(rests_at_goals="no"),
    "symmetry text": with_(symmetry="all"),
    "order text": with_(partial_order="any"),
    "State number": with_(State=7),
    "order waiting None": with_(partial_order=PartialOrder(None, lambda s, a: ())),  # type: ignore[arg-type]  # the fault
    "order waiting a name": with_(partial_order=PartialOrder("up", lambda s, a: ())),  # type: ignore[arg-type]  # the fault
    "order without leads": with_(partial_order=PartialOrder((Up,), None)),  # type: ignore[arg-type]  # the fault
    "property of two lines": judged(always("a\nb\x1b", "Odd", lambda s: None)),
    # words that are none
    "verb None": with_(verb=_flat(None)),
    "label None": with_(label=lambda s, a: None),
    "kind None": with_(kind=_flat(None)),
    "describe None": with_(describe=lambda b, a, s: None),
    "milestone True": with_(milestone=lambda b, a, s: True),
    "suggest number": with_(suggest=_flat(7)),
    "suggest class": with_(suggest=_flat(Down)),
}
