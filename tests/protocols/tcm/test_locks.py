"""Range locks: operations in flight keep to disjoint ranges, and a refusal says which and whose."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput, Refused
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import first_missed
from kit.protocols.tcm.facts.tools import kind_of
from kit.ring.replication import Keyspace, SimpleStrategy
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive
from tests.saying import says

EDITIONS = ("documents", "server")


def ten(*operations: str, **parameters: Any) -> Drive:
    """Ten nodes n1 … n10 at 100 … 1000, RF 3, with these operations at hand."""
    members = tuple(Node(f"n{i}", (i * 100,)) for i in range(1, 11))
    given: dict[str, Any] = {"members": members, "low": 0, "high": 2000, "rf": 3, **parameters}
    return Drive(operations=operations, **given)


@pytest.mark.spec("B-008")
@pytest.mark.parametrize("edition", EDITIONS)
def test_joins_far_apart_run_together_and_a_join_between_is_refused(edition: str) -> None:
    """The refusal names range and holders."""
    joins = ("bootstrap X --tokens 550", "bootstrap Y --tokens 850", "bootstrap Z --tokens 750")
    drive = ten(*joins, edition=edition).act(*joins[:2])
    assert {row.node for row in map(drive.operation, "XY")} == {"X", "Y"}
    refusal = drive.refusal(joins[2])
    assert "bootstrap X at 550" in refusal.reason
    assert "(500, 600]" in refusal.reason
    assert set(refusal.missing) == {"X", "Y"}
    assert drive.dark() == []
    alone = ten(joins[0], joins[2], edition=edition).act(joins[0])
    assert "bootstrap X at 550" in alone.refusal(joins[2]).reason


@pytest.mark.spec("B-007")
@pytest.mark.parametrize("edition", EDITIONS)
def test_leaves_collide_in_the_range_that_will_be_merged(edition: str) -> None:
    """n3 and n6 share only the range that grows when n3's token is given up."""
    drive = ten("decommission n3", "decommission n6", edition=edition).act("decommission n3")
    refusal = drive.refusal("decommission n6")
    (line,) = refusal.evidence
    assert says(line, "ks (300, 400]")
    assert says(line, "locked by decommission n3")
    assert refusal.missing == ("n3",)
    far = ten("decommission n3", "decommission n7", edition=edition).act(
        "decommission n3", "decommission n7"
    )
    assert far.dark() == []


def test_in_the_server_joins_at_the_two_ends_of_the_line_collide() -> None:
    """By the documents they share no token, and run together."""
    members = (Node("n0", (0,)), *(Node(f"n{i}", (i * 100,)) for i in range(1, 11)))
    ends = ("bootstrap X --tokens 1500", "bootstrap Y --tokens 50")
    given: dict[str, Any] = {
        "members": members, "low": 0, "high": 2000, "rf": 1, "operations": ends,
    }  # fmt: skip
    Drive(**given).act(*ends)
    wrapped = Drive(edition="server", **given).act(ends[0])
    refusal = wrapped.refusal(ends[1])
    (line,) = refusal.evidence
    assert says(line, "ks (0, 50]")
    assert says(line, "locked by bootstrap X at 1500")
    middle = ("bootstrap X --tokens 550", ends[1])
    Drive(edition="server", **{**given, "operations": middle}).act(*middle)


@pytest.mark.spec("B-009")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_locks_of_an_operation_are_released_by_its_last_step(edition: str) -> None:
    """What collides may begin right after it."""
    joins = ("bootstrap X --tokens 550", "bootstrap Z --tokens 750")
    drive = ten(*joins, edition=edition).act(joins[0])
    while drive.metadata.sequence("X") is not None:
        assert drive.refusal(joins[1]).missing == ("X",)
        drive.commit("X")
    drive.complete(joins[1])
    assert drive.stable()


@pytest.mark.spec("B-009")
def test_a_cancel_releases_locks_with_its_last_event() -> None:
    """Between the two events of a cancel the ranges stay locked."""
    joins = ("bootstrap X --tokens 550", "bootstrap Z --tokens 750")
    drive = ten(*joins, cancels=1).act(joins[0]).commit("X", 2).act("cancel X")
    assert drive.refusal(joins[1]).missing == ("X",)
    drive.commit("X").act(joins[1])
    assert drive.dark() == []


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_node_takes_part_in_one_operation_at_a_time(edition: str) -> None:
    """The refusal names that operation."""
    drive = ten("decommission n3", "replace n3 Z", edition=edition).act("decommission n3")
    reason = drive.refusal("replace n3 Z").reason
    assert says(reason, "n3 already takes part")
    assert says(reason, "decommission n3")
    other = ten("replace n3 Z", "removenode n3", "replace n8 Z", edition=edition).act(
        "replace n3 Z"
    )
    assert "n3 already takes part" in other.refusal("removenode n3").reason


def test_acting_on_a_refused_operation_raises_its_reason_and_changes_nothing() -> None:
    """The reason is one line."""
    joins = ("bootstrap X --tokens 550", "bootstrap Z --tokens 750")
    drive = ten(*joins).act(joins[0])
    before = drive.state
    with pytest.raises(Refused) as refused:
        drive.act(joins[1])
    assert str(refused.value) == drive.refusal(joins[1]).reason
    assert "\n" not in str(refused.value)
    assert drive.state == before


def test_a_conflict_in_one_keyspace_is_enough_for_a_refusal() -> None:
    """The refusal names that keyspace."""
    keyspaces = (Keyspace("one", SimpleStrategy(1)), Keyspace("three", SimpleStrategy(3)))
    joins = ("bootstrap X --tokens 550", "bootstrap Z --tokens 750")
    drive = ten(*joins, keyspaces=keyspaces).act(joins[0])
    assert {line.split()[0] for line in drive.refusal(joins[1]).evidence} == {"three"}
    alone = ten(*joins, keyspaces=keyspaces[:1]).act(*joins)
    assert alone.dark() == []


def test_a_token_promised_to_a_joiner_is_refused_to_another() -> None:
    """With range locks and without."""
    both = ("bootstrap X --tokens 550", "bootstrap Y --tokens 550")
    for off in ((), ("range-locks",)):
        drive = ten(*both, off=off).act(both[0])
        reason = drive.refusal(both[1]).reason
        assert says(reason, "token 550"), off
        assert says(reason, "belong to X | bootstrap X at 550"), off


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("other", "high"), [("n1", 1000), ("n5", 500)])
def test_the_owner_of_the_first_token_cannot_leave_with_a_neighbour_on_the_circle(
    edition: str, other: str, high: int
) -> None:
    """No range of the line shows that these two are neighbours."""
    members = tuple(Node(f"n{i}", (i * 100,)) for i in range(6))
    both = (f"decommission {other}", "decommission n0")
    drive = Drive(members=members, low=0, high=high, rf=1, operations=both, edition=edition)
    drive.act(both[0])
    assert drive.refusal(both[1]).missing == (other,)
    drive.finish(other).complete(both[1])
    assert drive.stable()
    assert drive.dark() == []


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("token", [50, 550])
def test_the_owner_of_the_first_token_cannot_leave_while_a_range_beside_is_cut(
    edition: str, token: int
) -> None:
    """While a range elsewhere is cut it can."""
    members = tuple(Node(f"n{i}", (i * 100,)) for i in range(6))
    both = (f"bootstrap X --tokens {token}", "decommission n0", "bootstrap Y --tokens 250")
    given: dict[str, Any] = {"members": members, "low": 0, "high": 600, "rf": 1}
    drive = Drive(operations=both, edition=edition, **given).act(both[0])
    assert drive.refusal("decommission n0").missing == ("X",)
    Drive(operations=both, edition=edition, **given).act(both[2], "decommission n0")


NAMES = st.sets(st.sampled_from("ABCDE"), min_size=1).map(lambda names: tuple(sorted(names)))


@given(NAMES, NAMES)
def test_first_missed_gives_the_first_two_majorities_that_do_not_meet(
    readers: Any, writers: Any
) -> None:
    """Where each two meet it gives none."""
    ways = [
        (r, w)
        for r in combinations(readers, len(readers) // 2 + 1)
        for w in combinations(writers, len(writers) // 2 + 1)
        if not {*r} & {*w}
    ]
    assert first_missed(readers, writers) == (ways[0] if ways else None)


@pytest.mark.parametrize(
    ("token", "said"),
    [(0, "a token above 0 in a replicated keyspace"), (401, "from 0 to 400"), (-1, "from 0 to")],
)
def test_the_owners_of_a_token_outside_the_replicated_line_are_refused(
    token: int, said: str
) -> None:
    """The lowest end is not replicated."""
    run = Drive()
    with pytest.raises(BadInput, match=said):
        facts.owners(run.model, run.state, token)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        *(("bootstrap", "JOIN"), ("move", "MOVE"), ("replace", "REPLACE")),
        *(("decommission", "LEAVE"), ("removenode", "LEAVE")),
    ],
)
def test_each_step_of_either_edition_has_the_published_logs_name(kind: Any, word: str) -> None:
    """A removal is a leave there, and every event of a cancel is CANCEL_SEQUENCE."""
    for begins, steps in {
        "PREPARE": ("split", "prepare"),
        "START": ("add-writes", "start"),
        "MID": ("switch-reads", "mid"),
        "FINISH": ("drop-writes", "merge", "finish"),
    }.items():
        assert {kind_of(kind, step) for step in steps} == {f"{begins}_{word}"}, steps
    undone = ("cancel", "cancel-reads", "cancel-writes")
    assert {kind_of(kind, step) for step in undone} == {"CANCEL_SEQUENCE"}
    assert kind_of("assassinate", "assassinate") == "ASSASSINATE"
