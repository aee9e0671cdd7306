"""Properties of ``ring`` and ``plan`` on drawn rings, against an independent account of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject
from hypothesis import strategies as st

from tests.commands.calling import Answer, call, ring_of, written
from tests.commands.drawing import clusters, keyspaces, operations
from tests.commands.oracle import HIGH, LOW, Node, Op, Oracle, Span, rights, spans
from tests.examples import examples
from tests.saying import says

SHARED_FOLDER = [HealthCheck.function_scoped_fixture]


class Case:
    """A drawn cluster with an operation, others in flight, and what the command said."""

    def __init__(
        self,
        folder: Path,
        nodes: list[Node],
        replications: dict[str, dict[str, Any]],
        op: Op,
        in_flight: tuple[Op, ...],
        edition: str,
        epoch: int,
    ) -> None:
        self.nodes, self.op, self.epoch = nodes, op, epoch
        content = ring_of([node.plain for node in nodes], replications, epoch)
        self.oracle = Oracle(nodes, replications, op, in_flight, edition)
        words = [written(folder, content), *op.words, "--edition", edition, "--json"]
        for other in in_flight:
            words += ["--while", " ".join(other.words)]
        self.answer: Answer = call("plan", *words)
        self.json: dict[str, Any] = self.answer.json if self.answer.out else {}
        self.steps: list[dict[str, Any]] = self.json.get("steps", [])


def span(left: int | None, right: int | None) -> Span:
    """A range of the output as numbers."""
    return (LOW if left is None else left, HIGH if right is None else right)


@st.composite
def cases(draw: st.DrawFn, most_nodes: int, most_tokens: int, others: int = 0, rf: int = 5) -> Any:
    """The arguments of a case, but for the folder."""
    nodes = draw(clusters(most_nodes, most_tokens))
    replications = draw(keyspaces(nodes, rf))
    op = draw(operations(nodes))
    kinds = ("bootstrap", "decommission", "move", "replace", "removenode")
    in_flight = tuple(draw(operations(nodes, f"y{i}", kinds)) for i in range(others))
    edition = draw(st.sampled_from(("documents", "server")))
    return nodes, replications, op, in_flight, edition, draw(st.integers(0, 2**40))


WORDS = {
    "busy": "already takes part in an operation",
    "last": "is the last node",
    "few": " left",
    "several": "has several tokens",
    "taken": "will belong to",
    "locked": "locked by an operation in flight",
}


def accepted_as_expected(case: Case) -> bool:
    """Whether the operation was accepted, as the oracle says too."""
    expected = case.oracle.refused()
    if case.json["accepted"] and case.answer.status:  # nobody has the data: it is told elsewhere
        assert (case.oracle.edition, case.oracle.op.kind) == ("server", "removenode")
        assert any(not stream["from"] for stream in case.json["pending"])
        assert expected is None
        reject()
    assert case.answer.status == (0 if expected is None else 1), (expected, case.answer)
    assert case.json["accepted"] == (expected is None)
    assert (case.json["reason"] is None) == (expected is None)
    assert expected is None or WORDS[expected] in case.json["reason"]
    assert case.answer.err == ""
    return expected is None


def check_refusal(case: Case) -> None:
    """A refusal has no steps, and names the ranges that are held."""
    answer = case.json
    assert answer["steps"] == []
    named = {(c["keyspace"], span(*c["range"])) for c in answer["conflicts"]}
    assert named == case.oracle.conflicts()


def check_tables(case: Case) -> None:
    """Names, epochs, bounds and groups of every step."""
    expected = case.oracle.steps()
    if expected:
        assert [step["name"] for step in case.steps] == [name for name, _ in expected]
    assert [step["epoch"] for step in case.steps] == [
        case.epoch + 1 + i for i in range(len(case.steps))
    ]
    for number, step in enumerate(case.steps, start=1):
        assert list(step["keyspaces"]) == list(case.oracle.replications)
        for keyspace, tables in step["keyspaces"].items():
            if keyspace not in case.oracle.changes:
                assert tables == {"reads": [], "writes": []}
                continue
            lines = list(zip(tables["reads"], tables["writes"], strict=True))
            assert [span(*reads[:2]) for reads, _ in lines] == case.oracle.bounds(keyspace, number)
            for reads, writes in lines:
                assert reads[:2] == writes[:2]
                check_row(case, keyspace, number, reads, writes[2])


def check_row(case: Case, keyspace: str, number: int, line: list[Any], writes: list[str]) -> None:
    """The two groups of one row: as sets at every elementary token; and their order."""
    left, right = span(*line[:2])
    reads = line[2]
    change = case.oracle.changes[keyspace]
    inside = [r for _, r in change.rows if left < r < right]
    for token in (*inside, right):
        assert case.oracle.groups(keyspace, number, token) == (set(reads), set(writes))
    assert set(reads) <= set(writes) or case.oracle.op.kind == "assassinate"
    assert len(set(reads)) == len(reads)
    assert len(set(writes)) == len(writes)
    finished = number == len(case.steps)
    switched = finished or "switch-reads" in case.oracle.done(number)[0]
    if not case.oracle.in_flight:
        assert tuple(reads) == change.walks[switched].of(right)
    if set(reads) == set(writes):
        assert reads == writes
    elif not case.oracle.in_flight:
        former = list(change.walks[0].of(right))
        assert [name for name in writes if name in former] == former
        assert writes[: len(former)] == former


def check_locks(case: Case) -> None:
    """The locks are those of the oracle, a range each, sorted."""
    for keyspace, locked in case.json["locks"].items():
        expected = case.oracle.changes[keyspace].locked if keyspace in case.oracle.changes else []
        assert [span(*one) for one in locked] == expected


def check_streams(case: Case) -> None:
    """Every gained replica of a row, no other; from the replica it displaces, or from a quorum."""
    switch = "mid" if case.oracle.edition == "server" else "switch-reads"
    for step in case.steps:
        if step["name"] != switch:
            assert step["streams"] == []
            continue
        got = [(s["keyspace"], span(*s["range"]), s["to"]) for s in step["streams"]]
        expected = [
            (name, row, gained)
            for name, change in case.oracle.changes.items()
            for row in change.rows
            for gained in change.gained(row)
        ]
        assert sorted(got) == sorted(expected)
        order = list(case.oracle.replications)
        assert [(order.index(k), row) for k, row, _ in got] == sorted(
            (order.index(k), row) for k, row, _ in got
        )
        for stream in step["streams"]:
            check_sources(case, stream)
        for name, change in case.oracle.changes.items():
            check_pairs(case, change, [s for s in step["streams"] if s["keyspace"] == name])


def check_sources(case: Case, stream: dict[str, Any]) -> None:
    """One displaced replica that is alive; or else a quorum of the old replicas that are."""
    change = case.oracle.changes[stream["keyspace"]]
    row = span(*stream["range"])
    dead = {case.op.dead, *(other.dead for other in case.oracle.in_flight)}
    olds, lost = change.before[row], [n for n in change.lost(row) if n not in dead]
    alive = [name for name in olds if name not in dead]
    quorum = alive[: len(olds) // 2 + 1]
    assert stream["bytes"] is None
    assert stream["from"] in ([[name] for name in lost] + [quorum])
    if len(change.gained(row)) == 1 and len(change.lost(row)) == 1 and lost:
        assert stream["from"] == lost


def check_pairs(case: Case, change: Any, streams: list[dict[str, Any]]) -> None:
    """In a row no replica is displaced twice, and every one that is displaced gives."""
    places = {node.name: node.dc for node in (*change.now, *change.then)}
    dead = {case.op.dead, *(other.dead for other in case.oracle.in_flight)}
    for row in change.rows:
        lost = [name for name in change.lost(row) if name not in dead]
        mine = [s for s in streams if span(*s["range"]) == row]
        for dc in {places[s["to"]] for s in mine}:
            givers = [s["from"][0] for s in mine if len(s["from"]) == 1 and s["from"][0] in lost]
            local = [name for name in lost if places[name] == dc]
            here = [s for s in mine if places[s["to"]] == dc]
            given = [name for name in givers if places[name] == dc]
            assert len(set(givers)) == len(givers)
            assert len(given) >= min(len(local), len(here))


def check_barriers(case: Case) -> None:
    """A majority of everyone concerned, for every locked range, before every step but the first."""
    order = list(case.oracle.replications)
    for number, step in enumerate(case.steps):
        got = [
            (b["keyspace"], span(*b["range"]), b["dc"], set(b["replicas"]), b["needed"])
            for b in step["barriers"]
        ]
        expected = case.oracle.barriers(number)
        expected.sort(key=lambda b: (order.index(b[0]), b[1], b[2] or ""))
        assert got == expected
        assert all(len(set(b["replicas"])) == len(b["replicas"]) for b in step["barriers"])


def check(case: Case) -> None:
    """All of it."""
    if not accepted_as_expected(case):
        check_refusal(case)
        return
    check_tables(case)
    check_locks(case)
    check_streams(case)
    check_barriers(case)


@pytest.mark.spec("A-017", "A-018", "A-019", "A-021", "A-028", "A-034", "A-039", "A-043")
@examples(100, suppress_health_check=SHARED_FOLDER)
@given(cases(8, 3))
def test_plan_equals_the_account(tmp_path: Path, drawn: Any) -> None:
    """Every step of any operation: names, epochs, tables, locks, streams and barriers."""
    check(Case(tmp_path, *drawn))


@examples(12, suppress_health_check=SHARED_FOLDER)
@given(cases(64, 4, rf=4))
def test_large_rings(tmp_path: Path, drawn: Any) -> None:
    """The same on rings of up to 64 nodes."""
    check(Case(tmp_path, *drawn))


@pytest.mark.spec("A-014", "A-034", "A-039")
@examples(75, suppress_health_check=SHARED_FOLDER)
@given(cases(14, 1, 1, 2) | cases(20, 2, 1, 2))
def test_beside_another(tmp_path: Path, drawn: Any) -> None:
    """Beside an operation in flight: accepted just when locks allow it, and stepped the same."""
    nodes, replications, _, (other,), edition, _ = drawn
    first = Oracle(nodes, replications, other, (), edition)
    case = Case(tmp_path, *drawn)
    # What is under way was begun, wherever.
    if first.refused() not in (None, "several") or len(first.steps()) < 2:
        assert (case.answer.status, case.answer.out) == (2, "")
        assert says(case.answer.err, "kit: operation in flight |")
        return
    check(case)


@examples(30, suppress_health_check=SHARED_FOLDER)
@given(cases(8, 2), st.data())
def test_bytes_add_up(tmp_path: Path, drawn: Any, data: st.DataObject) -> None:
    """With the bytes of every range known, each sender has its share of them by tokens: all send by
    the documents, one in edition server, and none of what nobody has left.
    """
    nodes, replications, op, _, edition, _ = drawn
    case = Case(tmp_path, nodes, replications, op, (), edition, 0)
    if not case.steps:
        return
    whole = spans(rights(nodes))
    known = {
        name: {row: data.draw(st.integers(0, 10**12)) for row in whole}
        for name in case.oracle.changes
    }
    content = {
        "ranges": {
            name: [
                [left if left > LOW else None, right, size] for (left, right), size in rows.items()
            ]
            for name, rows in known.items()
        }
    }
    sizes = written(tmp_path, content, "sizes.json")
    path = str(tmp_path / "ring.json")
    answer = call("plan", path, *op.words, "--edition", edition, "--json", "--sizes", sizes)
    plain = call("plan", path, *op.words, "--edition", edition, "--json").json
    for step, without in zip(answer.json["steps"], plain["steps"], strict=True):
        for stream in step["streams"]:
            left, right = span(*stream["range"])
            row = next(row for row in whole if row[0] <= left and right <= row[1])
            share = Fraction(known[stream["keyspace"]][row] * (right - left), row[1] - row[0])
            senders = len(stream["from"]) if edition == "documents" else min(len(stream["from"]), 1)
            assert stream["bytes"] == round(share) * senders
        unsized = [{**stream, "bytes": None} for stream in step["streams"]]
        assert {**step, "streams": unsized} == without
