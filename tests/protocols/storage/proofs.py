"""What a search of requests proves of any history: all holds, or a safeguard is needed."""

from __future__ import annotations

from functools import partial
from typing import Any

from kit.engine.check import Result
from kit.engine.model import Safeguard


def assert_holds(result: Result, states: int, depth: int) -> None:
    """The search is complete, judged all, finds no harm and has so many states and steps."""
    assert result.violation is None
    assert result.complete
    assert result.unjudged == ()
    assert (result.states, result.depth) == (states, depth)


def assert_needed(result: Result, model: Any, guard: Safeguard, harm: tuple[str, int]) -> None:
    """The search broke this property in so many steps, one that ``guard`` protects, and the run
    replays to it.
    """
    assert result.violation is not None
    assert (result.violation.property, len(result.violation.actions)) == harm
    invariants = {p.name: p.invariant for p in (*model.properties, *model.monitors)}
    assert invariants[result.violation.property] in guard.protects
    replays = replayed(model, result.violation.actions, result.violation.property)
    assert replays == result.violation.witness


def replayed(model: Any, actions: tuple[Any, ...], name: str) -> str | None:
    """What the model's own judge of that name says of the last step of a run, or of its end."""
    memories = {monitor.name: monitor.begin() for monitor in model.monitors}
    before, state = model.start(), model.start()
    for action in actions:
        before, state = state, model.act(state, action)
        for monitor in model.monitors:
            memories[monitor.name] = monitor.after(memories[monitor.name], before, action, state)
    says = {
        monitor.name: partial(monitor.verdict, memories[monitor.name]) for monitor in model.monitors
    }
    for each in model.properties:
        if each.kind == "always":
            says[each.name] = partial(each.check, state)
        elif each.kind == "step":
            says[each.name] = partial(each.of_step, before, actions[-1], state)
    witness: str | None = says[name]()
    return witness
