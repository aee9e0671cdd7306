"""What every model keeps: one table of actions, pure effects, clear refusals."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import KitError, Refused
from kit.model.model import Model, Monitor, PartialOrder, Rule, always, fingerprint, step
from kit.model.registry import build, entry_of
from kit.model.trace import action_from
from kit.model.vet import METHODS, check_contract
from tests.examples import examples
from tests.model.counting import counting
from tests.model.toys import Lift, LiftModel, LiftParameters, Up, walk

SCENARIOS = ("bootstrap", "cancel", "crash-and-resume", "gap", "two-datacenters")


def _models() -> dict[str, Model[Any, Any]]:
    tcm = {scenario.name: scenario for scenario in entry_of("tcm").scenarios}
    return {
        "twophase": build("twophase"),
        "lift": LiftModel(LiftParameters()),
        **{name: build("tcm", tcm[name].parameters) for name in SCENARIOS},
        "switched off": build("tcm", {}, ("S-05", "S-06")),
        "network": counting(drops=1, duplicates=1, holds=1, partitions=1),
        "network in order": counting(fifo=True, drops=1, duplicates=1, holds=1, partitions=None),
    }


MODELS = _models()
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
choices = st.lists(st.integers(0, 1000), max_size=30)
walks = examples(15)


@every_model
@walks
@given(choices)
def test_enabled_and_waiting_are_disjoint(model: Model[Any, Any], choices: list[int]) -> None:
    """No action is both enabled and waiting, and none is listed twice."""
    for _, _, state in walk(model, choices):
        enabled = list(model.actions(state))
        waiting = [action for action, _ in model.waiting(state)]
        assert len({*enabled, *waiting}) == len(enabled) + len(waiting)


@every_model
@walks
@given(choices)
def test_acting_on_what_waits_says_why(model: Model[Any, Any], choices: list[int]) -> None:
    """Acting on a waiting action raises its very reason, and its refusal is the one listed."""
    state = ([model.start()] + [after for _, _, after in walk(model, choices)])[-1]
    for action, refusal in model.waiting(state):
        assert refusal.reason
        assert model.refusal(state, action) == refusal
        with pytest.raises(Refused) as caught:
            model.act(state, action)
        assert caught.value.reason == refusal.reason


@every_model
@walks
@given(choices)
def test_acting_searching_and_applying_agree(model: Model[Any, Any], choices: list[int]) -> None:
    """What a search walks along is what a person gets by acting, action for action."""
    for _, _, state in walk(model, choices):
        enabled = list(model.actions(state))
        assert [action for action, _ in model.successors(state)] == enabled
        for action, after in model.successors(state):
            assert model.refusal(state, action) is None
            assert model.act(state, action) == after == model.apply(state, action)


@every_model
@walks
@given(choices)
def test_effects_are_pure(model: Model[Any, Any], choices: list[int]) -> None:
    """Acting leaves the former state as it was, and acting again gives an equal state."""
    steps = walk(model, choices)
    marks = [fingerprint(before) for before, _, _ in steps]
    for before, action, after in steps:
        again = model.apply(before, action)
        assert (again, hash(again)) == (after, hash(after))
        assert fingerprint(again) == fingerprint(after)
    assert [fingerprint(before) for before, _, _ in steps] == marks


@every_model
@walks
@given(choices)
def test_actions_survive_being_written_down(model: Model[Any, Any], choices: list[int]) -> None:
    """Every action, wrapped or not, comes back equal from JSON, through the model's own codec."""
    for _, _, state in walk(model, choices):
        for action in [*model.actions(state), *(action for action, _ in model.waiting(state))]:
            data = msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(action)))
            assert action_from(model, data, "action") == action


@every_model
@walks
@given(choices)
def test_a_verb_names_one_action(model: Model[Any, Any], choices: list[int]) -> None:
    """In one state no two actions share a verb, so that a script says what is meant."""
    for _, _, state in walk(model, choices):
        actions = [*model.actions(state), *(action for action, _ in model.waiting(state))]
        verbs = [model.verb(action) for action in actions]
        assert len(set(verbs)) == len(verbs)
        assert all(verb == verb.strip() and "\n" not in verb and verb for verb in verbs)
        assert all(model.label(state, action) and model.kind(action) for action in actions)


@pytest.mark.parametrize("model", [m for m in MODELS.values() if m.name != "lift"])
def test_the_default_schedule_comes_to_rest(model: Model[Any, Any]) -> None:
    """Following the suggestions, each enabled and told in words, one comes to rest."""
    state = model.start()
    for _ in range(500):
        action = model.suggest(state)
        if action is None:
            break
        after = model.act(state, action)
        assert model.describe(state, action, after)
        state = after
    assert model.suggest(state) is None


@every_model
@pytest.mark.parametrize("foreign", [None, 3, "prepare RM0", (), Lift(1), object], ids=repr)
def test_what_is_no_action_is_refused(model: Model[Any, Any], foreign: object) -> None:
    """Anything that is no action of the model is refused in one line that says so."""
    with pytest.raises(Refused, match="not an action of") as caught:
        model.act(model.start(), foreign)
    assert "\n" not in str(caught.value)


RULE: Rule[Any, Any] = Rule(
    *(Up, "move"),
    choices=lambda s: ((Up(), Up()),),
    outcome=lambda s, action: s,
    given=lambda action: action,
)
PROPERTY = always("held", "It holds", lambda s: None)
MONITOR = Monitor("sees", "It sees", lambda: 0, lambda *step: 0, lambda memory: None)
NOTHING: Any = None
NO_STEP: Any = lambda s: None  # noqa: E731  # of a state, where a step is judged
REFUSED: tuple[tuple[str, Any, str], ...] = (
    ("start", lambda s: s, r"start of lift, line .*a function of nothing \("),
    *(
        (name, lambda: 0, rf"{name} of lift, line .*a function of {', '.join(given)} \(")
        for name, given in METHODS.items()
        if given
    ),
    ("rules", (replace(RULE, choices=lambda: ()),), r"choices of move, .*a function of state \("),
    (
        *("rules", (replace(RULE, outcome=lambda s: s),)),
        r"outcome of move, .*a function of state, arguments \(",
    ),
    (
        *("properties", (replace(PROPERTY, check=lambda *, s: None),)),
        r"property held, line .*a function of state \(",
    ),
    (
        *("properties", (step("small", "Small", NO_STEP),)),
        r"property small, line .*a function of before, action, after \(",
    ),
    (
        *("monitors", (replace(MONITOR, begin=lambda memory: 0),)),
        r"monitor sees, line .*a function of nothing \(",
    ),
    (
        *("monitors", (replace(MONITOR, step=lambda memory: 0),)),
        r"monitor sees, line .*a function of memory, before, action, after \(",
    ),
    (
        *("monitors", (replace(MONITOR, verdict=lambda: None),)),
        r"monitor sees, line .*a function of memory \(",
    ),
    ("monitors", (replace(MONITOR, rename=1),), "rename of monitor sees.*a function, or None"),
    ("monitors", (replace(MONITOR, title=7),), "title of monitor sees"),
    ("monitors", (replace(MONITOR, on="Up"),), "on of monitor sees.*a tuple of classes of"),
    ("name", 1, "name of LiftModel"),
    ("title", None, "title of LiftModel"),
    ("rules", None, "rules of lift: .*a tuple of Rules"),
    ("rules", (RULE, PROPERTY), r"rules\[1\] of lift: .*a tuple of Rules"),
    ("rules", (replace(RULE, choices=NOTHING),), "choices of a Rule of lift"),
    ("rules", (replace(RULE, outcome=NOTHING),), "outcome of a Rule of lift"),
    ("rules", (replace(RULE, given=NOTHING),), "given of a Rule of lift"),
    ("rules", (replace(RULE, action=NOTHING),), "rules of lift: action: .*a class of actions"),
    ("rules", (replace(RULE, action=int),), "rules of lift: action: .*a class of actions"),
    ("rules", (replace(RULE, kind="mo\ave"),), "kind of rule Up of lift"),
    ("rules", (replace(RULE, kind="m" * 1000),), "kind of rule Up of lift"),
    ("parameters", {}, "parameters of lift: .*a frozen struct"),
    ("rests_at_goals", 1, "rests_at_goals of lift: .*True or False"),
    ("symmetry", 1, "symmetry of lift: .*a function, or None"),
    ("partial_order", 1, "partial_order of lift: .*a PartialOrder, or None"),
    ("partial_order", PartialOrder((Up,), NOTHING), "partial_order.leads of lift: .*a function"),
    ("partial_order", PartialOrder(("up",), len), r"partial_order.waiting\[0\] of lift: .*types"),
    ("State", 1, r"State of lift: .*a class, or several"),
    ("safeguards", ("S",), r"safeguards\[0\] of lift: .*a tuple of Safeguards"),
    ("off", "S", "off of lift: .*a tuple of strs"),
    ("faults", (1,), r"faults\[0\] of lift: .*a tuple of strs"),
    ("rules", (RULE, RULE), "action of a rule of lift: got 'Up'.*each name once"),
    ("revision", 0, "revision of lift: .*a number from 1"),
    ("revision", "2", "revision of lift: .*a number from 1"),
    ("properties", 3, "properties of lift: .*a tuple of Propert"),
    ("properties", (RULE,), r"properties\[0\] of lift"),
    ("properties", (replace(PROPERTY, check=NOTHING),), "check of a Property of lift"),
    ("properties", (replace(PROPERTY, kind="ever"),), "kind of property held: .*one of always, "),
    ("properties", (PROPERTY, PROPERTY), "property of lift: got 'held'.*each name once"),
    ("properties", (replace(PROPERTY, name=""),), "property of lift: .*a name"),
    ("properties", (replace(PROPERTY, name=NOTHING),), "property of lift: .*a name"),
    ("properties", (replace(PROPERTY, name=7),), "property of lift: got 7; allowed: a name$"),
    ("properties", (replace(PROPERTY, name="he\ald"),), "property of lift: "),
    ("properties", (replace(PROPERTY, title="It \a holds"),), "title of property held"),
    ("properties", (replace(PROPERTY, title=7),), "title of property held"),
    ("properties", (replace(PROPERTY, on=5),), "on of property held.*a tuple of classes of"),
    ("properties", (replace(PROPERTY, of=1),), "of of property held.*a function, or None"),
    ("properties", (replace(PROPERTY, on="Up"),), "on of property held.*a tuple of classes of"),
    ("properties", (replace(PROPERTY, on=("Up",)),), "on of property held.*a tuple of classes of"),
    ("monitors", (PROPERTY,), r"monitors\[0\] of lift: .*a tuple of Monitors"),
    ("monitors", (replace(MONITOR, begin=NOTHING),), "begin of a Monitor of lift"),
    ("monitors", (replace(MONITOR, step=NOTHING),), "step of a Monitor of lift"),
    ("monitors", (replace(MONITOR, verdict=NOTHING),), "verdict of a Monitor of lift"),
    ("monitors", (replace(MONITOR, begin=list),), "monitor sees.*values that never change"),
    ("monitors", (replace(MONITOR, name="inside"),), "property of lift: got 'inside'.*once"),
)


def a_lift(**changed: Any) -> LiftModel:
    """The lift with some of its parts exchanged."""
    model = LiftModel(LiftParameters())
    vars(model).update(changed)
    return model


@pytest.mark.parametrize(("part", "given", "said"), REFUSED)
def test_what_is_missing_or_wrong_is_named(part: str, given: Any, said: str) -> None:
    """Its own parts are looked at, and others that are given instead of them."""
    with pytest.raises(KitError, match=f"^{said}"):
        check_contract(a_lift(**{part: given}))
    if part in ("properties", "monitors"):
        with pytest.raises(KitError, match=f"^{said}"):
            check_contract(a_lift(), **{part: given})
        instead = {part: (PROPERTY,) if part == "properties" else (MONITOR,)}
        check_contract(a_lift(**{part: given}), **instead)
