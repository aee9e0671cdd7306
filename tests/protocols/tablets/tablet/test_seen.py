"""What a student sees of one tablet's requests: the selectors of each stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit.model.timeline import Timeline
from kit.protocols.storage.storage import Commit
from kit.protocols.tablets.panels.tablet import stages_in_use
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.fixtures import rows
from tests.protocols.tablets.tablet.runs import built


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
            assert f"{row.stage}  {old}: {reads}  {new}: {writes}" in text
    assert len(met) == {"migration": 7, "rebuild_v2": 8, "repair": 2}[kind]
