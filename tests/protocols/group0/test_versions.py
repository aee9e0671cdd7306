"""Table versions, what they cost, and how far a node is in the log: border by border."""

from __future__ import annotations

import pytest

from kit.protocols.group0.lessons import change_cost, total_cost
from kit.protocols.group0.rules.commands import Indexes, snapshot_index
from kit.protocols.group0.rules.schema import SchemaState, Statement, merged


def test_a_version_is_that_of_the_table_or_of_the_whole_schema() -> None:
    """Of the table, where it knows it; else of its whole schema."""
    schema = merged(SchemaState(), Statement("create", "ks"), 3)
    schema = merged(schema, Statement("create", "ks", "t"), 5)
    schema = merged(schema, Statement("create", "ks", "u"), 8)
    assert [schema.version_of("ks", name) for name in ("t", "u", "v")] == [5, 8, 8]


@pytest.mark.parametrize("tables", [0, 1, 500, 501, 1_000, 1_001, 10_000, 20_000])
def test_what_a_schema_change_costs(tables: int) -> None:
    """A second with a timestamp; with the hash ten to twenty for ten thousand tables, in
    proportion, and never less than a second.
    """
    stamped, hashed = change_cost("timestamp", tables), change_cost("hash", tables)
    assert (stamped.least, stamped.most) == (1, 1)
    assert hashed.least == pytest.approx(max(1, tables / 1_000))
    assert hashed.most == pytest.approx(max(1, tables / 500))


@pytest.mark.parametrize("tables", [0, 1, 2, 600])
def test_what_all_tables_cost_together(tables: int) -> None:
    """Each costs what a change costs once it is there."""
    assert total_cost("timestamp", tables) == tables
    slow = sum(max(1, count / 500) for count in range(1, tables + 1))
    assert total_cost("hash", tables) == pytest.approx(slow)


@pytest.mark.parametrize("index", range(5))
def test_indexes_go_forwards_alone(index: int) -> None:
    """What is stored or known again changes nothing; applied is one at a time."""
    now = Indexes(3, 2, 1)
    assert Indexes() == Indexes(0, 0, 0)
    assert now.storing(index) == Indexes(max(3, index), 2, 1)
    assert now.knowing(index) == Indexes(max(3, index), max(2, index), 1)
    assert now.applying() == Indexes(3, 2, 2)


@pytest.mark.parametrize("kept", range(5))
def test_a_leader_drops_what_it_has_applied_but_the_last_entries(kept: int) -> None:
    """With none kept it drops nothing; entry by entry as it would be counted."""
    for entries in range(6):
        for applied in range(entries + 1):
            dropped = [i for i in range(entries) if i < applied and i < entries - kept]
            assert snapshot_index(entries, applied, kept) == (len(dropped) if kept else 0)
