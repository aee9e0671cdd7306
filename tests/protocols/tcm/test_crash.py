"""Crashes, operations beside one another, and operations that make no sense."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import parse_operation, register, resolve
from kit.protocols.tcm.rules.operations import place, placed, ring_after, validate
from kit.ring.placements import stable_placement
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.protocols.tcm.driving import Drive
from tests.protocols.tcm.exploring import ends, reachable
from tests.saying import says

OPERATIONS: dict[str, dict[str, Any]] = {
    "bootstrap X --tokens 150": {},
    "decommission B": {"nodes": 4},
    "move B --tokens 350": {"nodes": 4},
    "replace B Z": {"nodes": 3},
    "removenode B": {"nodes": 4},
}


@pytest.mark.spec("A-038")
def test_a_node_that_restarts_resumes_its_operation_at_the_next_step() -> None:
    """No step is committed twice."""
    join = "bootstrap X --tokens 150"
    drive = Drive(crashes=1, operations=(join,)).act(join).commit("X").ready().act("crash X")
    assert drive.refusal("commit X").missing == ("X",)
    assert drive.operation().steps[2].status == "next"
    drive.act("restart X").finish("X")
    words = [line.text for line in facts.log(drive.model, drive.state)]
    assert words == [
        "split ranges",
        "add write replicas",
        "switch reads",
        "drop old write replicas",
    ]
    assert drive.stable()


@pytest.mark.spec("A-038")
def test_a_restarted_node_catches_up_before_its_next_step() -> None:
    """It must apply what was committed while it was down."""
    join, other = "bootstrap X --tokens 550", "bootstrap Y --tokens 850"
    drive = Drive(nodes=10, rf=3, crashes=1, operations=(join, other)).act(join, "crash X", other)
    drive.commit("Y").act("restart X")
    drive.repeat("apply n").repeat("apply A")
    assert drive.model.newest_epoch(drive.state) == 3
    assert "apply X" in drive.verbs()
    assert "commit X" not in drive.verbs()
    drive.commit("X")
    assert drive.operation("X").state == "add-writes"


@pytest.mark.spec("A-038")
@pytest.mark.parametrize("text", OPERATIONS)
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_a_crash_at_any_point_leads_to_the_same_final_metadata(text: str, edition: str) -> None:
    """All runs are searched, with the log and the tables at their ends."""
    given: dict[str, Any] = {"operations": (text,), "edition": edition, **OPERATIONS[text]}
    calm, rough = Drive(**given), Drive(crashes=1, **given)
    ((log, final),) = {outcome(calm, state) for state in ends(calm.model)}
    assert {outcome(rough, state) for state in ends(rough.model)} == {(log, final)}
    assert final == calm.complete(text).table()


def outcome(drive: Drive, state: object) -> tuple[object, object]:
    """How a run ended: what the log holds, and the tables."""
    table = tuple(
        (row.left, row.right, row.reads, row.writes) for row in facts.rows(drive.model, state)
    )
    log = [(one.epoch, one.text, one.operation) for one in facts.log(drive.model, state)]
    return tuple(log), table


def test_the_removal_of_a_dead_node_is_driven_by_other_nodes() -> None:
    """The dead node does not hold it up."""
    drive = Drive(nodes=4, rf=3, crashes=1, operations=("removenode B",)).act(
        "crash B", "removenode B"
    )
    assert drive.finish("B").stable()


def test_a_node_cannot_restart_while_its_removal_is_under_way() -> None:
    """After a cancel it may."""
    drive = Drive(nodes=4, rf=3, cancels=1, operations=("removenode B",)).act("removenode B")
    assert not [verb for verb in drive.verbs() if verb == "restart B"]
    drive.act("cancel B", "restart B")


@pytest.mark.parametrize("text", ["decommission B", "move B --tokens 350"])
def test_a_member_that_is_down_cannot_begin_to_leave_or_move(text: str) -> None:
    """It drives the operation itself."""
    drive = Drive(nodes=4, crashes=1, operations=(text,)).act("crash B")
    assert drive.refusal(text).missing == ("B",)
    drive.act("restart B", text)


@pytest.mark.spec("A-037", "A-038")
def test_without_pending_steps_in_the_metadata_a_crash_leaves_ranges_half_done() -> None:
    """The lamp "settled" goes out."""
    join = "bootstrap X --tokens 150"
    drive = Drive(crashes=1, off=("pending-in-metadata",), operations=(join,)).act(join)
    drive.commit("X").act("crash X", "restart X").repeat("apply ")
    assert not [verb for verb in drive.verbs() if verb.startswith(("commit", "stream"))]
    assert facts.operations(drive.model, drive.state) == ()
    assert any(witness.startswith("settled") for witness in drive.dark())


FIVE = Ring.of((Node(name, (100 * at,)) for at, name in enumerate("ABCDE", 1)), small(999))

SENSELESS = {
    "bootstrap A --tokens 150": "node: .*a name that is not in the ring yet",
    "replace B A": "node: .*a name that is not in the ring yet",
    "bootstrap X --tokens 150,150": r"tokens\[1\]: .*each token once",
    "bootstrap X --tokens 150,300": r"tokens\[1\]: .*no node owns; this one belongs to C",
    "bootstrap X --tokens 1000": r"tokens\[0\]: .*an integer from 0 to 999",
    "move B --tokens 200": "tokens: .*tokens other than the node's current ones",
    "move B --tokens 450,460": r"tokens: .*as many tokens as the node has now \(1\)",
    "move B --tokens 300": r"tokens\[0\]: .*a token that no node owns; this one belongs to C",
}

SENSIBLE = (
    *("bootstrap X --tokens 150", "bootstrap X --tokens 150,0,999", "move B --tokens 450"),
    "bootstrap X --tokens 150 --dc new",
    *("replace B Z", "decommission B", "removenode B", "assassinate B"),
)


@pytest.mark.parametrize("text", [*SENSELESS, *SENSIBLE])
def test_an_operation_with_impossible_names_or_tokens_is_refused(text: str) -> None:
    """Sensible ones are accepted, and each refusal names the field."""
    operation = parse_operation(text)
    ring = register(FIVE, (operation,))
    given = resolve(ring, operation)
    if text in SENSIBLE:
        validate(ring, given)
        return
    with pytest.raises(BadInput, match=f"^{SENSELESS[text]}"):
        validate(ring, given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 5}, "low | 5 | end | line | unless"),
        ({"nodes": 0}, "nodes | 0 | 1 to 1000"),
        ({"dcs": 4}, "dcs | 4 | 1 to 3"),
        ({"focus": (3, 3)}, "focus | (3, 3) | left | bound | below"),
        ({"edition": "round"}, "edition | 'round'"),
        ({"epoch": 2**63}, "epoch | 9223372036854775808"),
    ],
)
def test_a_cluster_refuses_a_parameter_out_of_its_limits(
    given: dict[str, Any], message: str
) -> None:
    """The error names the parameter, its value and what is allowed."""
    with pytest.raises(BadInput) as raised:
        build("tcm", given)
    assert says(raised.value, message)


THREE = Ring.of((Node(name, (at,), "dc1", f"r{at}") for at, name in enumerate("ABC", 1)), small(9))
JOINED = {"A": (1,), "B": (2,), "C": (3,), "X": (5,)}


@pytest.mark.parametrize(
    ("text", "where", "tokens"),
    [
        ("bootstrap X --tokens 5", ("", ""), JOINED),
        ("bootstrap X --tokens 5 --dc d --rack e", ("d", "e"), JOINED),
        ("move B --tokens 5", ("dc1", "r2"), {"A": (1,), "B": (5,), "C": (3,)}),
        ("replace B X", ("dc1", "r2"), {"A": (1,), "B": (), "C": (3,), "X": (2,)}),
        ("replace B X --dc d --rack e", ("d", "e"), {"A": (1,), "B": (), "C": (3,), "X": (2,)}),
        ("decommission B", ("dc1", "r2"), {"A": (1,), "B": (), "C": (3,)}),
        ("removenode B", ("dc1", "r2"), {"A": (1,), "B": (), "C": (3,)}),
        ("assassinate B", ("dc1", "r2"), {"A": (1,), "B": (), "C": (3,)}),
    ],
)  # fmt: skip
def test_each_operation_gives_the_ring_its_new_tokens_and_places(
    text: str, where: tuple[str, str], tokens: dict[str, tuple[int, ...]]
) -> None:
    """A joiner is where its operation says, and a replacement by default where the old node was."""
    operation = parse_operation(text)
    ring = register(THREE, (operation,))
    given = resolve(ring, operation)
    after = ring_after(placed(ring, given), given)
    assert {node.name: node.tokens for node in after.nodes} == tokens
    node = after.nodes[given.node]
    if operation.kind != "bootstrap" or operation.dc:
        assert (node.dc, node.rack) == where
    assert place(operation, Node("Z", (7,), "dc9", "r9")) == (
        operation.dc or "dc9", operation.rack or "r9"
    )  # fmt: skip


EDITIONS = ("documents", "server")
APART = ("bootstrap X --tokens 450", "decommission n8", "move n12 --tokens 1250")


def sixteen(*operations: str, **parameters: Any) -> Drive:
    """Sixteen nodes n1 … n16 at 100 … 1600, RF 2."""
    members = tuple(Node(f"n{i}", (i * 100,)) for i in range(1, 17))
    return Drive(members=members, low=0, high=2000, operations=operations, **parameters)


@pytest.mark.parametrize("edition", EDITIONS)
def test_operations_finished_in_any_order_lead_to_the_same_placements(edition: str) -> None:
    """Three operations that begin together end in each of six orders."""
    results = []
    for order in permutations(("X", "n8", "n12")):
        drive = sixteen(*APART, edition=edition).act(*APART)
        for node in order:
            drive.finish(node)
            assert drive.dark() == [], order
        assert drive.stable(), order
        results.append(drive.table())
    assert len(set(results)) == 1


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("seed", range(3))
def test_interleaved_operations_change_their_own_ranges_alone(edition: str, seed: int) -> None:
    """Shuffled steps of three operations end as each would by itself, token by token."""
    chance = random.Random(seed)
    drive = sixteen(*APART, edition=edition)
    alone = {text: sixteen(text, edition=edition).complete(text).table() for text in APART}
    nodes = ["X", "n8", "n12"]
    chance.shuffle(nodes)
    begun = dict(zip(("X", "n8", "n12"), APART, strict=True))
    for node in nodes:
        drive.act(begun[node])
        for other in chance.sample(nodes, 2):
            if drive.metadata.sequence(other) is not None:
                drive.commit(other)
                assert drive.dark() == []
    while rows := facts.operations(drive.model, drive.state):
        drive.commit(chance.choice(rows).node)
        assert drive.dark() == []
    assert drive.stable()
    before = sixteen().table()
    for token in range(10, 2000, 10):
        changed = [
            table for table in alone.values() if groups_in(table, token) != groups_in(before, token)
        ]
        wanted = changed[0] if changed else before
        assert len(changed) <= 1, token
        assert groups_in(drive.table(), token) == groups_in(wanted, token), token


def groups_in(table: Any, token: int) -> Any:
    """Both groups of a token in a table of plain rows."""
    return next((reads, writes) for left, right, reads, writes in table if left < token <= right)


def test_every_interleaving_of_two_joins_rests_at_a_stable_placement() -> None:
    """Four rings are met: neither node joined, either, or both."""
    joins = ("bootstrap X --tokens 450", "bootstrap Y --tokens 1250")
    model = sixteen(*joins).model.tcm  # without the log: who knows what plays no part here
    together, rings = 0, set()
    for state in reachable(model):
        snapshot = model.snapshot(state.events)
        metadata = snapshot.metadata
        together = max(together, len(metadata.sequences))
        if not metadata.sequences:
            (group,) = metadata.groups
            assert snapshot.placements == (stable_placement(metadata.ring, group),)
            rings.add(metadata.ring)
    assert together == 2
    assert len(rings) == 4  # neither joined, either, or both


def test_a_leave_after_a_join_restores_the_placements() -> None:
    """The leave begins with the placements that the join left."""
    drive = Drive(operations=("bootstrap X --tokens 150",)).complete("bootstrap X --tokens 150")
    members = tuple(
        Node(n.name, n.tokens) for n in facts.nodes(drive.model, drive.state) if n.tokens
    )
    after = Drive(members=members, low=0, high=400, operations=("decommission X",))
    assert after.table() == drive.table()
    assert after.complete("decommission X").table() == Drive().table()
