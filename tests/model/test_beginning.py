"""Searches that begin at the end of a run: what came before is known, and told."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.model import LaterCase, Monitor
from kit.model.registry import entry_of
from kit.model.scenario import begun, begun_by, file_named, parse, read, run
from kit.model.timeline import Timeline
from kit.protocols.dataplane.dataplane import Dataplane
from kit.search.check import check
from tests.model.toys import LiftModel, LiftParameters, Up


def _rides(most: int) -> Monitor:
    """No more rides upwards than so many."""
    return Monitor(
        "rides",
        "The lift does not ride too often",
        lambda: 0,
        lambda rides, before, action, after: min(rides + isinstance(action, Up), most + 1),
        lambda rides: f"{rides} rides" if rides > most else None,
    )


def test_what_came_before_counts() -> None:
    """The search starts where the run ended, monitors remember it, both runs together are one."""
    model: Any = LiftModel(LiftParameters(floors=9))
    model.monitors = (_rides(3),)
    run = Timeline(model)
    for _ in range(2):
        run.do(Up())
    later = begun(run)
    assert later.model.start() == run.state != model.start()
    found = check(later.model).violation
    assert found is not None
    assert found.actions == (Up(), Up())
    again = Timeline.along(model, (*later.actions, *found.actions))
    assert [verdict.name for verdict in again.verdicts() if not verdict.ok] == ["rides"]
    assert model.start() == LiftModel(LiftParameters(floors=9)).start()


CASES = [(guard.name, case) for guard in Dataplane.safeguards for case in guard.later]


@pytest.mark.deep  # a landing sees it break without: tests/protocols/test_protects.py
@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_later_case_needs_its_safeguard(name: str, case: LaterCase) -> None:
    """After the first lines of the scenario what the safeguard protects breaks without it, in a run
    that is possible from the start; with it nothing that can still happen breaks it.
    """
    assert case.breaks in next(g.protects for g in Dataplane.safeguards if g.name == name)
    without = begun_by(case, (name,))
    violation = _judged(without.model, case.breaks).violation
    assert violation is not None
    whole = Timeline.along(without.run.model, (*without.actions, *violation.actions))
    assert violation.property in [verdict.name for verdict in whole.verdicts() if not verdict.ok]
    kept = begun_by(case)
    assert not kept.model.off
    found = _judged(kept.model, case.breaks)
    assert found.violation is None, found
    assert found.complete, found


def test_the_run_ends_before_the_line_that_is_named() -> None:
    """All that the file does above it is done, and nothing of what follows; what is switched off
    in the file is on, unless it is asked for.
    """
    for name, case in CASES:
        script = parse(read(file_named(case.scenario)), case.scenario)
        told, _ = run(script)
        actions = [told.moments[at].action for at in told.path()[1:]]
        for off in ((), (name,)):
            later = begun_by(case, off)
            done = len(later.actions)
            assert [*later.actions] == actions[:done]
            assert told.model.verb(actions[done]) == case.before
            assert (later.run.model.off, later.model.off) == (off, off)
            assert later.model.start() == later.run.state


def _judged(model: Any, invariant: str) -> Any:
    properties = tuple(each for each in model.properties if each.invariant == invariant)
    monitors = tuple(each for each in model.monitors if each.invariant == invariant)
    assert properties or monitors
    return check(model, properties, monitors=monitors)


def test_a_case_that_is_not_there_is_named() -> None:
    """A file or a line that there is not gives one line that says so."""
    case = CASES[0][1]
    with pytest.raises(BadInput, match="story: got 'dataplane/nothing'"):
        begun_by(replace(case, scenario="dataplane/nothing"))
    with pytest.raises(BadInput, match="before: got 'read 9'; allowed: a line of"):
        begun_by(replace(case, before="read 9"))
    assert {guard.name for guard in entry_of("dataplane").safeguards} >= {name for name, _ in CASES}
