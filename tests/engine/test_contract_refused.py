"""A model that is not whole is refused before anything is done with it: what is missing, where."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.contract import METHODS, check_contract
from kit.engine.model import Monitor, PartialOrder, always, step
from kit.engine.rule import Rule
from kit.errors import KitError
from tests.engine.toys import Lift, LiftModel, LiftParameters, Up

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
    ("monitors", (replace(MONITOR, begin=list),), "monitor sees.*a lasting memory"),
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


def test_a_whole_model_passes() -> None:
    """With lists as well as tuples, and with a start of its own or of its class."""
    check_contract(a_lift(rules=[RULE], properties=[PROPERTY], monitors=[MONITOR]))
    check_contract(a_lift(start=lambda: None))
    for kind in (None, Lift, Lift | Up, list[int]):
        check_contract(a_lift(State=kind))
