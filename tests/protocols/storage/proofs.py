"""What a search of requests proves of any history: all holds, or a safeguard is needed."""

from __future__ import annotations

from typing import Any

from kit.model.model import Monitor, Safeguard
from kit.model.registry import build
from kit.search.check import Result, Violation, check


def assert_holds(result: Result, states: int, depth: int) -> None:
    """The search is complete, judged all, finds no harm and has so many states and steps."""
    assert result.violation is None, result
    assert result.complete, result
    assert result.unjudged == ()
    assert (result.states, result.depth) == (states, depth), result


def assert_needed(result: Result, model: Any, guard: Safeguard, harm: tuple[str, int]) -> None:
    """The search broke this property in so many steps, one that ``guard`` protects, and the run
    replays to it.
    """
    assert result.violation is not None, f"without {guard.name} nothing breaks: is it needed?"
    promise, steps = harm
    assert result.violation.property == promise, "another promise breaks first"
    assert len(result.violation.actions) == steps, "the same harm, but another shortest run"
    invariants = {p.name: p.invariant for p in (*model.properties, *model.monitors)}
    assert invariants[result.violation.property] in guard.protects
    assert replayed(model, result.violation) == result.violation.witness


def assert_protects(name: str, guard: Safeguard) -> None:
    """Off, its smallest configuration breaks one of its invariants; on, nothing is broken there."""
    invariants = {prop.name: prop.invariant for prop in build(name).properties}
    missing = check(build(name, guard.smallest, (guard.name,))).violation
    assert missing is not None
    assert invariants[missing.property] in guard.protects
    kept = check(build(name, guard.smallest))
    assert (kept.violation, kept.verdict) == (None, "complete")


def replayed(model: Any, violation: Violation) -> str | None:
    """What the run's last state or step breaks of the property that a search found broken, as the
    model's own judge says.
    """
    judges = {judge.name: judge for judge in (*model.properties, *model.monitors)}
    judge = judges[violation.property]
    memory = judge.begin() if isinstance(judge, Monitor) else None
    witness, state = None, model.start()
    for action in violation.actions:
        assert witness is None  # nothing shorter breaks it
        before, state = state, model.act(state, action)
        if isinstance(judge, Monitor):
            memory = judge.after(memory, before, action, state)
            witness = judge.verdict(memory)
        elif judge.kind == "always":
            witness = judge.check(state)
        else:
            witness = judge.of_step(before, action, state)
    return witness
