"""What group 0 holds of a tablet, and its sessions: what runs in them and holds nothing up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit.model.flows import as_timeuuid
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.cluster import TabletsState, TabletTransition
from kit.protocols.tablets.facts.tablets import table_row
from kit.protocols.tablets.rules.replica_sets import words
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.topology.topology import CommitDecision
from kit.views.fragment import Frag
from kit.views.panel import Scene, scene_of
from kit.views.registry import for_model
from tests.protocols.tablets.answers import in_session
from tests.views.frames import part

TO_THREE = ("keyspace_rf_change ks dc1=3",)


def states(model: Any) -> Iterator[TabletsState]:
    """The states of the default schedule."""
    state = model.start()
    while (action := model.suggest(state)) is not None:
        yield state
        state = model.act(state, action)
    yield state


def transition(state: TabletsState, tablet: int = 0) -> TabletTransition:
    """The one transition of a tablet."""
    [found] = state.tablets[tablet].transitions
    return found


@pytest.mark.spec("F-002")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(
    "begins",
    [{"kinds": ("migration",)}, {"kinds": ("repair",)}, {"moves": 0, "operations": TO_THREE}],
    ids=str,
)
def test_a_session_is_open_in_exactly_the_stages_that_need_one(
    edition: str, begins: dict[str, Any]
) -> None:
    """In the documents that is streaming, rebuild_repair or repair."""
    model = build("tablets", {"edition": edition, "tablets": ("A B",), "nodes": 3, **begins})
    needed, met = set[str](), set[str]()
    for state in states(model):
        for each in state.tablets[0].transitions:
            needed |= in_session(model.table(each))
            met |= {each.stage} if each.session else set()
            assert bool(each.session) == (each.stage in in_session(model.table(each)))
    assert met == needed
    if edition == "documents":
        assert met <= {"streaming", "rebuild_repair", "repair"}


@pytest.mark.spec("F-003")
def test_each_stage_has_a_session_of_its_own_and_retries_keep_that_session() -> None:
    """An RPC that is late is sent again in the same session."""
    given = {
        "edition": "documents",
        "tablets": ("A B",),
        "moves": 0,
        "operations": TO_THREE,
        "late": 1,
    }
    model = build("tablets", {**given, "nodes": 3})
    sessions = dict[str, set[int]]()
    [panel] = [each for each in for_model(model).panels if each.name == "sessions"]
    state = model.start()
    while (action := _late_once(model, state)) is not None:
        state = model.act(state, action)
        for each in state.tablets[0].transitions:
            if each.session:
                sessions.setdefault(each.stage, set()).add(each.session)
                words = f"session {each.session}: tablet 0 in {each.stage}"
                assert words in panel.text(Scene(model, state))
    assert {stage: len(ids) for stage, ids in sessions.items()} == {
        "rebuild_repair": 1,
        "streaming": 1,
    }
    assert not sessions["rebuild_repair"] & sessions["streaming"]


def _late_once(model: Any, state: TabletsState) -> Any:
    """The next step; the first RPC that there is is late."""
    option = model.find(state, "delay 0")
    if option is not None and option[1] is None:
        return option[0]
    return model.suggest(state)


@pytest.mark.spec("F-012")
def test_a_streaming_tablet_holds_up_no_barrier_of_another_tablet() -> None:
    """Both come to streaming, in sessions of their own."""
    model = build("tablets", {"tablets": ("A", "B"), "moves": 2, "nodes": 3})
    state = model.start()
    to_streaming = ("commit", "barrier", "decide", "commit", "barrier", "decide", "commit")
    first = ("imbalance", "migrate 0 A:0 C:0", *to_streaming)
    for verb in (*first, "migrate 1 B:0 C:0", *to_streaming):
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    assert transition(state, 0).stage == "streaming"
    assert transition(state, 1).stage == "streaming"
    assert transition(state, 0).session != transition(state, 1).session


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
def test_a_tablets_row_changes_only_when_a_command_is_committed(kind: str, edition: str) -> None:
    """Its five columns say what the tablet has."""
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
def test_a_transition_begins_with_its_kind_stage_and_both_replica_sets(
    kind: str, edition: str
) -> None:
    """The lamp "transition-stored" has its tick."""
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
