"""What functions of a model may give back: each wrong answer is named, with what was expected."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model.careful import (
    LONGEST_NUMBER,
    MOST_CHOICES,
    MOST_PARTS,
    asked_twice,
    check_stands,
    twin_of,
    witness_of,
)
from kit.model.model import Model, always, sometimes
from kit.model.purity import (
    check_purity,
    check_seen,
    check_start,
)
from kit.model.rule import Rule
from kit.search.check import check
from tests.model.test_purity import Add, Firm, Frozen, Sly, model_of

Made = Callable[[], Any]


def ruled(**parts: Any) -> Any:
    """A model with one rule that is right but for these parts."""
    model = model_of(Firm, lambda s, action: s)
    fine: Rule[Any, Any] = Rule(
        *(Add, "add"),
        choices=lambda s: ((Add(), 1),),
        outcome=lambda s, given: Firm((*s.items, given)),
        given=lambda action: 1,
    )
    model.rules = (replace(fine, **parts),)
    return model


def judged(judge: Any) -> Any:
    """A model with one more judge."""
    model = ruled()
    model.properties = (judge,)
    return model


def drawing() -> Callable[..., int]:
    """A function that never gives the same twice."""
    numbers = count()
    return lambda *given: next(numbers)


def every_other() -> Callable[..., bool]:
    """A judge that changes its mind."""
    draw = drawing()
    return lambda s: draw() % 2 == 0


def drawn_choices() -> Any:
    """Choices of which there is another each time."""
    draw = drawing()
    return lambda s: ((Add(draw()), 1),)


def drawn_ends() -> Any:
    """An end that is another one each time."""
    draw = drawing()
    return lambda s, given: Firm((draw(),))


def endless(s: Any) -> Any:
    """Choices without an end."""
    return ((Add(number), 1) for number in count())


def written(s: Any) -> str | None:
    """Write to what is judged."""
    s.items.append(1)
    return None


CARELESS: dict[str, tuple[Made, str]] = {
    "other actions": (
        lambda: ruled(choices=drawn_choices()),
        "^choices of add, line .*: got 'different actions each time'.*sorted",
    ),
    "no actions": (
        lambda: ruled(choices=lambda s: 7),
        "^choices of add, line .*got 7; allowed: actions of type Add, in a tuple",
    ),
    "another type": (
        lambda: ruled(choices=lambda s: ((Firm(), 1),)),
        "^choices of add, line .*got Firm.*allowed: actions of type Add$",
    ),
    "one twice": (
        lambda: ruled(choices=lambda s: ((Add(), 1), (Add(), 1))),
        "^choices of add, line .*got Add.*each action once",
    ),
    "too many": (
        lambda: ruled(choices=endless),
        f"an endless number of them'.*at most {MOST_CHOICES} actions",
    ),
    "another end": (
        lambda: ruled(outcome=drawn_ends()),
        "^outcome of add 1, line .*got 'a different answer each time'",
    ),
    "an end of another kind": (
        lambda: ruled(outcome=lambda s, given: Frozen()),
        "^outcome of add, line .*a state of mine: Firm",
    ),
    "half a refusal": (
        lambda: ruled(outcome=lambda s, given: Refusal(7)),  # type: ignore[arg-type]  # wrong
        "^outcome of add 1, line .*a reason as text",
    ),
    "a refusal without a reason": (
        lambda: ruled(outcome=lambda s, given: Refusal("")),
        "^outcome of add 1, line .*a Refusal that gives a reason",
    ),
    "a witness that is none": (
        lambda: judged(always("held", "It holds", lambda s: False)),
        "^property held, line .*got False; allowed: a string that says what is wrong",
    ),
    "a judge that draws": (
        lambda: judged(sometimes("reached", "It is", every_other())),
        "^property reached, line .*got 'a different answer each time'",
    ),
    "a judge that was not called": (
        lambda: judged(sometimes("reached", "It is", lambda s: len)),
        r"^property reached, line .*a call, or any\(\) or all\(\) around it, missing",
    ),
}


@pytest.mark.parametrize("name", CARELESS)
def test_a_careless_model_is_named(name: str) -> None:
    """The function, its line and what it should have given; also where a state is looked at."""
    make, said = CARELESS[name]
    for look in (check_purity, check_seen):
        model = make()
        model.State = Firm
        with pytest.raises(BadInput, match=said):
            look(model, Firm())


def test_what_a_judge_is_shown_stays_as_it_was() -> None:
    """What it writes to is named with its line, whatever it answers."""
    judge = asked_twice("property p", written, lambda function, answer: answer)
    with pytest.raises(BadInput, match=r"^property p, line .*a changed state.*it must only read"):
        judge(Sly([]))


@pytest.mark.parametrize("answer", [False, 0, (), b"no", ["text"]], ids=repr)
def test_a_witness_is_a_text(answer: Any) -> None:
    """What is neither a text nor None is refused; both of these pass."""
    with pytest.raises(BadInput, match=r"^property p.*a string that says what is wrong, or None"):
        witness_of("p", written, answer)
    assert (witness_of("p", written, None), witness_of("p", written, "no")) == (None, "no")


LARGEST = (1 << LONGEST_NUMBER) - 1


@dataclass(frozen=True)
class Bare:
    """A class whose field has no value of its own."""

    item: int


class Hashed(dict[Any, float]):
    """A map that somebody made to be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict says that it has none
        return len(self)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ((0,) * MOST_PARTS, "at most 100,000 parts"),
        (Firm(((0,) * (MOST_PARTS // 2),) * 2), "at most 100,000 parts"),
        (Frozen((LARGEST + 1,)), "integers of at most 10000 bits"),
        (frozenset({float("nan")}), "numbers that equal themselves"),
        ({1: float("nan")}, "values that never change"),
        (Hashed(a=float("nan")), "numbers that equal themselves"),
        (Hashed({1: 1}), "values that never change"),
        ([1], "values that never change"),
        (Frozen((Frozen,)), "values that never change"),
        (Frozen((Bare,)), "values that never change"),
    ],
    ids=(
        "wide",
        "deep",
        "large",
        "no number",
        "a dict",
        "a map",
        "a map by numbers",
        "a list",
        "a class",
        "one without values",
    ),
)
def test_a_value_has_to_stand(value: Any, said: str) -> None:
    """What is too large, cannot be hashed or does not equal itself is named; just less passes."""
    with pytest.raises(BadInput, match=f"^it, line .*{said}"):
        check_stands(value, "it", written)
    for fine in ((0,) * (MOST_PARTS - 1), Firm((LARGEST, -LARGEST)), Frozen((1.5,))):
        check_stands(fine, "it", written)


# -- what a search, a walk or a Player says of such a model ----------------------------------------


def test_a_run_begins_alike_each_time() -> None:
    """A first state that draws is named."""
    model: Any = ruled()
    check_start(model, Firm())
    draw = drawing()
    model.start = lambda: Firm((draw(),))
    with pytest.raises(BadInput, match=r"^start, line .*a different state each time"):
        check_start(model, model.start())


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
        Rule(
            *(Take, "take", lambda s: ((Take(who), who) for who in sorted(s.more))),
            *(lambda s, who: Held(s.more - {who}), lambda action: action.who),
        ),
    )
    found = check(model)
    assert (found.states, found.transitions, found.verdict) == (8, 12, "complete")
