"""What a student sees of a copy: the leaving replica's writes beside the new one's."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build, entry_of
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.storage.rules.requests import timestamp
from kit.protocols.storage.storage import Commit
from kit.protocols.tablets.panels.tablet import NONE_LEAVES, kept_writes
from kit.protocols.tablets.rules.tablet_history import stage_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene, scene_at
from kit.views.registry import for_model
from tests.protocols.tablets.tablet.runs import built
from tests.protocols.tablets.tablet.test_stages_kept import Step, walks
from tests.views.frames import part


def passed(steps: list[Step]) -> list[PassedStep]:
    """A walk as a scene has it."""
    return [PassedStep(before, action, after) for _, before, action, after in steps]


def scene(steps: list[Step]) -> Scene:
    """The moment after a walk."""
    model, _, _, after = steps[-1]
    return Scene(model, after, past=lambda: passed(steps))


def panel(model: Any) -> Panel:
    """The tab."""
    [tab] = [each for each in for_model(model).panels if each.name == "kept"]
    return tab


def cells(drawn: Frag, write: str) -> list[str]:
    """A row's cells."""
    row = part(drawn, f"kept:{write}")
    assert row is not None
    return [" ".join(one.text().split()) for one in row.walk() if one.tag == "td"]


def switched(steps: list[Step]) -> list[tuple[int, int]]:
    """Where a walk commits streaming, and where then write_both_read_new."""
    places, began = [], None
    for place, (model, before, action, after) in enumerate(steps):
        left, met = (stage_of(model.newest(s)) for s in (before, after))
        if isinstance(action, Commit) and left != met:
            began = place if met == "streaming" else began
            if met == "write_both_read_new" and began is not None:
                places.append((began, place))
    return places


@pytest.mark.spec("E-014")
@pytest.mark.parametrize("edition", EDITIONS)
def test_each_write_of_the_leaving_replica_stands_beside_the_new_one(edition: Edition) -> None:
    """A row for each write: whether A had it, or a later one, as streaming began, whether D has
    it. As reads are switched nothing that was on A is missing on D.
    """
    owed = 0
    for steps in walks(edition):
        for began, place in switched(steps):
            model, _, _, then = steps[began]
            now = steps[place][3]
            moment = scene(steps[: place + 1])
            drawn = panel(model).draw(moment)
            a, d = (model.code[name] for name in "AD")
            for number, is_write in enumerate(model.mutations):
                if not is_write:
                    assert part(drawn, f"kept:{model.title_of(number)}") is None
                    continue
                had, has = (timestamp(cell) > number for cell in (then.cells[a], now.cells[d]))
                row = cells(drawn, model.title_of(number))
                assert row[:2] == ["A" if had else "–", "D" if has else "–"]
                assert row[2].startswith("✓")
                assert not had or has
                owed += had
            assert "nothing is missing" in panel(model).text(moment)
    assert owed


def test_nothing_is_compared_where_nothing_is_copied() -> None:
    """Before streaming, and in a repair, a line says so."""
    model = built({})
    start = model.start()
    assert "begins in stage streaming" in panel(model).text(Scene(model, start))
    assert not kept_writes(model, start, ()).begun


def test_a_repair_has_nothing_to_compare() -> None:
    """It changes no replica set and has no streaming: nobody is told to wait for that."""
    [repair] = [one for one in entry_of("tablet").scenarios if one.name == "tablet-repaired"]
    timeline = Timeline(build("tablet", repair.parameters))
    tab = panel(timeline.model)
    while timeline.forward() is not None:
        assert tab.text(scene_at(timeline, timeline.at)).strip() == NONE_LEAVES
    assert len(timeline.moments) > 20
