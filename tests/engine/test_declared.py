"""A model that is declared wrongly is refused where it is declared; what is declared, is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import pytest

from kit.engine.check import check
from kit.engine.declared import (
    Declared,
    Each,
    State,
    action,
    always,
    budget,
    goal,
    limited,
    parameter,
    safeguard,
    sometimes,
    step,
)
from kit.engine.fuzz import fuzz
from kit.engine.log import AtomicLog
from kit.engine.registry import build
from kit.engine.timeline import Timeline, held
from kit.engine.trace import action_from
from kit.errors import BadInput, BadType
from tests.engine.toys import LiftModel, LiftParameters
from tests.toy.slots import Client, Slots, SlotState


def a_class() -> Any:
    """A class where a method should be."""
    return action()(Slots)


def a_judge_that_is_a_class() -> Any:
    """A class where a judge should be."""
    return always()(Slots)


def a_taken_name() -> Any:
    """An action that is called as a method of every model."""

    class Taken(Slots):
        @action()
        def describe(self, s: SlotState, client: Client) -> SlotState:
            """It hides the method."""
            return s

    return Taken


def an_unknown_name() -> Any:
    """An action with an annotation that nobody knows."""

    class Unknown(Slots):
        @action()
        def look(self, s: SlotState, client: Nobody) -> SlotState:  # noqa: F821  # nobody is meant to know it
            """It looks."""
            return s

    return Unknown


def endless() -> Any:
    """An action of which nothing says which there are."""

    class Endless(Slots):
        @action()
        def wait(self, s: SlotState, long: int) -> SlotState:
            """It waits."""
            return s

    return Endless().start()


def out_of_range() -> Any:
    """An action that is offered for somebody who is not there."""

    class Offering(Slots):
        @action(each=lambda m, s: (0, 7))
        def look(self, s: SlotState, client: Client) -> SlotState:
            """It looks."""
            return s

    model: Any = Offering()
    return [*model.options(model.start())]


def a_text_of_nobody() -> Any:
    """A sentence that names what the step does not have."""

    class Naming(Slots):
        @action()
        def look(self, s: SlotState, client: Client) -> SlotState:
            """{nobody} looks."""
            return s

    model: Any = Naming()
    return model.describe(model.start(), Naming.look(0), model.start())


def a_hidden_list() -> Any:
    """A method where every model has its properties."""

    class Hiding(Slots):
        def properties(self) -> None:  # type: ignore[override]  # the fault
            """None."""

    return Hiding


def no_title() -> Any:
    """A model without a title."""

    class Bare(Declared[Any]):
        name, State = "bare", SlotState

    return Bare()


def of_a_number() -> Any:
    """An action whose parameter ranges over a number."""

    class Counting(Slots):
        @action()
        def look(self, s: SlotState, client: Annotated[int, Each(7)]) -> SlotState:  # type: ignore[arg-type]  # the fault
            """It looks."""
            return s

    return Counting()


def of_anything() -> Any:
    """A parameter whose type has no limits."""

    class Loose(Slots):
        most: object = parameter(1, "how many", ge=1)

    return Loose()


def a_budget_of_nobody() -> Any:
    """A budget that the state has no field for."""

    class Failing(Slots):
        crashes: int = budget(1, "how often a client fails", le=3)

    return Failing().start()


def a_budget_that_is_spent() -> Any:
    """An action that spends what the state does not have."""

    class Failing(Slots):
        @action(spends="crashes")
        def crash(self, s: SlotState) -> SlotState:
            """A client fails."""
            return s

    return Failing()


class _Hiding:
    """A class that is no model, with what hides an action of the next base."""

    enter = 7


def hidden_by(**own: Any) -> Callable[[], Any]:
    """A model that has something else where its base has an action."""
    return lambda: type("Hidden", (Slots,), own)


def never(self: Any, s: Any) -> str:
    """Nothing is ever well."""
    return "broken"


HIDDEN = (
    r"^enter of Hidden: got 'something else in place of the action'; allowed: its new body, "
    r"def enter\(self, s, client\), or another name$"
)


class Weighed(Slots):
    """A model whose parameters are no single whole numbers."""

    share: float = parameter(0.5, "a part", ge=0, le=1)
    pair: tuple[int, int] = parameter((1, 2), "two numbers")
    some: tuple[str, ...] | None = parameter(None, "names")


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a class": (a_class, BadType, "^@action"),
    "a judge": (a_judge_that_is_a_class, BadType, "^@always"),
    "a taken name": (
        a_taken_name,
        TypeError,
        "Taken.describe: every model already has such a method",
    ),
    "an unknown name": (an_unknown_name, TypeError, "'Nobody' is not defined, which an annotation"),
    "without an end": (endless, BadInput, "^action wait: .*parameters with Each, or each="),
    "out of range": (out_of_range, BadInput, "^each of action look: got 7; allowed: one of .0, 1"),
    "a text": (a_text_of_nobody, BadInput, "^text of action look: .*nobody.*fills in from .before"),
    "a hidden list": (a_hidden_list, BadType, "^properties of Hiding: .*another name"),
    "no title": (no_title, BadInput, "^title of Bare: got 'nothing'"),
    "of a number": (of_a_number, BadType, "^Each: got 7; allowed: a sequence"),
    "of anything": (of_anything, BadType, "^types of LooseParameters: .*numeric type"),
    "a budget": (a_budget_of_nobody, BadInput, "^budget of slots: got 'crashes'.*of SlotState"),
    "what is spent": (a_budget_that_is_spent, BadInput, "^spends of action crash: got 'crashes'"),
    "nothing in place of an action": (hidden_by(enter=None), BadInput, HIDDEN),
    "a property there": (hidden_by(enter=property(never)), BadInput, HIDDEN),
    "a function there": (hidden_by(enter=staticmethod(never)), BadInput, HIDDEN),
    "a parameter there": (hidden_by(enter=parameter(1, "one")), BadInput, HIDDEN),
    "a promise there": (hidden_by(enter=always()(never)), BadInput, HIDDEN),
    "a base that hides it": (lambda: type("Hidden", (_Hiding, Slots), {}), BadInput, HIDDEN),
    "a share": (lambda: Weighed(share="x"), BadInput, "^share: got 'x'.*a number"),
    "a large share": (lambda: Weighed(share=1.5), BadInput, "^share: got 1.5; allowed: .*<= 1"),
    "no share": (lambda: Weighed(share=float("nan")), BadInput, "^share: got nan"),
    "a pair": (lambda: Weighed(pair="x"), BadInput, "^pair: got 'x'.*a tuple"),
    "a list": (lambda: Weighed(pair=[1, 2]), BadInput, r"^pair: got \[1, 2\]; .*never changes"),
    "three": (lambda: Weighed(pair=(1, 2, 3)), BadInput, "^pair: got .*a tuple of length 2"),
    "half a pair": (lambda: Weighed(pair=(1, "x")), BadInput, r"^pair\[1\]: got 'x'.*whole number"),
    "some": (lambda: Weighed(some=(1,)), BadInput, r"^some\[0\]: got 1; .*a string"),
    "limits": (lambda: parameter(1, "how many", ge="x"), BadType, "^parameter: .*`ge` must be"),
    "a parameter": (lambda: Slots(rooms=2), BadInput, "^parameter: got 'rooms'.*it takes none"),
    "a safeguard": (lambda: Slots(off=("no",)), BadInput, "^safeguard: got 'no'.*slots has none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_is_named(name: str) -> None:
    """At once, or when the model is made or first asked: what is wrong, and what is allowed."""
    make, kind, said = WRONG[name]
    with pytest.raises(kind, match=said):
        make()


@pytest.mark.parametrize("limit", ["ge", "gt", "le", "lt"])
def test_limits_are_numbers_of_64_bits(limit: str) -> None:
    """The least and the largest such number are limits, and what is beyond them is none."""
    for number in (-(2**63), 2**63 - 1):
        assert getattr(limited(**{limit: number}), limit) == number
    for number in (-(2**63) - 1, 2**63):
        with pytest.raises(BadInput, match=rf"^{limit} of a parameter: got {number}; .* 2\*\*63"):
            limited(**{limit: number})


@pytest.mark.parametrize("mark", [always, goal, sometimes, step, action])
def test_parentheses_that_are_missing_are_named(mark: Any) -> None:
    """Without them the method would be no property at all, and the search say that all is well."""
    with pytest.raises(BadType, match=r"got 'never'; allowed: parentheses: @"):
        mark(never)


@pytest.mark.parametrize("kind", [staticmethod, classmethod, property])
def test_a_property_is_a_method(kind: Any) -> None:
    """Whichever decorator stands above."""
    with pytest.raises(BadType, match="a method, written with def"):
        always()(kind(never))
    if kind is property:
        with pytest.raises(BadType, match=r"^well of Hidden: got '@property'"):

            class Hidden(Slots):
                @property
                @always()
                def well(self, s: SlotState) -> str:  # noqa: PLR0206  # the fault
                    """Nobody would ask."""
                    return "broken"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"most": "2"}, "^most: got '2'; allowed: a whole number"),
        ({"most": 2.0}, "^most: got 2.0; allowed: a whole number"),
        ({"most": None}, "^most: got None; allowed: a whole number"),
        ({"most": True}, "^most: got True; allowed: a whole number"),
        ({"parameters": 3}, r"^parameters: got 3; allowed: Sized\("),
        ({"off": None}, "^off: got None; allowed: a tuple of names"),
        ({"off": "most"}, "^off: got 'most'; allowed: a tuple of names"),
        ({"off": iter(["most"])}, "^off: .*; allowed: a tuple of names"),
    ],
)
def test_what_a_model_is_made_of_is_looked_at(given: dict[str, Any], said: str) -> None:
    """Each parameter by its name, before anything is made of it."""
    with pytest.raises(BadInput, match=said):
        Sized(**given)


def test_a_parameter_has_a_type() -> None:
    """It says what may be given."""
    with pytest.raises(BadType, match=r"^most of Bare: got 'no annotation'; .*: most: int"):
        type("Bare", (Slots,), {"most": parameter(2, "how many")})


def test_what_an_action_ranges_over_never_changes() -> None:
    """A list could be changed, and is no key."""

    class Listed(Slots):
        @action()
        def look(self, s: SlotState, lists: Annotated[Any, Each(([1], [2]))]) -> SlotState:
            """It looks."""
            return s

    with pytest.raises(BadType, match=r"^Each: got \[1\]; allowed: values that never change"):
        Listed()


@pytest.mark.parametrize("mark", [goal, sometimes])
def test_whether_it_is_reached_is_no_text(mark: Any) -> None:
    """As a promise would say what is wrong: a text is always true."""

    class Texts(Slots):
        @mark()
        def said(self, s: SlotState) -> str:
            """It is reached."""
            return "broken"

    with pytest.raises(BadInput, match=r"^property said.*got 'broken'; allowed: True or False"):
        check(Texts())


class Sized(Slots):
    """The room with a size, and without a door: another body for an action of its base."""

    name = "sized"
    most: int = parameter(1, "how many may be inside", ge=1, le=2)

    def enter(self, s: SlotState, client: int) -> Any:
        """{client} goes in."""
        return s.but(number=s.number | 1 << client)


def test_an_action_may_get_another_body() -> None:
    """It stays an action, with its name and its choices; the property is broken by it."""
    model: Any = Sized(most=2)
    assert model.most == 2
    assert {rule.kind for rule in model.rules} == {"enter", "depart"}
    found = check(model)
    assert found.violation is not None
    assert (found.violation.property, len(found.violation.actions)) == ("allowed", 2)
    assert found.verdict == "violated"
    assert found.sentence == "violated: allowed: two clients are inside"
    assert check(Slots()).violation is None
    with pytest.raises(BadInput, match=r"^parameter: got 'rooms'; allowed: most$"):
        Sized(rooms=2)


class _Closed:
    """Another body for an action, in a class that is no model."""

    def enter(self, s: SlotState, client: int) -> Any:
        """{client} stays outside."""
        return


def test_another_body_may_come_from_a_base_that_is_no_model() -> None:
    """As a method of the class itself it takes no action away."""

    class Shut(_Closed, Slots):
        """A room that nobody enters."""

    model: Any = Shut()
    assert {rule.kind for rule in model.rules} == {"enter", "depart"}
    assert check(model).states == 1


class _Untagged:
    """No class of actions."""


def test_actions_have_to_be_told_apart() -> None:
    """A model whose class of actions is none cannot read an action from a trace."""
    model: Any = Slots()
    model.Action = _Untagged | int | Callable
    with pytest.raises(BadType, match=r"^Action of slots: .*each with its own tag"):
        action_from(model, {"type": "enter"}, "step 1")


def test_tags_and_ids_are_given_once() -> None:
    """With one tag for two actions no saved run could be opened again."""
    with pytest.raises(BadInput, match=r"^tag of Twins: got 'same'; allowed: one tag for each"):

        class Twins(Slots):
            @action(tag="same")
            def left(self, s: SlotState) -> Any:
                """One."""

            @action(tag="same")
            def right(self, s: SlotState) -> Any:
                """The other."""

    with pytest.raises(BadInput, match=r"^id of Guarded: got 'S-1'; allowed: one id for each"):

        class Guarded(Slots):
            waits = safeguard("S-1", "Nobody waits", ("allowed",))
            hurries = safeguard("S-1", "Nobody hurries", ("allowed",))


def test_a_timeline_is_led_up_to_the_break() -> None:
    """Of actions to come none follows the first one that breaks a promise."""
    model: Any = Sized(most=2)
    timeline = Timeline(model)
    comes = (Slots.enter(0), Slots.enter(1), Slots.depart(0))
    for each in held(timeline, comes):
        timeline.do(each)
    assert [each.action for each in timeline.moments] == [None, *comes[:2]]


class Part(State, frozen=True):
    """A part of a state."""

    name: str = ""


class Typed(State, frozen=True):
    """Fields of several types."""

    number: int = 0
    share: float = 0
    names: frozenset[str] = frozenset()
    nodes: tuple[Part, ...] = (Part(), Part())
    anything: Any = None


FILLED: dict[str, tuple[dict[str, Any], str]] = {
    "a number": ({"number": "x"}, "number: got 'x'; allowed: int, as Typed declares it"),
    "a share": ({"share": "x"}, "share: got 'x'; allowed: float"),
    "a set": ({"names": frozenset([1])}, r"names: got frozenset\(.1.\); allowed: frozenset.str"),
    "a part": ({"nodes": (Part(), Part(7))}, "name: got 7; allowed: str, as Part declares it"),  # type: ignore[arg-type]  # the fault
    "of others": ({"nodes": (1,)}, "nodes: got .1,.; allowed: tuple.*Part"),
}


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("walked", [check, lambda m: Timeline(m).forward()])
def test_a_field_holds_what_it_is_declared_with(name: str, walked: Any) -> None:
    """A step that puts a text where a number belongs is named, with the field and its type."""
    fields, said = FILLED[name]

    class Filling(Declared[Typed]):
        name, title, State = "filling", "Fields", Typed

        @action()
        def fill(self, s: Typed) -> Typed:
            """It is filled."""
            return s.but(**fields)

    with pytest.raises(BadInput, match=f"^outcome of fill, line .*: {said}"):
        walked(Filling())


class Texts(State, frozen=True):
    """A number that is none."""

    number: int = "x"  # type: ignore[assignment]  # the fault


@pytest.mark.parametrize("walked", [check, lambda m: fuzz(m, range(1)), Timeline])
def test_a_default_is_of_its_type(walked: Any) -> None:
    """The state that all defaults make is held against the types, though the kit makes it."""

    class Standing(Declared[Texts]):
        name, title, State = "standing", "Defaults", Texts

        @action()
        def wait(self, s: Texts) -> Texts | None:
            """It waits."""
            return None

    with pytest.raises(BadInput, match=r"^start: number: got 'x'; allowed: int, as Texts declares"):
        walked(Standing())


def test_what_has_no_text_goes_by_its_name() -> None:
    """A step is told by its verb, a promise by its name in words."""

    class Silent(Declared[Typed]):
        name, title, State = "silent", "No words", Typed

        @action()
        def fill_up(self, s: Typed) -> Typed:
            return s.but(number=1)

        @always()
        def is_empty(self, s: Typed) -> str | None:
            return None

    timeline = Timeline(Silent())
    timeline.forward()
    assert timeline.moments[-1].say == "fill-up"
    assert [prop.title for prop in Silent().properties] == ["is empty"]


def test_a_safeguard_protects_what_is_promised() -> None:
    """By the name of the promise or by its invariant, be it in some configurations only."""

    class Guarded(Declared[Typed]):
        name, title, State = "guarded", "Guards", Typed
        counts: bool = safeguard("S-1", "It counts", ("INV-EMPTY", "few-there"))

        @always("INV-EMPTY", when=lambda m: False)
        def is_empty(self, s: Typed) -> str | None:
            """It is empty."""

        @always()
        def few_there(self, s: Typed) -> str | None:
            """There are few."""

    class Wrong(Guarded):
        waits: bool = safeguard("S-2", "It waits", ("INV-FEW",))

    assert Guarded().counts
    with pytest.raises(
        BadInput, match=r"^what waits of Wrong protects: got 'INV-FEW'.*: .*few-there"
    ):
        Wrong()


def test_a_field_may_hold_what_python_takes_for_its_type() -> None:
    """A truth value is a whole number, a whole number a share; of Any all is one."""

    class Filling(Declared[Typed]):
        name, title, State = "filling", "Fields", Typed

        @action()
        def fill(self, s: Typed) -> Typed:
            """It is filled."""
            return s.but(number=True, share=1, names=frozenset(["a"]), anything=("x", 1))

    assert check(Filling()).complete


def test_nobody_relies_on_a_fault() -> None:
    """Neither on one that spends a budget nor on one without; on all else, unless it says so."""

    class Relied(Slots):
        @action(fault=True)
        def stumble(self, s: SlotState) -> SlotState:
            """A client stumbles."""
            return s

        @action(relied=False)
        def idle(self, s: SlotState) -> SlotState:
            """A client does nothing."""
            return s

        @action()
        def work(self, s: SlotState) -> SlotState:
            """A client works."""
            return s

    relied = {name: vars(Relied)[name].relied for name in ("stumble", "idle", "work")}
    assert relied == {"stumble": False, "idle": False, "work": True}


def test_what_is_promised_under_a_name_is_protected_by_it() -> None:
    """Be it in some configurations only; where nothing is promised the line says so."""

    class Named(Declared[Typed]):
        name, title, State = "named", "Names", Typed
        counts: bool = safeguard("S-1", "It counts", ("few",))

        @always(name="few", when=lambda m: False)
        def few_there(self, s: Typed) -> str | None:
            """There are few."""

    class Silent(Declared[Typed]):
        name, title, State = "silent", "Nothing", Typed
        counts: bool = safeguard("S-1", "It counts", ("few",))

    assert Named().counts
    with pytest.raises(BadInput, match=r"got 'few'; allowed: a promise: it has none$"):
        Silent()


def test_what_a_decorator_is_given_instead_of_names_is_shown() -> None:
    """A method has no parentheses before it; anything else is told how it is written."""
    wrong: Any = 5
    with pytest.raises(BadType, match=r"^@always: got 5; allowed: @always\(name=value, …\)$"):
        always(wrong)


def test_a_parameter_equals_itself() -> None:
    """No number is none, also where there need not be one."""

    class Shared(Declared[Typed]):
        name, title, State = "shared", "A share", Typed
        share: float | None = parameter(0.5, "the share of all")

        @action()
        def wait(self, s: Typed) -> Typed | None:
            """It waits."""
            return None

    assert Shared(share=None).share is None
    with pytest.raises(BadInput, match=r"^share: got nan; allowed: a value that never changes"):
        Shared(share=float("nan"))


class Pull(NamedTuple):
    """No action of the model."""

    node: str = ""


def test_of_what_is_no_action_of_a_model_the_hand_does_nothing() -> None:
    """Nor for one of which nobody says what the hand does."""
    model = Slots()
    s: Any = model.start()
    own = next(iter(model.actions(s)))
    foreign: Any = Pull()
    assert model.hand(s, own) is model.hand(s, foreign) is None


@pytest.mark.parametrize(
    ("node", "things", "actor"),
    [("", (), ""), ("", ("B",), "B"), ("", ("B", "C"), ""), ("A", ("B",), "A"), ("A", (), "A")],
)
def test_the_only_thing_that_a_step_concerns_takes_it(
    node: str, things: tuple[str, ...], actor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless a node is named."""
    monkeypatch.setattr(LiftModel, "things", lambda self, action: things)
    model = LiftModel(LiftParameters())
    assert model.actor_of(model.start(), Pull(node)) == actor


@pytest.mark.parametrize(
    "model", [AtomicLog(), build("tablets"), build("paxos")], ids=lambda m: m.name
)
def test_a_node_is_known_by_its_name(model: Any) -> None:
    """Each has a place; who has none is named, with those that there are."""
    assert [model.number(name) for name in model.names] == [*range(len(model.names))]
    everybody = ", ".join(model.names)
    for asked in (lambda: model.number("Z"), lambda: model.mask((*model.names, "Z"))):
        with pytest.raises(BadInput, match=f"^node: got 'Z'; allowed: one of {everybody}$"):
            asked()
