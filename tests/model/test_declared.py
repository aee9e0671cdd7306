"""A model that is declared wrongly is refused where it is declared; what is declared, is there."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import pytest

from kit.errors import BadInput, BadType
from kit.model import declared
from kit.model.declared import (
    Declared,
    Each,
    action,
    always,
    budget,
    goal,
    parameter,
    sometimes,
    step,
)
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
    "what is off": (lambda: Slots(off=7), BadType, "^off: got 7; allowed: a tuple of names"),
    "a safeguard": (lambda: Slots(off=("no",)), BadInput, "^safeguard: got 'no'.*slots has none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_is_named(name: str) -> None:
    """At once, or when the model is made or first asked: what is wrong, and what is allowed."""
    make, kind, said = WRONG[name]
    with pytest.raises(kind, match=said):
        make()


@pytest.mark.parametrize("mark", [always, goal, sometimes, step, action])
def test_parentheses_that_are_missing_are_named(mark: Any) -> None:
    """Without them the method would be no property at all, and the search say that all is well."""
    with pytest.raises(BadType, match=r"got 'never'; allowed: parentheses: @"):
        mark(never)


def test_an_action_without_words_is_told_by_its_verb() -> None:
    """Its step needs a sentence."""

    class Bare(Slots):
        @action()
        def pause(self, s: SlotState) -> SlotState:
            return s

    model = Bare()
    assert model.describe(model.start(), Bare.pause(), model.start()) == "pause"


FILE = "<a cell>"
SHIPPED = str(Path(declared.__file__).with_name("none_of_these.py"))
HEAD = 'name, title, State = "own", "A model", State\n'
METHOD = 'def {}(self, s):\n    """It is said."""\n'
LOOK, RING = (METHOD.format(name) for name in ("look", "ring"))
MOST = 'most: int = parameter(1, "how many", ge=1)\n'
SAFE = 'safe: bool = safeguard("S-1", "it is safe", ("well",))\n'


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    for file in (FILE, SHIPPED):
        linecache.cache.pop(file, None)


def made(body: str, base: str = "Declared", *, is_known: bool = True, file: str = FILE) -> Any:
    """The class of this body, as a cell makes it, or a file; its text is known, or not."""
    text = f"class Own({base}):\n{indent(body, '    ')}"
    if is_known:
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {**vars(declared), "__name__": "cell"}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names["Own"]


# what stands in the class -> the name that is lost, and its two lines
TWICE = {
    "a parameter": (HEAD + MOST + MOST, "most", 3, 4),
    "a budget": (HEAD + 2 * 'cuts: int = budget(1, "cuts", le=2)\n', "cuts", 3, 4),
    "a safeguard": (HEAD + SAFE + MOST + SAFE, "safe", 3, 5),
    "an action": (HEAD + f"@action()\n{LOOK}@action()\n{LOOK}", "look", 4, 7),
    "a method in place of an action": (HEAD + f"@action()\n{LOOK}{LOOK}", "look", 4, 6),
    "an action in place of a method": (HEAD + f"{LOOK}@action()\n{LOOK}", "look", 3, 6),
    "a promise": (HEAD + f"@always()\n{LOOK}@goal()\n{LOOK}", "look", 4, 7),
    "a promise and an action": (HEAD + f"@step()\n{LOOK}@action()\n{LOOK}", "look", 4, 7),
    "a parameter and a method": (HEAD + MOST + METHOD.format("most"), "most", 3, 4),
}


@pytest.mark.parametrize("what", TWICE)
def test_what_is_declared_twice_is_named_with_both_lines(what: str) -> None:
    """In one line, as soon as the class is made."""
    body, name, first, second = TWICE[what]
    said = rf"^{name} of Own: got 'two of that name, in lines {first} and {second}'; .* once: .*$"
    with pytest.raises(BadInput, match=said):
        made(body)


@pytest.mark.parametrize("again", ["here: int = 0", "here: int"])
def test_so_is_a_field_of_a_state(again: str) -> None:
    """The later default would take the first one's place."""
    with pytest.raises(BadInput, match=r"^here of Own: .*in lines 2 and 4"):
        made(f"here: int = 1\nthere: int = 2\n{again}\n", "State")
