"""What a model must have before anything is done with it; said in one line when it has not."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, get_args, get_origin

from msgspec import Struct

from kit.edge.arguments import text, whole_number
from kit.errors import BadInput, BadType
from kit.model.careful import check_call, place
from kit.model.model import Kind, Model, Monitor, PartialOrder, Property, Safeguard
from kit.model.rule import Rule

LONGEST_SENTENCE = 1000  # characters
MOST_REVISIONS = 1_000_000


_STEP = ("before", "action", "after")
METHODS: dict[str, tuple[str, ...]] = {
    "start": (),
    **dict.fromkeys(("describe", "milestone"), _STEP),
    **dict.fromkeys(("suggest", "readable", "actions", "options", "successors"), ("state",)),
    **dict.fromkeys(("verb", "kind"), ("action",)),
    "label": ("state", "action"),
}
"""Methods of a model that may be its own, and what they are given."""


def check_contract(
    model: Model[Any, Any],
    properties: Iterable[Property] | None = None,
    monitors: Iterable[Monitor] | None = None,
) -> None:
    """See that a model is whole: names, rules, properties and monitors (its own, or others).

    Raises BadInput naming the first thing that is missing, wrong or there twice.
    """
    for field in ("name", "title"):
        text(f"{field} of {type(model).__name__}", getattr(model, field, None))
    if type(model).start is Model.start and "start" not in vars(model):
        raise BadInput(f"start of {model.name}", None, "a method that returns the first state")
    whole_number(f"revision of {model.name}", model.revision, least=1, most=MOST_REVISIONS)
    _declared(model)
    for name, names in METHODS.items():
        check_call(f"{name} of {model.name}", getattr(model, name), *names)
    rules = _members(model.name, "rules", model.rules, Rule)
    judged = _members(model.name, "properties", properties or model.properties, Property)
    watching = _members(model.name, "monitors", monitors or model.monitors, Monitor)
    for rule in rules:
        _functions(model.name, rule, ("choices", "outcome", "given"))
        if not hasattr(model, "acts"):  # else the methods were looked at
            check_call(f"choices of {rule.kind}", rule.choices, "state")
            check_call(f"outcome of {rule.kind}", rule.outcome, "state", "arguments")
        if not isinstance(rule.action, type) or not issubclass(rule.action, Struct):
            raise BadType(
                f"rules of {model.name}: action", rule.action, "a class of actions (structs)"
            )
        text(f"kind of rule {rule.action.__name__} of {model.name}", rule.kind)
    for prop in (*judged, *_members(model.name, "signs", model.signs, Property)):
        _functions(model.name, prop, ("check",))
        given = ("before", "action", "after") if prop.kind == "step" else ("state",)
        check_call(f"property {prop.name}", prop.check, *given)
        if prop.kind not in get_args(Kind):
            kinds = "one of " + ", ".join(get_args(Kind))
            raise BadInput(f"kind of property {prop.name}", prop.kind, kinds)
        _looks(f"property {prop.name}", prop, "of")
    for monitor in watching:
        _watches(model.name, monitor)
    if type(model).rule_of is Model.rule_of:  # a product finds the rules of its parts itself
        _once(model.name, "action of a rule", [rule.action.__name__ for rule in rules])
    _once(model.name, "property", [prop.name for prop in (*judged, *watching)])


def _watches(name: str, monitor: Monitor) -> None:
    what = f"monitor {monitor.name}"
    _functions(name, monitor, ("begin", "step", "verdict"))
    check_call(what, monitor.begin)
    check_call(what, monitor.step, "memory", "before", "action", "after")
    check_call(what, monitor.verdict, "memory")
    _looks(what, monitor, "rename")
    memory = monitor.begin()
    try:
        hash(memory)
    except TypeError as error:
        raise BadInput(place(what, monitor.begin), memory, f"a lasting memory ({error})") from None


def _declared(model: Model[Any, Any]) -> None:
    kind, order = getattr(model, "State", None), model.partial_order
    classes = kind is None or isinstance(kind, type) or get_origin(kind) is not None
    for field, fine, allowed in (
        ("parameters", isinstance(model.parameters, Struct), "a frozen struct: NoParameters()"),
        ("rests_at_goals", isinstance(model.rests_at_goals, bool), "True or False"),
        ("symmetry", _is_function(model.symmetry), "a function, or None"),
        ("partial_order", isinstance(order, PartialOrder | None), "a PartialOrder, or None"),
        ("State", classes, "a class, or several: A | B"),
    ):
        if not fine:
            raise BadType(f"{field} of {model.name}", getattr(model, field), allowed)
    if order is not None:
        _members(model.name, "partial_order.waiting", order.waiting, type)
        if not callable(order.leads):
            raise BadType(f"partial_order.leads of {model.name}", order.leads, "a function")
    for field, of in (("safeguards", Safeguard), ("off", str), ("faults", str)):
        _members(model.name, field, getattr(model, field), of)


def _looks(name: str, owner: Property | Monitor, field: str) -> None:
    """See that a judge has a title, and looks at classes of actions: by a name it finds none."""
    text(f"title of {name}", owner.title, LONGEST_SENTENCE)
    if not _is_function(getattr(owner, field)):
        raise BadType(f"{field} of {name}", getattr(owner, field), "a function, or None")
    given: object = owner.on
    if not isinstance(given, tuple | list) or not all(isinstance(on, type) for on in given):
        raise BadType(f"on of {name}", given, "a tuple of classes of actions")


def _is_function(value: Any) -> bool:
    return value is None or callable(value)


def _members(name: str, field: str, given: Any, kind: type[Any]) -> tuple[Any, ...]:
    allowed = f"a tuple of {kind.__name__}s"
    if not isinstance(given, tuple | list):
        raise BadType(f"{field} of {name}", given, allowed)
    for place_of, member in enumerate(given):
        if not isinstance(member, kind):
            raise BadType(f"{field}[{place_of}] of {name}", member, allowed)
    return tuple(given)


def _functions(name: str, owner: Any, fields: tuple[str, ...]) -> None:
    for field in fields:
        if not callable(getattr(owner, field)):
            raise BadType(f"{field} of a {type(owner).__name__} of {name}", owner, "a function")


def _once(name: str, what: str, words: list[Any]) -> None:
    for word in words:
        if not isinstance(word, str) or not word:
            raise BadType(f"{what} of {name}", word, "a name")
        text(f"{what} of {name}", word)
    for word, times in Counter(words).items():
        if times > 1:
            raise BadInput(f"{what} of {name}", word, "each name once")
