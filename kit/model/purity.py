"""Whether a model keeps its word: states that stay as they are, and that can be told apart.

A model that was written in a hurry may change the state it was given, or hold a list in it. What
follows then (a search that finds nothing, a history that changes behind one's back) is hard to
understand; so it is looked for, and told in one line with the place in the code.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from kit.edge.arguments import keep_calls
from kit.errors import BadInput, KitError, Refusal, one_line
from kit.model.careful import (
    NEW,
    NO_CHANCE,
    careful,
    careful_property,
    check_fields,
    check_kind,
    check_stands,
    check_text,
    is_kits,
    is_own_error,
    is_within,
    place,
    raised_at,
)
from kit.model.model import Model, Monitor
from kit.model.patience import attended
from kit.model.rule import Rule

ANSWERS = "functions that accept what they are given and return what they should"
JUDGES = "an answer for every state and step that can be reached"


def is_own(model: Model[Any, Any]) -> bool:
    """Whether all rules of a model are the kit's own, which tests have looked at."""
    functions = [f for rule in model.rules for f in (rule.choices, rule.outcome)]
    functions += getattr(model, "receiving", ())  # in which nodes receive messages
    return all(map(is_kits, functions)) and all(map(is_own, getattr(model, "parts", {}).values()))


def rules_of(model: Model[Any, Any]) -> tuple[Rule[Any, Any], ...]:
    """The rules of a model; careful ones when they are not the kit's own."""
    return model.rules if is_own(model) else tuple(careful(model, rule) for rule in model.rules)


def steps_of(model: Model[Any, Any]) -> Callable[[Any], Iterator[tuple[Any, Any]]]:
    """What a search walks along: the model's own way, or a careful one."""
    if is_own(model) or type(model).successors is not Model.successors:
        return model.successors
    rules = rules_of(model)

    def steps(s: Any) -> Iterator[tuple[Any, Any]]:
        for rule in rules:
            yield from rule.ready(s)

    return steps


def check_purity(model: Model[Any, Any], state: Any, *, words: bool = True) -> None:
    """Take every step from one state, and see that all functions of the model keep their word.

    With ``words`` so do those that tell of each step, and what is suggested.

    Raises BadInput naming the function that does not, and its line.
    """
    check_stands(state, "start", model.start)
    check_kind(model, "start", model.start, state)
    properties = tuple(map(careful_property, (*model.properties, *model.signs)))
    for prop in properties:
        if prop.kind != "step":
            prop.check(state)
    for rule in (careful(model, rule) for rule in model.rules):
        for action, given in rule.choices(state):
            check_text("verb", model.verb, model.verb(action))
            check_text("label", model.label, model.label(state, action))
            check_text("kind", model.kind, model.kind(action))
            after = rule.outcome(state, given)
            if after is None or isinstance(after, Refusal):
                continue
            if words:
                say = model.describe(state, action, after)
                check_told(model, say, model.milestone(state, action, after))
            for prop in properties:
                if prop.kind == "step":
                    prop.of_step(state, action, after)
    if words:
        suggested_by(model, state)


def check_told(
    model: Model[Any, Any],
    say: Any,
    milestone: Any,
    monitors: Iterable[Monitor] = (),
    memories: Iterable[Any] = (),
) -> None:
    """See that what is told of a step is text. Raises BadInput naming the function if it is not."""
    check_text("describe", model.describe, say)
    if milestone is not None:
        check_text("milestone", model.milestone, milestone)
    for monitor, memory in zip(monitors, memories, strict=True):
        monitor.verdict(memory)


def suggested_by(model: Model[Any, Any], state: Any) -> Any:
    """What a model suggests: an action, or None. Raises BadInput naming the function otherwise."""
    with blaming(model, under_way=lambda: [state]):
        action = model.suggest(state)
    if action is not None and model.rule_of(action) is None:
        allowed = f"an action of {model.name}, or None"
        raise BadInput(place("suggest", model.suggest), action, allowed)
    return action


def check_start(model: Model[Any, Any], start: Any) -> None:
    """See that the first state is the same each time, and each field of its type.

    Raises BadInput naming what made another, or a field that is not.
    """
    if model.start() != start:
        raise BadInput(place("start", model.start), "a different state each time", NO_CHANCE)
    if not is_own(model):
        check_fields(start, "start", model.start)


def check_seen(model: Model[Any, Any], state: Any) -> None:
    """As ``check_purity``, for a state that is looked at: what a step raises is left to that step.

    Raises BadInput as ``check_purity``.
    """
    try:
        check_purity(model, state, words=False)
    except KitError:
        raise
    except (Exception, SystemExit, GeneratorExit):  # its own, seen by whoever takes the step
        return


def blame_states(model: Model[Any, Any], states: Iterable[Any]) -> None:
    """Look for the function that changed one of the states that a search went through.

    Raises BadInput naming it; or saying at least that states do not stay as they are.
    """
    for state in states:
        check_purity(model, state)
    raise BadInput(model.name, "states that change after they were made", NEW)


def blame(
    model: Model[Any, Any], monitors: Sequence[Monitor], nodes: list[Any], error: BaseException
) -> BadInput | None:
    """What a model did wrong when a search of it ended in ``error``; None: nothing that we know.

    ``nodes`` are the states that were being looked at; with monitors, tuples of a state and what
    each of them remembered.
    """
    said = said_by(error)
    if "immutable type" in said or type(error).__name__ == "FrozenInstanceError":
        return BadInput(raised_at(error), "a state that is written to", f"{NEW}: {said}")
    if is_own(model):
        return None
    if is_own_error(error):
        judges = " or ".join(_judges_within(model, monitors, error))
        said = f"{type(error).__name__}: {said}"
        return BadInput(f"{judges}: {raised_at(error)}", said, JUDGES) if judges else None
    for node in nodes:
        try:
            check_purity(model, node[0] if monitors else node)
            for place_of, monitor in enumerate(monitors, start=1):
                _check_memory(model, monitor, node[0], node[place_of])
        except BadInput as impure:
            return impure
        except (Exception, SystemExit, GeneratorExit):  # the same again, which is told below
            break
    return BadInput(raised_at(error, model.name), f"{type(error).__name__}: {said}", ANSWERS)


def _judges_within(
    model: Model[Any, Any], monitors: Sequence[Monitor], error: BaseException
) -> Iterator[str]:
    for prop in (*model.properties, *model.signs):
        if is_within(error, prop.check):
            yield f"property {prop.name}"
    for monitor in monitors or model.monitors:
        if any(is_within(error, f) for f in (monitor.begin, monitor.step, monitor.verdict)):
            yield f"monitor {monitor.name}"


@contextmanager
def blaming(
    model: Model[Any, Any],
    monitors: Sequence[Monitor] = (),
    under_way: Callable[[], list[Any]] = list,
) -> Iterator[None]:
    """Say in one line what a model did wrong where it raises an error that we know.

    ``under_way`` gives the nodes whose steps are being taken.

    Raises BadInput naming the line that wrote to a state, that ends a loop or the process, or that
    gave something else than it should, or a promise that raises. Other errors of the model's own
    code come through.
    """
    try:
        yield
    except (KitError, MemoryError):
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        impure = blame(model, monitors, under_way(), error)
        if impure is None:
            raise
        raise impure from None


@contextmanager
def asking(model: Model[Any, Any], *, under_way: Callable[[], list[Any]] = list) -> Iterator[None]:
    """Ask a model whatever it may be: as ``blaming``, and each function has to come back.

    Raises BadInput as ``blaming``; or naming the function that does not.
    """
    if is_own(model):
        yield
        return
    with blaming(model, under_way=under_way), attended():
        yield


def _has_rules(model: Model[Any, Any]) -> bool:
    given: Any = getattr(model, "rules", None)
    return isinstance(given, tuple) and all(isinstance(rule, Rule) for rule in given)


def _asking_all(values: Iterable[Any]) -> AbstractContextManager[None]:
    for value in values:
        ours = any(base.__module__.startswith("kit.") for base in type(value).__mro__)
        model = getattr(value, "model", value) if ours else value
        if isinstance(model, Model) and _has_rules(model) and not is_own(model):
            return asking(model)
    return nullcontext()


keep_calls(_asking_all)


def _check_memory(model: Model[Any, Any], monitor: Monitor, state: Any, memory: Any) -> None:
    check_stands(memory, f"monitor {monitor.name}", monitor.begin)
    for action, after in model.successors(state):
        news = monitor.after(memory, state, action, after)
        check_stands(news, f"monitor {monitor.name}", monitor.step)


def error_line(error: BaseException) -> str:
    """An error of a model's own code in one line: what it is, and the line that raised it."""
    return one_line(f"{raised_at(error)}: {type(error).__name__}: {said_by(error)}")


def said_by(error: BaseException) -> str:
    """The text of an error, whatever its class makes of it."""
    try:
        return str(error)
    except Exception:  # its own text is wrong, too
        return "it has no text that can be shown"


@contextmanager
def uncollected() -> Iterator[None]:
    """While the garbage collector rests: nothing is cyclic here, and what lives is much."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def exploring(
    model: Model[Any, Any],
    monitors: Sequence[Monitor] = (),
    under_way: Callable[[], list[Any]] = list,
) -> Iterator[None]:
    """As ``blaming``, while the garbage collector rests.

    Raises BadInput for an error that a model's broken word explains, naming the place in its code.
    """
    careful_of = nullcontext() if is_own(model) else attended()
    with uncollected(), blaming(model, monitors, under_way), careful_of:
        yield
