"""A student's function without end is stopped, named with its line, and the history stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Struct

from kit.errors import BadInput
from kit.model import patience
from kit.model.declared import Declared
from kit.model.model import Model, Monitor, always
from kit.model.patience import ended_after, stoppable
from kit.model.timeline import Timeline
from kit.search.check import check
from tests.pairs import paired


class Up(Struct, frozen=True, tag="up"):
    """One more."""


class Count(Struct, frozen=True):
    """How many."""

    count: int = 0


def spins(s: Any) -> Any:
    """Go round for ever, from 2 on, whatever error it meets."""
    while s.count == 2:
        try:
            sum(range(1000))
        except Exception:
            continue
    return None


def counting(**spoiled: Callable[..., Any]) -> Model[Any, Any]:
    """A model that counts, with some of its functions replaced."""
    model: Model[Any, Any] = Model()
    model.name, model.title, model.State, model.Action = "mine", "Mine", Count, Up
    rule: dict[str, Callable[..., Any]] = {
        "candidates": lambda s: (Up(),),
        "condition": lambda s, a: None,
        "effect": lambda s, a: Count(s.count + 1),
    }
    own = {name: spoiled.pop(name) for name in tuple(spoiled) if name in rule}
    model.rules = (paired(Up, "up", **{**rule, **own}),)
    for name, function in {"start": Count, **spoiled}.items():
        setattr(model, name, function)
    return model


def offered(s: Count) -> Iterator[Up]:
    """Nothing is ever offered from 2 on: it goes on looking."""
    spins(s)
    yield Up()


SPOILED: dict[str, dict[str, Any]] = {
    "candidates": {"candidates": offered},
    "condition": {"condition": lambda s, a: spins(s)},
    "effect": {"effect": lambda s, a: spins(s) or Count(s.count + 1)},
    "property": {"properties": (always("p", "P", spins),)},
    "describe": {"describe": lambda before, a, after: str(spins(after))},
    "milestone": {"milestone": lambda before, a, after: spins(after)},
    "monitor": {
        "monitors": (
            Monitor("m", "M", lambda: 0, lambda m, b, a, after: spins(after), lambda m: None),
        )
    },
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_never_ends_is_stopped(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that leads there is refused, by function and line; one may go back and on."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    timeline: Any = Timeline(counting(**SPOILED[what]))
    timeline.do(Up())
    with pytest.raises(BadInput, match=r"spins, line \d+ of test_patience.py .*no answer after"):
        timeline.do(Up())
    assert timeline.state == Count(1)
    assert len(timeline.moments) == 2
    assert timeline.back().state == Count(0)


def test_a_set_up_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a student's class; the model is not made."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)

    class Endless(Declared[Count]):
        name, title, State = "endless", "It is never made", Count

        def set_up(self) -> None:
            spins(Count(2))

    with pytest.raises(BadInput, match=r"spins, line \d+ of test_patience.py .*no answer after"):
        Endless()


Given = Callable[..., Any]
# what never ends -> a model of it; the function that never ends goes through ``asking`` first
ENDLESS: dict[str, Callable[[Callable[[Given], Given]], dict[str, Any]]] = {
    "candidates": lambda asking: {"candidates": asking(offered)},
    "condition": lambda asking: {"condition": asking(lambda s, a: spins(s))},
    "effect": lambda asking: {"effect": asking(lambda s, a: spins(s) or Count(s.count + 1))},
    "property": lambda asking: {"properties": (always("p", "P", asking(spins)),)},
    "monitor": lambda asking: {
        "monitors": (
            Monitor("m", "M", int, asking(lambda m, b, a, after: spins(after)), lambda m: None),
        )
    },
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_search_that_never_ends_is_stopped_when_asked(what: str) -> None:
    """It tells what it has seen, and the function and line that were at work."""
    asked = threading.Event()

    def asking(function: Given) -> Given:
        def first(*given: Any) -> Any:
            if Count(2) in given:
                asked.set()
            return function(*given)

        return first

    with stoppable(asked):
        found = check(counting(**ENDLESS[what](asking)))
    assert found.verdict == "interrupted"
    assert found.states in (2, 3)
    assert found.at_work.startswith("spins, line ")
    assert found.sentence.endswith(f" (it stopped in {found.at_work})")


def compute(seconds: float) -> None:
    """Do nothing that ends before."""
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass


def test_work_ends_after_so_many_seconds_of_computing() -> None:
    """It is interrupted where it is, and says so; what is through before has no end."""
    with ended_after(60) as is_over:
        pass
    assert not is_over()
    with pytest.raises(KeyboardInterrupt), ended_after(0.01) as is_over:
        compute(seconds=30)
    assert is_over()
