"""What a cluster's tables tell: which tablets a keyspace has, what cannot be."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.tablets.dump import DumpedTable, DumpedTransition, TabletDump

TABLES = (
    DumpedTable("a.one", 2),
    DumpedTable("b.one", 1, ("b.view",)),
    DumpedTable("a.two", 2, lasts=(5, 9)),
)
DUMP = TabletDump((2, 1), TABLES)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, ""),
        ({"capacities": (7, 7), "sizes": ((1,),) * 5, "weights": ((1,),) * 5}, ""),
        ({"shards": (1,)}, "dump.shards: got 1; allowed: 2"),
        ({"shards": (1, 0)}, "dump.shards: got 0; allowed: a number from 1 up"),
        ({"tables": TABLES[:2]}, "dump.tables: got 3; allowed: 5"),
        ({"capacities": (7,)}, "dump.capacities: got 1; allowed: 2"),
        ({"sizes": ((1,),) * 4}, "dump.sizes: got 4; allowed: 5"),
        ({"weights": ((1,),) * 6}, "dump.weights: got 6; allowed: 5"),
        (
            {"tables": (*TABLES[:2], replace(TABLES[2], lasts=(5,)))},
            "dump.tables.a.two.lasts: got 1; allowed: 2",
        ),
        ({"version": 3, "fence_version": 3}, ""),
        ({"version": 3, "fence_version": 0}, ""),
        (
            {"fence_version": -1},
            "fence_version: got -1; allowed: a number from 0 to the version, 1",
        ),
        ({"fence_version": 2}, "fence_version: got 2; allowed: a number from 0 to the version, 1"),
        ({"transitions": (0, 4)}, ""),
        ({"transitions": (-1,)}, "dump.transitions tablet: got -1; allowed: a tablet from 0 to 4"),
        ({"transitions": (0, 5)}, "dump.transitions tablet: got 5; allowed: a tablet from 0 to 4"),
    ],
)
def test_what_no_dump_can_have(columns: dict[str, object], said: str) -> None:
    """Of two nodes and five tablets."""
    rows: tuple[int, ...] = columns.get("transitions", ())  # type: ignore[assignment]  # numbers
    ways = tuple(DumpedTransition(row, "migration", "streaming", "A:0") for row in rows)
    dump = replace(DUMP, **{**columns, "transitions": ways})
    if not said:
        dump.check(2, 5)
        return
    with pytest.raises(BadInput) as error:
        dump.check(2, 5)
    assert str(error.value).endswith(said)


def test_a_model_is_built_of_a_dump_that_fits() -> None:
    """As many members as have shards, and as many tablets as are written."""
    given = {"nodes": 3, "tablets": ("A", "B"), "tables": ("ks.t",)}
    dump = {"shards": (1, 1, 1), "tables": ({"name": "ks.t", "tablets": 2},)}
    assert build("tablets", {**given, "dump": dump}).layout.shards == (1, 1, 1)
    for wrong, field in (({"shards": (1, 1)}, "shards"), ({"sizes": ((1,),)}, "sizes")):
        with pytest.raises(BadInput, match=f"dump.{field}"):
            build("tablets", {**given, "dump": {**dump, **wrong}})
