"""What a student sees of one tablet's requests: selectors, strips of stages, the diagram."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kit.model.flows import flows
from kit.model.timeline import Timeline
from kit.protocols.storage.storage import Commit, Serve, Start
from kit.protocols.tablets.panels.tablet import stages_in_use
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.fixtures import rows
from tests.protocols.tablets.tablet.runs import built
from tests.protocols.tablets.tablet.test_stages_kept import entering, walks


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
def test_selectors_stand_beside_the_stage(kind: str) -> None:
    """Each stage's row of the strips has the two selectors of the documents, and whom they mean."""
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
            assert f"{row.stage}: reads {old}: {reads}; writes {new}: {writes}" in text
    assert len(met) == {"migration": 7, "rebuild_v2": 8, "repair": 2}[kind]


@pytest.mark.spec("E-012")
@pytest.mark.parametrize("edition", EDITIONS)
def test_who_has_no_replica_yet_is_marked(edition: Edition) -> None:
    """Before it hears of the transition D is marked; as double writes begin nobody is."""
    met = 0
    for steps in walks(edition):
        model, start = steps[0][0], steps[0][1]
        assert "D (no replica)" in panel(model, start, "strips")
        for _, before, _, _ in entering(steps, "write_both_read_old"):
            met += 1
            rows = stages_in_use(model, before)
            assert not any(row.without for row in rows)
            assert {name for row in rows for name in row.replicas} == set("ABCD")
    assert met


@pytest.mark.spec("E-013")
def test_answers_are_counted_in_both_sets() -> None:
    """A write that begins in streaming has two counters in edition documents, one for each set."""
    met = 0
    for steps in walks("documents"):
        for model, _, action, after in steps:
            request = isinstance(action, Start) and after.requests[action.request]
            if not request or not request.timestamp or model.newest(after).copies == ():
                continue
            if model.views(after)[request.epoch].writes == 0b1111:
                text = panel(model, after, "requests")
                assert "2 of 3 (A, B, C) and 2 of 3 (B, C, D) must answer" in text
                met += 1
    assert met


@pytest.mark.spec("E-062")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_stale_read_is_served_by_the_replica_that_leaves(edition: Edition) -> None:
    """A read planned by the old replicas reaches A, which stands in write_both_read_new and goes:
    its row of requests counts the answer of A then.
    """
    met = 0
    for steps in walks(edition):
        for model, before, action, after in steps:
            late = isinstance(action, Serve) and action.replica == "A"
            if not late or model.mutations[action.request]:
                continue
            *_, newest = stages_in_use(model, before)
            title = model.title_of(action.request)
            waits, answered = (
                next(line for line in panel(model, s, "requests").splitlines() if title in line)
                for s in (before, after)
            )
            stands = newest.stage == "write_both_read_new" and "A" in newest.replicas
            if stands and "of A, B, C (" in waits:
                assert re.search("on its way to A", waits)
                assert re.search(r"answers: .* of A, B, C \(\d needed\): A\b", answered)
                met += 1
    assert met


@pytest.mark.spec("E-015")
def test_reads_travel_to_the_new_replicas_alone() -> None:
    """Once use_new is committed a read's arrows lead to B, C and D."""
    met = 0
    for steps in walks("server"):
        for model, before, action, after in steps:
            late = stage_of(model.newest(before)) in ("use_new", "cleanup", "end_migration")
            if late and isinstance(action, Start) and not model.mutations[action.request]:
                ends = {
                    flow.to_key.rpartition(":")[2] for flow in flows(model, before, action, after)
                }
                assert not any(end == "A" for end in ends)
                met += 1
    assert met


@pytest.mark.spec("E-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_what_is_on_its_way_is_told_by_stage(edition: Edition) -> None:
    """The strips name whom messages are on their way to: as cleanup begins, A by no write."""
    met = 0
    for steps in walks(edition):
        for model, _, _, after in entering(steps, "cleanup"):
            met += 1
            for row in stages_in_use(model, after):
                for words in row.requests:
                    assert "write" not in words or "A" not in words.partition("→")[2]
    assert met
