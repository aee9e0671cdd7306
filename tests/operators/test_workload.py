"""What is estimated before work on a ring begins: what fits is let through, the rest is told."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.operators.importers.dumps import parse_csv_rows, parse_json_rows
from kit.operators.importers.ringfile import RingFile
from kit.operators.workload import DRY_RUN_AS_JSON, DRY_RUN_IN_WORDS, PLACEMENTS, check_work
from kit.ring.replication import EverywhereStrategy, Keyspace, SimpleStrategy
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Node, Ring

NODES, TOKENS = 5000, 16


@pytest.fixture(scope="module")
def ring() -> Ring:
    """As large a ring as anybody may have."""
    return Ring.of(
        (Node(f"n{at}", tuple(range(at, NODES * TOKENS, NODES))) for at in range(NODES)), MURMUR3
    )


@pytest.fixture(autouse=True)
def _room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has 4 GB to spare."""
    monkeypatch.setattr("kit.edge.limits.spare", lambda: 4 * 10**9)


def test_many_keyspaces_alike_cost_little_more_than_one(ring: Ring) -> None:
    """64 keyspaces of one replication are within the limits, in words and as JSON."""
    alike = tuple(Keyspace(f"ks{at}", SimpleStrategy(3)) for at in range(64))
    for cost in (PLACEMENTS, DRY_RUN_IN_WORDS, DRY_RUN_AS_JSON):
        check_work(RingFile(0, ring, alike), cost)


def test_a_replica_everywhere_on_a_thousand_nodes_is_answered() -> None:
    """A keyspace of the servers' own is replicated so: its dry run fits, in words and as JSON."""
    nodes = (Node(f"n{at}", tuple(range(at, 16_000, 1000))) for at in range(1000))
    everywhere = RingFile(0, Ring.of(nodes, MURMUR3), (Keyspace("ks", EverywhereStrategy()),))
    for cost in (DRY_RUN_IN_WORDS, DRY_RUN_AS_JSON):
        check_work(everywhere, cost)


def test_too_many_values_are_counted_before_they_are_read() -> None:
    """Rows of nothing are refused by their number, in JSON and in CSV, not read for minutes."""
    with pytest.raises(BadInput, match="at most 2097152 values"):
        parse_csv_rows("peer,rack\n" + ",\n" * 2**20, "c")
    with pytest.raises(BadInput, match="at most 16777216 values"):
        parse_json_rows("[" + "{}," * 2**23 + "{}]", "j")
