"""Parts of the line: wherever it is cut, the rows are the engine's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kit.errors import BadInput, Refused
from kit.protocols.tcm.lessons import tasks
from kit.protocols.tcm.parameters import enter, parse_operation
from kit.protocols.tcm.rules.metadata import Advance, ResolvedEvent, enact, initial
from kit.protocols.tcm.rules.operations import Operation, ProtocolSwitches
from kit.protocols.tcm.spark.histories import History, history, sample
from kit.protocols.tcm.spark.measures import Tally
from kit.protocols.tcm.spark.parts import cut_at, cut_evenly, rows_in, rows_of
from kit.protocols.tcm.spark.pipelines import PlainPipeline
from kit.protocols.tcm.spark.tables import MEASURES
from kit.ring.replication import Keyspace, Replication
from kit.ring.tokens import MURMUR3, small
from kit.ring.topology import Node, Ring
from tests.examples import examples
from tests.ring.draws import replications, rings, token_lists
from tests.saying import like
from tests.spark import plainly


@st.composite
def planned(draw: st.DrawFn) -> tuple[History, tuple[Operation, ...], Replication]:
    """A drawn ring, a replication, and one or two operations that may be done on it."""
    ring: Ring = draw(rings())
    replication = draw(replications())
    operations = []
    for place in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(("bootstrap", "decommission", "move", "removenode")))
        own = set(ring.tokens.tolist())
        free = [t for t in draw(token_lists(ring.space, 4)) if t not in own]
        name = draw(st.sampled_from(ring.names)) if kind != "bootstrap" else f"x{place}"
        tokens = tuple(free) if kind in ("bootstrap", "move") else ()
        assume(tokens or kind not in ("bootstrap", "move"))
        operations.append(Operation(kind, name, tokens, force=True))
    try:
        found = history(ring, (Keyspace("ks", replication),), operations)
    except (BadInput, Refused):
        assume(False)
    return found, tuple(operations), replication


def engine(found: History, operations: tuple[Operation, ...]) -> list[list[plainly.Line]]:
    """The rows at every epoch as the metadata log of the class gives them."""
    keyspaces = (Keyspace("ks", found.groups[0]),)
    ring, entered = enter(found.ring, operations)
    snapshots = [initial(ring, keyspaces, 0)]
    for operation, resolved in zip(operations, entered, strict=True):
        event: ResolvedEvent = resolved
        while event is not None:
            snapshots.append(enact(snapshots[-1], event, ProtocolSwitches()))
            if snapshots[-1].metadata.sequence(operation.node) is None:
                break
            event = Advance(operation.node)
    names = found.ring.names
    return [
        [
            (read.left, read.right, read.replicas, write.replicas)
            for read, write in zip(
                s.placements[0].reads.rows(names), s.placements[0].writes.rows(names), strict=True
            )
        ]
        for s in snapshots
    ]


@examples(20)
@given(planned(), st.data())
def test_the_rows_are_the_engines_wherever_the_line_is_cut(
    case: tuple[History, tuple[Operation, ...], Replication], data: st.DataObject
) -> None:
    """Random rings, replications, operations and bounds are tried."""
    found, operations, _ = case
    space = found.ring.space
    inside = st.integers(space.low + 1, space.high - 1)
    near = [t + d for t in found.ring.tokens.tolist() for d in (-1, 0, 1)]
    near = [t for t in near if space.low < t < space.high]
    bounds = data.draw(st.lists(st.one_of(inside, st.sampled_from(near or [space.low + 1]))))
    rows = PlainPipeline(found, bounds).table("replicas").to_pylist()
    assert plainly.from_arrow(rows, found.ring.names, 0) == engine(found, operations)


@examples(20)
@given(planned(), st.lists(st.integers(1, 9), max_size=3))
def test_the_sums_of_a_plan_are_those_of_all_its_rows(
    case: tuple[History, tuple[Operation, ...], Replication], ninths: list[int]
) -> None:
    """Rows that no operation reaches are looked at once for all steps."""
    found, _, _ = case
    space = found.ring.space
    bounds = [space.low + (space.high - space.low) * n // 10 for n in ninths]
    alone = PlainPipeline(found, [b for b in bounds if space.low < b < space.high])
    tally = Tally(found)
    for part in alone.case.parts:
        for rows in rows_of(found, part):
            tally.add(rows)
    counted = pa.Table.from_batches(tally.batches(), MEASURES.arrow).to_pandas()
    keys = ["group", "step", "measure", "unit"]
    pd.testing.assert_frame_equal(alone.measures, counted.sort_values(keys, ignore_index=True))


@given(rings(), st.integers(1, 40))
def test_even_parts_cover_the_line_with_equal_numbers_of_ranges(ring: Ring, count: int) -> None:
    """No part has two ranges more than another."""
    parts = cut_evenly(ring, count)
    assert len(parts) == min(count, len(ring.rights))
    assert (parts[0].left, parts[-1].right) == (ring.space.low, ring.space.high)
    assert all(a.right == b.left for a, b in pairwise(parts))
    sizes = [sum(p.left < right <= p.right for right in ring.rights.tolist()) for p in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("bound", [MURMUR3.low, MURMUR3.high, 2**70, "a"])
def test_a_bound_that_is_no_token_inside_the_line_is_refused(bound: Any) -> None:
    """The error names the parts."""
    with pytest.raises(BadInput, match="parts: got"):
        cut_at(sample(3, 2).ring, (bound,))


def test_more_than_two_million_bounds_are_refused_without_being_read() -> None:
    """An endless range does not hang."""
    with pytest.raises(BadInput, match=like("parts | more than 2000000")):
        cut_at(sample(3, 2).ring, range(10**12))


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_a_number_of_parts_below_one_or_broken_is_refused(count: Any) -> None:
    """The error names the parts."""
    with pytest.raises(BadInput, match="parts: got"):
        cut_evenly(sample(3, 2).ring, count)


def test_a_job_refuses_impossible_operations_before_any_worker_starts() -> None:
    """An unknown node, one leave too many, a safeguard that cannot go, and no keyspaces."""
    drawn = sample(4, 2, dcs=1, racks=1)
    with pytest.raises(BadInput, match=like("node | 'nobody'")):
        history(drawn.ring, drawn.keyspaces, ["decommission nobody"])
    with pytest.raises(Refused, match="only 2 node"):
        history(drawn.ring, drawn.keyspaces, ["decommission n1", "decommission n2"])
    with pytest.raises(BadInput, match=like("off | 'range-locks'")):
        history(drawn.ring, drawn.keyspaces, ["decommission n1"], off=["range-locks"])
    with pytest.raises(BadInput, match="keyspaces: got"):
        history(drawn.ring, ())
    assert parse_operation(drawn.bootstrap("y").text) == drawn.bootstrap("y")


@given(st.lists(st.integers(2, 99), min_size=1, max_size=9, unique=True), st.data())
def test_the_parts_exercise_counts_ranges_as_the_engine_cuts_them(
    rights: list[int], data: st.DataObject
) -> None:
    """The judge works without columns, since a page has none."""
    rights = sorted(rights)
    cuts = sorted(data.draw(st.sets(st.integers(1, 99), max_size=4)))
    ring = Ring.of([Node("a", tuple(rights))], small(100))
    parts = [len(rows_in(ring.rights, part)) for part in cut_at(ring, cuts)]
    assert tasks.parts([*rights, 100], cuts) == parts
