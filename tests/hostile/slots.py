"""Students' models by slots: any function of a model gives, takes or does something wrong.

Whatever is asked of such a model (a search, walks, a history, a Player, questions, a page) comes to
an end, and what is wrong is one line; an error of the model's own code comes through as it is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kit import Timeline, export_html, lessons
from kit.errors import Refusal
from kit.lessons import questions
from kit.model import patience
from kit.model.model import Monitor, always, goal, sometimes, step
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.widgets.player import Player
from kit.widgets.states import states
from tests.hostile.judging import kit_error
from tests.hostile.students import UP, Count, Up, sound
from tests.pairs import paired
from tests.toy.slots import Slots

SHORT = {"SECONDS": 0.4, "ASLEEP": 0.6, "_LOOK": 0.05}
"""The limits, while such a model is tried."""


def spin(*_: Any) -> Any:
    """Never come back."""
    while True:
        pass


def doze(*_: Any) -> Any:
    """Come back tomorrow."""
    time.sleep(86_400)


def stubborn(*_: Any) -> Any:
    """Never come back, whatever is raised."""
    while True:
        try:
            while True:
                pass
        except Exception:
            continue


def backtrack(*_: Any) -> Any:
    """Try for ever, and let no other thread do anything meanwhile."""
    return re.match("(a+)+$", "a" * 99 + "b")


def power(*_: Any) -> Any:
    """A number that takes hours, without a line of Python."""
    return 3 ** (10**9)


def stop(*_: Any) -> Any:
    """End somebody else's loop."""
    return next(iter(()))


def leave(*_: Any) -> Any:
    """End the process."""
    raise SystemExit(3)


def give_up(*_: Any) -> Any:
    """Interrupt a generator."""
    raise GeneratorExit


def fail(*_: Any) -> Any:
    """An error of its own."""
    return 1 // 0


def missing(*_: Any) -> Any:
    """Another one."""
    return nothing_called_so  # type: ignore[name-defined]  # noqa: F821  # the fault


async def later(*_: Any) -> Any:
    """What has to be awaited."""


def yielding(*_: Any) -> Any:
    """What has to be gone through."""
    yield from ()


def endless(*_: Any) -> Any:
    """No end of it."""
    while True:
        yield Up()


def deep(*_: Any) -> Any:
    """A tuple in a tuple in a tuple."""
    value: Any = ()
    for _step in range(3000):
        value = (value,)
    return value


def own_member(*_: Any) -> Any:
    """A list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


class Odd:
    """Nothing that anybody knows, and it cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]  # the fault


def odd(*_: Any) -> Any:
    """What cannot be shown or compared, and says so itself."""
    return Odd()


def giving(value: Any) -> Callable[..., Any]:
    """A function that gives it."""
    return lambda *_: value


WIDE = tuple(range(3_000_000))
HABITS: dict[str, Callable[..., Any]] = {
    "spins": spin,
    "sleeps": doze,
    "is stubborn": stubborn,
    "backtracks": backtrack,
    "takes a power": power,
    "stops": stop,
    "leaves": leave,
    "gives up": give_up,
    "fails": fail,
    "lacks a name": missing,
    "takes nothing": lambda: None,
    "takes nine": lambda a, b, c, d, e, f, g, h, i: None,
    "takes by name": lambda *, state: None,
    "is later": later,
    "yields nothing": yielding,
    "is endless": endless,
    "nests": deep,
    "holds itself": own_member,
    "is wide": giving(WIDE),
    "is huge": giving(10**6000),
    "is C": len,
    "is a class": int,
    **{
        f"gives {value!r:.30}": giving(value)
        for value in (
            *(None, True, False, 0, 7, -1, 2.5, float("nan"), "", "up", "\ud800", b"x", (), [], {}),
            *(
                {1},
                [Up()],
                (7,),
                ("up",),
                (None,),
                ([],),
                Up(),
                Up,
                Up([]),
                (Up([]),),
                Refusal("no"),
            ),
            *(Refusal(7), Count(9), (Count(1), 2), object(), NotImplemented, ..., {"a": 1}),  # type: ignore[arg-type]  # the fault
        )
    },
    "gives what is odd": odd,
}
PROPERTIES: dict[str, Any] = {"always": always, "sometimes": sometimes, "goal": goal, "step": step}
METHODS = ("start", "describe", "milestone", "suggest", "verb", "kind", "label", "readable")
SLOTS = (
    *("symmetry", "begin", "remember", "verdict"),
    *PROPERTIES,
    *METHODS,
    *("enter", "each", "allowed", "seen"),
)


def spoiled(slot: str, habit: Any) -> Any:
    """A model with the habit in that slot."""
    if slot in ("enter", "each", "allowed", "seen"):
        return Slots.spoiled(slot, habit)
    model = sound()
    if slot in UP:
        model.rules = (paired(**{**UP, slot: habit}), *model.rules[1:])
    elif slot in PROPERTIES:
        model.properties = (*model.properties, PROPERTIES[slot]("odd", "Odd", habit))
    elif slot in ("begin", "remember", "verdict"):
        parts: dict[str, Any] = {
            "begin": lambda: 0,
            "remember": lambda memory, before, action, after: memory,
            "verdict": lambda memory: None,
            slot: habit,
        }
        parts["step"] = parts.pop("remember")
        model.monitors = (Monitor("odd", "Odd", **parts),)
    else:
        setattr(model, slot, habit)
    return model


def _walked(model: Any, _folder: Path) -> None:
    timeline = Timeline(model)
    for _ in range(4):
        timeline.forward()
    timeline.verdicts()
    timeline.breaches(timeline.at)


def _loaded(model: Any, _folder: Path) -> None:
    timeline = Timeline(model)
    timeline.forward()
    Timeline.load(timeline.save(), model)


def _played(model: Any, _folder: Path) -> None:
    player = Player(model)
    player.step()
    player.milestone()
    player.back()
    player.act("up 1")
    player.text()
    player.static()
    repr(player)


def _exported(model: Any, folder: Path) -> None:
    timeline = Timeline(model)
    timeline.forward()
    export_html(timeline, folder / "page.html")


OPERATIONS: dict[str, Callable[[Any, Path], Any]] = {
    "check": lambda model, _: check(model, max_states=300),
    "check by symmetry": lambda model, _: check(model, max_states=300, symmetry=True),
    "fuzz": lambda model, _: fuzz(model, range(3), steps=8),
    "states": lambda model, _: states(model),
    "walk": _walked,
    "save and load": _loaded,
    "play": _played,
    "export": _exported,
    "predict": lambda model, _: lessons.predict(model),
    "allowed": lambda model, _: lessons.predict(model, questions.allowed),
    "fails": lambda model, _: lessons.predict(model, lessons.fails),
}
OWN_ERRORS = {fail: ZeroDivisionError, missing: NameError, odd: RuntimeError}


def tried(slot: str, habit: str, operation: str, folder: Path) -> None:
    """One operation on one spoiled model.

    Raises:
        AssertionError: for an error that is no line of the kit's, nor the model's own.
    """
    former = {name: getattr(patience, name) for name in SHORT}
    vars(patience).update(SHORT)
    try:
        OPERATIONS[operation](spoiled(slot, HABITS[habit]), folder)
    except BaseException as error:
        if isinstance(error, OWN_ERRORS.get(HABITS[habit], ())):
            return
        wrong = kit_error(error)
        if wrong is not None:
            raise AssertionError(f"{slot} {habit}, {operation}: {wrong}") from error
    finally:
        vars(patience).update(former)


def slotted_model(chance: Random, folder: Path) -> None:
    """Some slot with some habit: all operations come to an end."""
    slot, habit = chance.choice(SLOTS), chance.choice(sorted(HABITS))
    for operation in chance.sample(sorted(OPERATIONS), 3):
        tried(slot, habit, operation, folder)
