"""The worked tables of CEP-21, letter by letter, from the plans of a join and a leave."""

from __future__ import annotations

import pytest

from kit.ring.applying import apply, settle
from kit.ring.movement import movement
from kit.ring.placements import Table, stable_placement
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import MURMUR3, TokenSpace, small
from kit.ring.topology import Node, Ring

# operation, step: read rows | write rows; a row is its right bound and its replicas.
TABLES = """
bootstrap    0: 100=A,B 200=B,C         | 100=A,B 200=B,C
bootstrap    1: 100=A,B 150=B,C 200=B,C | 100=A,B 150=B,C 200=B,C
bootstrap    2: 100=A,B 150=B,C 200=B,C | 100=A,B,X 150=B,C,X 200=B,C
bootstrap    3: 100=A,X 150=X,B 200=B,C | 100=A,B,X 150=B,C,X 200=B,C
bootstrap    4: 100=A,X 150=X,B 200=B,C | 100=A,X 150=X,B 200=B,C
decommission 0: 100=A,X 150=X,B 200=B,C | 100=A,X 150=X,B 200=B,C
decommission 1: 100=A,X 150=X,B 200=B,C | 100=A,X,B 150=X,B,C 200=B,C
decommission 2: 100=A,B 150=B,C 200=B,C | 100=A,X,B 150=X,B,C 200=B,C
decommission 3: 100=A,B 150=B,C 200=B,C | 100=A,B 150=B,C 200=B,C
decommission 4: 100=A,B 200=B,C         | 100=A,B 200=B,C
"""
STEPS = {
    "bootstrap": ("split", "add", "switch", "drop"),
    "decommission": ("add", "switch", "drop", "merge"),
}


def shown(table: Table, names: tuple[str, ...]) -> str:
    """The rows up to 200 as one line of text."""
    rows = [row for row in table.rows(names) if row.right <= 200]
    return " ".join(f"{row.right}={','.join(row.replicas)}" for row in rows)


def frames(operation: str, before: Ring, after: Ring) -> list[str]:
    """Both tables after each step, in display order; walk order changes with the read switch."""
    replication = SimpleStrategy(2)
    plan = movement(before, after, replication)
    now, ring, lines = stable_placement(before, replication), before, []
    for step, name in enumerate(("rest", *STEPS[operation])):
        if name != "rest":
            ring = after if name == "switch" else ring
            now = settle(apply(now, getattr(plan, name)), ring, replication)
        reads, writes = shown(now.reads, after.names), shown(now.writes, after.names)
        lines.append(" ".join(f"{operation} {step}: {reads} | {writes}".split()))
    return lines


@pytest.mark.spec("A-022", "A-023", "A-024", "A-025", "A-026", "A-034")
@pytest.mark.spec("A-030", "A-031", "A-032", "A-033")
@pytest.mark.parametrize("space", [small(400), MURMUR3])
def test_tables_letter_by_letter(space: TokenSpace) -> None:
    """X joins at 150 and leaves again: every table of the worked example comes out."""
    nodes = (Node("A", (100,)), Node("B", (200,)), Node("C", (300,)))
    rest = Ring.of(nodes, space)
    joined = rest.join(Node("X", (150,)))
    lines = frames("bootstrap", rest, joined)
    lines += frames("decommission", joined, joined.leave(joined.code("X")))
    assert lines == [" ".join(line.split()) for line in TABLES.strip().splitlines()]


@pytest.mark.spec("A-040")
def test_range_that_x_gains_with_three_replicas() -> None:
    """With RF 3 the gained range goes ABC, then X writes, then X reads for A, then A is gone."""
    replication = SimpleStrategy(3)
    before = Ring.of((Node("A", (100,)), Node("B", (200,)), Node("C", (300,))), small(400))
    after = before.join(Node("X", (150,)))
    plan = movement(before, after, replication)
    now = stable_placement(before, replication)
    groups = []
    for name in ("split", "add", "switch", "drop"):
        now = apply(now, getattr(plan, name))
        pair = (table.groups_of(120)[0] for table in (now.reads, now.writes))
        groups.append(tuple("".join(sorted(after.names[c] for c in group)) for group in pair))
    assert groups == [("ABC", "ABC"), ("ABC", "ABCX"), ("BCX", "ABCX"), ("BCX", "BCX")]
