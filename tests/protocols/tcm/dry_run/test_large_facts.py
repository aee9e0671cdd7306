"""What is told of columns is what is told of rows, and what is kept is never another's."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import pytest

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.tcm import cluster as tcm_cluster
from kit.protocols.tcm.facts import large as facts_large
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import MOST, awaiting, memo
from kit.protocols.tcm.panels.placement import MOST_ENDS, MOST_NODES, ends, lines
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
