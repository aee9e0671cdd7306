"""Journals of a coordinator, explained by the model of the topology."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

import kit
from kit.errors import BadInput
from kit.protocols.topology.dry_run.explaining import (
    REQUEST,
    SIGHT,
    _apart,
    _machines,
    _operations,
    in_one_order,
    of_journals,
)
from kit.protocols.topology.dry_run.history import Passage, Way
from kit.protocols.topology.rules.machines import BOUNDARY, Edition
from kit.protocols.topology.topology import Topology
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
    ("count", "parts"),
    [
        (8, {"journals": 8}),
        (9, {"operations 1 to 8": 8, "operation 9": 1}),
        (10, {"operations 1 to 8": 8, "operations 9 to 10": 2}),
    ],
)
def test_a_part_has_eight_operations(count: int, parts: dict[str, int], tmp_path: Path) -> None:
    """Each is explained in a cluster of its own; that there are parts is said."""
    questions, about = of_journals([journal(tmp_path, *LEAVE * count)], "server", False)
    assert {
        each.name: {len(model.parameters.operations) for model, _ in each.ways}
        for each in questions
    } == {name: {number} for name, number in parts.items()}
    in_parts = f"{count} operations are explained in parts of 8, each in a new cluster"
    assert (in_parts in about) == (len(parts) > 1)
    assert len(about) == 3 + (len(parts) > 1)


BEGUN = LEAVE[:2]


@pytest.mark.parametrize(
    ("states", "edition", "operations", "crashes"),
    [
        (JOIN, "server", ["bootstrap C"], 0),
        (REPLACE, "server", ["replace D C"], 1),
        ((*LEAVE, *JOIN), "server", ["decommission C, bootstrap D"], 0),
        # A journal may begin in the middle, and end there.
        (BEGUN, "server", ["bootstrap C", "replace D C", "decommission C"], 1),
        (LEAVE[1:], "server", ["decommission C"], 0),
        (JOIN[:1], "server", ["bootstrap C", "replace D C", "join C --zero-token"], 1),
        # Not so an operation behind another one, or before one.
        ((*LEAVE, *BEGUN), "server", ["decommission C, decommission D"], 0),
        ((*BEGUN, *JOIN), "server", ["bootstrap C, bootstrap D", "replace D C, bootstrap E"], 1),
        # As many nodes may die as in the row in which the most have to.
        (BACK, "server", ["decommission C"], 0),
        (BACK, "documents", ["decommission C", "removenode C"], 1),
    ],
)
def test_which_operations_a_journal_may_tell_of(
    states: tuple[str, ...], edition: Edition, operations: list[str], crashes: int, tmp_path: Path
) -> None:
    """Each row that has all states; members are named first, then those that join."""
    (question,), _ = of_journals([journal(tmp_path, *states)], edition, False)
    given = [model.parameters for model, _ in question.ways]
    assert [", ".join(each.operations) for each in given] == operations
    assert {each.crashes for each in given} == {crashes}


def test_what_is_said_between_operations_is_none_of_them(tmp_path: Path) -> None:
    """What another coordinator says before it enters a state is told apart from both."""
    first, *others = Path(journal(tmp_path, *CDC, *LEAVE)).read_text("utf-8").splitlines()
    words = first.replace("entered `commit cdc generation` transition", "updating topology")
    lines = [first, *(line.replace("node-a", "node-b") for line in (words + ": start", *others))]
    (path := tmp_path / "log").write_text("\n".join(lines), "utf-8")
    (question,), about = of_journals([str(path)], "server", False)
    assert about[0] == "4 of 5 lines of the coordinator name a state"
    [(model, _)] = question.ways
    assert model.parameters.operations == ("new_cdc_generation", "decommission C")


def test_a_request_waits_until_nothing_is_under_way() -> None:
    """No line shows a queue: also while tablets move none is made."""
    model = Topology(edition="server", nodes=2, operations=("join C",), tablets=1)
    state, asks = model.start(), False
    while not (asks and state.topology.transition):
        steps = [action for action, _ in SIGHT.steps(model, state)]
        state = model.act(state, next(each for each in steps if type(each) is not REQUEST))
        asks = any(type(each) is REQUEST for each, _ in in_one_order(model, state))
    assert state.topology.transition == "tablet_migration"
    assert not any(type(each) is REQUEST for each, _ in SIGHT.steps(model, state))


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


@pytest.mark.parametrize(("most", "operations"), [(4, 2), (3, 1)])
def test_many_stays_are_not_told_apart(
    most: int, operations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generation, and a node that leaves: four stays, of which two operations are made if as many
    may be looked at.
    """
    monkeypatch.setattr("kit.protocols.topology.dry_run.explaining.MOST_STAYS", most)
    (question,), _ = of_journals([journal(tmp_path, *CDC, *LEAVE)], "server", False)
    assert len(question.seen) == 4
    assert {len(model.operations) for model, _ in question.ways} == {operations}


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


def steps(states: str) -> frozenset[tuple[str, str]]:
    """The steps of a machine that passes these states, each of one letter."""
    return frozenset([*(("", each) for each in states), *pairwise([BOUNDARY, *states, BOUNDARY])])


def stays(states: str) -> list[Passage]:
    """Stays in these states, one after the other."""
    return [Passage("10:00", "a", each, "happy", (), None) for each in states]


@pytest.mark.parametrize(
    ("states", "begins", "ends", "operations"),
    [
        ("ab", True, True, "ab"),
        ("abcd", False, False, "ab cd"),
        ("abab", True, True, "ab ab"),
        # A journal may begin and end in the middle of an operation.
        ("bcd", False, False, "b cd"),
        ("bcd", True, False, "bcd"),
        ("abc", False, False, "ab c"),
        ("abc", False, True, "abc"),
        # In between each must begin where it can, and end where it can.
        ("acd", False, False, "acd"),
        ("abd", False, False, "abd"),
        ("bd", False, False, "bd"),
    ],
)
def test_the_fewest_operations_that_stays_can_be(
    states: str, begins: bool, ends: bool, operations: str
) -> None:
    """Of two machines, with states a and b, and c and d; where none fits, it is one operation."""
    machines = [steps("ab"), steps("cd")]
    apart = _apart(stays(states), machines, begins, ends)
    assert ["".join(stay.state for stay in each) for each in apart] == operations.split()


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ("b", "dcd", "b dcd"),
        ("b", "cd", "b cd"),
        ("", "abc", "ab c"),
        ("", "bcd", "b cd"),
        ("b", "cdc", "b cd c"),
    ],
)
def test_what_no_edge_leads_to_is_another_operation(
    before: str, after: str, operations: str
) -> None:
    """It has a beginning then, which d is not; the last one need not be over."""
    (first, *others), machines = stays(after), [steps("ab"), steps("cd")]
    way: Way = "unknown" if before else "happy"
    told = _operations([*stays(before), replace(first, edge=way), *others], machines)
    assert ["".join(stay.state for stay in each) for each in told] == operations.split()


REMOVES_C = ("leave D", "removenode C")


@pytest.mark.parametrize(
    ("operations", "down", "verbs", "allowed"),
    [
        # C dies before it is removed or replaced; then that is asked for at once, and it stays dead
        (("removenode C",), (), "", "crash C"),
        (("replace E C",), (), "", "crash C"),
        (("removenode C",), (), "crash C", "remove C"),
        (("replace E C",), (), "crash C", "replace E C"),
        (("removenode C",), ("C",), "", "remove C"),
        (("leave C",), (), "", "leave C"),
        # what is under way does not go on between, but where the request is still refused
        (REMOVES_C, (), "", "leave D"),
        (REMOVES_C, (), "leave D", "decide; crash C"),
        (REMOVES_C, (), "leave D; crash C", "remove C"),
        (("rebuild C", "removenode C"), (), "rebuild C; crash C", "decide"),
        # who has applied more comes first, and of the answers only one is next
        (REMOVES_C, (), "leave D; decide; commit", "apply B"),
        (
            REMOVES_C,
            (),
            "leave D; decide; commit; apply B; apply C; apply D",
            "answer A; crash C",
        ),
    ],
)
def test_what_comes_next_in_one_order(
    operations: tuple[str, ...], down: tuple[str, ...], verbs: str, allowed: str
) -> None:
    """Of four nodes, by edition ``server``, after these steps."""
    model = Topology(edition="server", nodes=4, operations=operations, down=down, crashes=1)
    state = model.start()
    for verb in filter(None, verbs.split("; ")):
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    assert "; ".join(model.verb(action) for action, _ in in_one_order(model, state)) == allowed


def test_the_likeliest_kinds_of_operations_come_first() -> None:
    """Of kinds with the same states and edges, as in the server leaving and removal, the first."""
    kinds = [
        *("tablets", "bootstrapping", "replacing", "decommissioning", "removing"),
        *("bootstrapping_zero_token", "truncate_table", "new_cdc_generation", "lock"),
    ]
    assert [*_machines("documents")] == kinds
    assert [*_machines("server")] == [kind for kind in kinds if kind != "removing"]
