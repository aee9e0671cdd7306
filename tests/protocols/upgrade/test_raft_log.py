"""Rows of the Raft upgrade, its log lines, and what to do when it is stuck."""

from __future__ import annotations

import pytest

from kit.model.flows import ServerLine
from kit.model.timeline import Timeline
from kit.protocols.upgrade.panels import graphs
from kit.protocols.upgrade.raft_upgrade import ADVICE, LOG, PHASES
from kit.protocols.upgrade.rules import (
    BUILDING,
    DONE,
    KNOWN,
    NOT_UPGRADED,
    TopologyUpgradeState,
    diagnosis,
    join_way,
    next_step,
    questions,
    state_at_start,
)
from kit.views.palette import SHADES
from tests.fixtures import rows
from tests.protocols.upgrade.runs import FINISHED, STARTED, raft, scene
from tests.views.frames import go_on, panel_text
from tests.views.tabled import drawn_rows

OWN = ""


"""Where the row of the documents has braces: words of the kit's own."""


def lines_of(timeline: Timeline, node: str) -> list[ServerLine]:
    """All lines of a node so far."""
    way = scene(timeline).way()
    written = LOG.lines(timeline.model, timeline.moments[0].state, way)
    return [line for lines in written for line in lines if line.node == node]


def assert_rows(lines: list[ServerLine], known: list[tuple[str, ...]]) -> None:
    """The lines are these rows, in order: exact fragments, own words where there are none."""
    assert [line.component for line in lines] == [component for _, component, _ in known]
    for line, (_, _, fragment) in zip(lines, known, strict=True):
        assert fragment in line.text
        assert line.own == (fragment == OWN), line


@pytest.mark.spec("G-008")
@pytest.mark.parametrize("node", ["A", "B", "C"])
def test_each_node_logs_the_documents_lines_in_order(node: str) -> None:
    """The log panel marks the five phases among them."""
    timeline = raft({}, FINISHED)
    lines = lines_of(timeline, node)
    assert_rows(lines, rows("LOG", "upgrade"))
    phases = ["join group 0", "equal schema", "enter synchronize", "equal schema again", "finish"]
    assert [line.phase for line in lines if line.phase] == phases
    text = panel_text(timeline, "log")
    for phase in phases:
        assert f"[{phase}] {node} " in text


@pytest.mark.spec("G-012")
def test_a_stuck_node_logs_its_retries_and_that_the_upgrade_takes_long() -> None:
    """B retries in ``synchronize`` while C is dead; every second retry adds the slow line."""
    verbs = [*STARTED, "compare B", "synchronize B", "die C", *["retry B"] * 4]
    timeline = raft({"deaths": 1, "retries": 4}, verbs)
    lines = lines_of(timeline, "B")
    *stuck, (_, component, slowly) = rows("LOG", "stuck")
    assert_rows(lines[12:18], stuck)
    slow = [at for at, line in enumerate(lines) if slowly in line.text]
    assert len(slow) == 2
    assert slow[1] - slow[0] == 7 + len(ADVICE)
    assert {lines[at].component for at in slow} == {component}
    assert slowly in panel_text(timeline, "log")


@pytest.mark.spec("G-013")
def test_the_advice_for_a_stuck_upgrade_names_its_first_cause() -> None:
    """First no rolling restart, then C is down, cut off from A, not restarted, and lost."""
    given = {"crashes": 1, "cuts": 1, "deaths": 1, "restarts": 3}
    timeline = raft(given, [*STARTED, "compare A", "synchronize A"])
    assert "No: rolling restart: A, B, C" in panel_text(timeline, "advice")
    go_on(timeline, "crash C", "cut A C")
    assert "No: restart C" in panel_text(timeline, "advice")
    go_on(timeline, "restart C")
    assert "No: repair the connection between A and C" in panel_text(timeline, "advice")
    go_on(timeline, "heal A C", "restart A", "restart B")
    assert "No: rolling restart: C" in panel_text(timeline, "advice")
    go_on(timeline, "die C")
    text = panel_text(timeline, "advice")
    assert "No: manual recovery: C cannot be brought back" in text
    assert [line.split()[0] for line in text.splitlines()] == ["✓", "✓", "✓", "!", "·"]
    assert panel_text(raft({}, FINISHED), "advice") == "  No node is waiting for another one."


@pytest.mark.spec("G-013")
@pytest.mark.parametrize(
    ("trouble", "first"),
    [
        ({"down": ["C"], "cut": ["A and B"], "lost": ["D"], "unrestarted": ["A"]}, "restart C"),
        ({"cut": ["A and B"], "lost": ["D"], "unrestarted": ["A"]}, "repair the connection"),
        ({"unrestarted": ["A", "B"], "mismatched": ["B"]}, "rolling restart: A, B"),
        ({"lost": ["D"], "unrestarted": ["A"], "mismatched": ["B"]}, "manual recovery: D"),
        ({"mismatched": ["B"]}, "ask support: the schema definitions have a problem on B"),
        ({}, "nothing: the upgrade continues on its own"),
    ],
    ids=str,
)
def test_the_advice_follows_the_documents_order_of_causes(
    trouble: dict[str, list[str]], first: str
) -> None:
    """Each row is a trouble and its first advice; the line on a slow upgrade has the same order."""
    kinds = ("down", "lost", "cut", "unrestarted", "mismatched")
    tree = questions(*(trouble.get(kind, []) for kind in kinds))
    assert next_step(tree).startswith(first)
    order = [
        "restart ",
        "repair the connection",
        "rolling restart",
        "manual recovery",
        "ask support",
    ]
    assert [
        begin for begin, each in zip(order, tree, strict=True) if each.then.startswith(begin)
    ] == order
    said = " ".join(ADVICE)
    places = [said.index(words) for words in ("alive", "network", "rolling restart", "manual")]
    assert places == sorted(places)


def test_the_line_on_a_slow_upgrade_is_followed_by_the_steps_to_take() -> None:
    """A line on mismatches counts the node itself among those with a matching version."""
    timeline = raft({"crashes": 1, "retries": 2}, [*STARTED, "crash C", "retry A", "retry A"])
    lines = lines_of(timeline, "A")
    at = next(i for i, line in enumerate(lines) if "taking longer than expected" in line.text)
    assert [line.text for line in lines[at + 1 : at + 4]] == list(ADVICE)
    done = raft({}, FINISHED)
    matching = [line.text for line in lines_of(done, "A") if "schema mismatches" in line.text]
    assert [text.partition("mismatches: ")[2] for text in matching] == [
        "{}. 3 nodes had a matching version."
    ] * 2


@pytest.mark.spec("G-014")
def test_a_schema_problem_holds_the_upgrade_through_a_rolling_restart() -> None:
    """C stays on the list of mismatches, and the advice is to ask support."""
    given = {"schema_problem": True, "restarts": 3}
    timeline = raft(given, STARTED)
    for verbs in ([], ["restart A"], ["restart B"], ["restart C"]):
        go_on(timeline, *verbs)
        assert "schema mismatches: {C}" in panel_text(timeline, "versions")
        assert not timeline.model.suggest(timeline.state)
    said = "ask support: the schema definitions have a problem on C"
    assert f"No: {said}" in panel_text(timeline, "advice")


@pytest.mark.spec("G-005")
def test_differing_schema_versions_are_marked_before_the_upgrade() -> None:
    """A changed its schema alone: table and step say so until gossip has spread the change."""
    timeline = raft({"changes": 1}, ["alter A", "configure A"])
    assert "nodetool describecluster shows 2 schema versions" in timeline.moments[timeline.at].say
    text = panel_text(timeline, "versions")
    assert "!" in text.splitlines()[2]
    assert text.endswith("schema mismatches: {A}")
    go_on(timeline, "pull B A", "pull C A", "configure B")
    assert "describecluster" not in timeline.moments[timeline.at].say
    assert panel_text(timeline, "versions").endswith("schema mismatches: {}")


@pytest.mark.parametrize("value", KNOWN)
def test_a_node_starts_in_the_upgrade_state_that_is_persisted(value: str) -> None:
    """Every value that the server knows is its own state."""
    assert state_at_start(value) == value


def test_an_unknown_upgrade_state_starts_recovery_and_a_missing_row_does_not() -> None:
    """Without a row the node has not begun; an empty value counts as unknown."""
    assert state_at_start(None) == "use_pre_raft_procedures"
    assert state_at_start("use_raft") == "recovery"
    assert state_at_start("") == "recovery"


def test_the_diagnosis_tells_the_upgrade_states_apart() -> None:
    """Only the two states of an upgrade under way share a sentence."""
    told = [diagnosis(value) for value in (None, *KNOWN, "use_raft")]
    assert "not finished" in told[0]
    assert told[1] == told[2] == "the Raft upgrade is in progress"
    assert len({*told}) == 5


@pytest.mark.parametrize(
    ("has_group", "state", "way"),
    [
        (False, NOT_UPGRADED, "creates the cluster"),
        (False, DONE, "creates the cluster"),
        (True, NOT_UPGRADED, "old way"),
        (True, BUILDING, "request"),
        (True, DONE, "request"),
    ],
)
def test_a_join_follows_the_upgrade_state(
    has_group: bool, state: TopologyUpgradeState, way: str
) -> None:
    """Without a group it creates the cluster, whatever its own state is."""
    assert join_way(has_group, state) == way


def test_the_drawing_has_five_phases_in_order_for_each_node() -> None:
    """Lanes are equally long; phases 3 and 4 have the colour of refused schema changes."""
    [(_, source)] = graphs()
    rows = {row[0][2]: row[1:] for row in drawn_rows(source) if row[0][2]}
    assert [*rows] == ["A", "B", "C"]
    assert len({sum(columns for columns, *_ in row) for row in rows.values()}) == 1
    for row in rows.values():
        told = [(words, colour) for _, colour, words in row if words]
        names = [f"{at} {name}" for at, name in enumerate(PHASES, 1)]
        refuses, done = SHADES["removed"], SHADES["added"]
        assert told == [*zip(names, ("#ffffff", "#ffffff", refuses, refuses, done), strict=True)]


def test_no_node_in_the_drawing_is_two_phases_ahead() -> None:
    """A phase ends only when every node has done it."""
    [(_, source)] = graphs()
    lanes = [
        [int(words[:1] or 0) for columns, _, words in row[1:] for _ in range(columns)]
        for row in drawn_rows(source)
        if row[0][2]
    ]
    assert all(max(at) - min(at) <= 1 for at in zip(*lanes, strict=True))
