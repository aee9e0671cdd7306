"""What is told of columns is what is told of rows, and what is kept is never another's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kit.model.timeline import Timeline
from kit.protocols.tcm.facts import large as facts_large
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import awaiting
from kit.protocols.tcm.panels.placement import lines
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


ROWS = [(0, 100, (0, 1)), (100, 200, (1, 2)), (200, 300, (2, 0)), (300, 400, (0, 1))]
"""The rows of three nodes at 100, 200 and 300, two replicas each."""


def row(at: int, left: int, right: int, *codes: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """The rows with one of them otherwise."""
    return [*ROWS[:at], (left, right, codes), *ROWS[at + 1 :]]
