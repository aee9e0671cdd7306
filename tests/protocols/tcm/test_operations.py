"""The operations as data: their words, whom they concern, their steps and diagrams."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.tcm.parameters import parse_operation, register, resolve
from kit.protocols.tcm.rules.operations import (
    SENTENCES,
    in_words,
    place,
    placed,
    ring_after,
    transitions,
    usual_steps,
    validate,
)
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

THREE = Ring.of((Node(name, (at,), "dc1", f"r{at}") for at, name in enumerate("ABC", 1)), small(9))


@pytest.mark.parametrize(
    ("text", "title", "dead", "involved"),
    [
        ("bootstrap X --tokens 5", "bootstrap X at 5", None, "X"),
        ("bootstrap X --tokens 5 --dc d --rack 'r 1'", "bootstrap X at 5", None, "X"),
        ("bootstrap X --tokens 1,2,3,4", "bootstrap X at 1, 2, 3, 4", None, "X"),
        ("bootstrap X --tokens 1,2,3,4,5", "bootstrap X with 5 tokens", None, "X"),
        ("move A --tokens 1,2,3,4,5", "move A to 5 tokens", None, "A"),
        ("move A --tokens 5", "move A to 5", None, "A"),
        ("decommission A", "decommission A", None, "A"),
        ("decommission A --force", "decommission A", None, "A"),
        ("replace B X", "replace B with X", "B", "XB"),
        ("removenode B", "removenode B", "B", "B"),
        ("assassinate B", "assassinate B", "B", "B"),
    ],
)
def test_an_operation_in_words(text: str, title: str, dead: str | None, involved: str) -> None:
    """As the line that asks for it, as a title; and who may take part in nothing else."""
    operation = parse_operation(text)
    assert (operation.text, operation.title) == (text, title)
    assert (operation.dead, operation.involved) == (dead, tuple(involved))
    ring = register(THREE, (operation,))
    given = resolve(ring, operation)
    assert given.dead == (None if dead is None else ring.names.index(dead))
    assert operation.force is ("--force" in text)


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


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("decommission X", False),
        ("move X --tokens 5", False),
        ("replace X Y", False),
        ("bootstrap X --tokens 5", True),
        ("replace A X", True),
    ],
)
def test_who_has_no_tokens_is_no_member(text: str, known: bool) -> None:
    """It may join, or take somebody's place; nothing else."""
    operation = parse_operation(text)
    ring = Ring.of([*THREE.nodes, Node("X", ()), Node("Y", ())], small(9))
    given = resolve(ring, operation)
    if known:
        validate(ring, given)
        return
    with pytest.raises(BadInput) as caught:
        validate(ring, given)
    assert str(caught.value) == str(BadInput("node", "X", "one of A, B, C"))


FOUR = "add-writes switch-reads drop-writes merge"
STEPS = {
    "bootstrap": "split add-writes switch-reads drop-writes",
    "decommission": FOUR,
    "move": f"split {FOUR}",
    "replace": "add-writes switch-reads drop-writes",
    "removenode": FOUR,
}


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("kind", STEPS)
def test_the_diagram_of_an_operation(kind: Any, edition: Any) -> None:
    """From step to step; back at once before the read switch, in two events after it."""
    names = STEPS[kind].split() if edition == "documents" else ["prepare", "start", "mid", "finish"]
    assert usual_steps(kind, edition) == tuple(names)
    first = "registered" if kind in ("bootstrap", "replace") else "joined"
    last = "left" if kind in ("decommission", "removenode") else "joined"
    switch = names.index("switch-reads" if edition == "documents" else "mid")
    states = [first, *names[:-1], last]
    rows = [
        *((states[at], name, states[at + 1]) for at, name in enumerate(names)),
        *((name, "cancel", first) for name in names[:switch]),
        (names[switch], "cancel-reads", "reads back"),
        ("reads back", "cancel-writes", first),
    ]
    assert transitions(kind, edition) == tuple(rows)
    said = [row for row in in_words(edition) if row[0] == kind]
    assert said == [(kind, before, after, SENTENCES[event]) for before, event, after in rows]
