"""The twin of a state equals it, and shows who goes through a set without an order."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import Struct

from kit.engine.careful import twin_of
from kit.engine.check import check
from kit.engine.model import Model
from tests.pairs import paired


class Held(Struct, frozen=True):
    """A state."""

    more: Any = ()


@dataclasses.dataclass(frozen=True)
class Record:
    """A part of a state."""

    more: Any = ()


@dataclasses.dataclass(frozen=True)
class Counted:
    """One that counts for itself."""

    more: Any
    count: int = dataclasses.field(init=False, default=2)


TWO = frozenset({1, 2})


@pytest.mark.parametrize(
    "value",
    [
        *(TWO, (0, TWO), Held(TWO), Record((TWO, 1)), Counted(TWO)),
        *(frozenset({TWO, 3}), frozenset({Held(TWO)})),
    ],
    ids=repr,
)
def test_a_twin_equals_its_value(value: Any) -> None:
    """Also by hash; it is another one."""
    twin = twin_of(value)
    assert twin is not value
    assert (twin, hash(twin)) == (value, hash(value))


def test_a_model_that_sorts_is_searched() -> None:
    """Everybody of a set is taken, one after the other."""

    class Take(Struct, frozen=True, tag="take"):
        who: str

    model: Any = Model()
    model.name, model.title, model.State, model.Action = "mine", "Mine", Held, Take
    model.start = lambda: Held(frozenset({"a", "b", "c"}))
    model.rules = (
        paired(
            *(Take, "take", lambda s: map(Take, sorted(s.more)), lambda s, a: None),
            lambda s, a: Held(s.more - {a.who}),
        ),
    )
    found = check(model)
    assert (found.states, found.transitions, found.verdict) == (8, 12, "complete")
