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
def test_the_whole_procedure_passes() -> None:
    """The last restart starts the upgrade; each of the documents' steps is ticked."""
    drill = walked(*WHOLE)
    assert [entry.error for entry in drill.transcript if entry.error] == []
    assert failed(drill) == {}
    assert all(step.done for step in drill.checklist())
    told = {row.name: row.why for row in drill.grade().rows}
    assert told["steps"] == "6 by the operator, and the procedure needs 6"
    assert told["looked at"] == "every node was checked"


def test_before_anything_is_done_nothing_is_ticked() -> None:
    """What was only begun is none of the steps; who did not look is told so."""
    drill = walked("help", "nodetool describecluster", ON, "restart A")
    assert [step.name for step in drill.checklist() if step.done] == []
    unseen = walked(*BEGUN, "restart C", *LOOK[:3])
    assert unseen.grade().passed
    [row] = [row for row in unseen.grade().rows if row.name == "looked at"]
    assert row.why == "skipped: log, query"


def test_a_version_that_is_older_is_installed_first() -> None:
    """It does not know the option; with the newer one the walk is the same."""
    name = "raft_upgrade/version-by-version"
    assert "does not know the option" in walked(ON, name=name).transcript[-1].error
    drill = walked(*(f"install {node}" for node in "ABC"), *WHOLE, name=name)
    assert failed(drill) == {}
    assert walked("install A", "install A", name=name).transcript[-1].error == (
        "A has the newer version"
    )


def test_a_forgotten_node_holds_the_upgrade() -> None:
    """Without the option on C nothing begins, and no row is there; with it everything goes on."""
    drill = walked(*[line for line in BEGUN if line != "on C"], "restart C", f"{QUERY};")
    assert printed(drill).endswith("(0 rows)")
    assert "C: 0 of 5 phases done" in failed(drill)["upgrade ended"]
    for line in ("on C", ON, "restart C"):
        drill.enter(line)
    assert failed(drill) == {}


@pytest.mark.spec("G-011")
def test_a_pair_without_a_connection_holds_it_until_it_is_back() -> None:
    """Who waits says for whom, and from time to time that it takes long."""
    drill = walked(*BEGUN, "happen cut A C", "restart C", "on A", f"cat {LOG_FILE}")
    assert "not ready yet: 127.90.69.3" in printed(drill)
    assert "Raft upgrade procedure taking longer than expected" in printed(drill)
    assert "upgrade ended" in failed(drill)
    drill.enter("happen heal C A")
    assert failed(drill) == {}
    assert "heal" in drill.enter("happen heal A C").error


@pytest.mark.spec("G-007")
def test_a_node_that_is_lost_leaves_manual_recovery() -> None:
    """Its machine does not answer; the others wait for it for ever."""
    drill = walked(*BEGUN, "happen die C", "on C", "restart C")
    assert [entry.error for entry in drill.transcript[-2:]] == [
        "ssh: connect to host 127.90.69.3: no route to host"
    ] * 2
    assert "C is lost for good" in failed(drill)["upgrade ended"]
    after = walked(*WHOLE, "happen die C", "on A", "happen alter A", "nodetool status")
    assert "DN 127.90.69.3" in printed(after)
    assert "commits the schema change" in after.transcript[-2].said[0]


@pytest.mark.spec("G-004")
def test_the_option_is_for_good() -> None:
    """Before the last restart it may be turned off again; afterwards a node refuses to start."""
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
def test_bad_lines_are_answered_in_one(line: str, said: str) -> None:
    """Unknown and half commands, wrong names, other tools' output: nothing is lost by them."""
    drill = walked(ON, line)
    entry = drill.transcript[-1]
    assert said in entry.error
    assert "\n" not in entry.error
    assert not entry.lines
    assert drill.timeline.at == drill.transcript[0].moment


def test_a_server_that_is_down_answers_nothing() -> None:
    """Nodetool and cqlsh are refused; the file and the log can be read."""
    drill = walked("happen crash A", "nodetool status", f"{QUERY};", f"cat {CONFIGURATION}")
    assert [entry.error for entry in drill.transcript[1:3]] == [
        "nodetool on A: connection refused, the server is down",
        "cqlsh on A: connection refused, the server is down",
    ]
    assert printed(drill) == "cluster_name: 'drill'"


@examples(30)
@given(st.lists(st.integers(0, 99), max_size=30))
def test_status_is_read_back(choices: list[int]) -> None:
    """After any run every node stands in it, up where it is reached."""
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


def test_the_grade_is_a_function_of_the_run() -> None:
    """Replayed on a new history the same run has the same grade, but for what was looked at."""
    drill = walked(*BEGUN, "happen cut A C", "restart C", "nonsense")
    assert replayed(drill, "raft_upgrade/into-raft").grade().rows[:-1] == drill.grade().rows[:-1]


@pytest.mark.browser
def test_it_is_walked_in_a_browser_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    """Typed line by line into the terminal; the picture follows."""
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
def test_a_story_s_drill_begins_in_its_trouble(
    story: str, lines: list[str], wrong: set[str], then: str
) -> None:
    """Nothing passes before somebody looks; the hint names what can be done there."""
    drill = walked(*lines, name=f"raft_upgrade/{story}")
    assert errors(drill) == []
    assert set(failed(drill)) == wrong
    assert drill.enter("hint").lines[0].startswith(f"next, {then}: " if then else "every step")


def test_an_upgrade_of_schemas_that_differ_must_not_begin() -> None:
    """Once it has begun it is too late to leave it: the hint says so, and so does the grade."""
    drill = walked(*BEGUN, "restart C", *EACH_VERSION, name="raft_upgrade/schema-never-agrees")
    assert "cannot end while the schemas differ" in failed(drill)["upgrade not begun"]
    assert drill.enter("hint").lines == ("every other step is done, and it is too late for leave",)
    assert "nothing in this drill makes them agree" in drill.kind.task


def test_a_new_cluster_s_procedure_counts_its_one_step() -> None:
    """C is started; nothing else is needed, and no log tells of an upgrade."""
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
def test_the_end_is_seen_where_the_row_is_read(line: str, ticked: bool) -> None:
    """Any statement that shows it counts."""
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
def test_the_journal_is_the_log(line: str, shown: str) -> None:
    """As the documents read it, in whole or searched; the last line ticks off who looked."""
    drill = walked(*BEGUN, "restart C", "on A", line)
    assert drill.transcript[-1].error == ""
    printed_lines = drill.transcript[-1].lines
    ends = [each for each in printed_lines if "Raft upgrade finished" in each]
    assert (len(ends), len(printed_lines) > 1) == {
        "all": (1, True), "end": (1, False), "nothing": (0, False),
    }[shown]  # fmt: skip
