"""What is told of clusters on the way into Raft, by hand: who has finished, who may commit."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.upgrade import facts
from kit.protocols.upgrade.raft_upgrade import Alter, CatchUp, Compare, Retry
from kit.protocols.upgrade.rules import (
    BUILDING,
    DONE,
    NOT_UPGRADED,
    POST,
    PRE,
    RECOVERY,
    SYNCHRONIZE,
)
from kit.protocols.upgrade.topology_upgrade import Cluster as TopologyCluster
from kit.protocols.upgrade.topology_upgrade import TopologyNode
from kit.protocols.upgrade.upgrading_cluster import UpgradingNode

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
    ("nodes", "company"),
    [
        ((JOINED, JOINED, JOINED), 0b111),
        ((JOINED, {"group": 2}, {}), 0b001),
        ((JOINED, {**JOINED, **DOWN}, JOINED), 0b101),
        ((JOINED, {**JOINED, "state": RECOVERY}, JOINED), 0b101),
    ],
)
def test_with_whom_a_node_is_in_its_group(nodes: tuple[dict[str, Any], ...], company: int) -> None:
    """Not with one that is down, nor with one in RECOVERY mode, which asks no group."""
    _, state = raft(*nodes, entries=(0, 0))
    assert state.company(0) == company


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


@pytest.mark.parametrize(
    ("state", "group", "compared", "position", "goes_on"),
    [
        (PRE, 0, False, 0, True),
        (PRE, 1, False, 1, True),
        (PRE, 1, True, 2, True),
        (SYNCHRONIZE, 1, False, 3, True),
        (SYNCHRONIZE, 1, True, 4, True),
        (POST, 1, False, 5, False),
        (RECOVERY, 0, False, 0, False),
        (RECOVERY, 1, False, 0, False),
    ],
)
def test_how_far_a_node_is(
    state: Any, group: int, compared: bool, position: int, goes_on: bool
) -> None:
    """In RECOVERY mode it is nowhere, whatever group it was in, and does not go on."""
    node = UpgradingNode(has_feature=True, state=state, group=group, compared=compared)
    assert node.position == position
    assert [at for at in range(6) if node.is_upgrading(at)] == [position] * goes_on
    assert not node.but(has_feature=False).is_upgrading(position)
    assert not node.but(status="down").is_upgrading(position)


@pytest.mark.parametrize(
    ("cut", "linked"),
    [
        ((), (0b110, 0b101, 0b011)),
        (((1, 2),), (0b110, 0b001, 0b001)),
        (((0, 2), (1, 2)), (0b010, 0b001, 0)),
    ],
)
def test_who_reaches_whom(cut: tuple[tuple[int, int], ...], linked: tuple[int, ...]) -> None:
    """A cut takes either from the other, and nobody else."""
    _, state = raft({}, {}, {}, cut=cut)
    assert tuple(state.linked(node) for node in range(3)) == linked


@pytest.mark.parametrize(
    ("node", "source", "cut", "pulled"),
    [
        ({}, {"schema": 0b1110}, (), 0b1110),
        ({"schema": 0b1010}, {"schema": 0b0110}, (), 0b0100),
        ({}, {"schema": 0b0001}, (), 0),  # the definition that nobody else can take over
        ({}, {"schema": 0b0010}, ((0, 1),), 0),
        ({}, {"schema": 0b0010, **DOWN}, (), 0),
        (DOWN, {"schema": 0b0010}, (), 0),
        (FINISHED, {"schema": 0b0010}, (), 0),
        (FINISHED, {"schema": 0b0010}, ((0, 1),), 0),
    ],
)
def test_what_gossip_brings(
    node: dict[str, Any], source: dict[str, Any], cut: tuple[tuple[int, int], ...], pulled: int
) -> None:
    """What a node lacks and another has that it reaches, until group 0 has its schema."""
    _, state = raft(node, source, cut=cut)
    assert state.to_pull(0, 1) == pulled


def test_who_lacks_commands_of_its_group() -> None:
    """Groups have 0 and 3: who has 2 of the second lacks one; who is in none lacks none."""
    nodes = ({"group": 1}, {"group": 2, "applied": 2}, {"group": 2, "applied": 3}, {})
    _, state = raft(*nodes, entries=(0, 3))
    assert [state.is_behind(node) for node in state.nodes] == [False, True, False, False]


@pytest.mark.parametrize(
    ("nodes", "may"),
    [
        ((FINISHED, {**FINISHED, "applied": 2}, {**FINISHED, **DOWN}), 0b001),
        ((FINISHED, {**FINISHED, **DOWN}, {**FINISHED, **DOWN}), 0),
        (({**FINISHED, "serves": False}, {**FINISHED, **DOWN}, {**FINISHED, **DOWN}), 0b001),
        (({**FINISHED, "state": RECOVERY, "serves": False}, FINISHED, FINISHED), 0b110),
    ],
)
def test_who_catches_up(nodes: tuple[dict[str, Any], ...], may: int) -> None:
    """Who does not serve yet; and who lacks commands of a majority that it reaches."""
    model, state = raft(*nodes, entries=(2,))
    assert model.catching_up(state) == may


def test_a_node_that_catches_up_keeps_what_it_has() -> None:
    """Its own changes, those of the member that has most, and the commands of its own group."""
    second = {**FINISHED, "group": 2}
    model, state = raft(
        {**second, "schema": 0b0010},
        {**second, "schema": 0b1000, "applied": 1},
        {**second, "schema": 0b0101, "applied": 2},
        entries=(7, 2),
    )
    node = model.act(state, CatchUp("A")).nodes[0]
    assert (node.schema, node.applied, node.by_group0) == (0b0111, 2, True)


@pytest.mark.parametrize(
    ("nodes", "breaks"),
    [
        ((FINISHED, FINISHED, {**FINISHED, **DOWN}), False),
        ((FINISHED, {**FINISHED, **DOWN}, {**FINISHED, **DOWN}), True),
        ((JOINED, {**JOINED, **DOWN}, {**JOINED, **DOWN}), False),  # by gossip
    ],
)
def test_group_0_changes_the_schema_by_a_majority(
    nodes: tuple[dict[str, Any], ...], breaks: bool
) -> None:
    """Before the upgrade has finished a node asks nobody."""
    model, state = raft(*nodes, entries=(0,))
    said = "A changed the schema without reaching a majority of group 0"
    assert model.majority(state, Alter("A"), state) == (said if breaks else None)


@pytest.mark.parametrize(
    ("was", "now", "breaks"),
    [
        (PRE, PRE, False),
        (PRE, SYNCHRONIZE, False),
        (SYNCHRONIZE, POST, False),
        (RECOVERY, PRE, False),
        (POST, RECOVERY, False),
        (RECOVERY, RECOVERY, False),
        (PRE, POST, True),
        (POST, SYNCHRONIZE, True),
        (SYNCHRONIZE, PRE, True),
    ],
)
def test_a_state_follows_another(was: Any, now: Any, breaks: bool) -> None:
    """Of any node: A stays as it is, B moves."""
    model, state = raft({}, {"state": was})
    said = f"B went from {was} to {now}" if breaks else None
    assert model.in_order(state, None, state.at(1, state=now)) == said


@pytest.mark.parametrize(
    ("nodes", "held"),
    [((JOINED, JOINED), True), ((JOINED, {**JOINED, **DOWN}), False), ((JOINED, {}), False)],
)
def test_when_only_the_schema_holds_it_up(nodes: tuple[dict[str, Any], ...], held: bool) -> None:
    """All nodes are up, and in group 0."""
    model: Any = build("raft_upgrade", {"nodes": 2, "schema_problem": True})
    _, state = raft(*nodes, entries=(0,))
    assert model.ends(state) is held


@pytest.mark.parametrize(
    ("up", "differs"),
    [((0,), ()), ((0, 1), (1,)), ((1, 2), ()), ((0, 1, 2), (0,))],
)
def test_whose_schema_version_differs(up: tuple[int, ...], differs: tuple[int, ...]) -> None:
    """From that of most nodes that tell theirs: who is down tells none."""
    nodes = [{"schema": schema} for schema in (0b10, 0b100, 0b100)]
    model, state = raft(*({**n, **(DOWN if i not in up else {})} for i, n in enumerate(nodes)))
    rows = facts.nodes(model, state)
    assert tuple(at for at, row in enumerate(rows) if row.differs) == differs


@pytest.mark.parametrize("down", ["A", "C"])
def test_without_the_safeguard_who_is_down_is_passed_over(down: str) -> None:
    """Its name is told."""
    model: Any = build("raft_upgrade", {"nodes": 3}, ("all-alive",))
    _, state = raft(*(DOWN if name == down else JOINED for name in "ABC"), entries=(0,))
    said = f"{{node}} has the schema version of its peers. It does not wait for {down}."
    assert model.says_compared(state, Compare("B"), state) == said


def test_who_waits_in_synchronize_names_the_mismatch() -> None:
    """All are there and in the group; only B has another schema."""
    waits = {"state": SYNCHRONIZE, "group": 1, "has_feature": True}
    model, state = raft({**waits, "schema": 0b10}, waits, entries=(0,))
    lines = model.logs_retry(state, Retry("A"), state.at(0, tries=1))
    assert [line.text for line in lines] == [
        f"synchronize_schema: my version: {state.nodes[0].version}",
        "synchronize_schema: schema mismatches: {{127.90.69.2}}. 1 nodes had a matching version.",
        "tries again in a while",
    ]


def test_a_row_that_was_written_by_hand_stays() -> None:
    """The feature is enabled on who is up, and whoever has no row gets the first state."""
    nodes = ({"row": RECOVERY}, {}, DOWN)
    _, state = raft(*({**each, "enabled": True} for each in nodes))
    after = state.with_feature()
    assert [(each.row, each.has_feature) for each in after.nodes] == [
        (RECOVERY, True), (PRE, True), (None, False),
    ]  # fmt: skip
    assert after.with_feature() == after
    assert (state.has_begun, after.has_begun) == (False, True)


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


@pytest.mark.parametrize(
    ("older", "state", "breaks"),
    [(True, NOT_UPGRADED, False), (True, BUILDING, True), (True, DONE, True), (False, DONE, False)],
)
def test_who_is_older_does_not_know_the_upgrade(older: bool, state: Any, breaks: bool) -> None:
    """It must not begin before all nodes are new."""
    model: Any = build("topology_upgrade", {"nodes": 2})
    cluster = topology({}, {"is_new": not older}, upgrade_state=state)
    assert model.understood(cluster) == (
        f"B does not know upgrade_state {state}" if breaks else None
    )


@pytest.mark.parametrize(
    ("was", "now", "breaks"),
    [
        (NOT_UPGRADED, NOT_UPGRADED, False),
        (NOT_UPGRADED, BUILDING, False),
        (BUILDING, DONE, False),
        (NOT_UPGRADED, DONE, True),
        (BUILDING, NOT_UPGRADED, True),
        (DONE, BUILDING, True),
    ],
)
def test_the_upgrade_skips_no_state(was: Any, now: Any, breaks: bool) -> None:
    """Nor does it go back."""
    model: Any = build("topology_upgrade", {"nodes": 1})
    states = (topology({}, upgrade_state=each) for each in (was, now))
    said = f"upgrade_state went from {was} to {now}" if breaks else None
    assert model.state_in_order(next(states), None, next(states)) == said


@pytest.mark.parametrize(
    ("readers", "rows", "said"),
    [
        ("", 0, None),
        ("AB", 0b01, None),
        ("A", 0b11, None),
        ("A", 0b01, "A and B use different rings"),
        ("B", 0b01, "A and B use different rings"),
    ],
)
def test_one_ring_for_all_members(readers: str, rows: int, said: str | None) -> None:
    """Whoever reads the table goes by its rows, anybody else by gossip."""
    model: Any = build("topology_upgrade", {"nodes": 2})
    cluster = topology(*({"reads_table": name in readers} for name in "AB"), rows=rows)
    assert model.same_ring(cluster) == said


@pytest.mark.parametrize(
    ("readers", "rows", "said"),
    [
        ("", 0b000, None),
        ("ABC", 0b111, None),
        ("A", 0b110, "A uses system.topology, but A is missing from it"),
        ("BC", 0b001, "B uses system.topology, but B is missing from it"),
    ],
)
def test_who_reads_the_table_finds_all_members(readers: str, rows: int, said: str | None) -> None:
    """The first that reads it is told, and the first that is missing."""
    model: Any = build("topology_upgrade", {"nodes": 3})
    cluster = topology(*({"reads_table": name in readers} for name in "ABC"), rows=rows)
    assert model.in_table(cluster) == said
