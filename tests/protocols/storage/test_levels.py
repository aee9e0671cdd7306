"""Which answers are enough, when a read repairs, and epochs that messages carry."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.panels.cards import count_line
from kit.protocols.storage.panels.groups import graphs
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
def test_when_a_read_waits(
    kind: ReadRepair, wanted: tuple[AnswerQuota, ...], holders: int, answered: int, waiting: bool
) -> None:
    """Where no write quorum is known to hold it: always, or, of one kind, when answers differ."""
    assert waits(kind, wanted, holders, holders, answered) is waiting


def test_holding_that_does_not_count_is_no_quorum() -> None:
    """A holder that is no replica any more is waited for elsewhere."""
    assert waits("blocking", AT_REST, AT_A | AT_X, AT_A, AT_A | AT_X)


def test_it_is_written_to_all_that_could_count() -> None:
    """Every replica of the write plan, pending ones included; of several quotas, all of them."""
    assert targets(JOINING) == AT_A | AT_B | AT_C | AT_X
    assert targets((AnswerQuota(AT_B | AT_C, 2), AnswerQuota(AT_C | AT_X, 2))) == AT_B | AT_C | AT_X


def test_who_holds_the_newest() -> None:
    """A newer cell makes earlier answers old; an equal one adds a holder, an older one does not."""
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
def test_what_a_replica_admits(rule: Admission, admitted: dict[int, tuple[int, ...]]) -> None:
    """By what it knows, the versions of messages that it takes where nobody catches up."""
    found = {
        known: tuple(message for message in range(5) if admits(rule, FENCED, known, message))
        for known in admitted
    }
    assert found == admitted


@pytest.mark.spec("A-016", "B-029")
def test_a_replica_that_is_behind_catches_up_first() -> None:
    """B at epoch 100 gets a message of epoch 102: it applies 102 and then takes the write."""
    assert receive(VIEWS, 1, 0, 2, True, LOG) == Answer("ok", 2)


@pytest.mark.spec("B-030", "B-032", "A-015")
def test_a_replica_that_is_ahead_and_a_member_goes_on() -> None:
    """B at epoch 103 takes a write of epoch 100, and its answer tells of 103."""
    assert receive(VIEWS, 1, 3, 0, True, LOG) == Answer("ok", 3)


@pytest.mark.spec("B-031", "B-032")
def test_a_replica_that_is_ahead_and_no_member_refuses() -> None:
    """A at epoch 103 is no replica any more; at 102 it takes writes but serves no reads."""
    assert receive(VIEWS, 0, 3, 0, True, LOG) == Answer("not-a-member", 3)
    assert receive(VIEWS, 0, 2, 0, True, LOG) == Answer("ok", 2)
    assert receive(VIEWS, 0, 2, 0, False, LOG) == Answer("not-a-member", 2)


def test_without_the_membership_check_it_takes_part() -> None:
    """The safeguard switched off, A at 103 stores what epoch 100 sends."""
    off = ExchangeSwitches(safeguards=RequestSafeguards(membership_check=False))
    assert receive(VIEWS, 0, 3, 0, True, off).verdict == "ok"


def test_without_epochs_nobody_catches_up() -> None:
    """Not compared, X at epoch 100 goes by its own metadata: it is no replica yet."""
    off = ExchangeSwitches(safeguards=RequestSafeguards(epoch_exchange=False))
    assert receive(VIEWS, 3, 0, 1, True, off) == Answer("not-a-member", 0)
    assert heard(0, Answer("ok", 3), off) == 0


def test_the_finer_rule_compares_the_row() -> None:
    """B refuses a write whose epoch is below its row's version, though it is still a member."""
    by_row = ExchangeSwitches("last-modified")
    assert receive(VIEWS, 1, 3, 0, True, by_row) == Answer("coordinator-behind", 3)
    assert receive(VIEWS, 1, 3, 0, False, by_row) == Answer("ok", 3)
    assert receive(VIEWS, 1, 3, 3, True, by_row) == Answer("ok", 3)


@pytest.mark.spec("B-033", "B-038")
def test_the_coordinator_catches_up_with_the_answer() -> None:
    """It learns of the epoch from the replica, up to that epoch, and never goes back."""
    assert heard(0, Answer("ok", 2), LOG) == 2
    assert heard(3, Answer("not-a-member", 2), LOG) == 3
    assert heard(0, Answer("ok", 2), ExchangeSwitches("background")) == 0
    assert heard(0, Answer("not-a-member", 2), ExchangeSwitches("background")) == 2


@pytest.mark.spec("B-034")
def test_answers_of_former_members_count_no_more() -> None:
    """By epoch 103 the answer of A is none; by epoch 101 it is."""
    assert still_counted(VIEWS, 3, A | B, True) == B
    assert still_counted(VIEWS, 1, A | B, True) == A | B
    assert still_counted(VIEWS, 2, A | B, False) == B


@pytest.mark.spec("B-028")
def test_the_last_relevant_epoch_decides_the_same() -> None:
    """A message that carries the row's version is judged as one that carries the newest epoch."""
    views = (*VIEWS, VIEWS[3], VIEWS[3])  # two epochs that change nothing here
    for replica, known, epoch, write in itertools.product(
        range(4), range(6), range(6), (True, False)
    ):
        full = receive(views, replica, known, sent(views, epoch, LOG), write, LOG)
        brief = ExchangeSwitches("relevant")
        short = receive(views, replica, known, sent(views, epoch, brief), write, brief)
        assert short.verdict == full.verdict
        assert views[short.known] == views[full.known]


@pytest.mark.parametrize(
    ("exchange", "carried"),
    [("relevant", [0, 0, 2, 2]), ("epoch", [0, 1, 2, 3]), ("last-modified", [0, 1, 2, 3])],
)
def test_what_a_message_carries(exchange: Exchange, carried: list[int]) -> None:
    """The epoch of its coordinator, or the last one that changed the row: here every second."""
    views = tuple(replace(VIEWS[0], last_modified=at) for at in (0, 0, 2, 2))
    assert [sent(views, at, ExchangeSwitches(exchange)) for at in range(4)] == carried


def test_an_answer_lapses_with_its_members_absence() -> None:
    """Who gave the range up and got it back has to be asked anew; who stayed need not."""
    gone_and_back = (*VIEWS, VIEWS[0])
    assert invalidates(gone_and_back, range(1, 5), A | B, False) == A
    assert invalidates(gone_and_back, range(1, 2), A | B, False) == 0
    assert invalidates(VIEWS, range(4), A | B, True) == 0  # no member, no answer


def test_who_is_at_the_same_epoch_is_not_ahead() -> None:
    """Without the membership check only who is ahead takes part: who knows the very epoch of a
    message, and is no member by it, answers with an error.
    """
    off = ExchangeSwitches(safeguards=RequestSafeguards(membership_check=False))
    assert receive(VIEWS, 0, 3, 3, True, off) == Answer("not-a-member", 3)
    assert receive(VIEWS, 0, 3, 2, True, off) == Answer("ok", 3)


def test_without_epochs_no_row_is_compared() -> None:
    """The finer rule compares epochs, too: switched off, B takes the write of an older row."""
    off = ExchangeSwitches("last-modified", RequestSafeguards(epoch_exchange=False))
    assert receive(VIEWS, 1, 3, 0, True, off) == Answer("ok", 3)
