"""A model that does not keep its word is named, with the line of its code, and nothing is lost."""

from __future__ import annotations

import dataclasses
import gc
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from types import MethodType, SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.edge import arguments
from kit.engine import purity
from kit.engine.careful import KIT, is_kits, place, raised_at
from kit.engine.check import check
from kit.engine.fuzz import fuzz
from kit.engine.model import Model, Monitor, always, sometimes, step
from kit.engine.purity import (
    _asking_all,
    asking,
    blame,
    blaming,
    check_purity,
    check_seen,
    check_start,
    check_told,
    exploring,
    is_own,
    rules_of,
    steps_of,
    uncollected,
)
from kit.engine.registry import build, entries
from kit.engine.timeline import Timeline
from kit.errors import BadInput, BadType, Refusal
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
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["breadth", "depth"])
def test_a_model_that_breaks_its_word_is_named(name: str, mode: Any) -> None:
    """One line names the function, its line in the file and its text, and what is allowed."""
    start, effect, said = CASES[name]
    with pytest.raises(BadInput) as caught:
        check(model_of(start, effect), mode=mode)
    message = str(caught.value)
    for words in (*said, "of test_purity.py"):
        assert words in message, message
    assert "\n" not in message


def test_candidates_that_change_a_state_are_named() -> None:
    """To look at what could be done does nothing."""

    def grows(s: Any) -> Any:
        s.items.append(1)
        return (Add(),)

    with pytest.raises(BadInput, match=r"choices of add, line .*grows.*a changed state"):
        check(model_of(lambda: Sly([]), lambda s, action: Sly([*s.items]), grows))


def test_the_words_of_a_model_are_texts() -> None:
    """What tells of a step is looked at, too, unless only the steps are asked about."""
    model: Any = model_of(Firm, lambda s, action: Firm((*s.items, 1)))
    model.describe = lambda before, action, after: 7
    check_purity(model, Firm(), words=False)
    with pytest.raises(BadInput, match=r"describe.*a string"):
        check_purity(model, Firm())


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_the_words_are_looked_at_on_every_level_of_a_search(wrong: int) -> None:
    """A search tells no step, so that it would meet none of them; the last state has no step."""
    model: Any = model_of(Firm, lambda s, action: Firm((*s.items, 1)))
    model.describe = lambda before, action, after: 7 if len(before.items) == wrong else "more"
    with pytest.raises(BadInput, match=r"describe.*a string"):
        check(model)
    model.describe = lambda before, action, after: "more"
    assert check(model).depth == 3


@pytest.mark.parametrize("word", ["verb", "label", "kind", "milestone"])
def test_each_word_of_a_step_is_named_that_is_no_text(word: str) -> None:
    """What a button needs is looked at with the steps; what tells of one only with the words."""
    model: Any = model_of(Firm, lambda s, action: Firm((*s.items, 1)))
    vars(model)[word] = lambda *given: 7
    for words in (True, False):
        if word == "milestone" and not words:
            check_purity(model, Firm(), words=words)
            continue
        with pytest.raises(BadInput, match=rf"^{word}, line .*got 7; allowed: a string$"):
            check_purity(model, Firm(), words=words)


def test_what_is_suggested_is_looked_at_with_the_words() -> None:
    """It is no part of the steps."""
    model: Any = model_of(Firm, lambda s, action: Firm((*s.items, 1)))
    model.suggest = lambda s: Firm()
    check_purity(model, Firm(), words=False)
    with pytest.raises(BadInput, match=r"^suggest, line .*an action of mine, or None$"):
        check_purity(model, Firm())


def test_rules_on_steps_are_looked_at_with_them() -> None:
    """Where a state is looked at, each step from there is judged."""
    model = model_of(Firm, lambda s, action: Firm((*s.items, 1)))
    model.properties = (step("small", "Small", lambda before, action, after: False),)  # type: ignore[arg-type,return-value]  # wrong on purpose
    with pytest.raises(BadInput, match=r"^property small, line .*a string that says what is wrong"):
        check_purity(model, Firm(), words=False)


def test_a_start_of_another_class_is_named() -> None:
    """It, and not the first step that leads on from there."""
    model: Any = model_of(Frozen, lambda s, action: s)
    model.State = Firm
    with pytest.raises(BadInput, match=r"^start: .*a state of mine: Firm$|^start, line .*Firm$"):
        check_purity(model, Frozen())


def test_what_comes_after_a_refusal_is_looked_at() -> None:
    """Each action of a rule is tried, also behind one that may not happen."""
    model: Any = model_of(Firm, lists, lambda s: (Add(1), Add(2)))
    [rule] = model.rules

    def second(s: Any, given: Any) -> Any:
        return WAIT if given.one == 1 else Firm([1])

    model.rules = (replace(rule, outcome=second),)
    with pytest.raises(BadInput, match=r"^outcome of add 2, line .*unhashable type: 'list'"):
        check_purity(model, Firm())


def test_a_model_is_the_kits_own_with_all_its_parts() -> None:
    """A product of the kit's is a student's with one part that is."""
    own, mine = build("twophase"), model_of(Firm, lists)
    whole: Any = build("twophase")
    for parts, expected in (({}, True), ({"a": own}, True), ({"a": own, "b": mine}, False)):
        whole.parts = parts
        assert is_own(whole) is expected
    assert not is_own(mine)


def test_an_action_that_cannot_be_hashed_is_named() -> None:
    """Actions are told apart, too: one with a list in it is named with who offered it."""
    model = model_of(Firm, lambda s, a: s, lambda s: (Add([1]),))
    with pytest.raises(BadInput, match=r"choices of add, line .*unhashable type: 'list'"):
        check(model)


def test_a_state_that_cannot_be_written_down_is_named() -> None:
    """A state that holds something without content (a function, say) has no fingerprint."""
    with pytest.raises(BadInput, match=r"start, line .*a state cannot hold a function"):
        check(model_of(lambda: Firm((lambda: 1,)), lists))


def test_a_memory_that_cannot_be_hashed_is_named() -> None:
    """A monitor that remembers a list is named like a state that holds one."""
    model = model_of(Firm, lambda s, a: Firm((*s.items, 1)))
    model.monitors = (Monitor("diary", "", tuple, lambda m, b, a, n: [*m, 1], lambda m: None),)
    with pytest.raises(BadInput, match=r"monitor diary, line .*unhashable type: 'list'"):
        check(model)


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


def test_what_raises_again_is_told_before_what_another_state_breaks() -> None:
    """The states that were looked at are asked in their order, up to one that raises again."""

    def first(s: Any, action: Any) -> Any:
        if not s.items:
            raise LookupError("there is none")
        return Firm([*s.items, 1])

    model = model_of(Firm, first)
    fails, breaks = Firm(), Firm((1,))
    for nodes, said in (
        ([breaks], "outcome of add 1, line "),
        ([breaks, fails], "outcome of add 1, line "),
        ([fails, breaks], "mine: got 'SystemExit: no'"),
        ([fails], "mine: got 'SystemExit: no'"),
        ([], "mine: got 'SystemExit: no'"),
    ):
        assert str(blame(model, (), nodes, SystemExit("no"))).startswith(said)


def test_an_error_of_the_kits_own_model_comes_through() -> None:
    """Unless it has written to a state: that is told of any model."""
    own = build("twophase")
    for error in (ValueError("no"), SystemExit("no")):
        assert blame(own, (), [own.start()], error) is None
    told = blame(own, (), [], AttributeError("immutable type: 'State'"))
    assert told is not None
    assert told.value == "a state that is written to"


def test_a_memory_of_any_monitor_is_blamed() -> None:
    """Of what was looked at, the first part is the state, then comes what each remembered."""
    fine = Monitor("fine", "Nothing", lambda: 0, lambda *step: 0, lambda memory: None)
    drawn = replace(fine, name="drawn", step=lambda memory, *step: [memory])
    model = model_of(Firm, lambda s, action: s)
    for watching in ((fine, drawn), (drawn, fine)):
        found = blame(model, watching, [(Firm(), 0, 0)], SystemExit("no"))
        assert str(found).startswith("monitor drawn, line ")


def test_what_a_monitor_begins_with_is_blamed_too() -> None:
    """Not only what it remembers after a step."""
    none = float("nan")
    watch = Monitor("watch", "W", lambda: none, lambda *step: 0, lambda memory: None)
    found = blame(model_of(Firm, lambda s, a: s), (watch,), [(Firm(), none)], SystemExit("no"))
    assert re.match(r"monitor watch, line .*numbers that equal themselves", str(found))


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_rests_and_is_left_as_it_was(collects: bool) -> None:
    """Somebody may have sent it to rest already."""
    was = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        with uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() is collects
    finally:
        (gc.enable if was else gc.disable)()


def test_the_kits_own_models_keep_their_word() -> None:
    """Every registered model passes from its start."""
    for name in entries():
        model = build(name)
        check_purity(model, model.start())


class Holder:
    """Something with a method."""

    def method(self, s: Any) -> None:
        """One."""


def test_places_are_told_through_wrappers() -> None:
    """Methods, partial and cached functions are told by the function behind them."""
    here = place("it", Holder.method)
    assert place("it", Holder().method) == place("it", partial(Holder.method, 1)) == here
    assert place("it", cache(Holder.method)) == here
    assert place("it", MethodType(partial(Holder.method), Holder())) == here
    assert here.startswith("it, line ")
    assert here.endswith(" of test_purity.py (def method(self, s: Any) -> None:)")
    assert place("it", len) == "it"
    source = compile("def f(s):\n    return s\n", "<ipython-input-1>", "exec")
    names: dict[str, Any] = {}
    exec(source, names)
    assert place("it", names["f"]) == "it, line 1"


ADDED = {
    "protocols/mine/mine.py": False,
    "protocols/mine/rules/more.py": False,
    "protocols/twophase/twophase.py": True,
    "protocols/__init__.py": True,
    "engine/model.py": True,
}


@pytest.mark.parametrize("file", ADDED)
def test_a_family_that_is_added_is_a_students(file: str) -> None:
    """What the kit brings along is the kit's; a family that is put beside it is looked at."""
    names: dict[str, Any] = {}
    exec(compile("def f(s):\n    return 1 / 0\n", f"{KIT}{file}", "exec"), names)
    assert is_kits(names["f"]) == ADDED[file]
    assert (place("it", names["f"]) == "it") == ADDED[file]
    with pytest.raises(ZeroDivisionError) as raised:
        names["f"](0)
    assert (raised_at(raised.value).startswith("f, line 2 of")) != ADDED[file]


@pytest.mark.parametrize("number", [float("nan"), 1 << 20_000], ids=("nan", "huge"))
def test_a_number_that_cannot_be_told_apart_is_named(number: Any) -> None:
    """Not a number, or one without end, makes no state: the step that made it is named."""
    model = model_of(Firm, lambda s, action: Firm((number,)))
    with pytest.raises(BadInput, match=r"outcome of add 1, line .*numbers that equal themselves"):
        check_purity(model, Firm())


@pytest.mark.parametrize("given", [None, 5, "add"])
@pytest.mark.parametrize("field", ["rules", "properties", "monitors"])
def test_what_is_no_tuple_of_parts_is_refused(field: str, given: Any) -> None:
    """A model's rules, properties and monitors are tuples of them; one line says which is not."""
    model = model_of(Firm, late)
    setattr(model, field, given)
    with pytest.raises(BadType, match=rf"^{field} of mine: got .* allowed: a tuple of "):
        check(model)


def test_only_the_judge_that_failed_is_named() -> None:
    """Not a monitor that watches beside it."""
    model = model_of(Firm, lambda s, action: s)
    fine = always("fine", "Fine", lambda s: None)
    model.properties = (fine, always("every-item", "All", lambda s: s.nothing))
    model.monitors = (Monitor("sees", "It sees", lambda: 0, lambda m, *_: m, lambda m: None),)
    with pytest.raises(BadInput, match=r"^property every-item: "):
        check(model)
    model.properties = (fine,)
    fails = Monitor("fails", "It fails", lambda: 0, lambda m, *_: m, lambda m: m.nothing)
    with pytest.raises(BadInput, match=r"^monitor fails: "):
        check(model, monitors=(fails,))


def test_a_monitor_that_a_search_brings_is_named() -> None:
    """Instead of the model's own, which do not watch then."""
    fails = Monitor("fails", "It fails", lambda: 0, lambda m, *_: m, lambda m: m.nothing)
    model = model_of(Firm, lambda s, action: s)
    with pytest.raises(BadInput, match=r"^monitor fails: "), blaming(model, (fails,)):
        fails.verdict(0)
    model.monitors = (fails,)
    with pytest.raises(BadInput, match=r"^monitor fails: "), blaming(model):
        fails.verdict(0)


def test_calls_are_attended_for_the_first_model_of_somebody_elses() -> None:
    """Whatever else they are given; nobody looks after what is the kit's own, or is no model."""
    mine, own = model_of(Firm, lambda s, action: s), build("twophase")

    class Ruled:
        """No model, though it has rules."""

        rules = mine.rules

    for values, is_attended in (
        ((), False),
        ((own, 7), False),
        ((Ruled(), type(own)), False),
        ((mine,), True),
        ((own, mine), True),
    ):
        assert isinstance(_asking_all(values), nullcontext) is not is_attended


def test_only_a_search_of_somebody_elses_model_is_attended(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at each function of the kit's own would take time for nothing."""
    seen = list[str]()

    def attended() -> Any:
        seen.append("attended")
        return nullcontext()

    monkeypatch.setattr("kit.engine.purity.attended", attended)
    with exploring(build("twophase")):
        assert seen == []
    with exploring(model_of(Firm, lambda s, action: s)):
        assert seen == ["attended"]


class Walks(Model[Any, Any]):
    """A model with a way of its own to all that follows."""

    def successors(self, s: Any) -> Any:
        """Nothing."""
        return iter(())


def test_a_model_is_the_kits_own_in_all_its_parts() -> None:
    """One function of somebody else's is enough to look at it."""
    own, mine = build("twophase"), model_of(Firm, lists)
    kits = own.rules[0].outcome
    looks: list[tuple[dict[str, Any], bool]] = [
        ({"rules": own.rules}, True),
        ({"rules": mine.rules}, False),
        ({"rules": (*own.rules, *mine.rules)}, False),
        ({"rules": (*mine.rules, *own.rules)}, False),
        ({"rules": own.rules, "receiving": (kits,)}, True),
        ({"rules": own.rules, "receiving": (kits, writes)}, False),
        ({"rules": own.rules, "parts": {"a": own, "b": own}}, True),
        ({"rules": own.rules, "parts": {"a": own, "b": mine}}, False),
    ]
    for parts, is_the_kits in looks:
        model: Any = SimpleNamespace(**parts)
        assert is_own(model) is is_the_kits, parts


def test_rules_and_steps_are_careful_where_they_are_not_the_kits_own() -> None:
    """A model's own way to take its steps is left to it."""
    own, mine, fine = build("twophase"), model_of(Firm, lists), model_of(Firm, late)
    assert rules_of(own) is own.rules
    assert steps_of(own) == own.successors
    walks = Walks()
    walks.rules = mine.rules
    assert steps_of(walks) == walks.successors
    for asked in (
        lambda: [list(rule.ready(Firm())) for rule in rules_of(mine)],
        lambda: list(steps_of(mine)(Firm())),
    ):
        with pytest.raises(BadInput, match=r"outcome of add 1, line .*unhashable type: 'list'"):
            asked()
    assert list(steps_of(fine)(Firm())) == [(Add(), Firm((1,)))]
    assert steps_of(fine) != fine.successors


@pytest.mark.parametrize(
    ("say", "milestone", "named"),
    [
        ("well", None, ""),
        ("well", "done", ""),
        (5, None, "describe"),
        ("well", 5, "milestone"),
    ],
)
def test_what_is_told_of_a_step_is_text(say: Any, milestone: Any, named: str) -> None:
    """A milestone may be missing; what a monitor says of what it remembers is asked for, too."""
    model = model_of(Firm, late)
    heard: list[Any] = []
    watch = Monitor("w", "W", int, lambda *step: 0, heard.append)
    with pytest.raises(BadInput, match=f"^{named}") if named else nullcontext():
        check_told(model, say, milestone, (watch, watch), (1, 2))
    assert heard == ([] if named else [1, 2])


class Whole(Struct, frozen=True):
    """A state with a number."""

    number: int = 0


def test_a_start_is_the_same_each_time_and_of_its_type() -> None:
    """The fields of the kit's own models are not looked at."""
    mine, own = model_of(Whole, late), build("twophase")
    check_start(mine, Whole())
    with pytest.raises(BadInput, match=r"^start: .*a different state each time"):
        check_start(mine, Whole(1))
    wrong = Whole("one")  # type: ignore[arg-type]  # it is wrong on purpose
    mine.start = own.start = lambda: wrong  # type: ignore[method-assign]  # it is wrong on purpose
    with pytest.raises(BadInput, match=r"^start, .*number"):
        check_start(mine, wrong)
    check_start(own, wrong)


def test_words_are_looked_at_unless_a_state_is_only_seen() -> None:
    """They are asked for when the step is taken."""
    model = model_of(Firm, late)
    model.describe = lambda *step: 5  # type: ignore[assignment, method-assign]  # it is wrong on purpose
    check_purity(model, Firm(), words=False)
    check_seen(model, Firm())
    with pytest.raises(BadInput, match=r"^describe"):
        check_purity(model, Firm())


@pytest.mark.parametrize("way", [asking, exploring])
def test_only_functions_of_somebody_elses_are_attended(
    way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kit's own come back."""
    attended = list[str]()

    def attends() -> Any:
        attended.append("attended")
        return nullcontext()

    monkeypatch.setattr(purity, "attended", attends)
    with way(build("twophase")):
        assert attended == []
    with way(model_of(Firm, late)):
        assert attended == ["attended"]


def test_a_call_asks_the_first_model_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one inside of what is the kit's; but nothing that is no model, or a broken one."""
    own, mine, other = build("twophase"), model_of(Firm, late), model_of(Firm, late)
    of_mine, of_own = Timeline(mine), Timeline(own)
    monkeypatch.setattr(purity, "asking", lambda model: model)
    no_tuple, no_rules = model_of(Firm, late), model_of(Firm, late)
    no_tuple.rules = [*mine.rules]  # type: ignore[assignment]  # it is wrong on purpose
    no_rules.rules = (*mine.rules, 5)  # type: ignore[assignment]  # it is wrong on purpose
    cases: list[tuple[list[Any], Any]] = [
        ([], None),
        ([own], None),
        ([mine], mine),
        ([1, "two", own, other, mine], other),
        ([of_mine], mine),
        ([of_own], None),
        ([SimpleNamespace(model=mine)], None),
        ([SimpleNamespace(rules=mine.rules)], None),
        ([no_tuple, no_rules], None),
        ([no_rules, mine], mine),
    ]
    for values, asked in cases:
        given: Any = _asking_all(values)
        assert (given is asked) if asked else isinstance(given, nullcontext), values
    assert arguments._KEEPERS[-1] is _asking_all
