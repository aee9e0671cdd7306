"""``python -m kit recover``: advice, JSON, exit codes, bad input, the documented example."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kit.protocols.recovery.dry_run import RecoveryAdvice, advise, parse_cluster
from tests.commands.calling import bad, call, written
from tests.saying import says

ROOT = Path(__file__).resolve().parents[4]
DUMP = str(ROOT / "tests" / "fixtures" / "topology" / "topology.csv")
NODES: list[dict[str, Any]] = [
    {"name": "A", "rack": "r1", "commit_index": 10},
    {"name": "B", "rack": "r2", "commit_index": 11},
    {"name": "C", "rack": "r3", "status": "lost"},
    {"name": "D", "rack": "r1", "status": "lost"},
    {"name": "E", "rack": "r2", "status": "lost"},
]
NODES = [{"dc": "dc1", **node} for node in NODES]
FIVE = {"nodes": NODES, "keyspaces": {"shop": {"dc1": 3}}}


def of(statuses: str, edition: Any = "documents", **more: Any) -> RecoveryAdvice:
    """The advice for nodes A, B, … with these statuses: u(p), d(own), l(ost)."""
    full = {"u": "up", "d": "down", "l": "lost"}
    nodes = [
        {"name": chr(65 + at), "dc": "dc1", "status": full[letter], "commit_index": 10 + at}
        for at, letter in enumerate(statuses)
    ]
    return advise(parse_cluster(json.dumps({"nodes": nodes, **more})), "x", edition)


@pytest.mark.parametrize(
    ("statuses", "procedure", "restart"),
    [
        ("uuu", "nothing", 0),
        ("uud", "restart", 0),
        ("uul", "replace", 0),
        ("udd", "restart", 1),
        ("udl", "restart", 1),
        ("ull", "recovery leader", 1),
        ("uddl", "restart", 2),
        ("udll", "recovery leader", 2),
    ],
)
def test_which_procedure(statuses: str, procedure: str, restart: int) -> None:
    """Recovery by hand only when a majority does not come back; else restart, else replace."""
    advice = of(statuses)
    assert (advice.procedure, advice.restart) == (procedure, restart)
    assert bool(advice.steps) == (procedure == "recovery leader")
    if procedure != "recovery leader":  # which has a leader, and whoever lives after it
        assert advice.order == tuple(chr(65 + i) for i, s in enumerate(statuses) if s == "d")


@pytest.mark.spec("G-021")
@pytest.mark.parametrize(
    ("advice", "offered", "why"),
    [
        (of("uul", upgrade="stuck"), True, "stuck because it needs nodes that are lost"),
        (of("uud", upgrade="stuck"), False, "no node is lost for good"),
        (of("ull"), True, "on servers that have no recovery_leader"),
        (of("udd"), False, "enough voters can come back"),
        (of("uul"), False, "only for a stuck Raft upgrade with lost nodes, or for a lost majority"),
        (of("ull", "server"), False, "the published server has no RECOVERY mode"),
    ],
)
def test_the_old_procedure_is_offered_where_it_is_needed_alone(
    advice: RecoveryAdvice, offered: bool, why: str
) -> None:
    """Every procedure says why it is offered or is not; the one that is advised is offered."""
    [row] = [each for each in advice.choices if each.procedure == "recovery mode"]
    assert row.offered is offered
    assert why in row.why
    assert {each.procedure: each.offered for each in advice.choices}[advice.procedure]
    assert len(advice.choices) == 4


@pytest.mark.spec("G-021")
def test_the_picker_is_printed(tmp_path: Path) -> None:
    """Each procedure in a line, with its reason; in JSON as well."""
    path = written(tmp_path, json.dumps(FIVE))
    code, out, _ = call("recover", path)
    assert code == 1
    assert re.search(r"offered +recovery leader +a majority of group 0's voters", out)
    assert re.search(r"not here +recovery mode +the published server has no RECOVERY mode", out)
    _, out, _ = call("recover", path, "--json")
    assert [each["offered"] for each in json.loads(out)["choices"]] == [False, False, True, False]


def test_who_may_be_restarted_is_asked_before_a_leader_is_chosen() -> None:
    """D is down with the latest index: it is restarted first, and may lead."""
    advice = of("ulld" + "l")
    assert advice.procedure == "recovery leader"
    assert advice.leader == "D"
    assert advice.order == ("D", "A")
    assert "first restart D" in advice.steps[0].what


@pytest.mark.spec("G-027")
def test_the_leader_is_one_with_the_latest_commit_index(tmp_path: Path) -> None:
    """B knows of one entry more than A; with A in its place B's state goes back by one."""
    path = written(tmp_path, FIVE)
    answer = call("recover", path, "--json")
    assert answer.status == 1
    assert (answer.json["leader"], answer.json["order"]) == ("B", ["B", "A"])
    assert answer.json["regressing"] == {}
    wrong = call("recover", path, "--leader", "A", "--json").json
    assert wrong["regressing"] == {"B": 1}
    assert "entry 11, known to be committed, is gone" in wrong["worst"]


@pytest.mark.spec("G-026")
def test_the_steps_of_both_editions() -> None:
    """The documents' seven, and the manual's order: restart first, the option unset at the end."""
    seed = [step.name for step in of("ull").steps]
    assert seed == [
        "delete", "choose", "set", "restart leader", "restart others", "replace", "clean",
    ]  # fmt: skip
    code = [step.name for step in of("ull", "server").steps]
    assert code.index("rolling restart") < code.index("read") < code.index("delete")
    assert code[-2:] == ["unset", "clean"]


def test_words(tmp_path: Path) -> None:
    """Group 0, data by level, the leader, the steps, the worst case."""
    answer = call("recover", written(tmp_path, FIVE))
    assert (answer.status, answer.err) == (1, "")
    for words in (
        "recovery leader: a majority of group 0's voters cannot come back",
        "group 0 has no quorum: 2 of 5 voters alive, 3 are needed",
        "shop has RF 3, but 2 nodes are left in dc1: replace nodes there instead of removing them",
        "QUORUM            of some ranges",
        "may lead: B",
        "8   restart leader   restart B first",
        "shop: some ranges may have lost every replica",
    ):
        assert words in answer.out


def test_deaths_at_once_leave_less_open() -> None:
    """Of six nodes five vote. Where three died at once all may have voted; at best one did not.

    Where they died one after another, votes may have gone to the three that live.
    """
    nodes = [
        {"name": name, "dc": f"dc{at // 3 + 1}", "status": "down" if name in "ABC" else "up"}
        for at, name in enumerate("ABCDEF")
    ]
    for deaths, live in (([["A", "B", "C"]], [2, 3]), ([["A"], ["B"], ["C"]], [2, 3])):
        lines = advise(parse_cluster(json.dumps({"nodes": nodes, "deaths": deaths})), "x").group0
        assert [line.live for line in lines] == live
    alone = [{**node, "dc": "dc1"} for node in nodes]
    alone[3]["status"] = "down"
    for deaths, live in (([["A", "B", "C", "D"]], [1, 2]), ([["A", "B"], ["C", "D"]], [1, 2])):
        lines = advise(parse_cluster(json.dumps({"nodes": alone, "deaths": deaths})), "x").group0
        assert [line.live for line in lines] == live


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nodes": []}, "FILE.nodes | []"),
        ({"nodes": NODES[:1] * 2}, "nodes | 'A' | each name once"),
        ({"nodes": [{"name": "A", "status": "dead"}]}, "FILE.nodes[0].status | 'dead'"),
        ({"nodes": [{"name": "A", "index": 1}]}, "FILE.nodes[0] | unknown field `index`"),
        ({"nodes": [{"name": "A b"}]}, "FILE.nodes[0].name | 'A b'"),
        ({"nodes": [{"name": "A", "commit_index": -1}]}, "FILE.nodes[0].commit_index | -1"),
        ({"keyspaces": {"shop": {"dc2": 3}}}, "keyspaces.shop | 'dc2' | one of dc1"),
        ({"deaths": [["A"]]}, "deaths[0] | 'A' | a node that is down or lost"),
        ({"deaths": [["C"], ["C"]]}, "deaths[1] | 'C' | each node once"),
        (
            {"keyspaces": {"shop": {}}},
            "keyspaces.shop | {} | at least one replica in some datacenter",
        ),
        ({"keyspaces": {"shop": {"dc1": 0}}}, "keyspaces.shop | {'dc1': 0} | at least one replica"),
        ({"keyspaces": {f"k{at}": {} for at in range(101)}}, "FILE.keyspaces | length <= 100"),
        ({"upgrade": "half"}, "FILE.upgrade | 'half'"),
        ({"upgrade": "\ud800"}, "FILE | surrogates not allowed"),
    ],
)
def test_bad_descriptions(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    """Each is one line that names the field, the value and what is allowed."""
    line = bad("recover", written(tmp_path, {**FIVE, **change}))
    assert says(line, said), line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lost", "A"], "--lost | nothing, because a description says this itself"),
        (["--leader", "C"], "--leader | 'C' | one of A, B"),
        (["--commit", "A"], "--commit | 'A' | HOST=NUMBER"),
        (["--commit", "A=1", "--commit", "A=2"], "--commit | 'A=2' | each HOST once"),
        (["--rf", "dc1=9999"], "--rf | 'dc1=9999' | DATACENTER=NUMBER"),
        (["--edition", "sever"], "edition | 'sever' | nearest: server"),
    ],
)
def test_bad_words(tmp_path: Path, words: list[str], said: str) -> None:
    """Options that do not fit; the file is one that the command reads."""
    line = bad("recover", written(tmp_path, FIVE), *words)
    assert says(line, said), line
    assert "looks like" not in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lost", "0"], "--lost | '0' | a name that fits only one node"),
        (["--lost", "00000001", "--down", "00000001"], "--down | '00000001' | not also --lost"),
        (["--commit", "00000001=1", "--commit", "00000001-=2"], "--commit | '00000001-' | once"),
        (
            ["--rf", "dc1=0"],
            "keyspaces.keyspace | {'dc1': 0} | at least one replica in some datacenter",
        ),
        (["--leader", "00000009"], "--leader | '00000009' | one of 00000001-"),
    ],
)
def test_bad_words_beside_a_dump(words: list[str], said: str) -> None:
    """The option that was given is named, however the host's id is shortened."""
    line = bad("recover", DUMP, *words)
    assert says(line, said), line
    assert "looks like" not in line


def test_a_dump_that_lacks_a_column_is_no_description(tmp_path: Path) -> None:
    """What is missing is named, whatever else is asked."""
    lacks = tmp_path / "topology.csv"
    lacks.write_text(Path(DUMP).read_text("utf-8").replace("fence_version", "fence"), "utf-8")
    assert says(bad("recover", str(lacks), "--lost", "00000001"), "with the column fence_version")


@pytest.mark.spec("G-019")
def test_the_documents_tables_stand_beside_the_truth() -> None:
    """Both words of a row, as text and as data."""
    answer = call("recover", "--documented")
    assert (answer.status, answer.err) == (0, "")
    text = " ".join(answer.out.split())
    for words in (
        "3 nodes down documents data available, schema changes impossible until 1 node is back",
        "never if all vote; with few voters, sometimes if nodes die at once, always if they die",
        "2 datacenters down documents data available, schema changes impossible; restart",
        "1 datacenter, 3 nodes: 1 node down",
        "data not always available at QUORUM, LOCAL_QUORUM dc1",
    ):
        assert words in text
    rows = call("recover", "--documented", "--json").json
    assert len(rows) == 8
    assert all(row["row"]["advice"] in text for row in rows)
    assert {row["row"]["data"] for row in rows} == {True}
    assert says(bad("recover"), "FILE | 'nothing' | --documented")
    assert says(bad("recover", "--documented", "x"), "FILE | 'x' | no FILE with --documented")


def test_a_thousand_nodes() -> None:
    """700 of 1,000 nodes died one by one: any five may vote, and nobody can tell which."""
    nodes = [
        {"name": f"n{at}", "dc": f"dc{at % 3 + 1}", "rack": f"r{at // 3 % 4}",
         "status": "up" if at >= 700 else "lost", "commit_index": at}
        for at in range(1000)
    ]  # fmt: skip
    text = json.dumps({
        "nodes": nodes,
        "keyspaces": {"shop": {"dc1": 3, "dc2": 3}},
        "deaths": [[f"n{at}"] for at in range(700)],
    })  # fmt: skip
    advice = advise(parse_cluster(text), "x")
    assert [(len(line.voters), line.live) for line in advice.group0] == [(5, 0), (5, 5)]
    assert advice.procedure == "not known"
