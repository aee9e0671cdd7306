"""Operations that make no sense on a ring, each with its reason."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.protocols.tcm.parameters import parse_operation, register, resolve
from kit.protocols.tcm.rules.metadata import too_few_left
from kit.protocols.tcm.rules.operations import no_member, validate
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

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
def test_an_operation_is_judged_before_it_begins(text: str) -> None:
    """Newcomers, members, datacenters, and tokens one by one."""
    operation = parse_operation(text)
    ring = register(FIVE, (operation,))
    given = resolve(ring, operation)
    if text in SENSIBLE:
        validate(ring, given)
        return
    with pytest.raises(BadInput, match=f"^{SENSELESS[text]}"):
        validate(ring, given)


@pytest.mark.parametrize("tokens", ["100,200", "200,100"])
def test_a_move_changes_tokens_in_whatever_order_they_are(tokens: str) -> None:
    """The same ones are none."""
    ring = Ring.of([Node("A", (200, 100)), Node("B", (300,))], small(999))
    with pytest.raises(BadInput, match="tokens other than the node's current ones"):
        validate(ring, resolve(ring, parse_operation(f"move A --tokens {tokens}")))


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("C", "one of c, A, B, d, E"),
        ("D", "one of d, A, B, c, E"),
        ("x", "one of A, B, c, d, E"),
    ],
)
def test_a_name_that_differs_in_case_only_comes_first(name: str, listed: str) -> None:
    """Among the members, of which there are no others."""
    nodes = [Node(each, (100 * at,)) for at, each in enumerate("ABcdE", 1)]
    ring = Ring.of([*nodes, Node("x", ())], small(999))
    error = no_member(ring, name)
    assert (error.field, error.value, error.allowed) == ("node", name, listed)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("bootstrap X --tokens 1,2,3,4", "bootstrap X at 1, 2, 3, 4"),
        ("bootstrap X --tokens 1,2,3,4,5", "bootstrap X with 5 tokens"),
        ("move A --tokens 1,2,3,4", "move A to 1, 2, 3, 4"),
        ("move A --tokens 1,2,3,4,5", "move A to 5 tokens"),
    ],
)
def test_four_tokens_are_named_in_a_title(text: str, title: str) -> None:
    """More are counted."""
    assert parse_operation(text).title == title


IN_ALL = Keyspace("all", SimpleStrategy(3))
NONE_LEFT = "without c only 0 nodes are left in dc2, but keyspace apart keeps 2 replicas"
APART = Keyspace("apart", NetworkTopologyStrategy((("dc1", 1), ("dc2", 2))))


@pytest.mark.parametrize(
    ("keyspace", "code", "shrinks", "said"),
    [
        (IN_ALL, 0, True, "without a only 2 nodes are left, but keyspace all keeps 3 replicas"),
        (IN_ALL, 0, False, ""),
        # In dc2 there is too little, whoever leaves dc1.
        (APART, 0, True, ""),
        (APART, 2, True, NONE_LEFT),
        (APART, 2, False, NONE_LEFT),
    ],
)
def test_who_goes_is_missing_in_its_datacenter(
    keyspace: Keyspace, code: int, shrinks: bool, said: str
) -> None:
    """And in all, unless another one comes in its place."""
    nodes = [Node("a", (1,), "dc1"), Node("b", (2,), "dc1"), Node("c", (3,), "dc2")]
    ring = Ring.of(nodes, small(99))
    assert too_few_left(ring, (keyspace,), set(), code, shrinks=shrinks) == said
