"""Bytes, losses and locks at each step of a dry run, against plain loops over rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.model.timeline import Timeline
from kit.operators.importers.opening import Imported
from kit.protocols.tcm.dry_run.history import opening_state, steps
from kit.protocols.tcm.dry_run.plan import dry_run
from kit.protocols.tcm.facts import large as facts_large
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import awaiting
from kit.protocols.tcm.panels.placement import lines
from kit.protocols.tcm.parameters import parse_operation
from tests.examples import examples
from tests.protocols.tcm.dry_run.samples import JOIN, cluster, hosts, played, printed
from tests.views.frames import scenes

Found = dict[tuple[str, str], tuple[dict[str, int], int]]


def plain_losses(timeline: Timeline, moment: int) -> Found:
    """By (level, side): for each node how many rows its death breaks; and the broken rows."""
    m: Any = timeline.model
    s = timeline.moments[moment].state
    dc_of = {node.name: node.dc for node in facts.nodes(m, s)}
    found: Found = {}
    for side in ("reads", "writes"):
        for level in ("QUORUM", "LOCAL_QUORUM east", "LOCAL_QUORUM west"):
            dc = level.partition(" ")[2]
            counts: dict[str, int] = {}
            broken = 0
            for row in facts.rows(m, s):
                group = [name for name in getattr(row, side) if not dc or dc_of[name] == dc]
                pending = {*group} - {*row.reads}
                asked = sum(not dc or dc_of[name] == dc for name in row.reads)
                needed = asked // 2 + 1 + len(pending) if group else 0
                alive = [name for name in group if name not in s.tcm.down]
                broken += len(alive) < needed
                if alive and len(alive) == needed:
                    for name in alive:
                        counts[name] = counts.get(name, 0) + 1
            found[level, side] = counts, broken
    return found


def by_level(timeline: Timeline, moment: int) -> Found:
    """The same from the facts."""
    found: Found = {}
    for one in facts.losses(timeline.model, timeline.moments[moment].state):
        for side in one.side.split(" and "):
            found[one.level, side] = dict(one.nodes), one.broken
    return found


def test_fragile_nodes_agree_with_a_plain_count_of_rows_at_every_step() -> None:
    """For each level and side: the nodes whose death breaks ranges, and the broken ranges."""
    timeline = played(cluster(), "decommission 10.20.0.2", JOIN)
    seen = set()
    for moment in timeline.path():
        wanted = plain_losses(timeline, moment)
        assert by_level(timeline, moment) == wanted, moment
        seen.add(str(wanted))
    assert len(seen) > 3


def test_ranges_without_a_quorum_count_as_broken_after_a_further_crash() -> None:
    """Fragile nodes are then counted among those that are left."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    m: Any = timeline.model
    timeline.do(next(a for a in m.actions(timeline.state) if m.verb(a) == "crash 10.20.0.5"))
    wanted = plain_losses(timeline, timeline.at)
    assert by_level(timeline, timeline.at) == wanted
    assert wanted["LOCAL_QUORUM east", "reads"][1] == 3


@examples(25)
@given(st.integers(4, 9), st.integers(1, 4), st.sets(st.integers(1, 9), max_size=3))
def test_fragile_nodes_agree_with_a_plain_count_for_any_rf_and_nodes_down(
    count: int, rf: int, down: set[int]
) -> None:
    """Rings of four to nine nodes with up to three down are tried."""
    states = {f"n{i}": "Down" for i in down if i < count}
    keyspace = f'ks={{"class": "SimpleStrategy", "replication_factor": {min(rf, count - 1)}}}'
    timeline = played(printed(hosts(count, **states), keyspace), f"decommission n{count}")
    for moment in timeline.path():
        wanted = plain_losses(timeline, moment)
        assert by_level(timeline, moment) == {
            key: value for key, value in wanted.items() if key[0] == "QUORUM"
        }


def test_the_traffic_of_a_step_equals_the_streams_of_the_plan() -> None:
    """Copy by copy, and in the sums of what nodes send and receive."""
    given = cluster()
    timeline = played(given, JOIN)
    m: Any = timeline.model
    plan = dry_run(given, parse_operation(JOIN), stored=m.parameters.stored)
    wanted = [
        (copy.keyspace, giver, copy.target, copy.bytes)
        for step in plan.steps
        for copy in step.streams
        for giver in copy.sources
    ]
    first = timeline.moments[timeline.at].state
    copies = facts.copies(m, first)
    assert sorted((c.keyspace, name, c.target, c.bytes) for name, c in copies) == sorted(wanted)
    loads = facts.traffic(m, first)
    assert sum(one.sends for one in loads) == sum(one.receives for one in loads) == len(wanted)
    total = sum(size or 0 for *_, size in wanted)
    assert sum(one.sends_bytes or 0 for one in loads) == total
    assert loads[0].sends_bytes == max(one.sends_bytes or 0 for one in loads)


def test_copied_streams_stay_in_the_sums_until_the_end() -> None:
    """Before the streaming none of six is done, and after it all are."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    m: Any = timeline.model
    shares = []
    for moment in timeline.path():
        copies = facts.copies(m, timeline.moments[moment].state)
        shares.append((sum(c.done for _, c in copies), len(copies)))
    assert shares[0] == (0, 0)
    assert (0, 6) in shares
    assert shares[-1] == (6, 6)
    assert shares == sorted(shares)


def test_streams_without_known_sizes_are_counted_and_have_no_bytes() -> None:
    """The bytes are None, not zero."""
    given = cluster()
    bare = Imported(given.epoch, given.ring, given.keyspaces)
    timeline = played(bare, "decommission 10.20.0.2")
    first = facts.traffic(timeline.model, timeline.state)[0]
    assert (first.node, first.sends, first.sends_bytes) == ("10.20.0.2", 6, None)
    assert steps(timeline)[0].bytes is None


def test_two_operations_pair_exactly_when_plan_accepts_the_second_beside_the_first() -> None:
    """A refused pair names the first operation as evidence."""
    given = printed(hosts(9))
    lines = [f"decommission n{i}" for i in range(1, 10)]
    timeline = played(given, *lines)
    pairs = facts.pairs(timeline.model, opening_state(timeline))
    assert len(pairs) == 36
    for pair in pairs:
        beside = dry_run(given, pair.second, in_flight=(pair.first,))
        assert beside.accepted == (pair.refusal is None), pair
        if pair.refusal is not None:
            assert pair.first.title in pair.refusal.evidence[0]
    assert {pair.refusal is None for pair in pairs} == {True, False}


@pytest.fixture
def timeline() -> Timeline:
    """A decommission beside a join."""
    return played(cluster(), "decommission 10.20.0.2", JOIN)


def test_changed_ranges_by_columns_agree_with_the_rows(timeline: Timeline) -> None:
    """In each step the same ranges changed their reads or their writes."""
    for scene in scenes(timeline):
        wanted = [one for one in lines(scene, "shop") if one.changed]
        found = facts_large.changes(scene.model, scene.state, scene.before, "shop", 1000)
        assert [now for now, _ in found.rows] == [one.row for one in wanted]
        assert found.reads == sum(one.reads.any for one in wanted)
        assert found.writes == sum(one.writes.any for one in wanted)
        assert found.either == len(wanted)


def test_a_range_is_marked_changed_when_any_of_its_tokens_moved(timeline: Timeline) -> None:
    """Its signs cover all its tokens, also where ranges merged."""
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
                assert (set(group.removed), set(group.added)) == (gone, came), line.row.label
    assert merged


def test_counts_and_lists_by_columns_agree_with_the_rows(timeline: Timeline) -> None:
    """How many ranges there are, which they are, and how many each node serves."""
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
        assert served == {n: [reads[n], writes[n]] for n in {*reads, *writes}}, moment


def test_a_short_list_of_barriers_shows_unmet_ones_first_and_counts_all(timeline: Timeline) -> None:
    """With room for all, the order stays."""
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
