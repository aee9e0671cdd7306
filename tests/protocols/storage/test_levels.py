"""Which answers are enough: consistency levels, two readings of pending replicas, promises."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.panels.cards import count_line
from kit.protocols.storage.panels.counting import graphs
from kit.protocols.storage.rules.levels import (
    ACKNOWLEDGEMENTS,
    LEVELS,
    AnswerQuota,
    Level,
    enough,
    promised,
    quotas,
    read_quotas,
    write_quotas,
)
from kit.protocols.storage.rules.view import View
from kit.views.palette import SIGNS
from tests.protocols.storage.views import NEW, OLD, VIEWS, A, B, C, X
from tests.views.tabled import drawn_rows

ONE_DC = (A | B | C | X,)
MASKS = st.integers(0, 15)


@pytest.mark.parametrize(
    ("level", "wanted"),
    [("ONE", 1), ("TWO", 2), ("THREE", 3), ("QUORUM", 3), ("LOCAL_QUORUM", 3), ("ALL", 4)],
)
def test_a_level_counts_over_the_whole_write_group(level: Level, wanted: int) -> None:
    """While X is pending, four replicas are written to; a quorum is three of them."""
    assert write_quotas(level, VIEWS[1], ONE_DC, 0, "union") == (AnswerQuota(15, wanted),)


def test_both_sets_wants_the_level_in_each_for_itself() -> None:
    """In the other reading two of the old and two of the new replicas are needed."""
    wanted = write_quotas("QUORUM", VIEWS[1], ONE_DC, 0, "joint")
    assert wanted == (AnswerQuota(OLD, 2), AnswerQuota(NEW, 2))
    assert enough(wanted, B | C)
    assert not enough(wanted, A | B)
    assert enough(wanted, A | B | X)


def test_the_readings_are_one_at_rest() -> None:
    """With nothing pending there is one set."""
    for view in (VIEWS[0], VIEWS[3]):
        sets = [write_quotas("QUORUM", view, ONE_DC, 0, r) for r in ("union", "joint")]
        assert sets[0] == sets[1] == (AnswerQuota(view.writes, 2),)


def test_pending_replicas_count_only_while_old_and_new_are_written_to() -> None:
    """Two sets are asked where writes go to both and somebody new is among them: not while nothing
    but a drop is ahead, and not once the old ones are no longer written to.
    """
    only_goes = View(OLD, OLD, OLD, A | B)
    dropped = View(NEW, NEW, OLD, NEW)
    for view in (only_goes, dropped):
        for rule in ACKNOWLEDGEMENTS:
            wanted = write_quotas("QUORUM", view, ONE_DC, 0, rule)
            assert wanted == (AnswerQuota(view.writes, 2),)
    comes = View(A | B, OLD, A | B, OLD)
    assert [write_quotas("QUORUM", comes, ONE_DC, 0, rule) for rule in ACKNOWLEDGEMENTS] == [
        (AnswerQuota(OLD, 2),),
        (AnswerQuota(A | B, 2), AnswerQuota(OLD, 2)),
        (AnswerQuota(OLD, 3),),
    ]


def test_without_a_rule_pending_replicas_are_not_waited_for() -> None:
    """X is written to all the same. Its answer counts for nothing, or for that of an old one."""
    assert write_quotas("QUORUM", VIEWS[1], ONE_DC, 0, "natural") == (AnswerQuota(OLD, 2),)
    assert write_quotas("QUORUM", VIEWS[1], ONE_DC, 0, "either") == (AnswerQuota(OLD | X, 2),)
    assert write_quotas("ALL", VIEWS[1], ONE_DC, 0, "natural") == (AnswerQuota(OLD, 3),)
    assert write_quotas("ALL", VIEWS[1], ONE_DC, 0, "either") == (AnswerQuota(OLD | X, 3),)


def test_pending_replicas_do_not_serve_reads() -> None:
    """At epoch 101 a read needs two of A, B and C; X does not count."""
    wanted = read_quotas("QUORUM", VIEWS[1], ONE_DC, 0)
    assert wanted == (AnswerQuota(OLD, 2),)
    assert not enough(wanted, X | A)


def test_levels_of_datacenters() -> None:
    """LOCAL_QUORUM counts the coordinator's datacenter, EACH_QUORUM every one that has replicas."""
    dcs = (A | B, C | X, 16)
    assert quotas("LOCAL_QUORUM", 15, dcs, 1) == (AnswerQuota(C | X, 2),)
    assert quotas("EACH_QUORUM", 15, dcs, 0) == (AnswerQuota(A | B, 2), AnswerQuota(C | X, 2))


@given(MASKS, MASKS, st.sampled_from(LEVELS), st.integers(1, 15))
def test_more_answers_are_never_worse(some: int, more: int, level: Level, group: int) -> None:
    """What is enough stays enough when further replicas answer."""
    view = View(group, group, group, group)
    wanted = write_quotas(level, view, ONE_DC, 0, "union")
    if enough(wanted, some):
        assert enough(wanted, some | more)


@given(st.sampled_from(("union", "joint")), st.sampled_from((0, 1, 2)))
def test_majorities_of_adjacent_epochs_meet(reading: str, depth: int) -> None:
    """A read by an epoch and a write by it or the next, or the other way round, share a node."""
    for reader, writer in ((depth, depth), (depth, depth + 1), (depth + 1, depth)):
        reads = read_quotas("QUORUM", VIEWS[reader], ONE_DC, 0)
        writes = write_quotas("QUORUM", VIEWS[writer], ONE_DC, 0, reading)  # type: ignore[arg-type]  # sampled
        for read, write in itertools.product(range(16), repeat=2):
            if enough(reads, read & VIEWS[reader].reads) and enough(
                writes, write & VIEWS[writer].writes
            ):
                assert read & VIEWS[reader].reads & write & VIEWS[writer].writes


def test_majorities_two_epochs_apart_need_not_meet() -> None:
    """A write by epoch 100 to A and B, a read by epoch 102 from C and X: nothing in common."""
    assert enough(write_quotas("QUORUM", VIEWS[0], ONE_DC, 0, "union"), A | B)
    assert enough(read_quotas("QUORUM", VIEWS[2], ONE_DC, 0), C | X)


@pytest.mark.parametrize(
    ("write", "read", "same", "factors", "kept"),
    [
        ("QUORUM", "QUORUM", True, (3,), True),
        ("ALL", "QUORUM", True, (3,), True),
        ("ONE", "QUORUM", True, (3,), False),
        ("ALL", "ONE", True, (3,), False),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", True, (3, 3), True),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", False, (3, 3), False),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", False, (3,), True),
        ("LOCAL_QUORUM", "EACH_QUORUM", False, (1, 2), True),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", True, (3, 3, 3), True),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", False, (3, 3, 3), False),
        ("EACH_QUORUM", "LOCAL_QUORUM", False, (3, 3), True),
        ("QUORUM", "LOCAL_QUORUM", True, (3, 3), False),
        ("QUORUM", "QUORUM", False, (3, 3), True),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", False, (1, 1), False),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", True, (1, 1), True),
        ("LOCAL_QUORUM", "LOCAL_QUORUM", True, (1,), True),
        ("LOCAL_QUORUM", "ALL", False, (1, 1), True),
        ("QUORUM", "ALL", True, (1,), True),
    ],
)
def test_what_is_promised(
    write: Level, read: Level, same: bool, factors: tuple[int, ...], kept: bool
) -> None:
    """Two levels promise something when all their sets of answers meet, and both are majorities."""
    assert promised(write, read, same, factors) is kept


def test_an_answer_more_for_each_pending_replica() -> None:
    """In the third reading the level counts the old replicas, and the newcomer comes on top; a
    local level does so in its own datacenter.
    """
    for level, wanted in (("ONE", 2), ("QUORUM", 3), ("LOCAL_QUORUM", 3), ("ALL", 4)):
        found = write_quotas(level, VIEWS[1], ONE_DC, 0, "quorum-plus-pending")
        assert found == (AnswerQuota(15, wanted),), level
    apart = (A | B, C | X)
    there = write_quotas("LOCAL_QUORUM", VIEWS[1], apart, 1, "quorum-plus-pending")
    assert there == (AnswerQuota(C | X, 2),)
    here = write_quotas("LOCAL_QUORUM", VIEWS[1], apart, 0, "quorum-plus-pending")
    assert here == (AnswerQuota(A | B, 2),)
    each = write_quotas("EACH_QUORUM", VIEWS[1], (A | B | C, X), 0, "quorum-plus-pending")
    assert each == (AnswerQuota(A | B | C, 2), AnswerQuota(X, 1))


def test_each_set_of_answers_is_judged_by_both_rules() -> None:
    """Two of four are too few for the union; joint, two of each three are enough."""
    [(_, source)] = graphs()
    judged = [
        (row[0][2], [cell for cell in row[1:] if cell[2]])
        for row in drawn_rows(source)
        if row[0][2] in {"union", "joint"}
    ]
    enough, few = SIGNS["added"], SIGNS["removed"]
    assert judged == [
        ("union", [(4, few, "2 of 4: 3 needed")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("union", [(4, few, "2 of 4: 3 needed")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("joint", [(3, few, "1 of 3: 2 needed")]),
        ("union", [(4, enough, "3 of 4: enough")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
        ("joint", [(3, enough, "2 of 3: enough")]),
    ]


def test_a_bracket_is_below_those_whom_it_asks() -> None:
    """The old group begins at A, the new one at B, and each row is as wide as the names."""
    [(_, source)] = graphs()
    rows = [row[1:] for row in drawn_rows(source) if row[0][2] == "joint"]
    starts = [next(i for i, cell in enumerate(row) if cell[2]) for row in rows]
    assert starts == [0, 1] * 3


def test_more_answers_than_are_needed_are_no_part_of_them() -> None:
    """How many came is said of those who are asked, and beside it how many are enough."""
    assert count_line(QuotaRow(("A", "B", "C"), 2, ())) == "0 of A, B, C (2 needed)"
    assert count_line(QuotaRow(("A", "B", "C"), 2, ("A",))) == "1 of A, B, C (2 needed): A"
    more = QuotaRow(("A", "B", "C"), 2, ("A", "B", "C"))
    assert count_line(more) == "3 of A, B, C (2 needed): A, B, C"
