"""What is told of columns is what is told of rows, and what is kept is never another's."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tcm import cluster as tcm_cluster
from kit.protocols.tcm.cluster import Driver, TcmCluster
from kit.protocols.tcm.facts import large as facts_large
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import MOST, awaiting, memo
from kit.protocols.tcm.panels.placement import MOST_ENDS, MOST_NODES, ends, lines
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.metadata import Advance, Begin
from kit.ring.placements import Placement, Table
from kit.ring.replication import Keyspace, LocalStrategy, SimpleStrategy
from kit.views.actions import refusal_text
from tests.protocols.tcm.dry_run.samples import JOIN, cluster, played
from tests.views.frames import scenes


@pytest.fixture
def timeline() -> Timeline:
    """A decommission beside a join."""
    return played(cluster(), "decommission 10.20.0.2", JOIN)


def test_changes_are_those_of_the_rows(timeline: Timeline) -> None:
    """Row by row and by columns, the same ranges changed in each step, in the same way."""
    for scene in scenes(timeline):
        wanted = [one for one in lines(scene, "shop") if one.changed]
        found = facts_large.changes(scene.model, scene.state, scene.before, "shop", 1000)
        assert [now for now, _ in found.rows] == [one.row for one in wanted]
        assert found.reads == sum(one.reads.any for one in wanted)
        assert found.writes == sum(one.writes.any for one in wanted)
        assert found.either == len(wanted)


def test_a_range_changed_where_any_token_of_it_did(timeline: Timeline) -> None:
    """A row is marked where a token of it came to other replicas, also where ranges merged; its
    signs are those of all these tokens.
    """
    merged = 0
    for scene in scenes(timeline):
        m: Any = timeline.model
        now = facts.rows(m, scene.state, "shop")
        then = facts.rows(m, scene.before or scene.state, "shop")
        ends = sorted({row.right for row in (*now, *then)})
        merged += len(now) < len(then)
        for line in lines(scene, "shop"):
            within = [end for end in ends if line.row.left < end <= line.row.right]
            former = [next(r for r in then if r.left < end <= r.right) for end in within]
            for group, was in (
                (line.reads, [row.reads for row in former]),
                (line.writes, [row.writes for row in former]),
            ):
                gone = {name for names in was for name in names} - {*group.order}
                came = {name for name in group.order if any(name not in names for names in was)}
                assert (set(group.removed), set(group.added)) == (gone, came)
    assert merged


def test_counts_and_lists_are_those_of_the_rows(timeline: Timeline) -> None:
    """How many rows there are, which they are, and how many each node serves."""
    m: Any = timeline.model
    for moment in timeline.path():
        s = timeline.moments[moment].state
        rows = facts.rows(m, s, "shop")
        assert facts_large.length(m, s, "shop") == len(rows)
        listed = facts_large.listed(m, s, "shop", 2, 7)
        assert [(r.label, r.reads, r.writes) for r in listed] == [
            (r.label, r.reads, r.writes) for r in rows[2:7]
        ]
        tokens = [row.right for row in rows[3:5]]
        assert [r.label for r in facts_large.rows_of(m, s, "shop", tokens, 9)] == [
            r.label for r in rows[3:5]
        ]
        reads = Counter(name for row in rows for name in row.reads)
        writes = Counter(name for row in rows for name in row.writes)
        served = {node: counts for node, *counts in facts_large.served(m, s, "shop")}
        assert served == {n: [reads[n], writes[n]] for n in {*reads, *writes}}


def test_of_many_nodes_both_ends_are_listed() -> None:
    """Who serves the most ranges and who serves the fewest; all, where they are few."""
    few = [(f"n{i}", i, i) for i in range(MOST_NODES)]
    assert ends(few) == (few, 0)
    many = [*few, ("most", 999, 999)]
    shown, rest = ends(many)
    assert [node for node, *_ in shown[:2]] == ["most", f"n{MOST_NODES - 1}"]
    assert shown[-1][0] == "n0"
    assert len(shown) + rest == len(many) > len(set(shown)) == 2 * MOST_ENDS


def test_of_many_barriers_those_that_wait_are_told_first(timeline: Timeline) -> None:
    """A few rows of many: the counts are of all, and none that is met before one that is not."""
    m: Any = timeline.model
    bounded = 0
    for moment in timeline.path():
        s = timeline.moments[moment].state
        for sequence in m.tcm.sequences(s.tcm):
            whole, few = awaiting(m, s, sequence, None), awaiting(m, s, sequence, 3)
            assert (few.count, few.unmet) == (whole.count, whole.unmet)
            assert whole.count == len(whole.rows)
            assert whole.unmet == sum(not row.met for row in whole.rows)
            first = sorted(whole.rows, key=lambda row: row.met)[:3]
            assert few.rows == (tuple(first) if whole.count > 3 else whole.rows)
            bounded += 0 < whole.unmet < whole.count > 3
    assert bounded


def test_what_is_left_untold_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer facts written out a refusal says the same of how many there are."""
    told = {}
    for most in (64, 2):
        monkeypatch.setattr(tcm_cluster, "MOST_TOLD", most)
        timeline = played(cluster(), "decommission 10.20.0.2")
        m: Any = timeline.model
        waits = [why for _, why in m.waiting(timeline.state) if why.awaited]
        assert waits
        told[most] = [refusal_text(why, 1) for why in waits]
        assert any(why.untold for why in waits) is (most == 2)
    assert told[64] == told[2]


def test_rows_look_alike_when_they_are(timeline: Timeline) -> None:
    """Two looks at rows are equal exactly when all that is shown of them is."""
    m: Any = timeline.model
    looks: dict[Any, bytes] = {}
    for moment in timeline.path():
        s = timeline.moments[moment].state
        shown = tuple((r.label, r.reads, r.writes) for r in facts_large.listed(m, s, "shop", 0, 4))
        looks.setdefault(shown, facts_large.look(m, s, "shop", 0, 4))
    assert len(set(looks.values())) == len(looks) > 1


def test_ticks_show_every_token(timeline: Timeline) -> None:
    """Each token lies in a part of the line that has a tick; a moving node has its own."""
    m: Any = timeline.model
    s = timeline.state
    found = facts_large.spread(m, s, 100)
    assert found[0].node is None
    apart = {one.node.name for one in found[1:] if one.node is not None}
    assert apart == {"10.20.0.2", "10.20.0.6", "10.20.0.10"}
    line = facts.space(m)
    ticks = {at for one in found for at in one.bins}
    for node in facts.nodes(m, s):
        for token in node.tokens:
            share = (token - line.low) / (line.high - line.low)
            assert int(share * 100) in ticks


def test_tables_that_are_cut_differently_have_no_columns() -> None:
    """Where a switched-off safeguard leaves overlapping rows, rows are asked for instead."""
    timeline = Timeline(build("tcm", {}, ("split-first",)))
    m: Any = timeline.model
    seen = set()
    while timeline.forward() is not None:
        seen.add(facts_large.length(m, timeline.state, "ks"))
    assert None in seen


def test_what_is_kept_is_worked_out_once_and_goes_with_its_model() -> None:
    """A second question costs nothing; another model has its own answers; the oldest go first."""
    one, other = build("tcm"), build("tcm")
    calls: list[str] = []

    def ask(model: Any, key: Any) -> str:
        def work() -> str:
            calls.append(key)
            return f"{key} of {id(model)}"

        return memo(model, key, work)

    assert ask(one, "a") == ask(one, "a") != ask(other, "a")
    assert calls == ["a", "a"]
    for number in range(MOST):
        ask(one, number)
    ask(one, "a")
    assert calls.count("a") == 3
    ghost = weakref.ref(one)
    del one
    gc.collect()
    assert ghost() is None


def test_who_serves_ranges_is_told_by_name() -> None:
    """A node that came last stands where its name does; who serves nothing is left out."""
    m: Any = build("tcm", {"nodes": 3, "rf": 3, "operations": ["bootstrap AA --tokens 150"]})
    assert m.names == ("A", "B", "C", "AA")
    timeline = Timeline(m)
    served = facts_large.served(m, timeline.state, "ks")
    assert [name for name, *_ in served] == ["A", "B", "C"]
    while timeline.forward() is not None:
        pass
    served = facts_large.served(m, timeline.state, "ks")
    assert [name for name, *_ in served] == ["A", "AA", "B", "C"]


ROWS = [(0, 100, (0, 1)), (100, 200, (1, 2)), (200, 300, (2, 0)), (300, 400, (0, 1))]
"""The rows of three nodes at 100, 200 and 300, two replicas each."""


def row(at: int, left: int, right: int, *codes: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """The rows with one of them otherwise."""
    return [*ROWS[:at], (left, right, codes), *ROWS[at + 1 :]]


def cut(reads: Any, writes: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """A model of three nodes and its state, with these tables; one of both where writes is None."""
    keyspaces = (Keyspace("ks", SimpleStrategy(2)), Keyspace("own", LocalStrategy()))
    m: Any = TcmCluster(TcmParameters(nodes=3, keyspaces=keyspaces))
    stable, table = m.snapshot(m.start()), Table.of(reads)
    placed = Placement(table, table if writes is None else Table.of(writes))
    monkeypatch.setattr(m, "snapshot", lambda s, at=None: replace(stable, placements=(placed,)))
    return m, m.start()


FINER = [*ROWS[:3], (300, 350, (0, 1)), (350, 400, (0, 1))]


@pytest.mark.parametrize(
    ("reads", "writes", "count"),
    [
        (ROWS, None, 4),
        (ROWS, row(1, 100, 200, 0, 1, 2), 4),
        (ROWS, FINER, None),
        (FINER, ROWS, None),
        (row(1, 150, 200, 1, 2), ROWS, None),
        (ROWS, row(1, 150, 200, 1, 2), None),
        (row(1, 150, 200, 1, 2), row(1, 150, 200, 1, 2), None),
    ],
)
def test_tables_are_compared_by_columns_where_they_are_cut_alike(
    reads: Any, writes: Any, count: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both into pieces that meet, at the same tokens; a local keyspace has no tables."""
    m, s = cut(reads, writes, monkeypatch)
    assert facts_large.length(m, s, "ks") == count
    assert facts_large.length(m, s, "own") is None


EARLIER = [(0, 150, (0, 1)), (150, 200, (1, 2)), *ROWS[2:]]


@pytest.mark.parametrize(
    ("reads", "writes", "first", "last", "alike"),
    [
        (row(3, 300, 400, 0, 1, 2), None, 0, 3, True),
        (row(3, 300, 400, 0, 1, 2), None, 0, 4, False),
        (row(3, 300, 400, 0), None, 3, 4, False),
        (row(2, 200, 300, 2), None, 2, 3, False),
        (row(1, 100, 200, 2, 1), None, 1, 2, False),
        (EARLIER, None, 1, 2, False),
        (EARLIER, None, 2, 4, True),
        (FINER, None, 3, 4, False),
        (ROWS, row(1, 100, 200, 1, 2, 0), 1, 2, False),
        (ROWS, row(1, 100, 200, 1, 0), 1, 2, False),
    ],
)
def test_rows_look_alike_only_to_the_last_token_and_node(
    reads: Any, writes: Any, first: int, last: int, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether other rows of their table are wider does not matter."""
    looks = [
        facts_large.look(*cut(*tables, monkeypatch), "ks", first, last)
        for tables in ((ROWS, None), (reads, writes))
    ]
    assert (looks[0] == looks[1]) is alike


def test_first_groups_of_two_tables_look_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tables are looked at: the same that is read may be written elsewhere."""
    wide, wider = row(1, 100, 200, 1, 2, 0), row(1, 100, 200, 1, 2, 3)
    looks = {facts_large.look(*cut(ROWS, one, monkeypatch), "ks", 1, 2) for one in (wide, wider)}
    assert len(looks) == 2


def test_rows_are_those_that_hold_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, in the order of the line, a token in the row that ends with it; up to so many."""
    m, s = cut(ROWS, row(1, 100, 200, 0, 1, 2), monkeypatch)
    whole = facts_large.listed(m, s, "ks", 0, 9)
    assert [(r.left, r.right, r.label, r.reads, r.writes, r.locked_by) for r in whole] == [
        (0, 100, "(0, 100]", ("A", "B"), ("A", "B"), None),
        (100, 200, "(100, 200]", ("B", "C"), ("A", "B", "C"), None),
        (200, 300, "(200, 300]", ("C", "A"), ("C", "A"), None),
        (300, 400, "(300, 400]", ("A", "B"), ("A", "B"), None),
    ]
    for tokens, most, rows in (
        ((301, 100, 1, 101), 9, (0, 1, 3)),
        ((301, 100, 1, 101), 2, (0, 1)),
        ((200, 201), 9, (1, 2)),
        ((400,), 1, (3,)),
        ((), 9, ()),
    ):
        found = facts_large.rows_of(m, s, "ks", tokens, most)
        assert found == tuple(whole[at] for at in rows)
    assert facts_large.listed(m, s, "ks", 1, 3) == whole[1:3]
    assert facts_large.served(m, s, "ks") == (("A", 3, 4), ("B", 3, 3), ("C", 2, 2))
    for reads, writes in (([3, 3, 2], [1, 0, 0]), ([1, 0, 0], [3, 3, 2])):
        tables = [ROWS if counts[1] else [(0, 400, (0,))] for counts in (reads, writes)]
        m, s = cut(*tables, monkeypatch)
        assert facts_large.served(m, s, "ks") == (*zip("ABC", reads, writes, strict=True),)
    m, s = cut([(0, 400, (1,))], None, monkeypatch)
    assert facts_large.served(m, s, "ks") == (("B", 1, 1),)


JOINS = [
    # what each step of a join at 150 changed in reads, in writes; the ranges, and who is read from
    # and written to in them
    (0, 3, [("AB", "ABX"), ("BC", "BCX")]),
    (3, 0, [("AX", "ABX"), ("XB", "BCX")]),
    (0, 3, [("AX", "AX"), ("XB", "XB")]),
]


def test_what_the_steps_of_a_join_change() -> None:
    """Split, one by one; then replicas to write to, replicas to read from, and nobody more."""
    m: Any = build("tcm", {"nodes": 3, "rf": 2, "operations": ["bootstrap X --tokens 150"]})
    timeline, states = Timeline(m), [m.start()]
    assert facts_large.changes(m, states[0], None, "ks", 2) == facts_large.ChangedRanges(
        (), 0, 0, 0
    )
    while timeline.forward() is not None:
        if timeline.state.tcm.events != states[-1].tcm.events:
            states.append(timeline.state)
    ticks = [
        [(one.node and one.node.name, one.bins) for one in facts_large.spread(m, s, 8)]
        for s in states
    ]
    joining = [(None, (2, 4, 6)), ("X", (3,))]
    assert ticks == [joining[:1], *[joining] * 3, [(None, (2, 3, 4, 6))]]
    was = facts_large.listed(m, states[0], "ks", 0, 9)
    split = facts_large.listed(m, states[1], "ks", 0, 9)
    assert [r.label for r in split] == [
        "(0, 100]", "(100, 150]", "(150, 200]", "(200, 300]", "(300, 400]"
    ]  # fmt: skip
    found = facts_large.changes(m, states[1], states[0], "ks", 2)
    assert found == facts_large.ChangedRanges((), 0, 0, 0)
    assert len(was) == 4
    for at, (reads, writes, groups) in enumerate(JOINS, 2):
        found = facts_large.changes(m, states[at], states[at - 1], "ks", 2)
        holder = "bootstrap X at 150" if at < 4 else None
        assert [
            (r.label, "".join(r.reads), "".join(r.writes), r.locked_by) for r, _ in found.rows
        ] == [(one.label, *group, holder) for one, group in zip(split, groups, strict=False)]
        before = facts_large.listed(m, states[at - 1], "ks", 0, 9)
        assert [former for _, former in found.rows] == [before[:1], before[1:2]]
        assert (found.reads, found.writes, found.either) == (reads, writes, 3)
        assert found.bins == (180, 270, 719)  # of 720: what ends at 100, 150 and 400 of 400
        whole = facts_large.changes(m, states[at], states[at - 1], "ks", 9)
        assert [r.label for r, _ in whole.rows] == ["(0, 100]", "(100, 150]", "(300, 400]"]


@pytest.mark.parametrize(
    ("readers", "writers", "missed"),
    [
        ("A", "A", None),
        ("A", "B", ("A", "B")),
        ("ABC", "ABC", None),
        ("ABC", "ABD", ("AC", "BD")),
        ("ABC", "ADE", ("AB", "DE")),
        ("AB", "CD", ("AB", "CD")),
        ("AB", "BC", None),
        ("ABCD", "ABEF", ("ACD", "BEF")),
        ("", "AB", None),
    ],
)
def test_the_first_majorities_that_miss_each_other(
    readers: str, writers: str, missed: tuple[str, str] | None
) -> None:
    """In the order of both groups; a majority of four is three."""
    found = facts_large.first_missed(tuple(readers), tuple(writers))
    assert (found and tuple(map("".join, found))) == missed


def test_pairs_of_majorities_and_who_is_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each majority to read from; a range without replicas has none."""
    m, s = cut(row(1, 100, 200), row(0, 0, 100, 0, 1, 2), monkeypatch)
    found = facts_large.majorities(m, s, "ks")
    assert [one.row.label for one in found] == ["(0, 100]", "(200, 300]", "(300, 400]"]
    first = found[0]
    assert (first.reads, first.writes) == (
        (("A", "B"),),
        (("A", "B"), ("A", "C"), ("B", "C")),
    )
    assert first.shared == ((("A", "B"), ("A",), ("B",)),)
    assert all(one.meet for one in found)
    for reads, writes, meet in (((0, 1), (2,), False), ((0,), (0, 1, 2), False), ((0,), (), None)):
        m, s = cut(row(0, 0, 100, *reads), row(0, 0, 100, *writes), monkeypatch)
        found = facts_large.majorities(m, s, "ks")
        assert [one.meet for one in found] == [*[meet] * (meet is not None), True, True, True]


@pytest.mark.parametrize("order", [1, -1])
def test_whose_a_changed_range_is(order: int) -> None:
    """Of two that hold ranges that meet at a token each has its own: it ends the left one."""
    lines = ["replace B Z", "decommission C"][::order]
    m: Any = build("tcm", {"nodes": 4, "rf": 1, "operations": lines})
    driver = Driver(m)
    for operation in m.tcm.cluster.operations:
        assert driver.bring_about(Begin(operation))
    held = {"Z": ("(100, 200]", "replace B with Z"), "C": ("(200, 300]", "decommission C")}
    for node, holds in held.items():
        before = driver.state
        assert driver.bring_about(Advance(node))
        found = facts_large.changes(m, driver.state, before, "ks", 9)
        assert [(now.label, now.locked_by) for now, _ in found.rows] == [holds]
