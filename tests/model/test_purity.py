"""A model that does not keep its word is named, with the line of its code, and nothing is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from kit.errors import BadInput, Refusal
from kit.masks import holds
from kit.model.model import Model, Monitor, always, sometimes, step
from kit.model.registry import build, entries
from kit.model.vet import blame, check_purity
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.pairs import paired


class Add(Struct, frozen=True, tag="add"):
    """One more."""

    one: Any = 1


class Loose(Struct):
    """A state that may be written to, and so cannot be hashed."""

    items: Any = ()


class Firm(Struct, frozen=True):
    """A frozen state; what it holds may still be loose."""

    items: Any = ()


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A frozen dataclass."""

    items: Any = ()


class Sly:
    """A state with a hash, which yet can be changed; it can be written down as its items."""

    def __init__(self, items: list[int]) -> None:
        self.items = items

    @property
    def digest(self) -> bytes:
        """What stands for it in a fingerprint."""
        return bytes(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sly) and self.items == other.items

    def __hash__(self) -> int:
        return hash(tuple(self.items))


def model_of(
    start: Callable[[], Any],
    effect: Callable[[Any, Any], Any],
    candidates: Callable[[Any], Any] = lambda s: (Add(),),
) -> Model[Any, Any]:
    """A model with one rule, as a student may get it wrong."""
    model: Model[Any, Any] = Model()
    model.name, model.title, model.Action = "mine", "Mine", Add
    model.start = start
    model.rules = (
        paired(
            action=Add,
            kind="add",
            candidates=candidates,
            condition=lambda s, a: None if len(s.items) < 3 else WAIT,
            effect=effect,
        ),
    )
    return model


WAIT = Refusal("full")


def writes(s: Any, action: Any) -> Any:
    """Write to the state."""
    s.items = (*s.items, 1)
    return s


def appends(s: Any, action: Any) -> Any:
    """Write into the state's list."""
    s.items.append(1)
    return Sly(list(s.items))


def lists(s: Any, action: Any) -> Any:
    """Put a list into a frozen state."""
    return Firm([*s.items, 1])


def late(s: Any, action: Any) -> Any:
    """Put a list into a state, but only at the third step."""
    return Firm((*s.items, 1) if len(s.items) < 2 else [1, 2, 3])


def holding(s: Any, action: Any) -> Any:
    """Give a state where a set of nodes is wanted."""
    return Firm((holds(s, 1),))


def leaves(s: Any, action: Any) -> Any:
    """End the process."""
    raise SystemExit(3)


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any], tuple[str, ...]]] = {
    "a frozen state is written to": (
        Firm,
        writes,
        ("writes, line", "(s.items = (*s.items, 1))", "immutable type: 'Firm'", "a new state"),
    ),
    "a frozen dataclass is written to": (
        Frozen,
        writes,
        ("writes, line", "(s.items = (*s.items, 1))", "cannot assign to field", "a new state"),
    ),
    "a state is changed behind one's back": (
        lambda: Sly([]),
        appends,
        ("outcome of add 1, line", "(def appends(s: Any", "a changed state", "a new state"),
    ),
    "a state that is not frozen": (
        lambda: Loose(()),
        lists,
        ("start, line", "unhashable type: 'Loose'", "frozen structs"),
    ),
    "a list in a new state": (
        Firm,
        lists,
        ("outcome of add 1, line", "(def lists(s: Any", "unhashable type: 'list'", "tuples"),
    ),
    "a list in a state much later": (
        Firm,
        late,
        ("outcome of add 1, line", "(def late(s: Any", "unhashable type: 'list'", "tuples"),
    ),
    "the kit is given something else": (
        Firm,
        holding,
        ("holding, line", "(return Firm((holds(s, 1),)))", "TypeError", "functions that accept"),
    ),
    "the process is ended": (
        Firm,
        leaves,
        ("leaves, line", "(raise SystemExit(3))", "SystemExit: 3", "functions that accept"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_model_that_breaks_its_word_is_named(name: str) -> None:
    """One line names the function, its line in the file and its text, and what is allowed."""
    start, effect, said = CASES[name]
    with pytest.raises(BadInput) as caught:
        check(model_of(start, effect))
    message = str(caught.value)
    for words in (*said, "of test_purity.py"):
        assert words in message, message
    assert "\n" not in message


def test_other_errors_come_through() -> None:
    """What is not a broken word is the student's own error, with its own traceback."""

    def wrong(s: Any, action: Any) -> Any:
        return s.nothing

    with pytest.raises(AttributeError, match="nothing"):
        check(model_of(Firm, wrong))

    def typed(s: Any, action: Any) -> Any:
        return Firm(s.items + 1)

    with pytest.raises(TypeError, match="concatenate"):
        check(model_of(Firm, typed))
    assert blame(model_of(Firm, lists), (), [], ValueError("no")) is None


RAISING: dict[str, Any] = {
    "property every-item": {"properties": (always("every-item", "All", lambda s: s.nothing),)},
    "property three": {"properties": (sometimes("three", "Three", lambda s: s.nothing),)},
    "property small": {"properties": (step("small", "Small", lambda b, a, s: s.nothing),)},
    "monitor watch": {
        "monitors": (Monitor("watch", "W", lambda: 0, lambda *_: 0, lambda m: m.nothing),)
    },
}


@pytest.mark.parametrize("judge", RAISING)
@pytest.mark.parametrize("mode", [check, lambda model: fuzz(model, range(2))])
def test_a_promise_that_raises_is_named(judge: str, mode: Any) -> None:
    """A judge that has no answer is a broken promise of its own: named, with the line."""
    model: Any = model_of(Firm, lambda s, action: s if s.items[2:] else Firm((*s.items, 1)))
    for field, given in RAISING[judge].items():
        setattr(model, field, given)
    told = rf"^{judge}: <lambda>, line \d+ of test_purity.py \(.*AttributeError: .*nothing.*answer"
    with pytest.raises(BadInput, match=told):
        mode(model)


def test_the_kits_own_models_keep_their_word() -> None:
    """Every registered model passes from its start."""
    for name in entries():
        model = build(name)
        check_purity(model, model.start())


@pytest.mark.parametrize(
    ("number", "said"),
    [(float("nan"), "numbers that equal themselves"), (1 << 20_000, "more than 10,000 bits")],
    ids=("nan", "huge"),
)
def test_a_number_that_cannot_be_told_apart_is_named(number: Any, said: str) -> None:
    """Not a number, or one without end, makes no state: the step that made it is named."""
    model = model_of(Firm, lambda s, action: Firm((number,)))
    with pytest.raises(BadInput, match=f"outcome of add 1, line .*{said}"):
        check_purity(model, Firm())
