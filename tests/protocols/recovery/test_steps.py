"""The steps of a recovery one by one: leader, restarts, gossip, removal, what is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kit.console.drill import open_drill
from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD
from kit.protocols.recovery.recovering_cluster import GossipDigest, reception
from kit.protocols.recovery.rules.availability import after_deaths
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.protocols.recovery.runs import SEED_STEPS, node, played, refused, witnesses
from tests.views.frames import panel_text

FIVE: dict[str, Any] = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}
LOST: dict[str, Any] = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E"}


@pytest.mark.spec("G-026")
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_the_suggested_steps_end_the_recovery(edition: str) -> None:
    """In each edition's order, down to the last cleaned rows."""
    model, state = played({**FIVE, "edition": edition})
    verbs = []
    while (action := model.suggest(state)) is not None:
        verbs.append(model.verb(action))
        state = model.act(state, action)
    assert {p.name: p.check(state) for p in model.properties if p.kind == "goal"} == {"ends": True}
    first = ["delete A", "delete B", "choose B", "set A", "set B"]
    if edition == "server":
        first = ["isolate", "read", "choose B", "delete A", "delete B", "set A", "set B"]
    first += ["restart B", "restart A", "removenode C", "removenode D", "removenode E"]
    assert verbs[: len(first)] == first
    assert ("unset A" in verbs) == (edition == "server")
    assert verbs[-2:] == ["clean A", "clean B"]


def test_a_removed_node_leaves_no_group_schema_data_or_rows() -> None:
    """No new group counts it as a member."""
    steps = (*SEED_STEPS, "restart B", "restart A", "removenode C")
    model, state = played(FIVE, *steps)
    gone = node(model, state, "C")
    assert (gone.status, gone.group, gone.group_id) == ("removed", NO_GROUP, NO_GROUP)
    assert (gone.option, gone.columns, gone.data, gone.old_rows) == (NOBODY, 0, 0, False)
    assert not any(members >> 2 & 1 for members in state.groups[1:])


@pytest.mark.parametrize("verb", ["removenode C", "replace C"])
def test_a_node_that_is_heard_is_neither_removed_nor_replaced(verb: str) -> None:
    """C is back: alive without the firewall, and as dead as before behind it."""
    steps = (*SEED_STEPS, "restart B", "restart A")
    given = {**FIVE, "dead": "C D E", "returns": 1, "crashes": 1}
    for isolated in (True, False):
        off = () if isolated else ("isolation",)
        model, state = played(given, *steps, "return C", off=off)
        assert ("the node is alive" in refused(model, state, verb)) is not isolated


def test_a_replacement_has_the_new_groups_schema_and_no_old_data() -> None:
    """C runs in the new group, without rows of its own old group."""
    model, state = played({**FIVE, "writes": 1}, *SEED_STEPS, "restart B", "restart A", "replace C")
    fresh, leader = node(model, state, "C"), node(model, state, "B")
    assert (fresh.status, fresh.group, fresh.columns) == ("up", leader.group, leader.columns)
    assert (fresh.data, fresh.option, fresh.old_rows) == (0, NOBODY, False)


@pytest.mark.spec("G-027")
def test_only_a_node_with_the_latest_commit_index_may_lead() -> None:
    """A knows of 10 entries, B of 11."""
    model, state = played(FIVE, *SEED_STEPS[:2])
    assert "latest commit index" in refused(model, state, "choose A")
    assert refused(model, state, "choose B") == ""


def test_a_wrong_recovery_leader_takes_a_column_from_the_others() -> None:
    """A leads with 10, B joins with 11: column 11 is gone, the data in it are not."""
    given = {**FIVE, "writes": 1}
    steps = "delete A, delete B, choose A, set A, set B, restart A".split(", ")
    model, state = played(given, "write B column 11", *steps, off=("latest-index",))
    assert not witnesses(model, state)
    action, _ = model.find(state, "restart B")
    after = model.act(state, action)
    assert node(model, after, "B").index == 10
    assert "column 11" in witnesses(model, after)["INV-CAUSAL"]
    assert "B's schema loses column 11" in model.describe(state, action, after)


def test_the_recovery_leader_restarts_first_and_gives_its_state_to_the_others() -> None:
    """A waits for the group of B, then has its 11 entries."""
    model, state = played(FIVE, *SEED_STEPS)
    assert "not created its group" in refused(model, state, "restart A")
    model, state = played(FIVE, *SEED_STEPS, "restart B", "restart A")
    assert node(model, state, "A").index == 11
    assert node(model, state, "A").group == node(model, state, "B").group == 1


def test_a_node_without_group_id_and_recovery_leader_refuses_to_start() -> None:
    """Edition server; with the option it starts in the new group."""
    steps = ("isolate", "read", "choose B", "delete A", "delete B", "set B", "restart B")
    model, state = played({**FIVE, "edition": "server"}, *steps)
    assert node(model, state, "A").option == NOBODY
    action, _ = model.find(state, "restart A")
    after = model.act(state, action)
    assert (node(model, after, "A").status, node(model, after, "A").group) == ("down", NO_GROUP)
    assert "refuses to start" in model.describe(state, action, after)
    for verb in ("set A", "restart A"):
        after = model.act(after, model.find(after, verb)[0])
    assert (node(model, after, "A").status, node(model, after, "A").group) == ("up", 1)


def test_losing_an_entry_that_only_the_dead_had_breaks_nothing() -> None:
    """Entry 12 is nowhere in the new group; no live node may write data in its column."""
    model, state = played({**LOST, "writes": 1}, "write B column 11", *SEED_STEPS)
    assert "has not persisted the entry for column" in refused(
        *played({**LOST, "writes": 1}), "write B column 12"
    )
    for verb in ("restart B", "restart A"):
        state = model.act(state, model.find(state, verb)[0])
    assert [node(model, state, name).index for name in "AB"] == [11, 11]
    assert not witnesses(model, state)


def test_without_causality_data_stored_too_early_lose_their_column() -> None:
    """B stores data in column 12, which no leader knows."""
    model, state = played({**LOST, "writes": 1}, "write B column 12", *SEED_STEPS,
                          off=("causality",))  # fmt: skip
    assert not witnesses(model, state)
    state = model.act(state, model.find(state, "restart B")[0])
    assert "B has data in column 12" in witnesses(model, state)["INV-CAUSAL"]


@pytest.mark.spec("G-022")
def test_a_returned_node_of_the_old_group_is_heard_unless_isolated() -> None:
    """C talks with A, which has ``recovery_leader`` set; a firewall stops it."""
    given = {**FIVE, "returns": 1}
    model, state = played(given, *SEED_STEPS, "restart B", "restart A", "return C")
    assert not witnesses(model, state)
    assert (0, 2) not in set(state.talking("documents"))
    assert refused(model, state, "removenode C") == ""
    model, state = played(given, *SEED_STEPS, "restart B", "return C", off=("isolation",))
    assert "old group talk as one cluster" in witnesses(model, state)["INV-ONEGROUP"]


# groups, recovery leaders (-1: not set), who is behind the firewall -> whether gossip passes, why
DIFFER = "their recovery_leader options differ"
GOSSIP: list[Any] = [
    ((0, 0), (-1, -1), (0, 0), True, "their group ids are the same"),
    ((0, 1), (-1, -1), (0, 0), False, "their group ids differ"),
    ((0, 1), (-1, 0), (0, 0), True, "recovery_leader is set"),
    ((0, 1), (0, 0), (0, 0), True, "recovery_leader is set"),
    ((1, 1), (0, -1), (0, 0), True, "their group ids are the same"),
    ((0, 1), (-1, 0), (1, 0), False, "firewall"),
    ((0, 1), (-1, 0), (1, 1), True, "recovery_leader is set"),
]


# the same where two leaders are named, by edition
NAMED: list[Any] = [
    ("documents", (0, 1), True, "recovery_leader is set"),
    ("documents", (1, 1), True, "their group ids are the same"),
    ("server", (0, 1), False, DIFFER),
    ("server", (1, 1), False, DIFFER),
]


@pytest.mark.spec("G-033")
@pytest.mark.parametrize(
    ("edition", "groups", "leaders", "walls", "passes", "why"),
    [
        *((edition, *row) for row in GOSSIP for edition in EDITIONS),
        *((edition, ids, (0, 1), (0, 0), *row) for edition, ids, *row in NAMED),
    ],
)
def test_gossip_passes_by_group_id_recovery_leader_and_firewall(
    edition: Edition,
    groups: tuple[int, int],
    leaders: tuple[int, int],
    walls: tuple[int, int],
    passes: bool,
    why: str,
) -> None:
    """Other ids pass while a leader is set; the server also wants the same leader on both sides."""
    a, b = (
        GossipDigest(group, leader, bool(wall))
        for group, leader, wall in zip(groups, leaders, walls, strict=True)
    )
    for sender, receiver in ((a, b), (b, a)):
        accepted, reason = reception(sender, receiver, edition)
        assert accepted is passes
        assert why in reason


def test_the_old_and_the_new_group_gossip_during_the_restarts() -> None:
    """B runs in the new group, A still in the old one."""
    model, state = played(FIVE, *SEED_STEPS, "restart B")
    assert (node(model, state, "A").group, node(model, state, "B").group) == (0, 1)
    assert set(state.talking("documents")) == {(0, 1)}
    assert not witnesses(model, state)


@pytest.mark.spec("G-030")
def test_a_removal_needs_the_other_dead_to_be_ignored() -> None:
    """With C, D and E dead; once C and D are gone, E needs nobody ignored."""
    model, state = played(FIVE, *SEED_STEPS, "restart B", "restart A")
    assert "dead but not ignored" in refused(model, state, "removenode C alone")
    for verb in ("removenode C", "replace D"):
        state = model.act(state, model.find(state, verb)[0])
    assert refused(model, state, "removenode E alone") == ""
    fresh = node(model, state, "D")
    assert (fresh.status, fresh.group, fresh.index, fresh.old_rows) == ("up", 1, 11, False)


def test_an_operation_under_way_ends_before_a_dead_node_is_removed() -> None:
    """The operation rolls back, as the dead answer no barrier; removal is refused at first."""
    model, state = played({**FIVE, "operation": True}, *SEED_STEPS, "restart B", "restart A")
    assert "in progress" in refused(model, state, "removenode C")
    for operation in ("rollback_to_normal", "tablet_migration", "rolled back"):
        state = model.act(state, model.find(state, "coordinate")[0])
        assert state.operation == operation
        removed = model.act(state, model.find(state, "removenode C")[0])
        assert removed.operation == "rolled back"


def test_a_death_of_the_recovery_leader_starts_the_recovery_again() -> None:
    """B led, A joined, B dies: A alone is no majority of two, and leads a group of its own."""
    given = {"commit_indexes": (1, 2, 2, 2), "dead": "C D", "deaths": 1}
    model, state = played(given, *SEED_STEPS, "restart B", "restart A", "die B")
    assert state.abandoned == 0
    state = model.act(state, model.find(state, "choose A")[0])
    assert state.abandoned == 1
    for verb in ("delete A", "set A", "restart A"):
        state = model.act(state, model.find(state, verb)[0])
    assert (node(model, state, "A").group, state.groups[2]) == (2, 1)
    assert node(model, state, "B").group == NO_GROUP


SEVEN: dict[str, Any] = {"edition": "server", "commit_indexes": (2,) * 7, "dead": "A B C"}
TWO: dict[str, Any] = {"edition": "server", "commit_indexes": (1, 2, 2, 2), "dead": "C D"}
WALK = ("isolate", "read", "choose B", "delete A", "delete B", "set A", "set B", "restart B")


def to_the_end(given: dict[str, Any]) -> Timeline:
    """The suggested steps, as far as there are any."""
    timeline = Timeline(build("recovery", given))
    return played_out(timeline)


def test_three_dead_voters_of_seven_nodes_lose_the_majority() -> None:
    """Five vote: four nodes live, none can commit, and the recovery ends."""
    model, state = played({**SEVEN, "changes": 1})
    assert state.voters == (after_deaths("server", model.places, [0b111]).voters,)
    assert refused(model, state, "alter D") == "this group 0 has no majority"
    end = to_the_end(SEVEN)
    assert not [verdict for verdict in end.verdicts() if not verdict.ok]
    assert end.model.is_recovered(end.state)


@pytest.mark.parametrize("dead", ["F G", "A B", "A"])
def test_a_cluster_that_keeps_a_majority_of_voters_has_nothing_to_recover(dead: str) -> None:
    """Of seven nodes five vote; with all seven voting, three dead are no majority."""
    with pytest.raises(BadInput, match="no majority of the voters is alive"):
        build("recovery", {**SEVEN, "dead": dead})
    with pytest.raises(BadInput, match="not a majority"):
        build("recovery", {**SEVEN, "edition": "documents"})


def test_a_returned_voter_brings_the_old_group_its_majority_back() -> None:
    """Three of five hear each other and choose again; behind a firewall it cannot."""
    given = {**SEVEN, "changes": 1, "returns": 1}
    begun = ("read", "choose D", "delete D")
    _, state = played(given, *begun, "return A", off=("isolation",))
    assert state.may_commit(OLD)
    assert (state.voters[OLD] & 0b1111001).bit_count() == 4
    _, state = played(given, "isolate", *begun, "return A")
    assert not any(state.may_commit(OLD, side) for side in (False, True))


def test_of_two_live_nodes_the_recovery_leader_alone_votes() -> None:
    """The new group outlives the death of the other one, and not that of its voter."""
    given = {**TWO, "deaths": 1}
    model, state = played(given, *WALK, "restart A")
    group = node(model, state, "B").group
    assert (state.groups[group], state.voters[group]) == (0b0011, 0b0010)
    _, without_a = played(given, *WALK, "restart A", "die A")
    assert without_a.may_commit(group)
    _, without_b = played(given, *WALK, "restart A", "die B")
    assert without_b.recoverable == -1
    assert without_b.needs_leader


def test_the_new_group_has_at_most_five_voters() -> None:
    """Of six live nodes five vote, and the panel says so."""
    end = to_the_end({"edition": "server", "commit_indexes": (1,) * 9, "dead": "A B C"})
    _, votes = end.state.voters
    assert (end.state.groups[1].bit_count(), votes.bit_count()) == (6, 5)
    assert "vote: 5 of 5 voters run; 3 are needed" in panel_text(end, "groups")


def test_the_drill_shows_can_vote_false_for_the_members_without_a_vote() -> None:
    """Two of seven; a read barrier times out without a majority of the voters."""
    drill = open_drill("recovery/voters-die-at-once")
    assert drill.enter("POST /raft/read_barrier").error.endswith(
        "timed out: 2 of 5 voters answered, 3 are needed"
    )
    rows = drill.enter("SELECT server_id, can_vote FROM system.raft_state").lines
    assert sum(line.endswith("False") for line in rows) == 2


@pytest.mark.deep
def test_a_recovery_of_seven_nodes_breaks_nothing_in_any_order() -> None:
    """With a crash and a return at any moment."""
    found = check(build("recovery", {**SEVEN, "crashes": 1, "returns": 1}))
    assert (found.verdict, found.violation) == ("complete", None)
