"""Both models of a recovery at the edges of their rules: states of hand, each side of a line."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.flows import flows
from kit.model.registry import build
from kit.protocols.recovery.facts import met_failures, parties, voters_missing
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD
from kit.protocols.recovery.orders import DOCUMENTED, actions_of, order_harm
from kit.protocols.recovery.recovering_cluster import REMOVED_NODE, next_of_operation
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.recovery_mode import Alter, Finish, Isolate, RecoveryMode, Remove
from kit.protocols.recovery.rules.availability import (
    FailureRow,
    answers,
    judged,
    lost_ranges,
    standings,
)
from tests.outcomes import why
from tests.protocols.recovery.failures.runs import ran
from tests.protocols.recovery.recovery_mode import runs as mode
from tests.protocols.recovery.runs import SEED_STEPS, played, refused

FIVE: dict[str, Any] = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}
TOGETHER = (*SEED_STEPS, "restart B", "restart A")

# -- recovery_leader -------------------------------------------------------------------------------


def test_a_snapshot_comes_from_who_has_the_newest_state() -> None:
    """Not from the leader, B, where A alone has it."""
    model, s = played(FIVE, *TOGETHER)
    behind = s.at(1, columns=1)
    act = Recovery.replace("C")
    after = model.act(behind, act)
    sent = [flow for flow in flows(model, behind, act, after) if flow.label == "snapshot"]
    assert [(flow.from_key, flow.to_key) for flow in sent] == [("n:A", "n:C")]


def test_who_does_not_start_gets_no_snapshot() -> None:
    """A and B have neither an id nor the option; they go down again."""
    steps = ("isolate", "read", "choose B", "delete A", "delete B", "restart B")
    model, s = played({**FIVE, "edition": "server"}, *steps)
    act = Recovery.restart("A")
    after = model.act(s, act)
    assert after.nodes[0].status == "down"
    assert [flow.label for flow in flows(model, s, act, after)] == []
    lonely = s.but(groups=(31, 2))
    assert [flow.label for flow in flows(model, lonely, act, after.but(groups=(31, 2)))] == []


def test_a_removal_needs_a_majority_of_the_new_group() -> None:
    """Of three that are in it two die: the leader alone is no majority, and removes nobody."""
    given = {"commit_indexes": (1,) * 7, "dead": "D E F G", "deaths": 2}
    live = "ABC"
    steps = (*(f"delete {name}" for name in live), "choose A")
    steps = (*steps, *(f"set {name}" for name in live), *(f"restart {name}" for name in live))
    for deaths, said in ((("die B",), ""), (("die B", "die C"), "group 2 has no majority")):
        model, s = played(given, *steps, *deaths)
        assert refused(model, s, "removenode D") == said


def test_the_last_one_does_not_die() -> None:
    """Nobody would be left to recover."""
    model, s = played({**FIVE, "deaths": 2}, "die A")
    assert model.find(s, "die B") is None


def test_who_is_taken_out_by_whom() -> None:
    """By a majority of a new group alone, and nobody whom it hears."""
    model, before = played({**FIVE, "returns": 1}, *SEED_STEPS)
    act = Recovery.remove("C")
    alone = "the topology changes without a majority of a new group"
    assert model.taken_out(before, act, before) == alone
    model, s = played({**FIVE, "returns": 1}, *TOGETHER)
    assert model.taken_out(s, act, s) is None
    assert model.taken_out(s.but(groups=(31, 0b111)), act, s) is None
    assert model.taken_out(s.but(groups=(31, 0b1111)), act, s) == alone
    model, s = played({**FIVE, "returns": 1}, *TOGETHER, "return C", off=("isolation",))
    heard = "C is removed although the others still hear it"
    assert model.taken_out(s, act, s) == heard
    assert model.taken_out(s, Recovery.coordinate(), s) is None


def test_when_rows_may_be_deleted() -> None:
    """Once nobody is dead and all are in the new group: each of both alone is too early."""
    model, s = played(FIVE, *TOGETHER)
    act, early = Recovery.clean_rows("A"), "A deletes old rows while nodes are dead or not in a"
    nobody_dead = s
    for node in (2, 3, 4):
        nobody_dead = nobody_dead.at(node, status="removed")
    for state, broken in ((s, True), (nobody_dead, False), (nobody_dead.at(0, group=0), True)):
        said = model.cleaned_last(state, act, state)
        assert bool(said and said.startswith(early)) is broken


def test_who_talks_as_one_cluster_and_may() -> None:
    """While nodes restart, two that are counted on; a node that is back is none of them."""
    for dead, returned in (("A B C", "A"), ("C D E", "C")):
        model, s = played({"commit_indexes": (1,) * 5, "dead": dead})
        other = 4 if dead == "A B C" else 0
        s = s.at(other, group=1, group_id=1, option=other)
        s = s.but(groups=(31, 1 << other), acknowledged=(0, 0))
        assert model.two_groups(s) is None
        back = s.at(model.number(returned), status="returned", group=0)
        assert model.two_groups(back.but(isolated=True)) is None
        assert model.two_groups(back.but(isolated=False)) == tuple(
            sorted((other, model.number(returned)))
        )


@pytest.mark.parametrize(
    ("first", "second", "joins"), [(1, 2, 2), (2, 1, 2), (0, 1, 1), (0, 0, -1)]
)
def test_which_group_is_found(first: int, second: int, joins: int) -> None:
    """By C, which has no option: the newest of those that are not given up."""
    _, s = played({"commit_indexes": (1,) * 7, "dead": "D E F G"})
    s = s.but(groups=(127, 1, 2), acknowledged=(0, 0, 0)).at(0, group=first).at(1, group=second)
    assert s.to_join(2) == joins
    assert s.at(6, group=2).to_join(2) == joins  # G is given up


def test_a_barrier_asks_nobody_who_has_left() -> None:
    """D of five was removed before: nobody waits for it, whatever is wrong with the others."""
    whole = next_of_operation("write_both_read_old", 2, 0b11111, 0, 0b11111, "documents")
    without_d = next_of_operation("write_both_read_old", 2, 0b10111, 0, 0b11111, "documents")
    assert (whole.addressed, without_d.addressed) == (0b11111, 0b10111)
    last = [
        next_of_operation("write_both_read_old", 4, normal, 0, 0b11111, "documents")
        for normal in (0b11111, 0b01111)
    ]
    assert last[0] == last[1]  # who leaves is a member, also where nobody comes after it


def test_parties_name_their_nodes_in_order() -> None:
    """B and I of nine nodes run in a group of their own, and nobody else takes their gossip."""
    model, s = played({"commit_indexes": (1,) * 9, "dead": "C D E F G"})
    s = s.but(groups=(511, 0b100000010), acknowledged=(0, 0))
    s = s.at(1, group=1, group_id=1).at(8, group=1, group_id=1)
    s = s.at(2, status="up", group=0).at(0, group=0).at(7, group=0)
    assert [*parties(model, s)] == [("B", "I")]


@pytest.mark.parametrize(
    ("leader", "status", "group", "goes_on"),
    [
        (NOBODY, "up", 1, NO_GROUP),
        (4, "up", 1, 1),
        (4, "up", 0, NO_GROUP),
        (4, "down", NO_GROUP, NO_GROUP),
        (4, "returned", 1, NO_GROUP),
        (0, "up", 1, NO_GROUP),
    ],
)
def test_the_leaders_group_goes_on(leader: int, status: str, group: int, goes_on: int) -> None:
    """Where it runs in a new one and is counted on. E is as given, A runs in the old group."""
    _, s = played({"commit_indexes": (1,) * 5, "dead": "B C D"})
    s = s.but(groups=(31, 16), acknowledged=(0, 0), leader=leader)
    assert s.at(4, status=status, group=group, group_id=group).new_group == goes_on


def test_nobody_is_told_of_a_leader_that_died() -> None:
    """Another one has to be chosen first."""
    given = {**FIVE, "deaths": 1}
    for steps, told, needed in (
        (SEED_STEPS[:2], 0, True),
        (SEED_STEPS[:3], 0b11, False),
        ((*SEED_STEPS[:3], "die B"), 0, True),
        ((*SEED_STEPS[:3], "die A"), 0b10, False),
    ):
        model, s = played(given, *steps)
        assert (model.unled(s), s.needs_leader) == (told, needed)


def test_a_group_of_one_that_is_given_up_again_is_not_joined() -> None:
    """B founded a group, died and is back in it: A finds none but those of whom it counts on."""
    _, s = played({"commit_indexes": (1,) * 5, "dead": "C D E"})
    s = s.but(groups=(31, 2), acknowledged=(0, 0)).at(1, group=1, group_id=1)
    assert s.to_join(0) == 1
    assert s.at(1, status="returned").to_join(0) == NO_GROUP


@pytest.mark.parametrize("group", [1, 2, 3])
def test_who_joins_changes_one_group(group: int) -> None:
    """C joins a group of A, of B or of D, and gets its schema; the others stay as they are."""
    _, s = played({"commit_indexes": (1,) * 9, "dead": "E F G H I"})
    s = s.but(groups=(511, 1, 2, 8), acknowledged=(0,) * 4)
    for node, (own, columns) in {0: (1, 3), 1: (2, 7), 3: (3, 15)}.items():
        s = s.at(node, group=own, group_id=own, columns=columns)
    joined = s.joined(2, group)
    wanted = [511, 1, 2, 8]
    wanted[group] |= 4
    assert joined.groups == tuple(wanted)
    assert joined == s.at(2, group=group, group_id=group, columns=(1 << group + 1) - 1).but(
        groups=tuple(wanted)
    )


def test_in_which_columns_a_node_stores_next() -> None:
    """In the newest that it knows, and the newest of all, where it has not; there is none of none.
    C to E are dead.
    """
    model, s = played({**FIVE, "commit_indexes": (0, 2, 9, 9, 9), "writes": 1})
    assert [*model.storable(s)] == [(0, 9), (1, 2), (1, 9)]
    assert [*model.storable(s.at(1, data=0b10))] == [(0, 9), (1, 9)]
    assert [*model.storable(s.at(0, data=1 << 8))] == [(1, 2), (1, 9)]
    assert [*model.storable(s.at(1, status="down"))] == [(0, 9)]


def test_the_newest_group_that_can_still_have_a_majority() -> None:
    """Of those that are not given up; A and B live."""
    _, s = played({"commit_indexes": (1,) * 5, "dead": "C D E"})
    for groups, abandoned, newest in (
        ((31,), 0, NO_GROUP),
        ((31, 3), 0, 1),
        ((31, 4), 0, NO_GROUP),
        ((31, 3, 4), 0, 1),
        ((31, 3, 4), 1, NO_GROUP),
        ((31, 3, 1), 0, 2),
        ((31, 3, 5), 0, 1),  # C was half of that one
        ((31, 3, 4, 8), 0, 1),
    ):
        assert s.but(groups=groups, abandoned=abandoned).recoverable == newest


def test_who_is_counted_on_changes_the_schema() -> None:
    """In a group with a majority. That of those who are back is not theirs."""
    _, s = played({"commit_indexes": (1,) * 5, "dead": "C D E"})
    assert not s.can_change_schema
    new = s.but(groups=(31, 3), acknowledged=(0, 0)).at(0, group=1).at(1, group=1)
    assert new.can_change_schema
    assert not new.at(1, status="down", group=NO_GROUP).can_change_schema
    for node in (2, 3, 4):
        s = s.at(node, status="returned", group=0)
    alone = s.but(groups=(31, 3), acknowledged=(0, 0)).at(0, group=1)
    assert not alone.at(1, status="down", group=NO_GROUP).can_change_schema


def test_where_nothing_is_given_up_the_old_group_goes_on() -> None:
    """Without a leader, for nobody chooses one."""
    for lives, goes_on in ((True, OLD), (False, NO_GROUP)):
        dead = "C D" if lives else "C D E"
        given = {"commit_indexes": (1,) * 5, "dead": dead, "majority_lives": lives}
        _, s = played(given)
        assert (s.leader, s.new_group, s.is_together) == (NOBODY, goes_on, lives)
        assert s.leftover(s.nodes[0]) is not lives
        assert not s.leftover(s.nodes[0].but(old_rows=False))
        nowhere = s.at(0, status="down", group=NO_GROUP).at(1, status="down", group=NO_GROUP)
        assert not nowhere.is_together


def test_who_is_heard_by_those_that_count() -> None:
    """C and D are back in the old group and hear each other; A and B run in one of their own."""
    _, s = played({"commit_indexes": (1,) * 4, "dead": "C D"})
    s = s.but(groups=(15, 3), acknowledged=(0, 0)).at(0, group=1).at(1, group=1)
    s = s.at(2, status="returned", group=0).at(3, status="returned", group=0)
    s = s.but(isolated=False)
    assert [*s.talking("documents")] == [(0, 1), (2, 3)]
    heard = [s.hears(node, "documents") for node in range(4)]
    assert heard == [True, True, False, False]
    back = s.at(0, group=0)
    assert [back.hears(node, "documents") for node in range(4)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("runs", "columns"), [((1, 1), (11, 11)), ((1, NO_GROUP), (10, 11)), ((NO_GROUP, 1), (10, 11))]
)
def test_a_majority_has_one_schema(runs: tuple[int, int], columns: tuple[int, int]) -> None:
    """The newest that one of its members has: A lacks an entry that B has."""
    _, s = played(FIVE)
    s = s.but(groups=(31, 3), acknowledged=(0, 0)).at(0, group=runs[0]).at(1, group=runs[1])
    for node in (0, 1):
        assert tuple(each.index for each in s.synchronized(node).nodes[:2]) == columns


def test_a_group_that_is_founded_has_acknowledged_nothing() -> None:
    """B is its only member, and has its id; groups before it stay as they are."""
    _, s = played(FIVE)
    founded = s.but(acknowledged=(5,)).created(1)
    assert (founded.groups, founded.acknowledged) == ((31, 0b10), (5, 0))
    assert (founded.nodes[1].group, founded.nodes[1].group_id) == (1, 1)
    assert founded.at(1, group=s.nodes[1].group, group_id=s.nodes[1].group_id).nodes == s.nodes


@pytest.mark.parametrize("node", [0, 1, 2])
def test_who_is_taken_out_leaves_the_groups_that_go_on(node: int) -> None:
    """Whoever it is; the group that was given up keeps its members."""
    _, s = played({"commit_indexes": (1,) * 4, "dead": "C D"})
    after = s.but(groups=(15, 7)).with_node(node, REMOVED_NODE)
    assert after.groups == (15, 7 - (1 << node))
    assert [each.status == "removed" for each in after.nodes] == [at == node for at in range(4)]


@pytest.mark.parametrize(
    ("cells", "needs"),
    [
        ({}, False),
        ({"leader": NOBODY}, True),
        ({"leader": 2}, True),  # it has died since
        # There is a new group: of both, of B and one that is dead, of B and two that are dead.
        ({"groups": (31, 0b00011), "acknowledged": (0, 0)}, False),
        ({"groups": (31, 0b00111), "acknowledged": (0, 0)}, False),
        ({"groups": (31, 0b01110), "acknowledged": (0, 0)}, True),
    ],
)
def test_when_a_leader_is_to_be_chosen(cells: dict[str, Any], needs: bool) -> None:
    """B was. Another one is where it is dead, or where the new group has lost its majority, too."""
    _, s = played(FIVE)
    assert s.but(**{"leader": 1, **cells}).needs_leader is needs


@pytest.mark.parametrize(
    ("ids", "there"),
    [((0, 0), True), ((NO_GROUP, 0), True), ((0, NO_GROUP), True), ((NO_GROUP, NO_GROUP), False)],
)
def test_whether_ids_are_left(ids: tuple[int, int], there: bool) -> None:
    """On A or B, which are counted on; the others have theirs."""
    _, s = played(FIVE)
    assert s.at(0, group_id=ids[0]).at(1, group_id=ids[1]).has_ids is there


@pytest.mark.parametrize(
    ("dead", "live", "back"), [("C D E", "AB", "C"), ("A B C", "DE", "A"), ("A C E", "BD", "C")]
)
def test_a_node_that_is_heard_is_not_removed(dead: str, live: str, back: str) -> None:
    """It is back: wherever its name stands, live nodes hear it, but for a wall between them."""
    first, leads = live
    steps = (*(f"delete {name}" for name in live), f"choose {leads}", f"set {first}")
    steps = (*steps, f"set {leads}", f"restart {leads}", f"restart {first}", f"return {back}")
    given = {"commit_indexes": (1,) * 5, "dead": dead, "returns": 1}
    model, s = played(given, *steps, off=("isolation",))
    assert refused(model, s, f"removenode {back}") == "the node is alive"
    assert model.taken_out(s, Recovery.remove(back), s) is not None
    model, s = played(given, *steps)
    assert refused(model, s, f"removenode {back}") == ""
    assert model.taken_out(s, Recovery.remove(back), s) is None


def test_nobody_is_removed_once_the_majority_is_gone() -> None:
    """Nothing was given up; then A is down, and two of five are left."""
    given = {"commit_indexes": (1,) * 5, "dead": "C D", "majority_lives": True, "crashes": 1}
    for steps, said in (((), ""), (("crash A",), "this group 0 has no majority")):
        model, s = played(given, *steps)
        for verb in ("removenode C", "replace C"):
            assert refused(model, s, verb) == said


def test_another_leader_is_chosen_where_that_is_asked_for() -> None:
    """Not the same one again, and not once there is a new group."""
    for again, steps, able in (
        (True, SEED_STEPS[:2], 0b11),
        (True, SEED_STEPS[:3], 0b01),
        (False, SEED_STEPS[:3], 0),
        (True, (*SEED_STEPS, "restart B"), 0),
    ):
        model, s = played({**FIVE, "choose_again": again}, *steps)
        assert model.eligible(s) == able


def test_who_may_come_back() -> None:
    """Nobody before the recovery has begun; then the dead that have kept a group id."""
    given = {**FIVE, "deaths": 1, "returns": 1}
    for steps, able in (
        ((), 0),
        (("delete B",), 0b11100),
        (("delete A", "die A"), 0),  # whoever had begun is dead
        (("delete A", "delete B", "die A"), 0b11100),
        (("delete B", "die A"), 0b11101),
    ):
        model, s = played(given, *steps)
        assert model.reviving(s) == able


def test_a_recovery_is_not_done_while_a_node_is_down() -> None:
    """All is clean and nobody is dead, but A does not run in the new group."""
    steps = (*TOGETHER, *(f"removenode {name}" for name in "CDE"), "clean A", "clean B")
    model, s = played({**FIVE, "crashes": 1}, *steps)
    assert model.is_recovered(s)
    assert not model.is_recovered(s.at(0, old_rows=True))
    assert not model.is_recovered(s.at(0, status="down", group=NO_GROUP))


def test_members_of_a_new_group_have_one_schema() -> None:
    """The old one may be torn: its majority is dead."""
    model, s = played({**FIVE, "dead": "C D E"})
    model_, together = played(FIVE, *TOGETHER)
    assert s.nodes[0].columns != s.nodes[1].columns
    assert model.one_schema(s) is None
    assert model_.one_schema(together) is None
    torn = together.at(0, columns=1)
    assert model_.one_schema(torn) == "members of group 2 have different schemas"
    assert model_.one_schema(torn.at(0, group=NO_GROUP)) is None
    # of three groups, the last
    moved = torn.but(groups=(31, 0, 3), acknowledged=(0,) * 3).at(0, group=2).at(1, group=2)
    assert model_.one_schema(moved) == "members of group 3 have different schemas"


def test_who_commits_a_change_of_the_schema() -> None:
    """A majority of the group on its side of the firewall."""
    model, s = played(FIVE)
    act, alone = Recovery.alter("A"), "A changed the schema although its group has no majority"
    assert model.majority(s, act, s) == alone
    model, s = played(FIVE, *TOGETHER)
    assert model.majority(s, act, s) is None
    assert model.majority(s.at(1, group=NO_GROUP), act, s) == alone


@pytest.mark.parametrize(("isolated", "apart"), [(False, [("C",)]), (True, [])])
def test_who_is_behind_the_firewall_is_no_party(isolated: bool, apart: list[Any]) -> None:
    """C is back in the old group, of which A and B take no gossip; nor do they behind a wall."""
    model, s = played({"commit_indexes": (1,) * 4, "dead": "C D", "returns": 1})
    s = s.but(groups=(0b1111, 0b11), acknowledged=(0, 0), isolated=isolated)
    for at, group in ((0, 1), (1, 1)):
        s = s.at(at, group=group, group_id=group)
    s = s.at(2, status="returned", group=0)
    assert [*parties(model, s)] == apart


def test_a_party_holds_together_by_one_of_its_nodes() -> None:
    """The options of E and F differ, but D takes gossip of both."""
    given = {"edition": "server", "commit_indexes": (1,) * 7, "dead": "A B C"}
    model, s = played(given)
    s = s.at(4, option=3).at(5, option=4).at(6, status="down", group=NO_GROUP)
    assert [*s.talking("server")] == [(3, 4), (3, 5)]
    assert [*parties(model, s)] == []
    assert [*parties(model, s.at(3, option=3))] == [("F",)]


# -- RECOVERY mode ---------------------------------------------------------------------------------


def test_a_version_of_no_change_is_a_hash() -> None:
    """As that of tombstones; only what group 0 wrote is none."""
    timeline = mode.after({"commit_indexes": (0, 1, 1), "dead": "B C"})
    for version, text in ((0, "hash"), (-1, "hash"), (1, "v1 of group 0")):
        node = timeline.state.nodes[0].but(version=version)
        assert node.version_text == (f"{text} of columns none" if version < 1 else text)
        assert node.hashed is (version < 1)


def test_when_all_are_in_recovery_mode() -> None:
    """Not while one of two live nodes has yet to restart."""
    timeline = mode.after(mode.FOUR, *mode.ENTER[:-2])
    assert not timeline.state.in_recovery_mode
    assert mode.after(mode.FOUR, *mode.ENTER).state.in_recovery_mode


def test_discovery_gets_no_names_through_the_firewall() -> None:
    """C is back and waits for a group; only C still knows of D, which is removed."""
    s = mode.after(mode.FOUR).state
    waiting = {"mode": "upgrade", "group": NO_GROUP, "discovery": 0}
    s = s.at(0, **waiting).at(1, **waiting).at(3, standing="removed")
    s = s.at(2, standing="returned", mode="upgrade", group=NO_GROUP, discovery=0b1000)
    assert s.contacts(0) == 0b1110
    assert s.but(isolated=True).contacts(0) == 0b0110
    assert s.contacts(1) == 0b1101
    assert s.contacts(2) == 0b1011


def test_a_majority_has_all_that_was_committed() -> None:
    """Of two entries A and B have applied the first; one of them has the second in its log."""
    timeline = mode.after(mode.FOUR)
    at = {"applied": 1, "history": 1, "columns": 1, "version": 1}
    s = timeline.state.at(0, **at).at(1, **at).but(groups=(0b11,))
    assert len(s.logs[0]) == 2
    s = s.caught_up(0)
    assert [(node.applied, node.history) for node in s.nodes[:2]] == [(2, 2), (2, 2)]
    added = timeline.model.act(s, Alter("A"))
    assert added.logs == (((0, 1), (1, 2), (2, 3)),)
    assert [(node.applied, node.history) for node in added.nodes[:2]] == [(3, 3), (3, 3)]


@pytest.mark.parametrize("group", [0, 1, 2, 3])
def test_one_of_several_groups_changes(group: int) -> None:
    """The others stay as they are, before it and behind it; a new one comes at the end."""
    groups, logs = (7, 8, 16), (((0, 1),), ((0, 2),), ((0, 3),))
    s = mode.after(mode.FOUR).state.but(groups=groups, logs=logs)
    after = s.in_group(group, 32, ())
    assert [*after.groups] == [
        32 if at == group else each for at, each in enumerate((*groups, 32))
    ][: max(3, group + 1)]
    assert [*after.logs] == [() if at == group else each for at, each in enumerate((*logs, ()))][
        : max(3, group + 1)
    ]


def test_a_change_behind_the_firewall_misses_what_it_cannot_see() -> None:
    """Such a group reaches no client of the others; without a firewall it is a loss."""
    timeline = mode.after(mode.FOUR)
    model: Any = timeline.model
    before = timeline.state.at(2, standing="returned", mode="group 0", group=0, columns=0b1)
    before = before.but(answered=0b10)
    act, lost = Alter("C"), "C does not see column 2, which was added before"
    assert model.linearizable(before, act, before) == lost
    assert model.linearizable(before.but(isolated=True), act, before) is None
    legacy = before.at(2, mode="recovery")
    assert model.linearizable(legacy, act, legacy) is None
    assert model.linearizable(before, act, before.at(2, columns=0b11)) is None


def test_a_removal_of_who_is_heard_breaks_a_promise() -> None:
    """C is back; cut off, nobody hears it."""
    timeline = mode.after({**mode.FOUR, "returns": 1}, *mode.ENTER[1:], "return C")
    model: Any = timeline.model
    heard = "C is removed although the others still hear it"
    s = timeline.state
    assert model.taken_out(s, Remove("C"), s) == heard
    assert model.taken_out(s.but(isolated=True), Remove("C"), s) is None


def test_nobody_is_cut_off_where_nobody_is_dead() -> None:
    """The documented order asks for a firewall while there are dead nodes."""
    timeline = mode.after(mode.FOUR, *mode.ENTER[1:])
    model: Any = timeline.model
    assert next(model.due(timeline.state)) == Isolate()
    gone = timeline.state.at(2, standing="removed").at(3, standing="removed")
    assert Isolate() not in [*model.due(gone)]


def test_who_talks_in_two_groups_outside_a_recovery() -> None:
    """Neither through the firewall nor with who is in no group."""
    timeline = mode.after(mode.FOUR)
    model: Any = timeline.model
    s = timeline.state.but(groups=(15, 4), logs=((), ()))
    back = s.at(2, standing="returned", mode="group 0", group=1)
    said = "A of the old group and C of group 2 talk as one cluster"
    assert (back.in_two_groups(), model.one_group(back)) == ((0, 2), said)
    assert (s.in_two_groups(), model.one_group(s)) == (None, None)
    for apart in (
        back.but(isolated=True),
        back.at(2, group=0),
        back.at(2, group=NO_GROUP),
        back.at(2, mode="down"),
        back.at(2, standing="removed"),
    ):
        assert apart.in_two_groups() is None


def test_a_cluster_is_whole_in_one_group() -> None:
    """All live nodes have upgraded Raft, nobody is dead; a node with a group of its own is not."""
    s = mode.after(mode.FOUR).state
    for node in range(4):
        s = s.at(node, standing="live", mode="group 0", value="use_post_raft_procedures", group=0)
    s = s.but(groups=(15, 1), voters=(15, 1), logs=((), ()))
    assert s.is_whole
    assert not s.at(0, group=1).is_whole
    assert not s.at(3, standing="dead").is_whole
    assert not s.at(3, mode="recovery").is_whole
    assert not s.at(3, value="synchronize").is_whole
    assert s.at(3, standing="removed", mode="down").is_whole


@pytest.mark.parametrize(
    ("b", "c", "found"), [(0, 1, 1), (1, 0, 1), (0, 0, 0), (NO_GROUP, 1, 1), (NO_GROUP, 0, 0),
                          (NO_GROUP, NO_GROUP, NO_GROUP), (2, 1, 2)]
)  # fmt: skip
def test_a_new_group_is_found_before_the_old_one(b: int, c: int, found: int) -> None:
    """By A, which waits for a group and asks B and C; of two new ones that of B."""
    s = mode.after(mode.FOUR).state.at(0, group=NO_GROUP, mode="upgrade").at(1, group=b)
    assert s.at(2, standing="live", mode="group 0", group=c).found_group(0) == found


def test_who_applies_a_change_has_it_afterwards() -> None:
    """B, which runs in the group as well, has what it had before: that is no change."""
    timeline = mode.after(mode.FOUR)
    model: Any = timeline.model
    s = timeline.state
    took = s.at(0, columns=s.nodes[0].columns | 1 << 9)
    both = took.at(1, columns=s.nodes[1].columns | 1 << 9)
    said = [model.words(s, Alter("A"), after)["took"] for after in (s, took, both)]
    assert said == ["", "A", "A, B"]


def test_groups_that_nobody_knows_are_forgotten() -> None:
    """Their numbers are free again; the old one is always there."""
    s = mode.after(mode.FOUR).state
    logs = (((0, 1),), ((0, 2),), ((0, 3),), ((0, 4),))
    s = s.but(groups=(15, 1, 2, 4), voters=(15, 1, 2, 4), logs=logs)
    everybody = range(4)

    def knowing(*ids: int) -> Any:
        state = s
        for node, at in zip(everybody, ids, strict=True):
            state = state.at(node, group=NO_GROUP, group_id=at)
        return state.forgetting()

    assert knowing(0, 1, 2, 3).groups == (15, 1, 2, 4)
    left = knowing(1, 3, 3, NO_GROUP)
    assert (left.groups, left.voters) == ((15, 1, 0, 4), (15, 1, 0, 4))
    assert left.logs == (logs[0], logs[1], (), logs[3])
    last = knowing(2, 2, NO_GROUP, 0)
    assert (last.groups, last.logs) == ((15, 0, 2), (logs[0], (), logs[2]))
    assert last.but(voters=()).forgetting().voters == ()
    assert knowing(NO_GROUP, NO_GROUP, NO_GROUP, NO_GROUP).groups == (15,)
    assert s.at(0, group=3).but(voters=()).forgetting().groups == (15, 0, 0, 4)


def test_members_that_run_by_group_0_have_one_schema() -> None:
    """Where it has a majority; who upgrades, or is in no group, may still differ."""
    timeline = mode.after(mode.FOUR)
    model: Any = timeline.model
    s = timeline.state.but(groups=(0b11,))
    assert s.nodes[0].columns != s.nodes[1].columns
    said = "A and B run in the old group with different schemas"
    assert model.one_schema(s) == said
    same = s.nodes[1].columns
    for fine in (
        s.at(0, columns=same),
        s.at(0, mode="synchronize"),
        s.at(1, mode="synchronize"),
        s.but(groups=(0b1111,)),  # two of four are no majority
    ):
        assert model.one_schema(fine) is None


def test_who_commits_a_change_in_either_mode() -> None:
    """Group 0 needs its majority; without it nodes change what is their own."""
    timeline = mode.after(mode.FOUR)
    model: Any = timeline.model
    s, act = timeline.state, Alter("A")
    said = "A changed the schema although its group has no majority"
    assert model.majority(s, act, s) == said
    assert model.majority(s.but(groups=(0b11,)), act, s) is None
    assert model.majority(s.at(0, mode="recovery", group=NO_GROUP), act, s) is None


def test_a_removal_needs_a_remover() -> None:
    """Group 0 with a majority, or RECOVERY mode."""
    timeline = mode.after(mode.FOUR)
    model: Any = timeline.model
    s, act = timeline.state, Remove("C")
    assert model.taken_out(s, act, s) == "C is removed without group 0 or RECOVERY mode"
    assert model.taken_out(s.but(groups=(0b11,)), act, s) is None
    assert model.taken_out(s.at(1, mode="recovery", group=NO_GROUP), act, s) is None


def test_why_nobody_removes() -> None:
    """Live nodes that upgrade are waited for; those that are given up are not."""
    timeline = mode.after(mode.FOUR)
    upgrading = timeline.state.at(3, standing="returned", mode="upgrade", group=NO_GROUP)
    upgrading = upgrading.but(isolated=True)
    no_removal = "group 0 has no majority, so it cannot remove the node"
    waits = "a removal must wait until the Raft upgrade has ended"
    for s, said in (
        (timeline.state, no_removal),
        (upgrading, no_removal),
        (timeline.state.at(0, mode="upgrade", group=NO_GROUP), waits),
        (timeline.state.at(1, mode="synchronize"), waits),
    ):
        assert why(timeline.model, s, Remove("C")) == said


def test_the_upgrade_ends_with_one_schema() -> None:
    """All members are in synchronize; whose version differs is named."""
    timeline = mode.after(mode.FOUR)
    s = timeline.state.but(groups=(0b11,))
    s = s.at(0, mode="synchronize").at(1, mode="synchronize")
    assert why(timeline.model, s, Finish("A")) == "schema versions differ"
    assert why(timeline.model, s, Finish("B")) == "schema versions differ"
    other = s.nodes[1]
    same = s.at(0, columns=other.columns, version=other.version)
    assert why(timeline.model, same, Finish("A")) == ""
    ahead = s.at(1, mode="group 0")  # it has seen to that
    assert why(timeline.model, ahead, Finish("A")) == ""


def test_the_last_live_node_does_not_die_in_recovery_mode_either() -> None:
    """Nobody would be left to recover."""
    timeline = mode.after({**mode.FOUR, "deaths": 2})
    for first, other in ("AB", "BA"):
        s = timeline.model.act(timeline.state, RecoveryMode.die(first))
        assert timeline.model.find(s, f"die {other}") is None
        assert timeline.model.find(timeline.state, f"die {other}") is not None


def test_voters_are_chosen_again_by_the_side_that_has_most_of_them() -> None:
    """A to E vote of seven; A to C die. A is back: with D and E it is a majority, unless it is cut
    off from them. C's rack has one seat, which F gets; B's has two, and no other node for them.
    """
    given = {"edition": "server", "commit_indexes": (2,) * 7, "dead": "A B C", "returns": 1}
    assert mode.after(given).state.voters == (0b0011111,)
    assert mode.after(given, "return A").state.voters == (0b0111011,)
    assert mode.after(given, "isolate", "return A").state.voters == (0b0011111,)


STUCK: dict[str, Any] = {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True}


def test_a_start_halfway_through_the_upgrade_says_where() -> None:
    """In the old group, or in none, once its id is gone."""
    for steps, where in (((), "in the old group"), (("id A",), "without a group 0")):
        timeline = mode.after(STUCK, *steps, "stop A", "start A")
        said = f"A starts halfway through the Raft upgrade, {where}."
        assert timeline.moments[-1].say == said
        last = timeline.moments[-1]
        words = mode.model_of(timeline).words(
            timeline.moments[last.parent].state, last.action, last.state
        )
        assert words["there"] == f", {where}"


TOO_FEW = "so many that the others are not a majority"
NOT_ALL = "but not all of them"
LIVES = "so many at once that no majority of the voters is alive"
IS_LOST = "few enough that a majority of the voters is alive"


@pytest.mark.parametrize(
    ("name", "given", "refusals"),
    [
        # Of four nodes nobody is given up, then one, two, three, four; and one that is not there.
        ("recovery", {}, (TOO_FEW, TOO_FEW, "", "", TOO_FEW, TOO_FEW)),
        ("recovery", {"majority_lives": True}, (NOT_ALL, "", IS_LOST, IS_LOST, NOT_ALL, NOT_ALL)),
        ("recovery", {"edition": "server"}, (NOT_ALL, LIVES, "", "", NOT_ALL, NOT_ALL)),
        ("recovery_mode", {}, (TOO_FEW, TOO_FEW, "", "", TOO_FEW, TOO_FEW)),
        ("recovery_mode", {"stuck": True}, (NOT_ALL, "", "", "", NOT_ALL, NOT_ALL)),
    ],
)
def test_how_many_may_be_given_up(
    name: str, given: dict[str, Any], refusals: tuple[str, ...]
) -> None:
    """So many that a majority is lost; where one may live, at least one; and never everybody."""
    for dead, refusal in zip(("", "A", "A B", "A B C", "A B C D", "A Z"), refusals, strict=True):
        every = {"commit_indexes": (1,) * 4, **given, "dead": dead}
        if refusal:
            with pytest.raises(BadInput, match=f"dead: .*{refusal}"):
                build(name, every)
        else:
            assert build(name, every).given_up == tuple(dead.split())


def test_in_a_stuck_upgrade_a_majority_may_live() -> None:
    """On the server, too: the upgrade needs every node."""
    assert build("recovery_mode", {**STUCK, "edition": "server"}).name == "recovery_mode"
    with pytest.raises(BadInput, match="no majority of the voters is alive"):
        build("recovery_mode", {**STUCK, "stuck": False, "edition": "server"})


def test_an_order_removes_the_dead_by_name() -> None:
    """However they were named."""
    model = RecoveryMode(commit_indexes=(1, 1, 1, 1), dead="D C")
    assert actions_of(model, ("remove",)) == (Remove("C"), Remove("D"))


def test_an_order_is_judged_on_its_own_model() -> None:
    """Parameters of another one are refused."""
    with pytest.raises(BadInput, match="parameters of model recovery_mode"):
        order_harm((), Recovery.Parameters())


def test_a_step_with_nothing_to_do_is_passed_over() -> None:
    """No node has a history that could be cleared."""
    given = RecoveryMode.Parameters(commit_indexes=(0, 0, 0), dead="B C")
    assert order_harm(DOCUMENTED, given).breaks == ""


# -- failures, and data ----------------------------------------------------------------------------


def test_voters_come_back_to_the_larger_side() -> None:
    """A alone is cut off from two of five that are up: one more voter makes three."""
    model: Any = build("failures", {"datacenters": (5,), "racks": 5})
    s = model.start()
    assert voters_missing(s) == 0
    assert voters_missing(s.but(up=0b00111, apart=0b00001)) == 1
    assert voters_missing(s.but(up=0b00111, apart=0b00110)) == 1
    assert voters_missing(s.but(up=0b00111)) == 0


@pytest.mark.parametrize(
    ("datacenters", "rf", "rows"), [((3,), 3, 2), ((3,), 2, 0), ((4,), 3, 0), ((3, 3), 3, 3)]
)
def test_which_clusters_the_documents_have_a_table_of(
    datacenters: tuple[int, ...], rf: int, rows: int
) -> None:
    """Three nodes in each datacenter, and three replicas."""
    model: Any = build("failures", {"datacenters": datacenters, "rf": rf})
    assert len([*met_failures(model, [model.start()])]) == rows


def test_a_row_of_the_documents_is_met_by_the_last_whole_state() -> None:
    """One node is down when A changes the schema, and then behind a cut, of which no row speaks."""
    timeline = ran({}, "stop C", "alter A", "cut off A")
    model: Any = timeline.model
    states = [moment.state for moment in timeline.moments]
    (one, met), (two, unmet) = met_failures(model, states)
    assert (met, unmet) == (states[2], None)
    assert [row.covers(0b100) for row in (one, two)] == [True, False]


@pytest.mark.parametrize(
    ("together", "is_refused"),
    [("", False), ("A", True), ("A B", False), ("A B C", False), ("A B C D", True), ("A Z", True)],
)
def test_who_may_fail_at_once(together: str, is_refused: bool) -> None:
    """Two nodes or more, be they all."""
    given = {"datacenters": (3,), "together": together}
    if not is_refused:
        assert build("failures", given).name == "failures"
        return
    with pytest.raises(BadInput, match="two or more of A, B, C"):
        build("failures", given)


PLACES = (("dc1", "r1"), ("dc1", "r2"), ("dc2", "r1"), ("dc2", "r2"))


@pytest.mark.parametrize(
    ("lost", "factors", "standing"),
    [
        (0b0011, {"dc1": 1}, "unavailable"),
        (0b0001, {"dc1": 1}, "of some ranges"),
        (0b0001, {"dc1": 2}, "available"),
        (0b0111, {"dc1": 1, "dc2": 1}, "of some ranges"),
        (0b0111, {"dc1": 1, "dc2": 0}, "unavailable"),
        (0b1111, {"dc1": 1, "dc2": 1}, "unavailable"),
    ],
)
def test_where_a_replica_is_left(lost: int, factors: dict[str, int], standing: str) -> None:
    """A datacenter that lost all may lean on another one that has replicas."""
    assert lost_ranges(PLACES, lost, factors) == standing


def test_a_datacenter_without_replicas_has_no_level_of_its_own() -> None:
    """Nobody can ask there for LOCAL_QUORUM."""
    for factors, dcs in (({"dc1": 1, "dc2": 0}, ["dc1"]), ({"dc1": 1, "dc2": 1}, ["dc1", "dc2"])):
        rows = standings(PLACES, 0, factors)
        assert [each.datacenter for each in rows if each.level == "LOCAL_QUORUM"] == dcs


def test_no_level_is_met_without_replicas() -> None:
    """Nobody could answer."""
    assert not answers("ONE", {}, "")
    assert not answers("ALL", {}, "")
    assert answers("ONE", {"dc1": (1, 1)}, "dc1")


def test_a_row_of_several_failures_tells_the_worst() -> None:
    """Of three nodes two or all fail: one has to come back, or two."""
    row = FailureRow(1, "nodes", 2, 3, False, "")
    assert judged(row).back == 2
