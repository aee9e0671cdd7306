"""What functions of a model may give back: each wrong answer is named, with what was expected."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model.model import Rule, always, sometimes
from kit.model.vet import MOST_CHOICES, check_purity, check_seen
from tests.model.test_purity import Add, Firm, Frozen, model_of

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


# -- what a search, a walk or a Player says of such a model ----------------------------------------
