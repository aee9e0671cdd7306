"""A coordinator's journal as a history of states, stepped through and explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kit
from kit.errors import BadInput
from kit.protocols.topology.commands import replay_journal
from kit.protocols.topology.dry_run.history import topology_history
from kit.protocols.topology.dry_run.journal import draw_lines, journal_timeline, standing
from kit.views.frame import frame, frame_text
from kit.views.panel import scene_at
from kit.views.registry import for_model
from tests.commands.calling import bad, call
from tests.keyed import check_keys
from tests.protocols.topology.dry_run.dumps import FIXTURES
from tests.saying import says

LOGS = (FIXTURES / "journal-a.log", FIXTURES / "journal-b.log")


def test_two_coordinators_one_history() -> None:
    """Another coordinator enters the state once more and goes on from it."""
    passages = topology_history(LOGS)
    assert [(p.host, p.state, p.edge) for p in passages] == [
        ("node-a", "", ""),
        ("node-a", "join_group0", ""),
        ("node-a", "commit_cdc_generation", "happy"),
        ("node-a", "write_both_read_old", "happy"),
        ("node-b", "", ""),
        ("node-b", "write_both_read_old", "again"),
        ("node-b", "write_both_read_new", "happy"),
    ]
    assert passages[1].seconds == 0.9
    assert passages[-1].seconds == 0.9  # up to the end of the join
    assert "advance fence version to 14" in passages[3].said
    assert passages[2].said[0].startswith("barrier to all nodes without 00000001-")


@pytest.mark.parametrize(
    ("last", "state", "begins"),
    [
        ("bootstrap: read fence completed", "write both read new", True),
        ("replace: read fence completed", "write both read new", True),
        ("removenode: read fence completed", "write both read new", True),
        ("remove: read fence completed", "write both read new", True),
        ("finished decommissioning node 00000001", "left token ring", True),
        ("Finished tablet migration", "tablet migration", True),
        ("decommission: read fence completed", "write both read new", False),
    ],
)
def test_idle_time_belongs_to_no_state(last: str, state: str, begins: bool, tmp_path: Path) -> None:
    """The line that ends an operation ends the stay; what comes hours later is another's."""
    lines = (
        f"10:00:00 n1 scylla[1]: raft_topology - entered `{state}` transition state",
        f"10:00:02 n1 scylla[1]: raft_topology - updating topology state: {last}",
        "13:00:00 n1 scylla[1]: raft_topology - updating topology state: start rebuilding",
        "13:00:05 n1 scylla[1]: raft_topology - entered `join group0` transition state",
    )
    path = tmp_path / "journal.log"
    path.write_text("".join(f"Feb 01 {line}\n" for line in lines), "utf-8")
    told = [(p.place, p.seconds, p.said) for p in topology_history(path)]
    name = state.replace(" ", "_")
    if begins:
        assert told[:2] == [
            (name, 2.0, (last,)),
            ("no transition state", 5.0, ("start rebuilding",)),
        ]
    else:
        assert told[0] == (name, 10805.0, (last, "start rebuilding"))


@pytest.mark.parametrize(
    ("states", "edge"),
    [
        (("write both read old", "left token ring"), "rollback"),
        (("write both read new", "join group0"), "begins"),
        (("tablet migration", "tablet resize finalization"), "begins"),
        (("write both read old", "snapshot tables"), "not modelled"),
        (("join group0", "write both read new"), "unknown"),
        (("join group0", "something else"), "unknown"),
        # No operation is over in these states, so none can begin.
        (("write both read old", "join group0"), "unknown"),
        (("rollback to normal", "join group0"), "unknown"),
    ],
)
def test_each_edge_is_looked_up(states: tuple[str, str], edge: str, tmp_path: Path) -> None:
    """How a state was come to is told by the transition tables."""
    lines = [
        f"Feb 01 10:00:0{at} n1 scylla[1]: raft_topology - entered `{state}` transition state"
        for at, state in enumerate(states)
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(lines), "utf-8")
    assert topology_history(log)[-1].edge == edge


@pytest.mark.parametrize("quoted", ["`{}`", "'{}'", '"{}"', "{}"])
@pytest.mark.parametrize("state", ["write both read old", "write_both_read_old"])
def test_states_are_read_however_they_are_quoted(quoted: str, state: str, tmp_path: Path) -> None:
    """Both spellings, with and without quotes."""
    line = f"raft_topology - entered {quoted.format(state)} transition state"
    log = tmp_path / "log"
    log.write_text(f"Feb 01 10:00:00 n1 scylla[1]: {line}", "utf-8")
    assert [stay.state for stay in topology_history(log)] == ["write_both_read_old"]


CASES = Path(__file__).parents[1] / "published" / "journals.txt"
CASE = re.compile(r"== (.*)\n((?s:.*?))-- topology (\d)\n((?s:.*?))-- explain (\d)\n(.*)")


@pytest.mark.parametrize("case", CASE.findall(CASES.read_text("utf-8")), ids=lambda case: case[0])
def test_what_failed_stands_in_the_history(case: tuple[str, ...], tmp_path: Path) -> None:
    """At its place, counted where it is left out; ``explain`` leaves no failure explained."""
    _, lines, status, shown, verdict, sentence = case
    log = tmp_path / "journal.log"
    log.write_text(lines, "utf-8")
    history = call("topology", str(log))
    assert (str(history.status), history.out[: len(shown)]) == (status, shown)
    assert history.out[len(shown) :].startswith(("\nwhat the", "\nnot known")) or "mean" in shown
    answer = call("explain", str(log))
    assert str(answer.status) == verdict
    assert sentence in " ".join((answer.out + answer.err).split())


def test_each_step_reads_on() -> None:
    """A step a stay; the diagram stands at the last state that was named, with the way to it."""
    stays = topology_history(LOGS)
    timeline = journal_timeline(stays, "server")
    path = timeline.path(timeline.tip)
    assert len(path) == 8
    read = [timeline.moments[at] for at in path[1:]]
    assert [each.milestone for each in read] == [stay.state or None for stay in stays]
    assert [each.say.endswith(" (again)") for each in read] == [
        stay.edge == "again" for stay in stays
    ]
    assert timeline.at == 0
    views = for_model(timeline.model)
    places = []
    for moment in path:
        scene = scene_at(timeline, moment)
        check_keys(frame(scene, views.panels, views.macros))
        assert all(panel.title in frame_text(scene, views.panels) for panel in views.panels)
        place = standing(scene)
        places.append(None if place is None else place.state)
    assert places == [
        None,
        None,
        "join_group0",
        "commit_cdc_generation",
        *["write_both_read_old"] * 3,
        "write_both_read_new",
    ]
    last = standing(scene_at(timeline, timeline.tip))
    assert last is not None
    assert last.diagram.name == "state-topology-bootstrapping-server"
    assert last.path[0] == "●"


def test_a_later_state_tells_which_operation_it_is(tmp_path: Path) -> None:
    """What begins in write_both_read_old and rolls back to normal was no join."""
    states = ("write both read old", "rollback to normal", "tablet migration")
    lines = [
        f"Feb 01 10:00:0{at} n1 scylla[1]: raft_topology - entered `{state}` transition state"
        for at, state in enumerate(states)
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(lines), "utf-8")
    timeline = replay_journal(log).timeline
    place = standing(scene_at(timeline, timeline.path(timeline.tip)[1]))
    assert place is not None
    assert place.diagram.name == "state-topology-decommissioning-server"


def test_a_journal_is_stepped_through_without_controls() -> None:
    """What is said of a stay is listed below it; nothing can be done that did not happen."""
    player = replay_journal(LOGS)
    assert player.controls is None
    timeline = player.timeline
    said = topology_history(LOGS)[0].said
    assert said
    text = draw_lines(scene_at(timeline, timeline.path(timeline.tip)[1])).text()
    assert all(words in text for words in said)


def test_a_long_journal_says_how_many_stays_are_not_listed(tmp_path: Path) -> None:
    """It lists the last ones."""
    timeline = replay_journal(journal(tmp_path, *LEAVE * 13, *LEAVE[:2])).timeline
    texts = [draw_lines(scene_at(timeline, at)).text() for at in timeline.path(timeline.tip)[-2:]]
    assert ["and 1 earlier stay" in text for text in texts] == [False, True]


def test_a_page_to_step_through(tmp_path: Path) -> None:
    """``--html`` writes one page of journals; a dump is one moment."""
    page = tmp_path / "history.html"
    assert call("topology", *map(str, LOGS), "--html", str(page)).status == 0
    assert page.stat().st_size > 10_000
    assert says(bad("topology", str(LOGS[0]), "--html", str(LOGS[0])), "--html | a different file")
    dump = str(FIXTURES / "topology.csv")
    assert says(bad("topology", dump, "--html", str(page)), "--html | journals")


JOURNALS = Path(__file__).parents[3] / "fixtures" / "topology"


A, B = JOURNALS / "journal-a.log", JOURNALS / "journal-b.log"


LINE = (
    "Feb 01 10:{:02}:00.000000 node-a scylla[4]:  [shard 0: gms] raft_topology - "
    "entered `{}` transition state\n"
)


JOIN = ("join group0", "commit cdc generation", "write both read old", "write both read new")


MOVES = ("tablet migration",) * 5


REPLACE = ("join group0", "write both read old", "write both read new")


CDC = ("commit cdc generation",)


BACK = ("write both read old", "rollback to normal")


LEAVE = ("write both read old", "write both read new", "left token ring")


def journal(folder: Path, *states: str) -> str:
    """A journal that names these states, a minute each."""
    path = folder / "node-a.log"
    path.write_text("".join(LINE.format(at, state) for at, state in enumerate(states)), "utf-8")
    return str(path)


def test_the_journals_of_two_coordinators_are_explained() -> None:
    """Put together in the order of time, with the steps that no line names."""
    answer = call("explain", str(B), str(A), "--json")
    assert (answer.status, answer.json["verdict"]) == (0, "explained")
    steps = answer.json["parts"]["journals"]["steps"]
    assert steps[0].startswith("join ")
    assert {"decide", "commit", "answer A"} <= set(steps)


@pytest.mark.parametrize(
    "states",
    [
        JOIN, LEAVE, (*JOIN, *LEAVE), (*LEAVE, *JOIN), JOIN[1:], LEAVE[1:],
        ("join group0", "left token ring"),
        ("join group0", "write both read old", "write both read new"),
        ("tablet migration",),
        ("tablet migration", "tablet resize finalization"),
        ("tablet resize finalization",),
        (*JOIN[:3], JOIN[2], JOIN[3]),
        (*JOIN[:3], LEAVE[2], *JOIN[:3], LEAVE[2]),
        (*JOIN, *REPLACE), (*LEAVE, *REPLACE), (*REPLACE, *JOIN), (*REPLACE, *REPLACE),
        (*JOIN, *REPLACE, *LEAVE, *REPLACE),
        ("truncate table",),
        ("tablet migration", "truncate table"),
        (*CDC, *LEAVE), (*LEAVE, *CDC, *LEAVE, *CDC), (*JOIN, *CDC, *LEAVE), (*CDC, *REPLACE),
        (*CDC, *CDC, *JOIN, *CDC),
        (*BACK, *MOVES, *JOIN), (*BACK, *MOVES, *LEAVE), (*JOIN, *BACK, *MOVES, *CDC, *LEAVE),
        ("join group0", "tablet migration"),
        ("join group0", "truncate table", "join group0", "tablet migration"),
    ],
)  # fmt: skip
def test_what_the_published_coordinator_does_is_explained(
    states: tuple[str, ...], tmp_path: Path
) -> None:
    """Joins, replaces, leaves and what follows; a state that a new coordinator enters again."""
    assert kit.explain(journal(tmp_path, *states)).verdict == "explained"


def test_in_the_documents_a_removal_ends_with_the_read_switch(tmp_path: Path) -> None:
    """After a replacement, before a join."""
    switch = ("tablet draining", *LEAVE[:2])
    states = ("join group0", *switch, *switch, *JOIN)
    assert kit.explain(journal(tmp_path, *states), edition="documents").verdict == "explained"


@pytest.mark.parametrize(
    "states",
    [
        (*MOVES, *LEAVE, "tablet migration"),
        (*MOVES, *LEAVE, *MOVES, *JOIN, *MOVES, *LEAVE, *JOIN),
        (*LEAVE, *MOVES) * 3,
    ],
)
def test_a_node_with_many_tablets_leaves(states: tuple[str, ...], tmp_path: Path) -> None:
    """Requests come one after another and nodes answer in one order, so that few states do."""
    answer = call("explain", journal(tmp_path, *states), "--json")
    (part,) = answer.json["parts"].values()
    assert (answer.status, part["explained"]) == (0, len(states))
    assert part["states"] < 5_000


def test_a_long_journal_is_explained_in_parts(tmp_path: Path) -> None:
    """Each begins with an operation; what no rule explains is named in its own part."""
    answer = call("explain", journal(tmp_path, *(*JOIN, *LEAVE) * 5), "--json")
    parts = answer.json["parts"]
    assert [*parts] == ["operations 1 to 8", "operations 9 to 10"]
    assert [part["verdict"] for part in parts.values()] == ["explained"] * 2
    assert [part["observations"] for part in parts.values()] == [29, 7]
    answer = call("explain", journal(tmp_path, *(*JOIN, *LEAVE) * 4, *JOIN, *LEAVE[::2]))
    assert answer.status == 1
    assert "operations 9 to 10: no rule explains node-a.log line 34;" in " ".join(
        answer.out.split()
    )


@pytest.mark.parametrize(
    ("states", "line"),
    [
        ((*(*JOIN, *LEAVE) * 3, *JOIN, LEAVE[0], *JOIN), 27),
        ((*(*JOIN, *LEAVE) * 3, *JOIN, *JOIN[:3], *JOIN), 29),
        ((*(*JOIN, *LEAVE) * 4, *LEAVE[1:]), 29),
    ],
)
def test_between_two_parts_nothing_is_under_way(
    states: tuple[str, ...], line: int, tmp_path: Path
) -> None:
    """The last operation of a part has come to its end, and the first one of the next begins."""
    answer = call("explain", journal(tmp_path, *states))
    assert answer.status == 1
    assert f"no rule explains node-a.log line {line}" in " ".join(answer.out.split())


@pytest.mark.parametrize(
    "states", [(*LEAVE * 3, *LEAVE[::2]), (*REPLACE * 3, *REPLACE[::2]), (*JOIN * 3, *LEAVE[::2])]
)
def test_short_journals_are_judged_within_the_usual_bound(
    states: tuple[str, ...], tmp_path: Path
) -> None:
    """Machines that are alike are tried once, and a node dies at one moment."""
    assert kit.explain(journal(tmp_path, *states)).verdict == "refuted"


def test_a_state_of_the_other_edition_is_said_so(tmp_path: Path) -> None:
    """With the edition that has it; a server before 2026.1 drains tablets within the operation."""
    path = journal(tmp_path, "truncate table")
    assert "this one is in edition server" in bad("explain", path, "--edition", "documents")
    path = journal(tmp_path, "tablet draining", *LEAVE)
    assert call("explain", path).status == 0
    assert call("explain", path, "--edition", "documents").status == 0


@pytest.mark.parametrize(
    ("states", "line", "through"),
    [
        (("tablet migration", "write both read new"), 2, "write_both_read_old"),
        (("join group0", "commit cdc generation", "write both read new"), 3, "write_both_read_old"),
        (("write both read old", "left token ring", "write both read new"), 3, ""),
        (("join group0", "write both read new"), 2, "write_both_read_old"),
    ],
)
def test_a_state_that_no_rule_leads_to_is_refuted(
    states: tuple[str, ...], line: int, through: str, tmp_path: Path
) -> None:
    """At its line; the states that the model would have passed are named."""
    answer = call("explain", journal(tmp_path, *states))
    said = " ".join(answer.out.split())
    assert answer.status == 1, said
    assert f"no rule explains node-a.log line {line};" in said
    assert through in said


def test_a_state_that_is_not_modelled_is_said_so(tmp_path: Path) -> None:
    """It is neither explained nor refuted."""
    path = journal(tmp_path, "join group0", "quite another")
    assert "line 2: got 'quite_another'; allowed: a transition state that is modelled" in bad(
        "explain", path
    )
    path = journal(tmp_path, "join group0", "snapshot tables")
    assert "allowed: a transition state that is modelled" in bad("explain", path)


def test_a_journal_without_states_is_refused(tmp_path: Path) -> None:
    """Lines of a coordinator that name none."""
    path = tmp_path / "node-a.log"
    line = LINE.format(0, "lock").replace(
        "entered `lock` transition state", "updating topology state: Finished tablet migration"
    )
    path.write_text(line, "utf-8")
    assert "journals: got 'no line with a state'; allowed: journals with" in bad(
        "explain", str(path)
    )


def test_a_run_of_a_journal_opens(tmp_path: Path) -> None:
    """As a timeline of the model, and as a saved trace."""
    path = tmp_path / "run.json"
    assert call("explain", str(A), str(B), "--save", str(path)).status == 0
    assert "write_both_read_new" in call("play", str(path)).out
    answers = kit.explain([A, B])
    assert answers.first is not None
    assert len(answers.timeline().path()) == len(answers.first.run) + 1


def test_what_cannot_be_explained_is_refused(tmp_path: Path) -> None:
    """Another kind of file, an option for snapshots, a bad bound."""
    assert "a snapshot of scylla-tablets" in bad("explain", str(JOURNALS / "requests.csv"))
    assert "only snapshots" in bad("explain", str(A), "--anonymize")
    assert "states to visit" in bad("explain", str(A), "--bound", "0")
    with pytest.raises(BadInput, match=r"files: got 'no-file'; .*No such file"):
        kit.explain("no-file")
    (empty := tmp_path / "empty").touch()
    with pytest.raises(BadInput, match=r"files: got .*; allowed: a metadata log"):
        kit.explain(str(empty))
