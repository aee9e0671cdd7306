"""What a student sees of one tablet's requests: selectors, and versions that are held."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from kit.model.timeline import Timeline
from kit.protocols.storage.storage import Commit, TimeOut
from kit.protocols.tablets.panels.tablet import FREE, awaited_versions, stages_in_use
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.fixtures import rows
from tests.protocols.tablets.tablet.runs import built
from tests.protocols.tablets.tablet.test_stages_kept import walks


def panel(model: Any, s: Any, name: str) -> str:
    """The text of a panel."""
    (found,) = (each for each in for_model(model).panels if each.name == name)
    found.draw(Scene(model, s))
    return found.text(Scene(model, s))


def rehearsed(**given: Any) -> Any:
    """A model walked as it suggests."""
    timeline = Timeline(built(given))
    while timeline.forward() is not None:
        pass
    return timeline


def commits(timeline: Any) -> Iterator[tuple[Any, Any]]:
    """The states before and after each commit of a timeline."""
    for moment in timeline.moments[1:]:
        if isinstance(moment.action, Commit):
            assert moment.parent is not None
            yield timeline.moments[moment.parent].state, moment.state


@pytest.mark.spec("E-010")
@pytest.mark.parametrize("kind", ["migration", "rebuild_v2", "repair"])
def test_the_strips_show_both_selectors_of_a_stage_and_their_replicas(kind: str) -> None:
    """They are those of the documents, for each stage of a kind."""
    known = {stage: (reads, writes) for stage, writes, reads, *_ in rows("STAGE")}
    timeline = rehearsed(kind=kind)
    met = set()
    for _, s in commits(timeline):
        row, text = stages_in_use(timeline.model, s)[-1], panel(timeline.model, s, "strips")
        if row.stage != NO_TRANSITION:
            met.add(row.stage)
            assert row.selectors == known[row.stage]
            reads, writes = (", ".join(group) for group in (row.reads, row.writes))
            old, new = row.selectors
            assert f"{row.stage}  {old}: {reads}  {new}: {writes}" in text
    assert len(met) == {"migration": 7, "rebuild_v2": 8, "repair": 2}[kind]


IN_FLIGHT = "requests planned before version"


def awaited(model: Any, s: Any) -> bool:
    """Whether a stage is not committed since older requests are still under way."""
    refused = (refusal for action, refusal in model.options(s) if isinstance(action, Commit))
    return any(refusal is not None and refusal.reason.startswith(IN_FLIGHT) for refusal in refused)


@pytest.mark.spec("E-059")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_strips_name_each_request_that_holds_up_the_barrier(edition: Edition) -> None:
    """Only requests at work hold a version up."""
    met = 0
    for steps in walks(edition):
        for model, _, _, s in steps:
            text = panel(model, s, "strips")
            held = awaited_versions(model, s)
            for each in held:
                for words in each.requests:
                    passed_over = words in (*each.adrift, *each.passed)
                    waits = f"a barrier waits: version {each.version} is held by {words}" in text
                    assert waits != passed_over
            assert (FREE in text) == (not held)
            if awaited(model, s):
                assert "a barrier waits" in text
                met += 1
    assert met


@pytest.mark.spec("E-066")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_barrier_waits_for_an_orphan_write_at_work_and_for_no_orphan_read(
    edition: Edition,
) -> None:
    """An orphan that is still on its way is shown as such, and not waited for."""
    gave_up = {True: 0, False: 0}
    orphans = adrifts = 0
    for steps in chain(walks(edition), walks(edition, slow=True)):
        for model, before, action, after in steps:
            if isinstance(action, TimeOut) and before.requests[action.request].in_flight:
                is_write = bool(before.requests[action.request].timestamp)
                gave_up[is_write] += 1
                left = after.requests[action.request].in_flight
                assert bool(left & ~after.down) == (
                    is_write and bool(before.requests[action.request].in_flight & ~before.down)
                )
            for each in awaited_versions(model, after):
                assert all(": read" not in words for words in each.orphans)
                for words in each.orphans:
                    said = f"{words}, which its coordinator has given up"
                    adrift = words in each.adrift
                    text = panel(model, after, "strips")
                    assert (f"{said}: no barrier waits" in text) == adrift
                    assert said in text
                    orphans += awaited(model, after) and not adrift
                    adrifts += adrift
    assert all(gave_up.values())
    assert orphans
    assert adrifts
