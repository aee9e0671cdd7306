"""Operations that make no sense on a ring, each with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.tcm.parameters import parse_operation, register, resolve
from kit.protocols.tcm.rules.operations import place, placed, ring_after, validate
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.saying import says

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
def test_a_parameter_out_of_its_limits_is_named(given: dict[str, Any], message: str) -> None:
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
def test_the_ring_after_an_operation(
    text: str, where: tuple[str, str], tokens: dict[str, tuple[int, ...]]
) -> None:
    """A newcomer is where its operation says, else where the one is whose place it takes."""
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
