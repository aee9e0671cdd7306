"""What functions of a model may give back: each wrong answer is named, with what was expected."""

from __future__ import annotations

import json
from asyncio import sleep
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.engine.careful import (
    LONGEST_NUMBER,
    MOST_CHOICES,
    MOST_PARTS,
    asked_twice,
    careful,
    careful_monitor,
    careful_property,
    check_call,
    check_fields,
    check_kind,
    check_refusal,
    check_stands,
    is_own_error,
    line_of,
    raised_at,
    truth_of,
    twin_of,
    witness_of,
)
from kit.engine.fuzz import Chance
from kit.engine.model import Monitor, always, sometimes
from kit.engine.purity import (
    asking,
    blame,
    blame_states,
    check_purity,
    check_seen,
    check_start,
    error_line,
    suggested_by,
)
from kit.engine.registry import build
from kit.engine.rule import Rule
from kit.errors import BadInput, BadType, KitError, Refusal
from tests.engine.test_purity import Add, Firm, Frozen, Loose, Sly, model_of
from tests.engine.toys import LIFT, LiftModel, LiftParameters

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


def test_who_has_no_verb_is_told_by_the_class() -> None:
    """What tells of one fault does not fall over another one."""
    model = ruled(outcome=drawn_ends())
    model.verb = lambda action: 1 / 0
    rule = careful(model, model.rules[0])
    [(_, given)] = rule.choices(Firm())
    with pytest.raises(BadInput, match=r"^outcome of Add, line"):
        rule.outcome(Firm(), given)


def test_what_a_judge_is_shown_stays_as_it_was() -> None:
    """What it writes to is named with its line, whatever it answers."""
    judge = asked_twice("property p", written, lambda function, answer: answer)
    with pytest.raises(BadInput, match=r"^property p, line .*a changed state.*it must only read"):
        judge(Sly([]))


def test_a_monitor_says_what_is_wrong_or_nothing() -> None:
    """Its verdict is held to that like the witness of a property; a right one comes through."""

    def seen(verdict: Any) -> Monitor:
        return Monitor("diary", "", lambda: 0, lambda *step: 0, lambda memory: verdict)

    with pytest.raises(BadInput, match=r"^property diary, line .*a string that says what is wrong"):
        careful_monitor(seen(False)).verdict(0)
    assert careful_monitor(seen("no")).verdict(0) == "no"


@pytest.mark.parametrize("answer", [False, 0, (), b"no", ["text"]], ids=repr)
def test_a_witness_is_a_text(answer: Any) -> None:
    """What is neither a text nor None is refused; both of these pass."""
    with pytest.raises(BadInput, match=r"^property p.*a string that says what is wrong, or None"):
        witness_of("p", written, answer)
    assert (witness_of("p", written, None), witness_of("p", written, "no")) == (None, "no")


class Table:
    """What has no truth value of its own."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


@pytest.mark.parametrize(
    "answer", [None, len, iter(()), NotImplemented, Table()], ids=lambda each: type(each).__name__
)
def test_a_truth_is_one(answer: Any) -> None:
    """What is true whatever it says, or says nothing, is refused; numbers and lists are clear."""
    with pytest.raises(BadInput, match=r"^property p, line .*True or False"):
        truth_of("p", written, answer)
    assert [truth_of("p", written, each) for each in (1, [1], 0, [])] == [True, True, False, False]


@pytest.mark.filterwarnings("error")
def test_nobody_hears_of_a_coroutine_besides() -> None:
    """A function that was declared async is named, and Python does not complain of it later."""
    for judge in (truth_of, witness_of, check_refusal):
        with pytest.raises(BadInput):
            judge("p", written, sleep(0))


@pytest.mark.parametrize("refusal", [True, "no", Refusal(7), Refusal("no", ("x", 7))], ids=repr)  # type: ignore[arg-type]  # wrong on purpose
def test_a_refusal_can_be_shown(refusal: Any) -> None:
    """A Refusal of texts, or None."""
    with pytest.raises(BadInput, match=r"^guard, line .*(a Refusal with its reason|as text)"):
        check_refusal("guard", written, refusal)
    check_refusal("guard", written, None)
    check_refusal("guard", written, Refusal("no"))


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


def test_a_function_takes_what_it_is_given() -> None:
    """One that takes more or less is shown with its parameters; the kit's own are not looked at."""
    with pytest.raises(BadType, match=r"^guard, line .*written\(s: .*a function of s, action"):
        check_call("guard", written, "s", "action")
    with pytest.raises(BadType, match="a function of nothing"):
        check_call("guard", written)
    check_call("guard", written, "s")
    check_call("guard", LiftModel.start, "self")
    check_call("guard", max, "s")


def test_a_set_is_turned_round_wherever_it_is() -> None:
    """Twins equal what they are made of, and go through their sets the other way."""
    pair = frozenset({1, 2})
    for made in (pair, (0, pair), Firm((pair,)), Frozen(pair), frozenset({pair, 5})):
        assert twin_of(made) == made
        assert twin_of(made) is not made
    assert list(twin_of(pair)) == list(pair)[::-1]
    for plain in (frozenset({1}), (1, 2), Firm((1,)), Frozen(3), "text", Frozen):
        assert twin_of(plain) is plain


# -- what a search, a walk or a Player says of such a model ----------------------------------------


def test_what_is_suggested_is_an_action() -> None:
    """Of this model, or None."""
    model: Any = ruled()
    for given in (Add(), None):
        model.suggest = lambda s, given=given: given
        assert suggested_by(model, Firm()) == given
    model.suggest = lambda s: Firm()
    with pytest.raises(BadInput, match=r"^suggest, line .*an action of mine, or None"):
        suggested_by(model, Firm())


def test_a_run_begins_alike_each_time() -> None:
    """A first state that draws is named."""
    model: Any = ruled()
    check_start(model, Firm())
    draw = drawing()
    model.start = lambda: Firm((draw(),))
    with pytest.raises(BadInput, match=r"^start, line .*a different state each time"):
        check_start(model, model.start())


def fails(s: Any, given: Any) -> Any:
    """A step that raises."""
    raise ValueError("told so")


def test_what_a_step_raises_is_left_to_who_takes_it() -> None:
    """A look passes; whoever takes the step gets the error, in a line that names where."""
    model = ruled(outcome=fails)
    check_seen(model, Firm())
    [rule] = model.rules
    assert rule.seen(Firm(), 1) == Firm()
    with pytest.raises(ValueError, match="told so") as caught:
        check_purity(model, Firm())
    said = error_line(caught.value)
    assert said.startswith("fails, line ")
    assert said.endswith("ValueError: told so")


def test_what_the_kit_says_of_a_step_is_kept() -> None:
    """An error of the kit is not taken for the model's own, when a step is looked at."""

    def refused(s: Any, given: Any) -> Any:
        raise KitError("as the kit says")

    [rule] = ruled(outcome=refused).rules
    with pytest.raises(KitError, match="as the kit says"):
        rule.seen(Firm(), 1)


def test_states_that_do_not_stay_are_blamed_on_somebody() -> None:
    """On the function that is found, else on the model."""
    with pytest.raises(BadInput, match=r"^mine: .*states that change after they were made"):
        blame_states(ruled(), [Firm()])
    with pytest.raises(BadInput, match=r"^outcome of add 1"):
        blame_states(ruled(outcome=drawn_ends()), [Firm()])


def test_a_search_that_falls_over_is_blamed_on_what_raised() -> None:
    """On a function of the model; where none is found, on the line; an own model's error stays."""
    model = ruled(outcome=lambda s, given: next(iter(())))
    found = blame(model, (), [Firm()], StopIteration("over"))
    assert "StopIteration: over" in str(found)
    model = LIFT.build(LiftParameters(), ())
    with pytest.raises(BadInput, match=r"^mine|line"), asking(ruled()):
        raise SystemExit("gone")
    with pytest.raises(ValueError, match="own"), asking(model):
        raise ValueError("own")
    assert raised_at(ValueError("nowhere"), "mine") == "mine"


def test_a_function_is_asked_again_about_sets_in_another_order() -> None:
    """Whichever argument has the set, and also when a value was asked about before."""

    def first(*given: frozenset[int]) -> int:
        return next(iter(given[-1]))

    judge = asked_twice("monitor m", first, lambda function, answer: answer)
    one, several = frozenset((1,)), frozenset((1, 2, 3))
    assert judge(several, one) == judge(several, one) == 1
    for _ in range(2):
        with pytest.raises(BadInput, match="a different answer each time"):
            judge(one, several)


class Counted(Struct, frozen=True):
    """A state with a number."""

    n: int = 0
    parts: tuple[int, ...] = ()


FLOAT: Any = 1.0


@pytest.mark.parametrize("wrong", [Counted(FLOAT), Counted(1, (2 * FLOAT,))])
def test_a_number_of_another_type_is_refused_whatever_was_seen_before(wrong: Counted) -> None:
    """It equals one that is right, which was looked at first."""

    def made(state: Counted) -> Counted:
        return state

    check_fields(Counted(1), "action", made)
    check_fields(Counted(1, (2,)), "action", made)
    with pytest.raises(BadInput, match="as Counted declares it"):
        check_fields(wrong, "action", made)


class Speaking(Protocol):
    """What can speak; Python does not tell of anything whether it can."""

    def speak(self) -> str:
        """Speak."""


class Stage(Struct, frozen=True):
    """A state with somebody who can, and a number."""

    who: Speaking
    scene: int = 1


def test_a_class_that_cannot_be_asked_is_not() -> None:
    """Whatever stands there may be one; what stands beside it is looked at all the same."""
    who: Any = "somebody"
    check_fields(Stage(who), "start", written)
    first: Any = "first"
    with pytest.raises(BadInput, match=r"scene.*as Stage declares it"):
        check_fields(Stage(who, first), "start", written)


T = TypeVar("T")


class Box(Struct, Generic[T], frozen=True):
    """A state that holds one value of any kind."""

    value: T


@pytest.mark.parametrize("kind", [Box[int], Box[int] | Firm, Firm | Box[int], Box, Any, Firm | Any])
def test_a_state_is_of_one_of_the_classes_that_the_model_names(kind: Any) -> None:
    """A class that is made for another one is a class of states by itself."""
    model: Any = model_of(lambda: Box(0), lambda s, action: s)
    model.State = kind
    check_kind(model, "start", written, Box(0))
    model.State = Add | Box[int]
    with pytest.raises(BadInput, match=r"allowed: a state of mine: Add or Box$"):
        check_kind(model, "start", written, Frozen())


def test_a_judge_that_writes_to_a_state_is_named() -> None:
    """A struct that is not frozen is looked at again."""

    def writes(s: Any) -> str | None:
        s.items = (*s.items, 1)
        return None

    with pytest.raises(BadInput, match=r"^property held, line .*a changed state"):
        asked_twice("property held", writes, lambda function, answer: answer)(Loose())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/tmp/ipykernel_7/1234.py", "line 3"),
        ("<string>", "line 3"),
        ("/lessons/lift.py", "line 3 of lift.py"),
    ],
)
def test_a_cell_has_no_name_worth_telling(name: str, said: str) -> None:
    """Nor has what was typed."""
    assert line_of(name, 3) == said


def ended() -> Iterator[int]:
    """Yield what is left of nothing."""
    yield next(iter(()))


def decoded() -> Any:
    """Read what is no JSON."""
    return json.loads("?")


@pytest.mark.parametrize(
    ("raises", "where"), [(lambda: list(ended()), "ended"), (decoded, "decoded")]
)
def test_the_last_line_of_ones_own_is_named(raises: Callable[[], Any], where: str) -> None:
    """Also within a loop that ended too early, or where a module of Python's raises."""
    with pytest.raises((RuntimeError, ValueError)) as caught:
        raises()
    assert raised_at(caught.value).startswith(f"{where}, line ")


def test_an_error_is_somebodys_own_unless_the_kit_was_at_work() -> None:
    """Whether that raised it, or a module of Python's that it had asked."""
    wrong: Any = {}
    for raises, own in ((decoded, True), (lambda: Chance(wrong), False)):
        with pytest.raises((ValueError, TypeError)) as caught:
            raises()
        assert is_own_error(caught.value) == own


def test_the_judges_of_the_kit_are_asked_once() -> None:
    """They are looked at by tests; those of somebody else's model are asked twice."""
    own = build("twophase").properties[0]
    mine = always("mine", "", lambda s: None)
    assert careful_property(own) is own
    assert careful_property(mine).check is not mine.check
    assert careful_property(mine).check(None) is None
