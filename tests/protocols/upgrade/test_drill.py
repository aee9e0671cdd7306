"""The drill of the Raft upgrade: the procedure typed, mistakes, bad lines, what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

from kit.console.drill import Drill, open_drill
from kit.console.server import CONFIGURATION, LOG_FILE
from kit.masks import nodes_in
from kit.operators.importers.nodetool import parse_status_text
from kit.protocols.upgrade.drill.raft_upgrade import OPTION, QUERY, host
from kit.widgets import DrillBoard
from tests.drills import errors, failed, printed, replayed, typed
from tests.examples import examples
from tests.widgets.drilling import DrillDesk

ON = f"edit {CONFIGURATION} {OPTION}: true"
ENDS = "grep 'Raft upgrade finished' " + LOG_FILE


def on_each(*lines: str, names: str = "ABC") -> list[str]:
    """These lines on each node."""
    return [line for name in names for line in (f"on {name}", *lines)]


BEGUN = [*on_each("nodetool describecluster", ON), "restart A", "restart B"]
LOOK = on_each(ENDS, f"{QUERY};")
WHOLE = [*BEGUN, "restart C", *LOOK]


def walked(*lines: str, name: str = "raft_upgrade/into-raft") -> Drill:
    """A drill in which these lines were typed."""
    return typed(name, *lines)


@pytest.mark.spec("G-003")
def test_the_raft_upgrade_typed_as_documented_passes() -> None:
    """The last restart starts the upgrade, which ends; every step of the checklist is ticked."""
    drill = walked(*WHOLE)
    assert [entry.error for entry in drill.transcript if entry.error] == []
    assert failed(drill) == {}
    assert all(step.done for step in drill.checklist())
    told = {row.name: row.why for row in drill.grade().rows}
    assert told["steps"] == "6 by the operator, and the procedure needs 6"
    assert told["looked at"] == "every node was checked"


def test_a_step_done_on_some_nodes_is_not_ticked() -> None:
    """A run that passes without looking at every node has its looks named as skipped."""
    drill = walked("help", "nodetool describecluster", ON, "restart A")
    assert [step.name for step in drill.checklist() if step.done] == []
    unseen = walked(*BEGUN, "restart C", *LOOK[:3])
    assert unseen.grade().passed
    [row] = [row for row in unseen.grade().rows if row.name == "looked at"]
    assert row.why == "skipped: log, query"


def test_an_older_version_refuses_the_option_until_the_newer_version_is_installed() -> None:
    """With the newer version the walk passes; a second install is refused."""
    name = "raft_upgrade/version-by-version"
    assert "does not know the option" in walked(ON, name=name).transcript[-1].error
    drill = walked(*(f"install {node}" for node in "ABC"), *WHOLE, name=name)
    assert failed(drill) == {}
    assert walked("install A", "install A", name=name).transcript[-1].error == (
        "A has the newer version"
    )


def test_the_upgrade_waits_for_a_node_without_the_option() -> None:
    """While C lacks the option, no row is there and no phase is done; with it the upgrade ends."""
    drill = walked(*[line for line in BEGUN if line != "on C"], "restart C", f"{QUERY};")
    assert printed(drill).endswith("(0 rows)")
    assert "C: 0 of 5 phases done" in failed(drill)["upgrade ended"]
    for line in ("on C", ON, "restart C"):
        drill.enter(line)
    assert failed(drill) == {}


@pytest.mark.spec("G-011")
def test_the_upgrade_waits_while_a_pair_has_no_connection() -> None:
    """A's log names C and says that the upgrade takes long; a whole pair cannot be healed."""
    drill = walked(*BEGUN, "happen cut A C", "restart C", "on A", f"cat {LOG_FILE}")
    assert "not ready yet: 127.90.69.3" in printed(drill)
    assert "Raft upgrade procedure taking longer than expected" in printed(drill)
    assert "upgrade ended" in failed(drill)
    drill.enter("happen heal C A")
    assert failed(drill) == {}
    assert "heal" in drill.enter("happen heal A C").error


@pytest.mark.spec("G-007")
def test_a_node_lost_during_the_upgrade_holds_it_for_good() -> None:
    """C's machine has no route. A node lost after the upgrade does not stop a schema change."""
    drill = walked(*BEGUN, "happen die C", "on C", "restart C")
    assert [entry.error for entry in drill.transcript[-2:]] == [
        "ssh: connect to host 127.90.69.3: no route to host"
    ] * 2
    assert "C is lost for good" in failed(drill)["upgrade ended"]
    after = walked(*WHOLE, "happen die C", "on A", "happen alter A", "nodetool status")
    assert "DN 127.90.69.3" in printed(after)
    assert "commits the schema change" in after.transcript[-2].said[0]


@pytest.mark.spec("G-004")
def test_a_node_cannot_turn_the_option_off_once_the_upgrade_began() -> None:
    """Before the last restart it may be turned off; afterwards the node refuses to start."""
    off = f"edit {CONFIGURATION} {OPTION}: false"
    early = walked(*BEGUN, "on A", off, "restart A", f"cat {CONFIGURATION}")
    assert [entry.error for entry in early.transcript if entry.error] == []
    assert OPTION not in printed(early)
    late = walked(*WHOLE, off, "restart C")
    assert "must stay on" in late.transcript[-1].error


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("reboot", "command: got 'reboot'; allowed: a command of this drill"),
        ("nodetool", "nodetool: got 'nothing'; allowed: one of describecluster, status"),
        ("nodetool removenode " + "0" * 8, "not modelled here"),
        ("nodetool netstats", "nodetool: got 'netstats'"),
        ("firewall drop 127.90.69.3", "not modelled here"),
        ("restart Z", "restart: got 'Z'; allowed: a node: one of A, B, C"),
        (f"edit {CONFIGURATION} {OPTION}:", "got 'nothing'; allowed: one of false, true"),
        ("SELECT * FROM system.topology", "got 'system.topology'"),
        ("UN  127.0.0.1  1 KB  256", "command: got 'UN'"),
        ("happen cut A A", "happen: got 'cut A A'"),
        ("happen alter", "got 'nothing'; allowed: a node"),
    ],
)
def test_a_bad_line_gets_a_one_line_error_and_changes_nothing(line: str, said: str) -> None:
    """Unknown commands, half commands, wrong names and the output of other tools."""
    drill = walked(ON, line)
    entry = drill.transcript[-1]
    assert said in entry.error
    assert "\n" not in entry.error
    assert not entry.lines
    assert drill.timeline.at == drill.transcript[0].moment


def test_a_server_that_is_down_refuses_nodetool_and_cqlsh() -> None:
    """The configuration file can still be read."""
    drill = walked("happen crash A", "nodetool status", f"{QUERY};", f"cat {CONFIGURATION}")
    assert [entry.error for entry in drill.transcript[1:3]] == [
        "nodetool on A: connection refused, the server is down",
        "cqlsh on A: connection refused, the server is down",
    ]
    assert printed(drill) == "cluster_name: 'drill'"


@examples(30)
@given(st.lists(st.integers(0, 99), max_size=30))
def test_nodetool_status_shows_each_node_up_or_down_after_any_run(choices: list[int]) -> None:
    """The importer reads the printed table: a node is up if the asked node reaches it."""
    drill = open_drill("raft_upgrade")
    timeline = drill.timeline
    for choice in choices:
        actions = list(timeline.model.actions(timeline.state))
        timeline.do(actions[choice % len(actions)])
    nodes = timeline.state.nodes
    here = next((i for i, node in enumerate(nodes) if node.is_up), None)
    if here is None:
        return
    drill.enter(f"on {'ABC'[here]}")
    drill.enter("nodetool status")
    seen = parse_status_text(printed(drill), "nodetool status").nodes
    up = {here, *nodes_in(timeline.state.linked(here))}
    assert {(node.host_id, node.rack, node.health) for node in seen} == {
        (host(i).host_id, host(i).rack, "up" if i in up else "down") for i in range(len(nodes))
    }


def test_a_replayed_run_gets_the_same_grade() -> None:
    """In all rows but the last, which says what the operator looked at."""
    drill = walked(*BEGUN, "happen cut A C", "restart C", "nonsense")
    assert replayed(drill, "raft_upgrade/into-raft").grade().rows[:-1] == drill.grade().rows[:-1]


@pytest.mark.browser
def test_the_drill_passes_when_typed_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """Line by line into the terminal, without an error on the page."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    desk = DrillDesk(context.new_page(), DrillBoard("raft_upgrade/into-raft"), tmp_path)
    desk.into_the_field()
    for line in WHOLE:
        desk.type(line)
    assert desk.board.grade().passed
    assert "A has finished" in desk.output()
    assert not desk.errors
    context.close()


EACH_VERSION = on_each("nodetool describecluster")
EACH_ROW = on_each("SELECT * FROM system.scylla_local")
STATUS, LOG = "nodetool status", f"cat {LOG_FILE}"
# the story, what is typed -> what does not hold, what comes next (empty: nothing)
STORIES: list[tuple[str, list[str], set[str], str]] = [
    ("new-cluster", [], {"Raft in use", "one schema"}, "start"),
    ("new-cluster", [*EACH_VERSION[:2]], {"Raft in use", "one schema"}, "start"),
    ("new-cluster", ["start C"], set(), "compare"),
    ("new-cluster", ["start C", *EACH_VERSION, *EACH_ROW], set(), ""),
    ("schema-never-agrees", [], {"versions compared"}, "compare"),
    ("schema-never-agrees", EACH_VERSION[:4], {"versions compared"}, "compare"),
    ("schema-never-agrees", EACH_VERSION, set(), ""),
    ("schema-never-agrees", [*EACH_VERSION, ON, "restart A"], set(), ""),
    ("node-dies-halfway", [], {"cause known"}, "status"),
    ("node-dies-halfway", [STATUS], {"cause known"}, "log"),
    ("node-dies-halfway", [STATUS, "on B", LOG], set(), ""),
]


@pytest.mark.parametrize(("story", "lines", "wrong", "then"), STORIES)
def test_the_drill_of_a_story_grades_and_hints_by_its_own_steps(
    story: str, lines: list[str], wrong: set[str], then: str
) -> None:
    """Each row: the story, the lines typed, the checks that fail, and the step of the hint."""
    drill = walked(*lines, name=f"raft_upgrade/{story}")
    assert errors(drill) == []
    assert set(failed(drill)) == wrong
    assert drill.enter("hint").lines[0].startswith(f"next, {then}: " if then else "every step")


def test_an_upgrade_begun_while_schemas_differ_fails_the_drill() -> None:
    """The hint and the grade say that it is too late to leave it."""
    drill = walked(*BEGUN, "restart C", *EACH_VERSION, name="raft_upgrade/schema-never-agrees")
    assert "cannot end while the schemas differ" in failed(drill)["upgrade not begun"]
    assert drill.enter("hint").lines == ("every other step is done, and it is too late for leave",)
    assert "nothing in this drill makes them agree" in drill.kind.task


def test_a_new_cluster_needs_a_single_start_and_no_upgrade() -> None:
    """Starting C is the only step that counts, and the title names no upgrade."""
    drill = walked("start C", *EACH_VERSION, *EACH_ROW, name="raft_upgrade/new-cluster")
    told = {row.name: row.why for row in drill.grade().rows}
    assert told["steps"] == "1 by the operator, and the procedure needs 1"
    assert told["looked at"] == "every node was checked"
    assert all(step.done for step in drill.checklist())
    assert "upgrade" not in drill.kind.title


@pytest.mark.parametrize(
    ("line", "ticked"),
    [
        (QUERY, True),
        ("SELECT * FROM system.scylla_local", True),
        ("SELECT value FROM system.scylla_local LIMIT 1", True),
        ("SELECT JSON * FROM system.scylla_local", True),
        ("SELECT key FROM system.scylla_local", False),
        ("SELECT * FROM system.scylla_local WHERE key = 'raft_group0_id'", False),
    ],
)
def test_a_query_that_shows_the_upgrade_state_ticks_its_step(line: str, ticked: bool) -> None:
    """A query for another column or another row does not."""
    drill = walked(*BEGUN, "restart C", *on_each(line))
    assert {step.name: step.done for step in drill.checklist()}["query"] is ticked


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("journalctl _COMM=scylla", "all"),
        ("journalctl -u scylla-server", "all"),
        ("journalctl -u scylla-server | grep 'Raft upgrade finished'", "end"),
        ("journalctl -u scylla-server -g 'Raft upgrade finished'", "end"),
        ("journalctl _COMM=scylla | grep 'Raft upgrade finished'", "end"),
        ("journalctl _COMM=scylla -g 'Raft upgrade finished'", "end"),
        ("journalctl _COMM=scylla -g 'no such words'", "nothing"),
        (f"cat {LOG_FILE}", "all"),
    ],
)
def test_journalctl_prints_the_log_of_the_server(line: str, shown: str) -> None:
    """The line of the upgrade's end comes once, and not at all if other words are searched for."""
    drill = walked(*BEGUN, "restart C", "on A", line)
    assert drill.transcript[-1].error == ""
    printed_lines = drill.transcript[-1].lines
    ends = [each for each in printed_lines if "Raft upgrade finished" in each]
    assert (len(ends), len(printed_lines) > 1) == {
        "all": (1, True), "end": (1, False), "nothing": (0, False),
    }[shown]  # fmt: skip
