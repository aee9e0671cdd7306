"""A cluster in which RECOVERY mode is used, on states made by hand: who hears whom, which group."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.flows import as_uuid
from kit.protocols.recovery.lost_majority import NO_GROUP, OLD
from kit.protocols.recovery.mode_cluster import MODES, ModeNode, ModeState

POST: Any = "use_post_raft_procedures"


def a_node(**given: Any) -> ModeNode:
    """A node of the old group that has nothing."""
    usual = {"standing": "live", "mode": "group 0", "value": POST, "group": OLD, "group_id": OLD}
    zeros = dict.fromkeys(("discovery", "history", "columns", "version", "applied"), 0)
    return ModeNode(**{**usual, **zeros, **given})


def cluster(*nodes: ModeNode, **given: Any) -> ModeState:
    """These nodes; the old group has all of them, unless that is given."""
    faults = dict.fromkeys(("crashes", "deaths", "returns", "changes", "mistypes"), 0)
    usual: Any = {"groups": ((1 << len(nodes)) - 1,), "logs": ((),), **faults}
    return ModeState(nodes=nodes, **{**usual, **given})


NODE = a_node()
DOWN = a_node(mode="down")
DEAD = a_node(standing="dead", mode="down")
RETURNED = a_node(standing="returned")
REMOVED = a_node(standing="removed", mode="down")
RECOVERS = a_node(mode="recovery", group=NO_GROUP)
UPGRADES = a_node(mode="upgrade", value="", group=NO_GROUP, group_id=NO_GROUP)
SECOND = a_node(group=1, group_id=1)
THIRD = a_node(group=2, group_id=2)


@pytest.mark.parametrize(
    ("version", "columns", "hashed", "schema", "number", "text"),
    [
        (0, 0, True, (True, 0), 1 << 100, "hash of columns none"),
        (-1, 0b11, True, (True, 3), (1 << 100) + 3, "hash of columns 1+2"),
        (1, 0b11, False, (False, 1), 1, "v1 of group 0"),
        (2, 0, False, (False, 2), 2, "v2 of group 0"),
    ],
)
def test_the_schema_version_of_a_node(
    version: int, columns: int, hashed: bool, schema: tuple[bool, int], number: int, text: str
) -> None:
    """A hash of its columns where a tombstone or nobody wrote it; else what group 0 wrote."""
    node = a_node(version=version, columns=columns)
    assert (node.hashed, node.schema_version, node.version_text) == (hashed, schema, text)
    assert node.version_id == as_uuid(number)


@pytest.mark.parametrize(
    ("mode", "text", "is_up", "waits"),
    [
        ("down", "down", False, False),
        ("group 0", "group 0", True, False),
        ("upgrade", "Raft upgrade", True, True),
        ("synchronize", "synchronize", True, True),
        ("recovery", "RECOVERY mode", True, False),
    ],
)
def test_the_mode_of_a_node(mode: Any, text: str, is_up: bool, waits: bool) -> None:
    """It waits for a group while it upgrades and has none."""
    node = a_node(mode=mode, group=NO_GROUP)
    assert (node.mode_text, node.is_up, node.waits_for_group) == (text, is_up, waits)
    assert not replace(node, group=OLD).waits_for_group


@pytest.mark.parametrize(
    ("standing", "counts"), [("live", True), ("dead", False), ("returned", False)]
)
def test_whom_the_operator_counts_on(standing: Any, counts: bool) -> None:
    """Nobody that was given up."""
    assert a_node(standing=standing).takes_part is counts


@pytest.mark.parametrize(("history", "taken"), [(0, False), (1, True), (2, False)])
def test_a_command_takes_effect_on_what_it_builds_on(history: int, taken: bool) -> None:
    """Then its column is there, and it has written the version."""
    node = a_node(history=history, columns=0b1, version=1)
    after = replace(node, history=3, columns=0b101, version=3)
    assert node.applying(1, 3) == (after if taken else node)


@pytest.mark.parametrize(
    ("nodes", "isolated", "hears"),
    [
        ((NODE, NODE), False, True),
        ((NODE, DOWN), False, False),
        ((DOWN, DOWN), False, False),
        ((NODE, RETURNED), False, True),
        ((NODE, RETURNED), True, False),
        ((RETURNED, RETURNED), True, True),
    ],
)
def test_who_hears_whom(nodes: tuple[ModeNode, ModeNode], isolated: bool, hears: bool) -> None:
    """Both are up, on one side of the firewall."""
    state = cluster(*nodes, isolated=isolated)
    assert state.hears(0, 1) is state.hears(1, 0) is hears
    own = nodes[0].is_up
    assert state.heard(0, 0b11) == own | hears << 1
    assert state.unheard(0, 0b11) == (not own) | (not hears) << 1
    assert state.heard(0, 0b10) == hears << 1


@pytest.mark.parametrize(
    ("nodes", "given", "running", "commits"),
    [
        ((NODE, NODE, NODE), {}, 0b111, True),
        ((NODE, NODE, DOWN), {}, 0b011, True),
        ((NODE, DOWN, DOWN), {}, 0b001, False),
        ((NODE, SECOND, NODE), {"groups": (0b101, 0b010)}, 0b101, True),
        ((NODE, NODE, NODE), {"groups": (0b011,)}, 0b011, True),
        ((NODE, NODE, DOWN), {"voters": (0b110,)}, 0b011, False),
        ((NODE, DOWN, DOWN), {"voters": (0b001,)}, 0b001, True),
        ((SECOND, DEAD, DEAD), {"groups": (0b111, 0b001)}, 0b001, True),
        ((RECOVERS, NODE, NODE), {}, 0b001, False),
        ((RECOVERS, RECOVERS, RECOVERS), {}, 0b111, False),  # they run in no group together
    ],
)
def test_who_may_commit(
    nodes: tuple[ModeNode, ...], given: dict[str, Any], running: int, commits: bool
) -> None:
    """A majority of its group's voters, of the members that run in it and are heard."""
    state = cluster(*nodes, **given)
    assert state.running(0) == running
    assert state.may_commit(0) is commits


@pytest.mark.parametrize(
    ("nodes", "changes", "answering", "remover"),
    [
        ((NODE, NODE, NODE), True, 0b111, 0),
        ((NODE, DOWN, NODE), True, 0b101, 0),
        ((DOWN, NODE, NODE), True, 0b110, 1),
        ((NODE, DEAD, DEAD), False, 0b001, None),
        ((RECOVERS, DEAD, DEAD), False, 0b001, 0),
        ((NODE, NODE, RECOVERS), True, 0b111, 2),  # who is in RECOVERY mode comes first
        ((DOWN, RECOVERS, RETURNED), False, 0b110, 1),
        ((a_node(mode="synchronize"), a_node(mode="upgrade"), NODE), True, 0b111, 2),
        ((a_node(mode="upgrade"), a_node(mode="upgrade"), RETURNED), False, 0b111, None),
    ],
)
def test_who_changes_the_schema_and_removes_others(
    nodes: tuple[ModeNode, ...], changes: bool, answering: int, remover: int | None
) -> None:
    """Live nodes of a group with a majority; in RECOVERY mode, nodes are removed."""
    state = cluster(*nodes)
    assert (state.can_change_schema, state.answering, state.remover) == (
        *(changes, answering, remover),
    )


@pytest.mark.parametrize(
    ("nodes", "pairs", "apart"),
    [
        ((NODE, NODE, NODE), [(0, 1), (0, 2), (1, 2)], None),
        ((NODE, DOWN, SECOND), [(0, 2)], (0, 2)),
        ((NODE, SECOND, THIRD), [(0, 1), (0, 2), (1, 2)], (0, 1)),
        ((NODE, RECOVERS, NODE), [(0, 1), (0, 2), (1, 2)], None),
        ((RECOVERS, RECOVERS, SECOND), [(0, 1), (0, 2), (1, 2)], None),
        ((replace(NODE, standing="removed"), SECOND, SECOND), [(1, 2)], None),
    ],
)
def test_two_nodes_in_different_groups(
    nodes: tuple[ModeNode, ...], pairs: list[tuple[int, int]], apart: tuple[int, int] | None
) -> None:
    """The first two that reach each other; who is removed or has no group is none of them."""
    state = cluster(*nodes)
    assert list(state.pairs()) == pairs
    assert state.in_two_groups() == apart


@pytest.mark.parametrize(
    ("nodes", "recovers"),
    [((RECOVERS, RECOVERS), True), ((RECOVERS, NODE), False), ((RECOVERS, DEAD), True),
     ((RECOVERS, DOWN), False)],
)  # fmt: skip
def test_whether_all_are_in_recovery_mode(nodes: tuple[ModeNode, ...], recovers: bool) -> None:
    """All live nodes."""
    assert cluster(*nodes).in_recovery_mode is recovers


@pytest.mark.parametrize(
    ("nodes", "groups", "whole"),
    [
        ((SECOND, SECOND), (0b11, 0b11), True),
        ((SECOND, SECOND, REMOVED), (0b111, 0b011), True),
        ((SECOND, SECOND, DEAD), (0b111, 0b011), False),
        ((SECOND, SECOND, RETURNED), (0b111, 0b011), False),
        ((SECOND, THIRD), (0b11, 0b01, 0b10), False),
        ((SECOND, replace(SECOND, mode="synchronize")), (0b11, 0b11), False),
        ((SECOND, replace(SECOND, value="recovery")), (0b11, 0b11), False),
        ((SECOND, replace(SECOND, mode="down")), (0b11, 0b11), False),
        ((SECOND, SECOND), (0b11, 0b10), True),
        ((SECOND, SECOND), (0b11, 0b11100), False),
        ((REMOVED, SECOND, SECOND), (0b111, 0b110), True),
    ],
)
def test_when_the_cluster_is_whole(
    nodes: tuple[ModeNode, ...], groups: tuple[int, ...], whole: bool
) -> None:
    """All live nodes are in one group with a majority, upgraded, and none is given up."""
    assert cluster(*nodes, groups=groups, logs=((),) * len(groups)).is_whole is whole


@pytest.mark.parametrize(
    ("nodes", "contacts", "group"),
    [
        ((UPGRADES, UPGRADES), 0b10, NO_GROUP),
        ((UPGRADES, NODE), 0b10, OLD),
        ((UPGRADES, NODE, SECOND), 0b110, 1),
        ((UPGRADES, SECOND, NODE), 0b110, 1),
        ((UPGRADES, SECOND, THIRD), 0b110, 1),
        ((UPGRADES, THIRD, SECOND), 0b110, 2),
        ((UPGRADES, REMOVED), 0, NO_GROUP),
        ((replace(UPGRADES, discovery=0b10), REMOVED), 0b10, NO_GROUP),
        ((replace(UPGRADES, discovery=0b01), REMOVED), 0, NO_GROUP),
        # B names D, which was removed; C, which is in a group, is not asked for whom it knows.
        ((UPGRADES, replace(UPGRADES, discovery=0b1000), NODE, REMOVED), 0b1110, OLD),
        ((UPGRADES, UPGRADES, replace(NODE, discovery=0b1000), REMOVED), 0b0110, OLD),
        ((UPGRADES, replace(UPGRADES, mode="down", discovery=0b1000), NODE, REMOVED), 0b0110, OLD),
        ((UPGRADES, replace(SECOND, mode="down")), 0b10, NO_GROUP),
    ],
)
def test_the_group_that_discovery_finds(
    nodes: tuple[ModeNode, ...], contacts: int, group: int
) -> None:
    """The first one of those that answer, a new one before the old."""
    state = cluster(*nodes)
    assert state.contacts(0) == contacts
    assert state.found_group(0) == group


def test_discovery_of_another_node_than_the_first() -> None:
    """B asks A while that is in the cluster."""
    assert cluster(REMOVED, UPGRADES).contacts(1) == 0
    assert cluster(UPGRADES, UPGRADES).contacts(1) == 0b01


def test_at_first_nothing_was_done() -> None:
    """No schema change, no answer, no firewall; the operator has read and compared nothing."""
    faults = dict.fromkeys(("crashes", "deaths", "returns", "changes", "mistypes"), 0)
    assert ModeState(**faults) == ModeState(
        nodes=(), groups=(), voters=(), logs=(), entries=0, answered=0, isolated=False,
        logs_read=False, compared=False, **faults,
    )  # fmt: skip


STARTS_IN = {
    "": "upgrade",
    "use_pre_raft_procedures": "upgrade",
    "synchronize": "synchronize",
    "use_post_raft_procedures": "group 0",
    "recovery": "recovery",
    "unknown": "recovery",
}


def test_every_value_has_a_mode() -> None:
    """No row is an upgrade; a value that a server does not know is recovery."""
    assert MODES == STARTS_IN


@pytest.mark.parametrize(("value", "mode"), STARTS_IN.items())
def test_how_a_node_starts(value: Any, mode: str) -> None:
    """By its value; in RECOVERY mode in no group."""
    stopped = a_node(mode="down", value=value, group=OLD, group_id=1)
    state = cluster(stopped, DOWN, groups=(0b11, 0b11), logs=((), ()))
    group = NO_GROUP if mode == "recovery" else 1
    assert state.started(0) == replace(
        state, nodes=(replace(stopped, mode=mode, group=group), DOWN)
    )


@pytest.mark.parametrize(
    ("applied", "logs", "after"),
    [
        ((1, 0), ((0, 1), (1, 2)), ((2, 2, 0b11, 2), (2, 2, 0b11, 2))),
        ((2, 0), ((0, 1), (1, 2)), ((2, 2, 0b11, 2), (2, 2, 0b11, 2))),
        ((0, 0), ((0, 1), (1, 2)), ((2, 2, 0b11, 2), (2, 2, 0b11, 2))),
        ((2, 0), ((5, 1), (0, 2)), ((2, 2, 0b11, 2), (2, 2, 0b10, 2))),  # the first builds on none
    ],
)
def test_members_go_through_their_log(
    applied: tuple[int, int], logs: tuple[tuple[int, int], ...], after: Any
) -> None:
    """All that run in the group, to its end: what is committed is on one of them; C is down."""
    had = applied[0]
    first = a_node(applied=had, history=had, columns=(1 << had) - 1, version=had)
    state = cluster(first, a_node(applied=applied[1]), DOWN, logs=(logs,))
    now = state.caught_up(1)
    assert [(n.applied, n.history, n.columns, n.version) for n in now.nodes[:2]] == list(after)
    assert now.nodes[2] == DOWN
    alone = replace(state, nodes=(first, DOWN, DOWN))
    assert alone.caught_up(0) == alone


@pytest.mark.parametrize(
    ("mine", "theirs", "version"), [(1, 2, 2), (2, 1, 2), (1, -2, -2), (-2, 1, -2), (0, 1, 1)]
)
def test_mutations_are_merged(mine: int, theirs: int, version: int) -> None:
    """Of the version the newest stays, be it a tombstone."""
    state = cluster(a_node(columns=0b001, version=mine), a_node(columns=0b100, version=theirs))
    [first, second] = state.merged(0, 1).nodes
    assert (first.columns, first.version) == (0b101, version)
    assert second == state.nodes[1]


def test_a_group_gets_members_and_a_log() -> None:
    """An older one, or one that is new."""
    state = cluster(NODE, SECOND, groups=(0b11, 0b10), logs=((), ((0, 1),)))
    changed = state.in_group(0, 0b01, ((0, 2),))
    assert (changed.groups, changed.logs) == ((0b01, 0b10), (((0, 2),), ((0, 1),)))
    more = state.in_group(2, 0b01, ())
    assert (more.groups, more.logs) == ((0b11, 0b10, 0b01), ((), ((0, 1),), ()))


@pytest.mark.parametrize(
    ("nodes", "known", "new"),
    [
        ((NODE, NODE), {0}, 1),
        ((SECOND, NODE), {0, 1}, 2),
        ((NODE, THIRD), {0, 2}, 1),
        ((UPGRADES, UPGRADES), {NO_GROUP, 0}, 1),
        ((replace(NODE, group=2), SECOND), {0, 1, 2}, 3),
    ],
)
def test_a_group_is_founded(nodes: tuple[ModeNode, ...], known: set[int], new: int) -> None:
    """By B alone, under the first number that no node knows."""
    state = cluster(*nodes, groups=(0b11, 0b11, 0b11), logs=((), (), ((0, 1),)))
    assert state.known_groups == known
    after = state.created(1)
    assert (after.groups[new], after.logs[new]) == (0b10, ())
    assert after.nodes == (nodes[0], replace(nodes[1], group=new, group_id=new, applied=0))


@pytest.mark.parametrize(
    ("nodes", "voters", "kept"),
    [
        ((SECOND, THIRD), (1, 1, 1), ((1, 2, 3), (1, 1, 1), ("a", "b", "c"))),
        ((NODE, THIRD), (1, 1, 1), ((1, 0, 3), (1, 0, 1), ("a", (), "c"))),
        ((SECOND, SECOND), (), ((1, 2), (), ("a", "b"))),
        ((UPGRADES, NODE), (1, 1, 1), ((1,), (1,), ("a",))),
    ],
)
def test_what_is_known_of_no_node_is_forgotten(
    nodes: tuple[ModeNode, ...], voters: tuple[int, ...], kept: Any
) -> None:
    """The old group is always known; the last ones are dropped."""
    logs: Any = ("a", "b", "c")
    state = cluster(*nodes, groups=(1, 2, 3), voters=voters, logs=logs)
    after = state.forgetting()
    assert (after.groups, after.voters, after.logs) == kept
    assert after.nodes == nodes


@pytest.mark.parametrize(
    ("nodes", "numbers", "kept"),
    [
        ((SECOND, THIRD), {0: 0, 1: 1, 2: 2}, ((1, 2, 3), (4, 5, 6), ("a", "b", "c"))),
        ((THIRD, SECOND), {0: 0, 2: 1, 1: 2}, ((1, 3, 2), (4, 6, 5), ("a", "c", "b"))),
        ((UPGRADES, THIRD), {0: 0, 2: 1}, ((1, 3), (4, 6), ("a", "c"))),
        (
            (replace(NODE, group_id=2, group=1), NODE),
            {0: 0, 2: 1, 1: 2},
            ((1, 3, 2), (4, 6, 5), ("a", "c", "b")),
        ),
    ],
)
def test_groups_are_numbered_as_nodes_know_them(
    nodes: tuple[ModeNode, ...], numbers: dict[int, int], kept: Any
) -> None:
    """The old one first, then as ids and groups of one node after the other name them."""
    logs: Any = ("a", "b", "c")
    state = cluster(*nodes, groups=(1, 2, 3), voters=(4, 5, 6), logs=logs)
    after, to = state.renumbered()
    assert to == numbers
    assert (after.groups, after.voters, after.logs) == kept
    to[NO_GROUP] = NO_GROUP
    assert [(n.group_id, n.group) for n in after.nodes] == [
        (to[n.group_id], to[n.group]) for n in nodes
    ]
    assert replace(state, voters=()).renumbered()[0].voters == ()
