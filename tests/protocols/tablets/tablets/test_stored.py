"""What group 0 holds of a tablet, and that it holds all of it from the first stage on."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import as_timeuuid
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.facts.tablets import table_row
from kit.protocols.tablets.rules.replica_sets import words
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.topology.topology import CommitDecision
from kit.views.fragment import Frag
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import part

COLUMNS = ("replicas", "new_replicas", "stage", "transition", "session")
KINDS = ("migration", "intranode_migration", "repair", "add_tablet_replica")


def starting(kind: str, edition: str, **more: Any) -> Timeline:
    """Three nodes with one tablet, of which a transition of one kind begins."""
    given = {"nodes": 3, "shards": 2, "tablets": ("A B",), "kinds": (kind,), "edition": edition}
    return Timeline(build("tablets", {**given, **more}))


def drawn(timeline: Timeline, panel: str, key: str) -> Frag:
    """A part of a panel at the moment that is shown."""
    [tab] = [each for each in for_model(timeline.model).panels if each.name == panel]
    frag = part(tab.draw(scene_of(timeline, timeline.at)), key)
    assert frag is not None
    return frag


@pytest.mark.spec("E-006")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_commands_of_group_0_alone_change_a_tablets_row(kind: str, edition: str) -> None:
    """The row of ``system.tablets`` has the five columns, with what the tablet has; a cell changes
    only as a command is committed.
    """
    timeline, changed = starting(kind, edition), set()
    while (moment := timeline.forward()) is not None:
        before, after = timeline.moments[moment.parent].state, moment.state
        was, now = (table_row(timeline.model, s, 0) for s in (before, after))
        row = after.tablets[0]
        assert now["replicas"] == words(row.replicas)
        for way in row.transitions:
            assert (now["new_replicas"], now["stage"], now["transition"]) == (
                *(words(way.new), way.stage, way.kind),
            )
            assert now["session"] == (as_timeuuid(way.session) if way.session else "")
        if was != now:
            assert isinstance(moment.action, CommitDecision)
            changed |= {name for name in COLUMNS if was[name] != now[name]}
            shown = drawn(timeline, "tablets", "system.tablets:ks.t:0")
            cells = [one.text() for one in shown.walk() if one.tag == "td"]
            assert cells[1:] == [now[name] or "null" for name in COLUMNS]
    assert changed == set(COLUMNS) - ({"replicas"} if kind == "repair" else set())


@pytest.mark.spec("E-011")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_transition_begins_with_all_of_its_information(kind: str, edition: str) -> None:
    """As the first stage is entered its row says from where to where, by which kind; the promise
    has its tick in that step.
    """
    timeline = starting(kind, edition)
    while not timeline.state.tablets[0].transitions:
        assert timeline.forward() is not None
    row = table_row(timeline.model, timeline.state, 0)
    assert row["stage"] == ("repair" if kind == "repair" else "allow_write_both_read_old")
    assert row["transition"]
    assert row["replicas"]
    assert row["new_replicas"]
    assert (row["new_replicas"] == row["replicas"]) == (kind == "repair")
    lamp = drawn(timeline, "lamps", "lamp:transition-stored")
    assert lamp.get("class") == "lamp ok"
    assert lamp.text().startswith("✓")
