"""What is told of clusters on the way into Raft, by hand: who has finished, who may commit."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.protocols.upgrade.raft_upgrade import CatchUp
from kit.protocols.upgrade.rules import BUILDING, DONE, NOT_UPGRADED, POST, RECOVERY, SYNCHRONIZE
from kit.protocols.upgrade.topology_upgrade import Cluster as TopologyCluster
from kit.protocols.upgrade.topology_upgrade import TopologyNode

NOBODY = -1


def raft(*nodes: dict[str, Any], **cells: Any) -> tuple[Any, Any]:
    """The model of the Raft upgrade, and a state in which nodes differ so from its first one."""
    model: Any = build("raft_upgrade", {"nodes": len(nodes)})
    state = model.start().but(**cells)
    for number, of_node in enumerate(nodes):
        state = state.at(number, **of_node)
    return model, state


FINISHED = {"state": POST, "group": 1}
JOINED = {"group": 1}
LOST = {"status": "lost", "serves": False}
DOWN = {"status": "down", "serves": False}


@pytest.mark.parametrize(
    ("nodes", "entries", "finished", "needs_recovery"),
    [
        ((FINISHED, FINISHED, FINISHED), (0,), True, False),
        ((FINISHED, FINISHED, LOST), (0,), True, False),
        ((FINISHED, FINISHED, DOWN), (0,), False, False),
        ((FINISHED, FINISHED, {**FINISHED, "serves": False}), (0,), False, False),
        ((FINISHED, FINISHED, JOINED), (0,), False, False),
        # Who is left has to wait for somebody who never comes, be it one of two.
        ((FINISHED, JOINED, LOST), (0,), False, True),
        ((JOINED, JOINED, LOST), (0,), False, True),
        ((FINISHED, FINISHED, FINISHED), (0, 0), True, True),
        ((FINISHED, FINISHED, {"state": RECOVERY}), (0,), False, True),
    ],
)
def test_whether_it_is_over(
    nodes: tuple[dict[str, Any], ...],
    entries: tuple[int, ...],
    finished: bool,
    needs_recovery: bool,
) -> None:
    """With every node that is left, or by manual recovery alone."""
    _, state = raft(*nodes, entries=entries)
    assert (state.is_finished, state.needs_recovery) == (finished, needs_recovery)


@pytest.mark.parametrize(
    ("nodes", "majority"),
    [
        (({}, {}, {}), [False, False, False]),
        ((JOINED, JOINED, {}), [True, True, False]),
        ((JOINED, {**JOINED, **DOWN}, {}), [False, False, False]),
        ((JOINED, JOINED, {**JOINED, **DOWN}), [True, True, False]),
    ],
)
def test_who_reaches_a_majority(nodes: tuple[dict[str, Any], ...], majority: list[bool]) -> None:
    """Of its group; who is in none has no majority of those that are in none either."""
    _, state = raft(*nodes, entries=(0,))
    assert [state.has_majority(node) for node in range(3)] == majority


@pytest.mark.parametrize(
    ("nodes", "pairs"),
    [
        ((FINISHED, {}, {}), {(0, 1), (0, 2)}),
        (({}, {}, {}), set()),
        ((FINISHED, {"state": SYNCHRONIZE}, {"state": RECOVERY}), set()),
    ],
)
def test_who_talks_to_one_that_has_finished(
    nodes: tuple[dict[str, Any], ...], pairs: set[tuple[int, int]]
) -> None:
    """As long as no node is in RECOVERY mode."""
    _, state = raft(*nodes)
    assert {*state.beside_finished()} == pairs


@pytest.mark.parametrize(
    ("one", "other", "breaks"),
    [
        ({"schema": 1, "applied": 2}, {"schema": 3, "applied": 2}, True),
        ({"schema": 1, "applied": 2}, {"schema": 1, "applied": 2}, False),
        ({"schema": 1, "applied": 2}, {"schema": 3, "applied": 1}, False),
        ({"schema": 1, "applied": 0}, {"schema": 3, "applied": 0}, False),
        ({"schema": 1, "applied": 2}, {"schema": 3, "applied": 2, "group": 2}, False),
        ({"schema": 1, "applied": 2}, {"schema": 3, "applied": 2, "state": SYNCHRONIZE}, False),
    ],
)
def test_the_same_commands_make_the_same_schema(
    one: dict[str, Any], other: dict[str, Any], breaks: bool
) -> None:
    """In one group, and of nodes that have finished."""
    for nodes in ((one, other), (other, one)):
        model, state = raft(*({**FINISHED, **each} for each in nodes), entries=(2, 2))
        assert (model.one_base(state) is not None) is breaks


@pytest.mark.parametrize(
    ("nodes", "may_die"), [(({}, {}, {}), 0b111), ((LOST, {}, {}), 0b110), ((LOST, LOST, {}), 0)]
)
def test_one_node_stays(nodes: tuple[dict[str, Any], ...], may_die: int) -> None:
    """Of two either may be lost, the last one not."""
    model, state = raft(*nodes)
    assert model.expendable(state) == may_die


@pytest.mark.parametrize(
    ("name", "entries"), [("A", (5, 6, 8)), ("B", (4, 7, 8)), ("C", (4, 6, 9))]
)
def test_a_command_is_one_of_its_group(name: str, entries: tuple[int, ...]) -> None:
    """Of three groups, each of one node, that have 4, 6 and 8 commands."""
    nodes = ({**FINISHED, "group": number} for number in (1, 2, 3))
    model, state = raft(*nodes, entries=(4, 6, 8), changes=1)
    action, refusal = model.find(state, f"alter {name}")
    assert refusal is None
    after = model.act(state, action)
    assert after.entries == entries
    assert [each.applied for each in after.nodes] == [
        count if who == name else 0 for who, count in zip("ABC", entries, strict=True)
    ]


def topology(*nodes: dict[str, Any], **cells: Any) -> TopologyCluster:
    """A cluster of the topology upgrade with these nodes."""
    return TopologyCluster(nodes=tuple(TopologyNode(**each) for each in nodes), **cells)


READS = {"view": DONE, "reads_table": True}


@pytest.mark.parametrize(
    ("nodes", "ended"),
    [
        ((READS, READS), True),
        ((READS, {**READS, "is_up": False}), False),
        ((READS, {**READS, "view": BUILDING}), False),
        ((READS, {**READS, "standing": "joining"}), False),
        ((READS, {"standing": "outside", "is_up": False}), True),
    ],
)
def test_when_the_topology_upgrade_has_ended(
    nodes: tuple[dict[str, Any], ...], ended: bool
) -> None:
    """Once all members are up and know it; who is outside counts for nothing."""
    model: Any = build("topology_upgrade", {"nodes": 2})
    assert model.is_ended(topology(*nodes, upgrade_state=DONE)) is ended


@pytest.mark.parametrize(
    ("up", "leader", "breaks"),
    [(2, 0, False), (1, 0, True), (2, NOBODY, True), (1, NOBODY, True)],
)
def test_only_a_majority_commits(up: int, leader: int, breaks: bool) -> None:
    """Of three members two: before the step; and after it one of them leads."""
    model: Any = build("topology_upgrade", {"nodes": 3})
    before = topology(*({"is_up": number < up} for number in range(3)))
    action = next(action for action, _ in model.successors(model.start()))
    assert (model.majority(before, action, before.but(leader=leader)) is not None) is breaks


@pytest.mark.parametrize(
    ("reads", "state", "after"),
    [
        (False, NOT_UPGRADED, False),
        (False, BUILDING, False),
        (False, DONE, True),
        # Who has joined by a request reads the table, whenever it was served.
        (True, BUILDING, True),
        (True, DONE, True),
    ],
)
def test_from_done_on_the_table_is_read(reads: bool, state: Any, after: bool) -> None:
    """A node that has applied all has the state of all."""
    node = topology({"reads_table": reads}, upgrade_state=state).knows(0).nodes[0]
    assert (node.view, node.reads_table) == (state, after)


@pytest.mark.parametrize(("applied", "source"), [((1, 2), "B"), ((2, 1), "A"), ((2, 2), "A")])
def test_the_newest_schema_comes_from_who_has_it(applied: tuple[int, int], source: str) -> None:
    """C has missed two commands; whom it asks first may have missed one."""
    nodes = [{**FINISHED, "applied": count} for count in applied]
    model, state = raft(*nodes, {**FINISHED, "serves": False}, entries=(2,))
    action = CatchUp("C")
    after = model.act(state, action)
    assert after.nodes[2].applied == 2
    [travel] = model.newest_schema(state, action, after)
    assert (travel.source, travel.target, travel.label) == (source, "C", "newest schema")
