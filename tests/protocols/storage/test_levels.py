"""Which answers are enough, when a read repairs, and epochs that messages carry."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.panels.groups import graphs
from kit.protocols.storage.panels.role_play import count_line
from kit.protocols.storage.rules.exchange import (
    Admission,
    Answer,
    Exchange,
    ExchangeSwitches,
    RequestSafeguards,
    admits,
    heard,
    invalidates,
    receive,
    sent,
    still_counted,
)
from kit.protocols.storage.rules.levels import (
    ACKNOWLEDGEMENTS,
    LEVELS,
    AnswerQuota,
    Level,
    ReadRepair,
    enough,
    holding,
    promised,
    quotas,
    read_quotas,
    targets,
    waits,
    write_quotas,
)
from kit.protocols.storage.rules.view import View
from kit.views.palette import SHADES
from tests.protocols.storage.views import NEW, OLD, VIEWS, A, B, C, X
from tests.views.tabled import drawn_rows

ONE_DC = (A | B | C | X,)
MASKS = st.integers(0, 15)


@pytest.mark.parametrize(
    ("level", "wanted"),
    [("ONE", 1), ("TWO", 2), ("THREE", 3), ("QUORUM", 3), ("LOCAL_QUORUM", 3), ("ALL", 4)],
)
def test_a_union_quota_counts_over_old_and_pending_replicas_together(
    level: Level, wanted: int
) -> None:
    """While X is pending, four replicas are written to, and a quorum is three of them."""
    assert write_quotas(level, VIEWS[1], ONE_DC, 0, "union") == (AnswerQuota(15, wanted),)


def test_a_joint_quota_needs_the_level_in_the_old_and_in_the_new_group() -> None:
    """B and C are in both groups. A and B need an answer of X or C as well."""
    wanted = write_quotas("QUORUM", VIEWS[1], ONE_DC, 0, "joint")
    assert wanted == (AnswerQuota(OLD, 2), AnswerQuota(NEW, 2))
    assert enough(wanted, B | C)
    assert not enough(wanted, A | B)
    assert enough(wanted, A | B | X)


def test_union_and_joint_quotas_are_equal_while_no_replica_is_pending() -> None:
    """At rest there is one group, so the readings cannot differ."""
    for view in (VIEWS[0], VIEWS[3]):
        sets = [write_quotas("QUORUM", view, ONE_DC, 0, r) for r in ("union", "joint")]
        assert sets[0] == sets[1] == (AnswerQuota(view.writes, 2),), view


def test_pending_replicas_count_only_while_old_and_new_groups_are_written_to() -> None:
    """While only a drop is ahead, or the old ones get no writes, the quota has one group."""
    only_goes = View(OLD, OLD, OLD, A | B)
    dropped = View(NEW, NEW, OLD, NEW)
    for view in (only_goes, dropped):
        for rule in ACKNOWLEDGEMENTS:
            wanted = write_quotas("QUORUM", view, ONE_DC, 0, rule)
            assert wanted == (AnswerQuota(view.writes, 2),), (view, rule)
    comes = View(A | B, OLD, A | B, OLD)
    assert [write_quotas("QUORUM", comes, ONE_DC, 0, rule) for rule in ACKNOWLEDGEMENTS] == [
        (AnswerQuota(OLD, 2),),
        (AnswerQuota(A | B, 2), AnswerQuota(OLD, 2)),
        (AnswerQuota(OLD, 3),),
    ]


def test_without_an_acknowledgement_rule_no_answer_is_added_for_pending_replicas() -> None:
    """By "natural" the answer of X counts for nothing, by "either" for that of an old replica."""
    assert write_quotas("QUORUM", VIEWS[1], ONE_DC, 0, "natural") == (AnswerQuota(OLD, 2),)
    assert write_quotas("QUORUM", VIEWS[1], ONE_DC, 0, "either") == (AnswerQuota(OLD | X, 2),)
    assert write_quotas("ALL", VIEWS[1], ONE_DC, 0, "natural") == (AnswerQuota(OLD, 3),)
    assert write_quotas("ALL", VIEWS[1], ONE_DC, 0, "either") == (AnswerQuota(OLD | X, 3),)


def test_a_read_quota_does_not_count_pending_replicas() -> None:
    """At epoch 101 a read needs two of A, B and C, and X is not among them."""
    wanted = read_quotas("QUORUM", VIEWS[1], ONE_DC, 0)
    assert wanted == (AnswerQuota(OLD, 2),)
    assert not enough(wanted, X | A)


def test_local_quorum_counts_one_datacenter_and_each_quorum_every_one_with_replicas() -> None:
    """A datacenter without replicas has no quota."""
    dcs = (A | B, C | X, 16)
    assert quotas("LOCAL_QUORUM", 15, dcs, 1) == (AnswerQuota(C | X, 2),)
    assert quotas("EACH_QUORUM", 15, dcs, 0) == (AnswerQuota(A | B, 2), AnswerQuota(C | X, 2))


@given(MASKS, MASKS, st.sampled_from(LEVELS), st.integers(1, 15))
def test_a_met_quota_stays_met_when_further_replicas_answer(
    some: int, more: int, level: Level, group: int
) -> None:
    """Otherwise a late answer could turn success into failure."""
    view = View(group, group, group, group)
    wanted = write_quotas(level, view, ONE_DC, 0, "union")
    if enough(wanted, some):
        assert enough(wanted, some | more)


@given(st.sampled_from(("union", "joint")), st.sampled_from((0, 1, 2)))
def test_quorums_of_adjacent_epochs_share_a_replica(reading: str, depth: int) -> None:
    """A read by an epoch and a write by the same or an adjacent one, in both readings."""
    for reader, writer in ((depth, depth), (depth, depth + 1), (depth + 1, depth)):
        reads = read_quotas("QUORUM", VIEWS[reader], ONE_DC, 0)
        writes = write_quotas("QUORUM", VIEWS[writer], ONE_DC, 0, reading)  # type: ignore[arg-type]  # sampled
        for read, write in itertools.product(range(16), repeat=2):
            if enough(reads, read & VIEWS[reader].reads) and enough(
                writes, write & VIEWS[writer].writes
            ):
                shared = read & VIEWS[reader].reads & write & VIEWS[writer].writes
                assert shared, (reader, writer, read, write)


def test_quorums_two_epochs_apart_may_share_no_replica() -> None:
    """A write at epoch 100 is on A and B, and a read at epoch 102 asks C and X."""
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
def test_two_levels_promise_visibility_only_when_their_quorums_always_meet(
    write: Level, read: Level, same: bool, factors: tuple[int, ...], kept: bool
) -> None:
    """Replicas in several datacenters, and coordinators of one or of two, are tried."""
    assert promised(write, read, same, factors) is kept


def test_quorum_plus_pending_needs_one_more_answer_for_each_pending_replica() -> None:
    """A local level adds only the pending replicas of its own datacenter."""
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


def test_the_counting_picture_judges_each_set_of_answers_by_union_and_joint() -> None:
    """Two of four are too few by union, and enough by joint when each group has two."""
    [(_, source)] = graphs()
    judged = [
        (row[0][2], [cell for cell in row[1:] if cell[2]])
        for row in drawn_rows(source)
        if row[0][2] in {"union", "joint"}
    ]
    enough, few = SHADES["added"], SHADES["removed"]
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


def test_the_counting_picture_places_each_bracket_under_its_group() -> None:
    """The old group begins at A, the new one at B."""
    [(_, source)] = graphs()
    rows = [row[1:] for row in drawn_rows(source) if row[0][2] == "joint"]
    starts = [next(i for i, cell in enumerate(row) if cell[2]) for row in rows]
    assert starts == [0, 1] * 3


def test_a_count_line_lists_every_answer_beside_the_number_needed() -> None:
    """Answers beyond the number needed are listed as well."""
    assert count_line(QuotaRow(("A", "B", "C"), 2, ())) == "0 of A, B, C (2 needed)"
    assert count_line(QuotaRow(("A", "B", "C"), 2, ("A",))) == "1 of A, B, C (2 needed): A"
    more = QuotaRow(("A", "B", "C"), 2, ("A", "B", "C"))
    assert count_line(more) == "3 of A, B, C (2 needed): A, B, C"


AT_A, AT_B, AT_C, AT_X = 1, 2, 4, 8
AT_REST = (AnswerQuota(AT_A | AT_B | AT_C, 2),)
JOINING = (AnswerQuota(AT_A | AT_B | AT_C | AT_X, 3),)


@pytest.mark.parametrize(
    ("kind", "wanted", "holders", "answered", "waiting"),
    [
        ("mismatch", AT_REST, AT_A, AT_A | AT_B, True),
        ("mismatch", AT_REST, AT_A | AT_B, AT_A | AT_B | AT_C, False),
        ("mismatch", AT_REST, AT_A | AT_B, AT_A | AT_B, False),
        ("mismatch", JOINING, AT_A | AT_B, AT_A | AT_B, False),
        ("blocking", AT_REST, AT_A, AT_A | AT_B, True),
        ("blocking", AT_REST, AT_A | AT_B, AT_A | AT_B, False),
        ("blocking", AT_REST, AT_A | AT_B, AT_A | AT_B | AT_C, False),
        ("blocking", JOINING, AT_A | AT_B, AT_A | AT_B, True),
        ("blocking", JOINING, AT_A | AT_B | AT_C, AT_A | AT_B | AT_C, False),
    ],
)
def test_a_read_waits_for_repair_while_no_write_quorum_holds_its_result(
    kind: ReadRepair, wanted: tuple[AnswerQuota, ...], holders: int, answered: int, waiting: bool
) -> None:
    """Blocking repair always waits for a write quorum, mismatch repair only when answers differ."""
    assert waits(kind, wanted, holders, holders, answered) is waiting


def test_a_former_replica_that_holds_the_newest_counts_for_no_write_quorum() -> None:
    """The read waits for another holder."""
    assert waits("blocking", AT_REST, AT_A | AT_X, AT_A, AT_A | AT_X)


def test_a_write_goes_to_every_replica_of_its_quotas() -> None:
    """Pending replicas are included, and several quotas are joined."""
    assert targets(JOINING) == AT_A | AT_B | AT_C | AT_X
    assert targets((AnswerQuota(AT_B | AT_C, 2), AnswerQuota(AT_C | AT_X, 2))) == AT_B | AT_C | AT_X


def test_a_newer_cell_resets_the_holders_and_an_equal_one_adds_a_holder() -> None:
    """An older cell changes nothing."""
    assert holding(0, 0, 0, AT_A) == AT_A
    assert holding(AT_A, 0, 2, AT_B) == AT_B
    assert holding(AT_B, 2, 2, AT_C) == AT_B | AT_C
    assert holding(AT_B | AT_C, 2, 0, AT_X) == AT_B | AT_C


LOG = ExchangeSwitches()

# by the version that a replica knows: it bars nothing yet, then what is older than one before it,
# then all but its own
FENCED = tuple(replace(VIEWS[0], fence=fence) for fence in (None, None, None, 1, 0))


@pytest.mark.parametrize(
    ("rule", "admitted"),
    [
        ("fence", {0: (0, 1, 2, 3, 4), 2: (0, 1, 2, 3, 4), 3: (2, 3, 4), 4: (4,)}),
        ("one-stage-apart", {0: (0, 1), 2: (1, 2, 3), 3: (2, 3, 4), 4: (3, 4)}),
        ("all", {0: (0, 1, 2, 3, 4), 4: (0, 1, 2, 3, 4)}),
    ],
)
def test_a_replica_admits_message_versions_by_its_admission_rule(
    rule: Admission, admitted: dict[int, tuple[int, ...]]
) -> None:
    """For each version that a replica knows, the table lists the message versions that it takes."""
    found = {
        known: tuple(message for message in range(5) if admits(rule, FENCED, known, message))
        for known in admitted
    }
    assert found == admitted


@pytest.mark.spec("A-016", "B-029")
def test_a_replica_behind_a_message_catches_up_before_taking_the_write() -> None:
    """B at epoch 100 answers a message of epoch 102 from epoch 102."""
    assert receive(VIEWS, 1, 0, 2, True, LOG) == Answer("ok", 2)


@pytest.mark.spec("B-030", "B-032", "A-015")
def test_a_replica_ahead_of_a_message_takes_the_write_while_a_member() -> None:
    """Its answer carries the newer epoch."""
    assert receive(VIEWS, 1, 3, 0, True, LOG) == Answer("ok", 3)


@pytest.mark.spec("B-031", "B-032")
def test_a_replica_ahead_of_a_message_refuses_requests_once_no_member() -> None:
    """At 102 A is a member for writes alone, at 103 for nothing."""
    assert receive(VIEWS, 0, 3, 0, True, LOG) == Answer("not-a-member", 3)
    assert receive(VIEWS, 0, 2, 0, True, LOG) == Answer("ok", 2)
    assert receive(VIEWS, 0, 2, 0, False, LOG) == Answer("not-a-member", 2)


def test_without_the_membership_check_a_former_replica_takes_a_write() -> None:
    """A has left at 103, and stores what was planned at 100."""
    off = ExchangeSwitches(safeguards=RequestSafeguards(membership_check=False))
    assert receive(VIEWS, 0, 3, 0, True, off).verdict == "ok"


def test_without_the_epoch_exchange_neither_replica_nor_coordinator_catches_up() -> None:
    """X at epoch 100 refuses a write planned at 101, as it is no replica at 100."""
    off = ExchangeSwitches(safeguards=RequestSafeguards(epoch_exchange=False))
    assert receive(VIEWS, 3, 0, 1, True, off) == Answer("not-a-member", 0)
    assert heard(0, Answer("ok", 3), off) == 0


def test_by_last_modified_a_replica_refuses_a_write_older_than_its_row() -> None:
    """B is still a member. A read of that epoch is taken."""
    by_row = ExchangeSwitches("last-modified")
    assert receive(VIEWS, 1, 3, 0, True, by_row) == Answer("coordinator-behind", 3)
    assert receive(VIEWS, 1, 3, 0, False, by_row) == Answer("ok", 3)
    assert receive(VIEWS, 1, 3, 3, True, by_row) == Answer("ok", 3)


@pytest.mark.spec("B-033", "B-038")
def test_a_coordinator_catches_up_to_the_epoch_of_an_answer_and_never_goes_back() -> None:
    """In the background only an error makes it catch up."""
    assert heard(0, Answer("ok", 2), LOG) == 2
    assert heard(3, Answer("not-a-member", 2), LOG) == 3
    assert heard(0, Answer("ok", 2), ExchangeSwitches("background")) == 0
    assert heard(0, Answer("not-a-member", 2), ExchangeSwitches("background")) == 2


@pytest.mark.spec("B-034")
def test_a_coordinator_drops_answers_of_replicas_that_left_the_group() -> None:
    """An answer of A counts at epoch 101 for writes, and no more at 103."""
    assert still_counted(VIEWS, 3, A | B, True) == B
    assert still_counted(VIEWS, 1, A | B, True) == A | B
    assert still_counted(VIEWS, 2, A | B, False) == B


@pytest.mark.spec("B-028")
def test_a_message_with_the_last_relevant_epoch_gets_the_same_verdict() -> None:
    """It leads every replica to the same metadata of the row as the newest epoch would."""
    views = (*VIEWS, VIEWS[3], VIEWS[3])  # two epochs that change nothing here
    for replica, known, epoch, write in itertools.product(
        range(4), range(6), range(6), (True, False)
    ):
        full = receive(views, replica, known, sent(views, epoch, LOG), write, LOG)
        brief = ExchangeSwitches("relevant")
        short = receive(views, replica, known, sent(views, epoch, brief), write, brief)
        case = (replica, known, epoch, write)
        assert (short.verdict, views[short.known]) == (full.verdict, views[full.known]), case


@pytest.mark.parametrize(
    ("exchange", "carried"),
    [("relevant", [0, 0, 2, 2]), ("epoch", [0, 1, 2, 3]), ("last-modified", [0, 1, 2, 3])],
)
def test_a_message_carries_the_coordinators_epoch_or_the_rows_last(
    exchange: Exchange, carried: list[int]
) -> None:
    """By "relevant" it is the last epoch that changed the row, here every second one."""
    views = tuple(replace(VIEWS[0], last_modified=at) for at in (0, 0, 2, 2))
    assert [sent(views, at, ExchangeSwitches(exchange)) for at in range(4)] == carried


def test_an_answer_lapses_when_its_replica_left_and_came_back() -> None:
    """A replica that stayed a member need not be asked again."""
    gone_and_back = (*VIEWS, VIEWS[0])
    assert invalidates(gone_and_back, range(1, 5), A | B, False) == A
    assert invalidates(gone_and_back, range(1, 2), A | B, False) == 0
    assert invalidates(VIEWS, range(4), A | B, True) == 0  # no member, no answer


def test_without_the_membership_check_a_replica_at_the_same_epoch_still_refuses() -> None:
    """Only a former replica that is ahead of the message takes part."""
    off = ExchangeSwitches(safeguards=RequestSafeguards(membership_check=False))
    assert receive(VIEWS, 0, 3, 3, True, off) == Answer("not-a-member", 3)
    assert receive(VIEWS, 0, 3, 2, True, off) == Answer("ok", 3)


def test_without_the_epoch_exchange_last_modified_compares_nothing() -> None:
    """B takes the write although the row's version is older than its own."""
    off = ExchangeSwitches("last-modified", RequestSafeguards(epoch_exchange=False))
    assert receive(VIEWS, 1, 3, 0, True, off) == Answer("ok", 3)
