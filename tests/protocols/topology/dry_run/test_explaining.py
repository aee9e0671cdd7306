"""Journals of a coordinator, explained by the model of the topology."""

from __future__ import annotations

from pathlib import Path

import pytest

import kit
from kit.errors import BadInput
from tests.commands.calling import bad, call

FIXTURES = Path(__file__).parents[3] / "fixtures" / "topology"
A, B = FIXTURES / "journal-a.log", FIXTURES / "journal-b.log"
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
    assert "a snapshot of scylla-tablets" in bad("explain", str(FIXTURES / "requests.csv"))
    assert "only snapshots" in bad("explain", str(A), "--anonymize")
    assert "states to visit" in bad("explain", str(A), "--bound", "0")
    with pytest.raises(BadInput, match=r"files: got 'no-file'; .*No such file"):
        kit.explain("no-file")
    (empty := tmp_path / "empty").touch()
    with pytest.raises(BadInput, match=r"files: got .*; allowed: a metadata log"):
        kit.explain(str(empty))
