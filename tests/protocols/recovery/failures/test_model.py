"""What fails step by step: majorities, cuts, voters, nodes that are back, the tables."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.recovery import facts
from kit.protocols.recovery.failures import CatchUp, Serve
from kit.protocols.recovery.rules.availability import FAILURES, standings
from kit.protocols.recovery.rules.quorum import after_deaths
from kit.protocols.topology.rules.machines import Edition
from tests.protocols.recovery.failures.runs import THREE, TWO, ran, why_not
from tests.views.frames import last_flows, panel_text


def test_without_a_majority_a_schema_change_waits() -> None:
    """Who misses is named, and how many there are and have to be."""
    timeline = ran({}, "stop C", "alter A", "stop B")
    why = why_not(timeline, "alter A")
    assert "a majority of the voters" in why
    assert "missing=('B', 'C')" in why
    assert "1 of 3 voters can be reached, but 2 are needed" in why
    timeline = ran({}, "stop C", "alter A", "stop B", "start B", "catch up B", "alter A")
    assert timeline.state.entries == 2


def test_who_serves_knows_what_a_majority_acknowledged() -> None:
    """C misses a column. Without a majority it serves with what it has, but it catches up with
    nobody.
    """
    model: Any = build("failures", {"datacenters": (3,)})
    s = model.start()
    s = s.but(entries=2, schemas=(0b11, 0b11, 0b01))
    said = "C serves without the newest schema"
    alone = s.but(up=0b100)
    for before, action, wrong in (
        (s, Serve("C"), True),
        (s, CatchUp("C"), True),
        (alone, Serve("C"), False),
        (alone, CatchUp("C"), True),
        (s, Serve("A"), False),
        (s, CatchUp("A"), False),
    ):
        assert model.newest(before, action, before) == (said if wrong else None)


@pytest.mark.spec("C-016")
def test_of_two_equal_datacenters_one_is_no_majority_of_three_two_are() -> None:
    """A press loses a datacenter; the gauge below the nodes says how many voters are left."""
    two = ran(TWO, "lose dc2")
    assert "A, B, C: 3 of 6 voters, 4 are needed, so schema changes are impossible" in panel_text(
        two, "nodes"
    )
    assert "! no schema changes" in panel_text(two, "badges")
    assert why_not(two, "alter A")
    three = ran(THREE, "lose dc2")
    assert "6 of 9 voters, 5 are needed, so schema changes are possible" in panel_text(
        three, "nodes"
    )
    assert not why_not(three, "alter A")
    assert "✓ schema changes" in panel_text(ran(TWO, "lose dc2", "start dc2"), "badges")


@pytest.mark.spec("G-016")
def test_without_the_safeguard_both_sides_are_said_to_change_the_schema() -> None:
    """The gauges ask for no voter then, and no side is said to be unable to do what it did."""
    timeline = ran({"datacenters": (3, 2)}, "cut off dc2", "alter A", "alter D", off=("majority",))
    nodes = panel_text(timeline, "nodes")
    assert "A, B, C: 3 of 5 voters, none is needed, so schema changes are possible" in nodes
    assert "D, E: 2 of 5 voters, none is needed, so schema changes are possible" in nodes
    assert "✓ schema changes at A, B, C, D, E" in panel_text(timeline, "badges")


@pytest.mark.spec("G-016")
def test_one_side_of_a_cut_changes_the_schema_the_other_serves_data() -> None:
    """Three against two: the smaller side's button waits until it rejoins. With RF 3 in each, of
    which the smaller one lacks a replica, each side has its LOCAL_QUORUM and none four of six.
    """
    timeline = ran({"datacenters": (3, 2)}, "cut off dc2")
    assert not why_not(timeline, "alter A")
    assert "2 of 5 voters can be reached, but 3 are needed" in why_not(timeline, "alter D")
    data = panel_text(timeline, "ranges")
    assert "  LOCAL_QUORUM in dc2  ✓  5 of 5" in data.partition("clients of D, E")[2]
    assert data.count("\n  QUORUM  !  0 of 5") == 2
    assert "RF 3: levels count replicas that dc2 cannot have" in data
    data = panel_text(ran({"datacenters": (3, 2), "rf": 2}, "cut off dc2"), "ranges")
    assert data.count("\n  QUORUM  !  0 of 5") == 2
    timeline = ran({"datacenters": (3, 2)}, "cut off dc2", "alter A", "rejoin", "catch up D")
    assert not why_not(timeline, "alter A")
    assert "D: dc2 r1, serving, schema 1" in panel_text(timeline, "nodes")


@pytest.mark.spec("G-018")
def test_a_node_that_is_back_catches_up_before_it_serves() -> None:
    """B misses a column while it is down; it is seen catching up, then serving with the column."""
    timeline = ran({}, "stop B", "alter A", "start B")
    assert "B: dc1 r2, catching up, schema –" in panel_text(timeline, "nodes")
    assert "the newest schema must be fetched first" in why_not(timeline, "serve B")
    timeline = ran({}, "stop B", "alter A", "start B", "catch up B")
    assert "B: dc1 r2, serving, schema 1" in panel_text(timeline, "nodes")
    said = [flow.text for flow in last_flows(timeline)]
    assert said == ["B → A: newest?", "A → B: schema 1"]
    timeline = ran({}, "stop B", "start B", "catch up B")
    assert last_flows(timeline)[1].text == "A → B: up to date"


def test_without_a_majority_a_node_serves_data_by_what_it_has_stored() -> None:
    """Metadata without a majority must not stop requests for data (Q-27)."""
    timeline = ran({"rf": 1}, "stop B", "alter A", "stop C", "stop A", "start B")
    assert "fetched from a majority" in why_not(timeline, "catch up B")
    assert "B: dc1 r2, started, schema –" in panel_text(timeline, "nodes")
    timeline = ran({"rf": 1}, "stop B", "alter A", "stop C", "stop A", "start B", "serve B")
    assert "QUORUM  !  1 of 3" in panel_text(timeline, "ranges")


@pytest.mark.spec("G-019")
def test_clicking_nodes_off_fills_the_documents_tables() -> None:
    """For every row of the three tables one of its failures is clicked: the row gets verdict, and
    who must be back, from the run; rows that the run did not meet wait.
    """
    for row in FAILURES:
        given = {"datacenters": (3,) * row.datacenters}
        dead = list(row.failures())[-1]
        model: Any = build("failures", given)
        stops = [f"stop {name}" for name in model.named(dead)]
        timeline = ran(given, *stops)
        [line] = [
            each
            for each in panel_text(timeline, "failures").splitlines()
            if each.startswith(f"  {row.words}  ")
        ]
        documents, _, computed = line.partition(row.advice)
        verdict = "possible" if row.schema else "impossible"
        assert f"schema changes {verdict}" in documents
        assert ("and safe" in documents) is row.schema
        assert f"schema changes {verdict}" in computed
        assert row.advice in line
        assert ("must be back" in computed) is not row.schema
    first = panel_text(ran(TWO), "failures").splitlines()
    assert len(first) == 5
    assert all(line.endswith("not met yet") for line in first[2:])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_stops_one_by_one_keep_the_quorum_that_the_rules_say(edition: Edition, seed: int) -> None:
    """The model's voters after deaths in turn are those of the adviser's rule."""
    random = Random(seed)
    given = {"edition": edition, "datacenters": [(3, 3), (3, 3, 3), (5,), (2, 4)][seed % 4]}
    model: Any = build("failures", given)
    dying = random.sample(range(len(model.names)), random.randint(0, len(model.names)))
    timeline = ran(given, *(f"stop {model.names[i]}" for i in dying))
    quorum = after_deaths(edition, model.places, [1 << i for i in dying])
    assert timeline.state.voters == quorum.voters
    assert timeline.state.has_majority == quorum.holds


def test_nodes_that_fail_at_once_leave_no_time_to_choose_voters() -> None:
    """Three of five voters of seven nodes: one by one others follow them, at once none does."""
    given = {"edition": "server", "datacenters": (7,), "together": "C A B"}
    at_once, in_turn = ran(given, "stop A, B, C"), ran(given, "stop A", "stop B", "stop C")
    assert at_once.state.up == in_turn.state.up
    model: Any = at_once.model
    quorum = after_deaths("server", model.places, [0b111])
    assert (at_once.state.voters, quorum.holds) == (quorum.voters, False)
    assert [each.state.has_majority for each in (at_once, in_turn)] == [False, True]
    assert (
        "A, B, C go down at once. Group 0 has no majority: it needs 3 voters, but 2 of 5 are up"
        in at_once.moments[1].say
    )
    assert at_once.model.find(at_once.state, "stop A, B, C") is None
    assert ran(given, "stop A").model.find(ran(given, "stop A").state, "stop A, B, C") is None


@pytest.mark.parametrize("seed", range(20))
def test_data_are_within_what_racks_allow(seed: int) -> None:
    """The ring's ranges never stand better or worse than the adviser's bounds for any ring, with a
    replication factor above the nodes of a datacenter, too.
    """
    random = Random(seed)
    sizes = tuple(random.randint(1, 4) for _ in range(random.randint(1, 2)))
    factor = random.randint(2, 5)
    given = {"datacenters": sizes, "racks": random.randint(1, 3), "rf": factor}
    model: Any = build("failures", given)
    down = [name for name in model.names if random.random() < 0.3]
    timeline = ran(given, *(f"stop {name}" for name in down))
    dead = sum(1 << model.number(name) for name in down)
    told = standings(model.places, dead, dict.fromkeys(model.dcs, factor))
    bounds = {(each.level, each.datacenter): each.standing for each in told}
    for line in facts.level_lines(model, timeline.state, timeline.state.up):
        home = line.datacenter if line.level == "LOCAL_QUORUM" else ""
        if bounds[line.level, home] != "of some ranges":
            assert line.standing == bounds[line.level, home], line


@pytest.mark.parametrize(
    ("given", "up", "lines"),
    [
        (
            {"datacenters": (2, 2), "racks": 1, "rf": 2},
            0b1111,
            (
                "ONE dc1 4, LOCAL_QUORUM dc1 4, LOCAL_QUORUM dc2 4, QUORUM dc1 4, "
                "EACH_QUORUM dc1 4, ALL dc1 4"
            ),
        ),
        (
            {"datacenters": (2, 2), "racks": 1, "rf": 2},
            0b1100,
            "ONE dc2 4, LOCAL_QUORUM dc2 4, QUORUM dc2 0, EACH_QUORUM dc2 0, ALL dc2 0",
        ),
        ({"datacenters": (3,), "racks": 1, "rf": 3}, 0b011, "ONE dc1 3, QUORUM dc1 3, ALL dc1 0"),
        ({"datacenters": (3,), "racks": 1, "rf": 3}, 0, "ONE - 0, QUORUM - 0, ALL - 0"),
    ],
)
def test_levels_are_those_of_a_client_beside_a_node(
    given: dict[str, Any], up: int, lines: str
) -> None:
    """In the first datacenter of a side, or in each where only that counts: ranges that meet it."""
    model: Any = build("failures", given)
    found = facts.level_lines(model, model.start(), up)
    said = (f"{line.level} {line.datacenter or '-'} {line.met}" for line in found)
    assert ", ".join(said) == lines
