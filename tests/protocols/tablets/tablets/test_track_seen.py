"""What a student sees of the tablet track: what is committed together, what waits, what is lit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.views.frames import go_on, last_flows, panel_text

BEGUN = ("imbalance", "migrate 0 A:0 C:0")
EARLY = ("allow_write_both_read_old", "write_both_read_old", "streaming")
REPLACE = {"nodes": 3, "tablets": ("A B C",), "operations": ("replace D C",), "crashes": 1}
KINDS: dict[str, dict[str, Any]] = {
    "migration": {"kinds": ("migration",), "moves": 1},
    "repair": {"kinds": ("repair",), "moves": 1},
    "rebuild": {**REPLACE, "rebuild": "rebuild"},
    "rebuild_v2": {**REPLACE, "rebuild": "rebuild_v2"},
}


def starting(*verbs: str, **given: Any) -> Timeline:
    """Three nodes with a tablet on A and B, after these verbs."""
    usual = {"nodes": 3, "tablets": ("A B",), "moves": 0}
    timeline = Timeline(build("tablets", {**usual, **given}))
    go_on(timeline, *verbs)
    return timeline


def lines(timeline: Timeline, name: str) -> list[str]:
    """The lines of a panel, without those of a client."""
    told = (line.strip() for line in panel_text(timeline, name).splitlines())
    return [line for line in told if not line.startswith("a client")]


def markers(timeline: Timeline) -> dict[str, str]:
    """The tablets that the grid marks as moving, with their stages."""
    return dict(re.findall(r"tablet (\d+): \w+ in (\w+)", panel_text(timeline, "grid")))


def way(timeline: Timeline, name: str) -> list[str]:
    """The states of a diagram that are lit, the last one as that of now."""
    return lines(timeline, name)[0].split(" → ")[1:]


def cells(timeline: Timeline) -> dict[str, str]:
    """The cells of the grid by host."""
    return {
        host: held
        for host, _, held in (line.partition(":") for line in lines(timeline, "grid"))
        if len(host) == 1
    }


@pytest.mark.spec("E-007", "E-008", "E-009")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_marker_goes_along_the_diagram_of_the_kind(kind: Any, edition: Edition) -> None:
    """At each step the diagram ends at the stage of now, and its edges are those of the table; of
    a repair it has two boxes, and no cell of the grid moves.
    """
    timeline = starting(edition=edition, **KINDS[kind])
    passed, before = list[str](), cells(timeline)
    while timeline.forward() is not None:
        for each in timeline.state.tablets[0].transitions:
            assert way(timeline, "stages")[-1] == each.stage
            assert set(lines(timeline, "grid")[-1:]) & {f"tablet 0: {kind} in {each.stage}"} or (
                f"tablet 0: {kind} in {each.stage} " in panel_text(timeline, "grid")
            )
            passed += [each.stage] if passed[-1:] != [each.stage] else []
            if kind == "repair":
                assert cells(timeline) == before
    table = TRANSITIONS[edition][kind]
    assert way(timeline, "stages") == [*passed, "◎"]
    assert set(passed) <= {state.name for state in table.states}
    if kind == "repair":
        assert passed == ["repair", "end_repair"]
    if kind == "rebuild_v2":
        at = passed.index("rebuild_repair")
        assert passed[at - 1 : at + 2] == ["write_both_read_old", "rebuild_repair", "streaming"]


@pytest.mark.spec("E-017", "E-019", "E-021")
@pytest.mark.parametrize("kind", ["migration", "rebuild_v2"])
@pytest.mark.parametrize("stage", [*EARLY, "rebuild_repair"])
def test_a_press_in_each_early_stage_fails_it(kind: str, stage: str) -> None:
    """Before reads move a press of each stage leads to cleanup_target; from there the transition is
    reverted: the target's cell is empty in the end, the others are as they were.
    """
    if stage == "rebuild_repair" and kind == "migration":
        return
    given = {**KINDS[kind], "nodes": 3, "failures": 1}
    timeline = starting(edition="documents", **given)
    while way(timeline, "stages")[-1:] != [stage]:
        assert timeline.forward() is not None
    before = timeline.state.tablets[0].replicas
    [press] = [v for v in map(timeline.model.verb, timeline.model.actions(timeline.state))
               if v.startswith("fail ")]  # fmt: skip
    go_on(timeline, press)
    while way(timeline, "stages")[-1] == stage:
        assert timeline.forward() is not None
    assert way(timeline, "stages")[-1] == "cleanup_target"
    target = timeline.state.tablets[0].transitions[0].sets.pending[0].host
    assert cells(timeline)[target] == " +0"
    while markers(timeline):
        assert timeline.forward() is not None
    assert way(timeline, "stages")[-3:] == ["cleanup_target", "revert_migration", "◎"]
    assert cells(timeline).get(target, " –") == " –"
    assert timeline.state.tablets[0].replicas == before
    assert "?" not in panel_text(timeline, "grid")


@pytest.mark.spec("E-023", "F-012")
def test_markers_stand_on_different_stages_at_once() -> None:
    """While tablet 0 streams, barriers let tablet 1 go from stage to stage."""
    given = {"tablets": ("A", "B"), "moves": 2, "edition": "documents"}
    steps = ("commit", "barrier", "decide", "commit", "barrier", "decide", "commit")
    timeline = starting("imbalance", "migrate 0 A:0 C:0", *steps, "migrate 1 B:0 C:0", **given)
    seen = []
    for verb in steps:
        go_on(timeline, verb)
        seen.append(markers(timeline))
    assert {each["0"] for each in seen} == {"streaming"}
    assert list(dict.fromkeys(each["1"] for each in seen)) == list(EARLY)


@pytest.mark.spec("E-024")
@pytest.mark.parametrize("edition", EDITIONS)
def test_one_entry_has_the_plan_and_the_state(edition: Edition) -> None:
    """One command goes to group 0: with it the badges have the transition state and the tablet. A
    request that waits comes before it: no plan is drawn then.
    """
    waits = starting("imbalance", "leave C", edition=edition, moves=1, operations=("leave C",))
    assert not [a for a in waits.model.actions(waits.state) if "migrate" in waits.model.verb(a)]
    timeline = starting(*BEGUN, edition=edition, moves=1)
    before = timeline.state.control.state_id
    assert lines(timeline, "badges") == ["version 1", "no transition state", "decided"]
    go_on(timeline, "commit")
    [entry] = last_flows(timeline)
    assert entry.kind == "entry"
    assert entry.text.endswith("group 0: migration of tablet 0 from A:0 B:0 to C:0 B:0")
    assert lines(timeline, "badges") == ["version 2", "tablet_migration", "1 in transition"]
    assert timeline.state.control.state_id == before + 1


@pytest.mark.spec("E-026", "E-027", "E-028", "F-013")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["leave D", "truncate_table ks.t"])
def test_a_request_waits_while_the_marker_goes_to_its_end(words: str, edition: Edition) -> None:
    """It stands in the queue with a reason as long as the grid has a marker, and no new one comes;
    the track of tablets is the one that is lit. Once it runs no tablet is in transition.
    """
    given = {"nodes": 4, "tablets": ("A B", "A B"), "moves": 2, "operations": (words,)}
    timeline = starting(*BEGUN, "commit", words, edition=edition, **given)
    waited = 0
    while markers(timeline):
        [row] = [line for line in lines(timeline, "queue") if words.split(maxsplit=1)[0] in line]
        assert ": waits (" in row
        assert way(timeline, "states") == ["tablet_migration"]
        assert "1 in transition" in lines(timeline, "badges")
        assert set(markers(timeline)) == {"0"}
        waited += 1
        timeline.forward()
    assert waited > 10
    while not any(": running" in line for line in lines(timeline, "queue")):
        assert timeline.forward() is not None
        assert not markers(timeline)
    assert way(timeline, "states") != ["tablet_migration"]
    assert not any("in transition" in line for line in lines(timeline, "badges"))


@pytest.mark.spec("F-013")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_truncate_waits_for_a_repair_and_a_repair_for_it(edition: Edition) -> None:
    """One repair is under way: the truncate waits until it has ended, and no other one begins."""
    given = {"tablets": ("A B", "A B"), "kinds": ("repair",), "moves": 2, "edition": edition}
    begun = ("imbalance", "repair-tablet 0", "commit", "truncate_table ks.t")
    timeline = starting(*begun, operations=("truncate_table ks.t",), **given)
    repaired = set(markers(timeline))
    while not any(": running" in line for line in lines(timeline, "queue")):
        assert set(markers(timeline)) <= repaired
        if markers(timeline):
            assert any(": waits (" in line for line in lines(timeline, "queue"))
        assert timeline.forward() is not None
    while any(": running" in line for line in lines(timeline, "queue")):
        assert not markers(timeline)
        assert timeline.forward() is not None


@pytest.mark.spec("E-031")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["leave C", "remove C"])
def test_the_cells_of_who_goes_are_empty_first(words: str, edition: Edition) -> None:
    """As long as C has a tablet the ring is as it was; then its operation goes on. The disk of a
    dead node keeps its data, without a replica.
    """
    given = {"nodes": 4, "tablets": ("A B", "C B"), "operations": (words,), "edition": edition}
    timeline = starting(**given)
    held = list[bool]()
    while timeline.forward() is not None:
        holds = "1" in cells(timeline).get("C", "").replace("?1", "")
        held.append(holds)
        if holds:
            assert not {"write_both_read_old", "left_token_ring"} & set(way(timeline, "states"))
    assert held[0]
    assert not held[-1]
    assert held == sorted(held, reverse=True)
    assert "write_both_read_old" in way(timeline, "states")


@pytest.mark.spec("E-032")
@pytest.mark.parametrize("edition", EDITIONS)
def test_rebuilds_begin_after_the_states_have_changed(edition: Edition) -> None:
    """No marker of a rebuild before the new node is normal and the replaced one has left."""
    timeline = starting(edition=edition, **KINDS["rebuild_v2"])
    marked = 0
    while timeline.forward() is not None:
        if markers(timeline):
            marked += 1
            states = dict(re.findall(r"(\w): (\w+)", panel_text(timeline, "nodes")))
            assert (states["D"], states["C"]) == ("normal", "left")
            assert "rebuild_v2" in panel_text(timeline, "grid")
    assert marked
    assert "C" not in {replica.host for replica in timeline.state.tablets[0].replicas}
