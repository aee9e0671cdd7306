"""Epochs, the log, what each node has applied, and metadata as immutable values."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest

from kit.errors import Refused
from kit.model.log import Rewrite
from kit.model.model import fingerprint
from kit.protocols.tcm.facts import moment as facts
from tests.protocols.tcm.driving import Drive

JOIN = "bootstrap X --tokens 150"


@pytest.mark.spec("A-001")
@pytest.mark.parametrize("epoch", [0, 99])
def test_every_committed_event_takes_the_next_epoch(epoch: int) -> None:
    """Nothing else moves the epoch."""
    drive = Drive(epoch=epoch, cancels=1, crashes=1, operations=(JOIN,)).act(JOIN)
    drive.commit("X").ready().act("crash X", "restart X", "cancel X")
    assert [line.epoch for line in facts.log(drive.model, drive.state)] == [
        epoch + 1, epoch + 2, epoch + 3,
    ]  # fmt: skip
    seen = [drive.model.newest_epoch(state) for state in drive.states]
    assert all(0 <= after - before <= 1 for before, after in pairwise(seen))
    assert [drive.model.newest_epoch(s) for s in drive.states].count(epoch) == 1


@pytest.mark.spec("A-002")
def test_committed_entries_cannot_be_edited() -> None:
    """No action of the log takes an entry away, either."""
    drive = Drive(operations=(JOIN,)).act(JOIN).commit("X")
    assert drive.refusal("edit epoch 2").reason == (
        "epoch 2 is committed: an entry never changes, moves or disappears"
    )
    assert drive.model.refusal(drive.state, drive.model.wrap["log"](Rewrite(0))) is not None
    with pytest.raises(Refused, match="never changes"):
        drive.model.apply(drive.state, drive.find("edit epoch 2"))
    entries = [tuple(state.log.entries) for state in drive.states]
    assert all(later[: len(one)] == one for one, later in pairwise(entries))


@pytest.mark.spec("A-002")
def test_two_logs_are_equal_exactly_when_their_events_are() -> None:
    """The order of the events counts."""
    drive = Drive(operations=(JOIN,)).act(JOIN).commit("X")
    log = drive.state.log.entries
    assert log.shorter().append(log[1]) == log
    assert log.shorter().shorter().append(log[1]).append(log[0]) != log
    assert log.shorter() != log


@pytest.mark.spec("A-003")
def test_an_entry_above_a_gap_is_applied_when_the_gap_is_filled() -> None:
    """Until then the node holds it back."""
    drive = Drive(window=2, barrier=False, operations=(JOIN,)).act(JOIN, "apply X", "commit X")
    drive.act("deliver 2 to A")
    (row,) = (row for row in facts.applied(drive.model, drive.state) if row.node == "A")
    assert (row.epoch, row.held) == (0, (2,))
    assert "already holds back epoch 2" in drive.refusal("deliver 2 to A").reason
    drive.act("apply A")
    (row,) = (row for row in facts.applied(drive.model, drive.state) if row.node == "A")
    assert (row.epoch, row.held) == (2, ())


@pytest.mark.spec("A-003")
def test_an_entry_that_is_held_back_does_not_count_at_a_barrier() -> None:
    """Applied, it does."""
    drive = Drive(window=2, rf=3, operations=(JOIN,)).act(JOIN, "apply A", "apply B", "apply X")
    drive.act("commit X", "deliver 2 to C")
    row = next(row for row in drive.operation().barriers if row.right == 150)
    assert "C" not in row.acked
    drive.act("apply C")
    row = next(row for row in drive.operation().barriers if row.right == 150)
    assert row.acked == ("C",)


@pytest.mark.spec("A-003")
def test_a_node_applies_epochs_in_order_and_none_twice() -> None:
    """Here no entry arrives early."""
    drive = Drive(barrier=False, operations=(JOIN,)).act(JOIN, "apply X", "commit X", "apply X")
    assert [row.epoch for row in facts.applied(drive.model, drive.state)] == [0, 0, 0, 2]
    drive.act("apply A")
    assert facts.applied(drive.model, drive.state)[0].epoch == 1
    assert not [verb for verb in drive.verbs() if verb.startswith("deliver")]
    assert "every committed epoch" in drive.refusal("apply X").reason


@pytest.mark.spec("A-004")
def test_the_tables_of_every_earlier_epoch_stay_readable() -> None:
    """After a whole bootstrap they are the tables that there were."""
    drive = Drive(operations=(JOIN,))
    tables = [facts.rows(drive.model, drive.state)]
    drive.act(JOIN)
    tables.append(facts.rows(drive.model, drive.state))
    while drive.metadata.sequences:
        drive.commit("X")
        tables.append(facts.rows(drive.model, drive.state))
    again = [facts.rows(drive.model, drive.state, at=epoch) for epoch in range(5)]
    assert [[(r.label, r.reads, r.writes) for r in table] for table in again] == [
        [(r.label, r.reads, r.writes) for r in table] for table in tables
    ]


@pytest.mark.spec("A-004")
def test_states_metadata_and_placement_columns_refuse_assignment() -> None:
    """The fingerprint stays."""
    drive = Drive(operations=(JOIN,)).act(JOIN)
    before = fingerprint(drive.state)
    snapshot = drive.model.snapshot(drive.state)
    table = snapshot.placements[0].reads
    values = (drive.state, drive.state.tcm, drive.state.log, snapshot, snapshot.metadata)
    for value in (*values, snapshot.metadata.sequences[0], snapshot.metadata.sequences[0].plan):
        name = value.__struct_fields__[0]
        with pytest.raises(AttributeError):
            setattr(value, name, None)
    for column in (table.lefts, table.rights, table.groups):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
    for state in drive.states:
        assert all(
            not isinstance(part, list | dict | set) for part in msgspec.structs.astuple(state)
        )
    assert fingerprint(drive.state) == before


@pytest.mark.spec("A-004")
def test_a_commit_leaves_the_state_before_unchanged() -> None:
    """Its fingerprint and its tables stay."""
    drive = Drive(operations=(JOIN,)).act(JOIN).ready()
    before, table = drive.state, drive.table()
    digest = fingerprint(before)
    drive.act("commit X")
    assert drive.state != before
    assert fingerprint(before) == digest
    rows = facts.rows(drive.model, before)
    assert tuple((r.left, r.right, r.reads, r.writes) for r in rows) == table


@pytest.mark.spec("A-005")
def test_placements_are_computed_once_for_each_epoch() -> None:
    """Lookups, operations and lamps add no computation."""
    drive = Drive(operations=(JOIN,))
    assert drive.table()
    assert drive.model.tcm.computations == 1
    drive.act(JOIN)
    while drive.metadata.sequences:
        drive.commit("X")
    assert drive.model.tcm.computations == 5
    for _ in range(20):
        for token in (1, 120, 150, 399):
            assert drive.groups(token), token
        assert facts.operations(drive.model, drive.state) == ()
        assert drive.dark() == []
        assert facts.rows(drive.model, drive.state, at=2)
    assert drive.model.tcm.computations == 5


@pytest.mark.spec("A-010")
def test_two_engines_compute_equal_placements_from_the_same_events() -> None:
    """They are compared epoch by epoch."""
    one, two = (Drive(rf=3, operations=(JOIN,)).complete(JOIN) for _ in range(2))
    assert fingerprint(one.state) == fingerprint(two.state)
    for epoch in range(5):
        first = one.model.snapshot(one.state, epoch)
        second = two.model.snapshot(two.state, epoch)
        assert first.placements == second.placements, epoch
        assert first.metadata.ring == second.metadata.ring, epoch
        ours, theirs = first.placements[0], second.placements[0]
        assert np.array_equal(ours.reads.lefts, theirs.reads.lefts), epoch
        assert np.array_equal(ours.writes.groups, theirs.writes.groups), epoch


def test_the_size_of_a_state_does_not_depend_on_the_size_of_the_ring() -> None:
    """Placement tables are no part of it."""
    sizes = []
    for nodes in (4, 20):
        drive = Drive(nodes=nodes, operations=("decommission B",)).act("decommission B")
        sizes.append(len(msgspec.msgpack.encode(drive.state.tcm, enc_hook=lambda log: log.digest)))
    assert sizes[0] == sizes[1]
