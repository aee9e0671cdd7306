"""``plan --json``: its shape, the names and order of events, epochs, refusals."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.commands.calling import (
    ABC,
    SIMPLE_2,
    SIMPLE_3,
    TEN,
    Answer,
    call,
    names,
    plan,
    refused,
    ring_of,
    table,
    written,
)
from tests.fixtures import rows


@pytest.fixture
def ten(tmp_path: Path) -> str:
    """Ten nodes at 100, 200, … 1000, RF 3, at epoch 40."""
    return written(tmp_path, ring_of(epoch=40))


OPERATIONS = {
    "bootstrap": ["bootstrap", "x", "--tokens", "550"],
    "decommission": ["decommission", "n3"],
    "removenode": ["removenode", "n3"],
    "move": ["move", "n3", "--tokens", "650"],
    "replace": ["replace", "n3", "x"],
    "assassinate": ["assassinate", "n3"],
}


CEP = {
    "bootstrap": ["split", "add-writes", "switch-reads", "drop-writes"],
    "decommission": ["add-writes", "switch-reads", "drop-writes", "merge"],
    "removenode": ["add-writes", "switch-reads", "drop-writes", "merge"],
    "move": ["split", "add-writes", "switch-reads", "drop-writes", "merge"],
    "replace": ["add-writes", "switch-reads", "drop-writes"],
    "assassinate": ["assassinate"],
}


@pytest.mark.spec("A-017", "A-028", "A-039")
@pytest.mark.parametrize("kind", list(CEP))
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_names_of_the_steps(ten: str, kind: str, edition: str) -> None:
    """Each operation has the events of its edition, in commit order; epochs count on."""
    found = plan(ten, *OPERATIONS[kind], "--edition", edition)
    expected = CEP[kind]
    if edition == "server" and kind != "assassinate":
        expected = ["prepare", "start", "mid", "finish"]
    assert names(found) == expected
    assert [step["epoch"] for step in found["steps"]] == [41 + i for i in range(len(expected))]


@pytest.mark.parametrize("kind", list(CEP))
def test_keys_of_an_accepted_plan(ten: str, kind: str) -> None:
    """Every object has exactly the keys of the contract, always in the same order."""
    found = plan(ten, *OPERATIONS[kind])
    keys = ["operation", "accepted", "reason", "warnings", "locks", "steps"]
    assert list(found) == keys
    assert (found["accepted"], found["reason"]) == (True, None)
    assert found["operation"] == " ".join(OPERATIONS[kind])
    for step in found["steps"]:
        assert list(step) == ["name", "epoch", "keyspaces", "streams", "barriers"]
        assert list(step["keyspaces"]["ks"]) == ["reads", "writes"]
        for stream in step["streams"]:
            assert list(stream) == ["keyspace", "range", "from", "to", "bytes"]
        for barrier in step["barriers"]:
            assert list(barrier) == ["keyspace", "range", "dc", "replicas", "needed"]
    first = found["steps"][0]
    assert (first["streams"], first["barriers"]) == ([], [])


def test_keys_of_a_refusal(ten: str) -> None:
    """A refusal says why, names each range that is held and who holds it."""
    found = refused(ten, "bootstrap", "x", "--tokens", "550", "--while", "bootstrap y --tokens 750")
    keys = ["operation", "accepted", "reason", "warnings", "locks", "conflicts", "steps"]
    assert list(found) == keys
    assert "bootstrap y at 750" in found["reason"]
    assert found["conflicts"] == [
        {"keyspace": "ks", "range": held, "operation": "bootstrap y --tokens 750"}
        for held in ([500, 550], [550, 600])
    ]


@pytest.mark.spec("A-017", "A-018", "A-019", "A-020")
def test_join_in_full(tmp_path: Path) -> None:
    """A whole answer, letter by letter: tables after each event, streams and barriers before it."""
    path = written(tmp_path, ring_of(ABC, {"ks": SIMPLE_2}, 6))
    split = [
        [None, 100, ["A", "B"]],
        [100, 150, ["B", "C"]],
        [150, 200, ["B", "C"]],
        [200, 300, ["C", "A"]],
        [300, None, ["A", "B"]],
    ]
    added = [[*row] for row in split]
    added[0], added[1] = [None, 100, ["A", "B", "X"]], [100, 150, ["B", "C", "X"]]
    added[4] = [300, None, ["A", "B", "X"]]
    moved = [[*row] for row in split]
    moved[0], moved[1] = [None, 100, ["A", "X"]], [100, 150, ["X", "B"]]
    moved[4] = [300, None, ["A", "X"]]
    barriers = [
        {
            "keyspace": "ks",
            "range": [None, 100],
            "dc": None,
            "replicas": ["A", "B", "X"],
            "needed": 2,
        },
        {
            "keyspace": "ks",
            "range": [100, 150],
            "dc": None,
            "replicas": ["B", "C", "X"],
            "needed": 2,
        },
        {"keyspace": "ks", "range": [150, 200], "dc": None, "replicas": ["B", "C"], "needed": 2},
        {
            "keyspace": "ks",
            "range": [300, None],
            "dc": None,
            "replicas": ["A", "B", "X"],
            "needed": 2,
        },
    ]
    streams = [
        {"keyspace": "ks", "range": [None, 100], "from": ["B"], "to": "X", "bytes": None},
        {"keyspace": "ks", "range": [100, 150], "from": ["C"], "to": "X", "bytes": None},
        {"keyspace": "ks", "range": [300, None], "from": ["B"], "to": "X", "bytes": None},
    ]
    tables = [(split, split), (split, added), (moved, added), (moved, moved)]
    assert plan(path, "bootstrap", "X", "--tokens", "150", "--edition=documents") == {
        "operation": "bootstrap X --tokens 150",
        "accepted": True,
        "reason": None,
        "warnings": [],
        "locks": {"ks": [[None, 100], [100, 150], [150, 200], [300, None]]},
        "steps": [
            {
                "name": name,
                "epoch": 7 + i,
                "keyspaces": {"ks": {"reads": tables[i][0], "writes": tables[i][1]}},
                "streams": streams if name == "switch-reads" else [],
                "barriers": barriers if i else [],
            }
            for i, name in enumerate(CEP["bootstrap"])
        ],
    }


@pytest.mark.spec("A-023", "A-024", "A-025", "A-026", "A-030", "A-031", "A-032", "A-033", "A-034")
@pytest.mark.parametrize("example", ["bootstrap", "decommission"])
def test_worked_tables(tmp_path: Path, example: str) -> None:
    """Somebody's own ring file gives the worked tables of CEP-21, letter by letter."""
    wanted = defaultdict(list)
    for step, side, left, right, replicas, _ in rows("WT", example):
        wanted[int(step), f"{side}s"].append([int(left), int(right), replicas.split(",")])
    nodes = ABC if example == "bootstrap" else [*ABC, {"name": "X", "tokens": [150]}]
    content = {**ring_of(nodes, {"KS": SIMPLE_2}), "partitioner": {"low": 0, "high": 400}}
    words = (
        ["bootstrap", "X", "--tokens", "150"] if example == "bootstrap" else ["decommission", "X"]
    )
    found = plan(written(tmp_path, content), *words, "--edition=documents")
    for number, step in enumerate(found["steps"], start=1):
        for side in ("reads", "writes"):
            found_rows = [[left or 0, *rest] for left, *rest in table(step, side, "KS")]
            assert [row for row in found_rows if row[1] and row[1] <= 200] == wanted[number, side]
    assert len(found["steps"]) == 4


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_ends_like_the_ring_of_the_future(tmp_path: Path, edition: str) -> None:
    """The last tables are what ``ring`` prints for the ring that the operation leads to."""
    path = written(tmp_path, ring_of())
    last = plan(path, "bootstrap", "x", "--tokens", "550", "--edition", edition)["steps"][-1]
    future = written(tmp_path, ring_of([*TEN, {"name": "x", "tokens": [550]}]), "future.json")
    rows = call("ring", future, "--json").json["keyspaces"]["ks"]
    assert table(last, "reads") == table(last, "writes") == rows


@pytest.mark.parametrize(
    ("words", "other", "reason"),
    [
        (
            ["decommission", "n3"],
            "decommission n3",
            "n3 already takes part in an operation: decommission n3",
        ),
        (["bootstrap", "x", "--tokens", "50"], "bootstrap x --tokens 550", "x already takes part"),
        (["decommission", "x"], "bootstrap x --tokens 550", "x already takes part"),
        (["replace", "n3", "x"], "decommission n3", "n3 already takes part"),
        (["replace", "x", "y"], "bootstrap x --tokens 550", "x already takes part"),
        (["move", "x", "--tokens", "5"], "replace n3 x", "x already takes part"),
        (["bootstrap", "y", "--tokens", "550"], "bootstrap x --tokens 550", "x"),
        (["decommission", "n3"], "decommission n4", "decommission n4"),
        (["bootstrap", "y", "--tokens", "750"], "bootstrap x --tokens 550", "bootstrap x at 550"),
    ],
)
def test_what_excludes_what(ten: str, words: list[str], other: str, reason: str) -> None:
    """A node has one operation at a time, and so has a range: refused, with the reason."""
    assert reason in refused(ten, *words, "--while", other)["reason"]


LOCAL, EVERYWHERE = {"class": "LocalStrategy"}, {"class": "EverywhereStrategy"}


def test_several_keyspaces(tmp_path: Path) -> None:
    """Each has its own tables; equal replications have equal ones; local ones have none."""
    spaces = {"a": SIMPLE_3, "own": LOCAL, "b": SIMPLE_2, "all": EVERYWHERE, "c": SIMPLE_3}
    found = plan(written(tmp_path, ring_of(TEN[:4], spaces)), "bootstrap", "x", "--tokens", "250")
    for step in found["steps"]:
        assert list(step["keyspaces"]) == sorted(spaces)
        assert step["keyspaces"]["a"] == step["keyspaces"]["c"]
        assert step["keyspaces"]["own"] == {"reads": [], "writes": []}
    assert found["locks"]["own"] == []
    last = found["steps"][-1]["keyspaces"]["all"]["reads"]
    assert all(sorted(row[2]) == ["n1", "n2", "n3", "n4", "x"] for row in last)
    streams = [s for step in found["steps"] for s in step["streams"]]
    assert list(dict.fromkeys(s["keyspace"] for s in streams)) == ["a", "all", "b", "c"]
    # With a new node in an everywhere keyspace nobody is displaced: a quorum of all streams.
    everywhere = [s["from"] for s in streams if s["keyspace"] == "all"]
    assert {len(givers) for givers in everywhere} == {3}


def test_odd_names(tmp_path: Path) -> None:
    """Names with blanks, quotes, markup, dashes or accents come back as they were given."""
    odd = ["a b", "'", '"', "<img src=x onerror=alert(1)>", "-n", "nö", "\N{SNOWMAN}", "𝄞"]
    nodes = [{"name": name, "tokens": [i], "rack": name} for i, name in enumerate(odd)]
    path = written(tmp_path, ring_of(nodes, {"k ö": SIMPLE_2}))
    for name in odd:
        found = plan(path, "decommission", name)
        assert all(name not in row[2] for row in table(found["steps"][-1], "reads", "k ö"))
    answer: Answer = call(
        "plan", path, "bootstrap", "ø x", "--tokens", "-7", "--rack", "𝄞", "--json"
    )
    assert answer.out.isascii()
    assert answer.json["operation"] == "bootstrap 'ø x' --tokens -7 --rack '𝄞'"
    assert any("ø x" in row[2] for row in table(answer.json["steps"][-1], "reads", "k ö"))
