"""What a student sees of where one tablet is: its chips, both ends of a move, data left behind."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.timeline import Timeline
from kit.protocols.storage.rules.requests import NOTHING
from kit.protocols.storage.storage import Crash
from kit.protocols.tablets.hosts import replica_spot
from kit.protocols.tablets.panels.tablet import grid
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.protocols.tablets.tablet.runs import GUARDS, ONE, SERVER, TWO, WITHIN, built
from tests.protocols.tablets.tablet.test_seen import panel, rehearsed
from tests.protocols.tablets.tablet.test_stages_kept import walks
from tests.views.frames import part


def drawn(model: Any, s: Any) -> Any:
    """The grid as it is drawn."""
    (found,) = (each for each in for_model(model).panels if each.name == "grid")
    return found.draw(Scene(model, s))


@pytest.mark.spec("E-002")
@pytest.mark.parametrize(
    ("given", "ends"),
    [({}, ("A", "D")), (WITHIN, ("A:0", "A:1"))],
    ids=["migration", "intranode_migration"],
)
def test_the_chip_travels_from_cell_to_cell(given: dict[str, Any], ends: tuple[str, str]) -> None:
    """The same chip is in the cell that it leaves, then in the one where it has come; between the
    two, at every stage, both are there with an arrow.
    """
    timeline = rehearsed(**given, **TWO)
    old, new = (TabletReplica(*_place(name)) for name in ends)
    seen = []
    for moment in timeline.moments:
        shown = grid(timeline.model, moment.state)
        held = {place: [each.key for each in group] for place, group in shown.held.items()}
        seen.append((old in held, new in held))
        frag = drawn(timeline.model, moment.state)
        key = f"{shown.tablets[0].table}:0:0"
        moving = stage_of(timeline.model.newest(moment.state)) != NO_TRANSITION
        assert (part(frag, f"way:{key}:to:{new}") is not None) == moving
        assert part(frag, replica_spot(key)) is not None
        assert key in held[old if old in held else new]
    order = list(dict.fromkeys(seen))
    assert order == [(True, False), (True, True), (False, True)]
    way = f"{old} → {new}"
    assert any(way in panel(timeline.model, m.state, "grid") for m in timeline.moments)


def _place(name: str) -> tuple[str, int]:
    host, _, shard = name.partition(":")
    return host, int(shard or 0)


@pytest.mark.parametrize("given", [{}, WITHIN, {"second": "again"}, {"second": "other"}])
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_grid_is_what_requests_use(edition: Edition, given: dict[str, Any]) -> None:
    """On any walk, ways back included: its replicas are where writes go at rest, and whatever holds
    data is in a cell.
    """
    met = 0
    for steps in walks(edition, **TWO, **given):
        for model, before, _, _ in steps[::7]:
            shown, view = grid(model, before), model.newest(before).view
            (tablet,) = shown.tablets
            if stage_of(model.newest(before)) == NO_TRANSITION:
                places = {TabletReplica(*_place(n)) for n in model.history.names(view.written_at)}
                assert set(tablet.replicas) == places
                assert tablet.ways == ()
                met += 1
            for name, cell in zip(model.history.replicas, before.cells, strict=True):
                if cell != NOTHING:
                    assert TabletReplica(*_place(name)) in shown.held
    assert met


def test_data_that_no_replica_holds_are_marked() -> None:
    """Without fencing a late write reaches A once that has given the tablet up (INV-TABL-1)."""
    model = built(dict(GUARDS["fencing"].smallest), ("fencing",))
    found = check(model, tuple(p for p in model.properties if p.name == "replicas-hold"))
    assert found.violation is not None
    s = model.start()
    assert "?0" not in panel(model, s, "grid")
    for action in found.violation.actions:
        s = model.act(s, action)
    assert "A: ?0" in panel(model, s, "grid")


def test_a_node_that_is_down_says_so() -> None:
    """The row of a crashed node is marked."""
    timeline = Timeline(built({**ONE, **SERVER, "crashes": 1}))
    timeline.do(Crash("A"))
    notes = {host.name: host.note for host in grid(timeline.model, timeline.state).hosts}
    assert notes == {"A": "down", "D": ""}
