"""``plan --json``: its shape, the names and order of events, epochs, refusals, sizes."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import SIMPLE_3, TEN, Answer, call, ring_of, table, written

FIXTURE = Path(__file__).parents[1] / "fixtures" / "worked_tables.txt"
SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": 2}
LOCAL, EVERYWHERE = {"class": "LocalStrategy"}, {"class": "EverywhereStrategy"}
ABC = [{"name": n, "tokens": [t]} for n, t in (("A", 100), ("B", 200), ("C", 300))]


@pytest.fixture
def ten(tmp_path: Path) -> str:
    """Ten nodes at 100, 200, … 1000, RF 3, at epoch 40."""
    return written(tmp_path, ring_of(epoch=40))


def plan(*words: str) -> Any:
    """The answer of an accepted plan."""
    answer = call("plan", *words, "--json")
    assert answer.status == 0, answer
    assert answer.err == ""
    return answer.json


def refused(*words: str) -> Any:
    """The answer of a refused plan."""
    answer = call("plan", *words, "--json")
    assert answer.status == 1, answer
    assert answer.err == ""
    assert answer.json["accepted"] is False
    assert answer.json["steps"] == []
    return answer.json


def names(found: Any) -> list[str]:
    """The names of the steps."""
    return [step["name"] for step in found["steps"]]


OPERATIONS = {
    "join": ["join", "x", "--tokens", "550"],
    "leave": ["leave", "n3"],
    "remove": ["remove", "n3"],
    "move": ["move", "n3", "--tokens", "650"],
    "replace": ["replace", "n3", "x"],
    "assassinate": ["assassinate", "n3"],
}
CEP = {
    "join": ["split", "add-writes", "switch-reads", "drop-writes"],
    "leave": ["add-writes", "switch-reads", "drop-writes", "merge"],
    "remove": ["add-writes", "switch-reads", "drop-writes", "merge"],
    "move": ["split", "add-writes", "switch-reads", "drop-writes", "merge"],
    "replace": ["add-writes", "switch-reads", "drop-writes"],
    "assassinate": ["assassinate"],
}


@pytest.mark.spec("A-017", "A-028", "A-039")
@pytest.mark.parametrize("kind", list(CEP))
@pytest.mark.parametrize("variant", ["cep", "implementation"])
def test_names_of_the_steps(ten: str, kind: str, variant: str) -> None:
    """Each operation has the events of its variant, in commit order; epochs count on."""
    found = plan(ten, *OPERATIONS[kind], "--variant", variant)
    expected = CEP[kind]
    if variant == "implementation" and kind != "assassinate":
        expected = ["prepare", "start", "mid", "finish"]
    assert names(found) == expected
    assert [step["epoch"] for step in found["steps"]] == [41 + i for i in range(len(expected))]


def test_cep_is_the_default_variant(ten: str) -> None:
    """Without --variant it is that of the CEP."""
    assert plan(ten, "leave", "n3") == plan(ten, "leave", "n3", "--variant=cep")


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
    found = refused(ten, "join", "x", "--tokens", "550", "--while", "join y --tokens 750")
    keys = ["operation", "accepted", "reason", "warnings", "locks", "conflicts", "steps"]
    assert list(found) == keys
    assert "join y at 750" in found["reason"]
    assert found["conflicts"] == [
        {"keyspace": "ks", "range": held, "operation": "join y --tokens 750"}
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
    assert plan(path, "join", "X", "--tokens", "150") == {
        "operation": "join X --tokens 150",
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
            for i, name in enumerate(CEP["join"])
        ],
    }


@pytest.mark.spec("A-023", "A-024", "A-025", "A-026", "A-030", "A-031", "A-032", "A-033", "A-034")
@pytest.mark.parametrize("example", ["bootstrap", "decommission"])
def test_worked_tables(tmp_path: Path, example: str) -> None:
    """Somebody's own ring file gives the worked tables of CEP-21, letter by letter."""
    wanted = defaultdict(list)
    for line in FIXTURE.read_text("utf-8").splitlines():
        if line.startswith(f"WT|{example}|"):
            _, _, step, side, left, right, replicas, _ = line.split("|")
            wanted[int(step), f"{side}s"].append([int(left), int(right), replicas.split(",")])
    nodes = ABC if example == "bootstrap" else [*ABC, {"name": "X", "tokens": [150]}]
    content = {**ring_of(nodes, {"KS": SIMPLE_2}), "partitioner": {"low": 0, "high": 400}}
    words = ["join", "X", "--tokens", "150"] if example == "bootstrap" else ["leave", "X"]
    found = plan(written(tmp_path, content), *words)
    for number, step in enumerate(found["steps"], start=1):
        for side in ("reads", "writes"):
            rows = [[left or 0, *rest] for left, *rest in table(step, side, "KS")]
            assert [row for row in rows if row[1] and row[1] <= 200] == wanted[number, side]
    assert len(found["steps"]) == 4


@pytest.mark.parametrize("variant", ["cep", "implementation"])
def test_ends_like_the_ring_of_the_future(tmp_path: Path, variant: str) -> None:
    """The last tables are what ``ring`` prints for the ring that the operation leads to."""
    path = written(tmp_path, ring_of())
    last = plan(path, "join", "x", "--tokens", "550", "--variant", variant)["steps"][-1]
    future = written(tmp_path, ring_of([*TEN, {"name": "x", "tokens": [550]}]), "future.json")
    rows = call("ring", future, "--json").json["keyspaces"]["ks"]
    assert table(last, "reads") == table(last, "writes") == rows


@pytest.mark.parametrize(
    "words", [["--tokens", "-5,7"], ["--tokens=-5,7"], ["--tokens", " -5 , +7"]]
)
def test_negative_tokens(ten: str, words: list[str]) -> None:
    """Negative tokens are no options, wherever they stand."""
    expected = plan(ten, "join", "x", "--tokens", "-5,7")
    assert plan(ten, "join", "x", *words) == expected
    assert plan("--json", ten, *words, "join", "x") == expected
    assert [None, -5] in expected["locks"]["ks"]


def test_negative_tokens_in_flight(ten: str) -> None:
    """Nor are they inside --while."""
    found = plan(ten, "join", "x", "--tokens", "550", "--while", "join y --tokens -5,7")
    bounds = [row[:2] for row in table(found["steps"][0], "reads")]
    assert [None, -5] in bounds
    assert [-5, 7] in bounds
    other = plan(ten, "join", "x", "--tokens", "550", "--while=join y --tokens=-5,7")
    assert other == found


def test_epochs_beside_others(ten: str) -> None:
    """What is in flight was prepared up to the ring file's epoch; the plan counts on from there."""
    found = plan(ten, "join", "x", "--tokens", "950", "--while", "join y --tokens 450")
    assert [step["epoch"] for step in found["steps"]] == [41, 42, 43, 44]
    rows = table(found["steps"][0], "reads")
    assert [400, 450, ["n5", "n6", "n7"]] in rows
    assert [450, 500, ["n5", "n6", "n7"]] in rows


def test_two_in_flight(tmp_path: Path) -> None:
    """--while may be given several times; all of them must fit beside each other."""
    many = [{"name": f"n{i}", "tokens": [100 * i]} for i in range(1, 21)]
    path = written(tmp_path, ring_of(many, epoch=2))
    both = ["--while", "join y --tokens 750", "--while", "leave n12"]
    found = plan(path, "join", "x", "--tokens", "1850", *both)
    assert [step["epoch"] for step in found["steps"]] == [3, 4, 5, 6]
    writes = table(found["steps"][-1], "writes")
    # The leave's first event in this variant gives write replicas already.
    assert [1100, 1200, ["n12", "n13", "n14", "n15"]] in writes
    clash = call("plan", path, "leave", "n19", *both, "--while", "leave n13")
    assert (clash.status, clash.out) == (2, "")
    assert clash.err.startswith("kit: operation in flight: got 'leave n13'; allowed: one that may")


@pytest.mark.parametrize(
    ("words", "other", "reason"),
    [
        (["leave", "n3"], "leave n3", "n3 already takes part in an operation: leave n3"),
        (["join", "x", "--tokens", "50"], "join x --tokens 550", "x already takes part"),
        (["leave", "x"], "join x --tokens 550", "x already takes part"),
        (["replace", "n3", "x"], "leave n3", "n3 already takes part"),
        (["replace", "x", "y"], "join x --tokens 550", "x already takes part"),
        (["move", "x", "--tokens", "5"], "replace n3 x", "x already takes part"),
        (["join", "y", "--tokens", "550"], "join x --tokens 550", "x"),
        (["leave", "n3"], "leave n4", "leave n4"),
        (["join", "y", "--tokens", "750"], "join x --tokens 550", "join x at 550"),
    ],
)
def test_what_excludes_what(ten: str, words: list[str], other: str, reason: str) -> None:
    """A node has one operation at a time, and so has a range: refused, with the reason."""
    assert reason in refused(ten, *words, "--while", other)["reason"]


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (["join", "x", "--tokens", "550"], "join y --tokens 850"),
        (["leave", "n3"], "leave n8"),
        (["replace", "n2", "x"], "replace n6 y"),
    ],
)
def test_what_goes_side_by_side(ten: str, words: list[str], other: str) -> None:
    """Operations that lock disjoint ranges are accepted beside each other, either way round."""
    assert plan(ten, *words, "--while", other)["accepted"]
    assert plan(ten, *other.split(), "--while", " ".join(words))["accepted"]


def test_ends_of_the_line_meet_in_the_implementation(ten: str) -> None:
    """There two ranges that touch an end of the line conflict, without a token in common."""
    words = ["join", "x", "--tokens", "50", "--while", "join y --tokens 1050"]
    assert call("plan", ten, *words, "--variant", "cep").status == 1
    one = {"ks": {"class": "SimpleStrategy", "replication_factor": 1}}
    folder = Path(ten).parent
    nodes = [{"name": "a", "tokens": ["-9223372036854775808"]}, *TEN]
    path = written(folder, ring_of(nodes, one), "min.json")
    assert call("plan", path, *words, "--variant", "cep").status == 0
    assert call("plan", path, *words, "--variant", "implementation").status == 1


def test_several_keyspaces(tmp_path: Path) -> None:
    """Each has its own tables; equal replications have equal ones; local ones have none."""
    spaces = {"a": SIMPLE_3, "own": LOCAL, "b": SIMPLE_2, "all": EVERYWHERE, "c": SIMPLE_3}
    found = plan(written(tmp_path, ring_of(TEN[:4], spaces)), "join", "x", "--tokens", "250")
    for step in found["steps"]:
        assert list(step["keyspaces"]) == list(spaces)
        assert step["keyspaces"]["a"] == step["keyspaces"]["c"]
        assert step["keyspaces"]["own"] == {"reads": [], "writes": []}
    assert found["locks"]["own"] == []
    last = found["steps"][-1]["keyspaces"]["all"]["reads"]
    assert all(sorted(row[2]) == ["n1", "n2", "n3", "n4", "x"] for row in last)
    streams = [s for step in found["steps"] for s in step["streams"]]
    assert list(dict.fromkeys(s["keyspace"] for s in streams)) == ["a", "b", "all", "c"]
    # With a new node in an everywhere keyspace nobody is displaced: a quorum of all streams.
    everywhere = [s["from"] for s in streams if s["keyspace"] == "all"]
    assert {len(givers) for givers in everywhere} == {3}


def test_too_few_nodes(tmp_path: Path) -> None:
    """With RF above the nodes a join is accepted with a warning, a leave refused."""
    path = written(tmp_path, ring_of(TEN[:2]))
    found = plan(path, "join", "x", "--tokens", "150")
    assert found["warnings"] == ["keyspace ks wants 3 replicas: 2 nodes now, enough afterwards"]
    assert names(found) == ["split", "add-writes", "switch-reads"]
    assert "keeps 3 replicas" in refused(path, "leave", "n1")["reason"]
    forced = plan(path, "leave", "n1", "--force")
    assert forced["warnings"] == [
        "keyspace ks wants 3 replicas: 2 nodes now, 1 node afterwards",
        "forced: the replication check was not made",
    ]


@pytest.mark.parametrize("kind", ["leave", "remove", "assassinate"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_last_node_stays(tmp_path: Path, kind: str, force: list[str]) -> None:
    """The last node cannot go, not even by force."""
    path = written(tmp_path, ring_of(TEN[:1], {"ks": EVERYWHERE}))
    assert "last node" in refused(path, kind, "n1", *force)["reason"]


def test_ring_of_one(tmp_path: Path) -> None:
    """A single node can be joined, moved and replaced."""
    path = written(tmp_path, ring_of(TEN[:1], {"ks": {**SIMPLE_3, "replication_factor": 1}}))
    assert names(plan(path, "join", "x", "--tokens", "50"))[-1] == "drop-writes"
    assert names(plan(path, "move", "n1", "--tokens", "50")) == ["split", "merge"]
    found = plan(path, "replace", "n1", "x")
    assert found["warnings"] == [
        f"nobody who is alive holds ks {label}: its data is lost"
        for label in ("(min, 100]", "(100, max]")
    ]


def test_datacenter_and_rack(tmp_path: Path) -> None:
    """A replacement stands where the replaced node stood; a join where it is told to."""
    nodes = [
        {"name": f"n{i}", "tokens": [100 * i], "dc": f"dc{i % 2 + 1}", "rack": f"r{i % 3}"}
        for i in range(1, 9)
    ]
    network = {"class": "NetworkTopologyStrategy", "dc1": 2, "dc2": "1"}
    path = written(tmp_path, ring_of(nodes, {"ks": network}))
    found = plan(path, "replace", "n3", "x", "--variant", "implementation")
    before = call("ring", path, "--json").json["keyspaces"]["ks"]
    after = [[a, b, ["x" if n == "n3" else n for n in who]] for a, b, who in before]
    assert table(found["steps"][-1], "reads") == after
    waits = {(b["dc"], b["needed"]) for b in found["steps"][-1]["barriers"]}
    assert waits <= {("dc1", 1), ("dc1", 2), ("dc2", 1), ("dc2", 2)}
    joined = plan(path, "join", "x", "--tokens", "350", "--dc", "dc2", "--rack", "r9")
    own = [who for _, _, who in table(joined["steps"][-1], "reads") if "x" in who]
    assert own
    assert all(len([n for n in who if n in ("n1", "n3", "n5", "n7", "x")]) == 1 for who in own)


def test_order_from_left_to_right(tmp_path: Path) -> None:
    """Ranges that begin at 0 stand where they belong, after those that begin below."""
    nodes = [{"name": f"n{i}", "tokens": [100 * i - 300]} for i in range(1, 7)]
    found = plan(written(tmp_path, ring_of(nodes)), "leave", "n4")
    for step in found["steps"]:
        for kind in ("streams", "barriers"):
            lefts = [entry["range"][0] for entry in step[kind]]
            assert lefts == sorted(lefts, key=lambda left: -(2**63) if left is None else left)


def test_bytes_of_ranges(tmp_path: Path) -> None:
    """A range's own bytes count first; a part of a range counts by its share of the tokens."""
    path = written(tmp_path, ring_of(ABC, {"ks": SIMPLE_2}))
    rows = [["200", 300, 7], [None, 100, 2**60 + 1], [100, "200", 1001]]
    sizes = written(tmp_path, {"ranges": {"ks": rows}}, "sizes.json")
    found = plan(path, "join", "X", "--tokens", "150", "--sizes", sizes)
    streams = next(step["streams"] for step in found["steps"] if step["streams"])
    assert [s["bytes"] for s in streams] == [2**60 + 1, 500, None]


def test_bytes_of_nodes(tmp_path: Path) -> None:
    """A node's bytes are spread over all it replicates: what it hands over adds up to them."""
    content = {**ring_of(TEN[:4]), "partitioner": {"low": 0, "high": 400}}
    sizes = written(tmp_path, {"nodes": {"n2": 9000}}, "sizes.json")
    found = plan(written(tmp_path, content), "leave", "n2", "--sizes", sizes)
    streams = next(step["streams"] for step in found["steps"] if step["streams"])
    assert [s["from"] for s in streams] == [["n2"]] * len(streams)
    assert sum(s["bytes"] for s in streams) == 9000
    unknown = written(tmp_path, {"nodes": {"n1": 5}}, "sizes.json")
    found = plan(written(tmp_path, content), "leave", "n2", "--sizes", unknown)
    assert all(s["bytes"] is None for step in found["steps"] for s in step["streams"])


def test_beside_a_forced_removal(tmp_path: Path) -> None:
    """Ranges that only lose a replica are locked too: nobody waits for one who is gone for good."""
    nodes = [
        {"name": "gone", "tokens": [11], "dc": "dc2"},
        *({"name": f"n{i}", "tokens": [i]} for i in (8, 9, 10, 12)),
    ]
    network = {"class": "NetworkTopologyStrategy", "dc1": 1, "dc2": 1}
    path = written(tmp_path, ring_of(nodes, {"ks": network}))
    found = refused(path, "leave", "n9", "--while", "remove gone --force")
    assert "is locked by an operation in flight, remove gone" in found["reason"]


def test_odd_names(tmp_path: Path) -> None:
    """Names with blanks, quotes, markup, dashes or accents come back as they were given."""
    odd = ["a b", "'", '"', "<img src=x onerror=alert(1)>", "-n", "nö", "\N{SNOWMAN}", "𝄞"]
    nodes = [{"name": name, "tokens": [i], "rack": name} for i, name in enumerate(odd)]
    path = written(tmp_path, ring_of(nodes, {"k ö": SIMPLE_2}))
    for name in odd:
        found = plan(path, "leave", name)
        assert all(name not in row[2] for row in table(found["steps"][-1], "reads", "k ö"))
    answer: Answer = call("plan", path, "join", "ø x", "--tokens", "-7", "--rack", "𝄞", "--json")
    assert answer.out.isascii()
    assert answer.json["operation"] == "join 'ø x' --tokens -7 --rack '𝄞'"
    assert any("ø x" in row[2] for row in table(answer.json["steps"][-1], "reads", "k ö"))


def test_the_former_word_for_a_variant(ten: str) -> None:
    """What users have written down still reads: --shape means --variant."""
    words = ["leave", "n3", "implementation"]
    assert plan(ten, *words[:2], "--shape", words[2]) == plan(
        ten, *words[:2], "--variant", words[2]
    )
