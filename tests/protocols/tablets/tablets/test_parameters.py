"""What the models of tablets refuse to be built of, each in one clear line."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.errors import BadInput
from kit.protocols.tablets.dump import DumpedTable, DumpedTransition, TabletDump
from tests.saying import says


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("tablets", {"tablets": ("A Z",)}, "A Z"),
        ("tablets", {"tablets": ("A A",)}, "no more than one per host"),
        ("tablets", {"tablets": ("A:x",)}, "hosts and shards"),
        ("tablets", {"tablets": ("A:3",)}, "shards below 1"),
        ("tablets", {"tablets": ("A:1",)}, "shards below 1"),
        ("tablets", {"keyspaces": ("",)}, "at least one datacenter"),
        ("tablets", {"keyspaces": ("x dc1=1",), "tables": ("b.t", "b.u")}, "one of b"),
        ("tablets", {"tables": ("b.t", "b.u", "a.t")}, "co-located tables of one keyspace"),
        ("tablets", {"tables": ("a.t", "a.u", "a.u")}, "each once"),
        ("tablets", {"tablets": ("",)}, "at least one replica"),
        ("tablets", {"operations": ("jump",)}, "jump"),
        ("tablets", {"moves": -1}, "moves"),
        ("tablets", {"tables": ()}, "tables"),
        ("tablets", {"tablets": ("A", "B"), "operations": ("removenode B",)}, "a dead replica"),
        ("tablets", {"tablets": ("B",), "operations": ("replace E B",)}, "on another node"),
        (
            "tablets",
            {"tablets": ("B C",), "operations": ("replace E B", "removenode C")},
            "B C'; allowed: a replica on another node, or a dead replica cannot be rebuilt",
        ),
        (
            "tablets",
            {"tablets": ("B C",), "operations": ("removenode B",), "ignored": ("C",)},
            "B C",
        ),
        (
            "tablets",
            {"edition": "server", "tablets": ("B",), "operations": ("removenode B",)},
            "cannot be rebuilt",
        ),
        ("resize", {"tablets": ("A", "A", "A")}, "power of two"),
        ("resize", {"tablets": ("A", "Q")}, "Q"),
        ("resize", {"size": 0}, "size"),
        ("truncate", {"replicas": ""}, "some of A, B, C"),
        ("truncate", {"replicas": "A Q"}, "some of A, B, C"),
    ],
)
def test_a_bad_parameter_is_named(model: str, given: dict[str, Any], said: str) -> None:
    """The error names the parameter or the value, and what is allowed."""
    with pytest.raises(BadInput) as error:
        build(model, given)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


TABLE = DumpedTable("ks.t", 2)
MIXED = (TABLE, DumpedTable("ks.u", 1, lasts=(7,)))


def _moving(tablet: int) -> TabletDump:
    """A tablet migrates."""
    transition = DumpedTransition(tablet, "migration", "streaming", "B:0")
    return TabletDump((1, 1), MIXED, transitions=(transition,))


@pytest.mark.parametrize(
    ("dump", "said"),
    [
        (TabletDump((1, 1), MIXED), ""),
        (TabletDump((1, 64), MIXED, (0, 9), ((1,),) * 3, ((1,),) * 3), ""),
        (TabletDump((1,), MIXED), "dump.shards | 1 | 2"),
        (TabletDump((1, 1, 1), MIXED), "dump.shards | 3 | 2"),
        (TabletDump((1, 0), MIXED), "dump.shards | 0 | from 1 up"),
        (TabletDump((1, 1), (TABLE,)), "dump.tables | 2 | 3"),
        (TabletDump((1, 1), (TABLE, TABLE)), "dump.tables | 4 | 3"),
        (TabletDump((1, 1), (TABLE, DumpedTable("ks.u", 1, lasts=(7, 9)))),
         "dump.tables.ks.u.lasts | 2 | 1"),
        (TabletDump((1, 1), MIXED, capacities=(9,)), "dump.capacities | 1 | 2"),
        (TabletDump((1, 1), MIXED, sizes=((1,),) * 2), "dump.sizes | 2 | 3"),
        (TabletDump((1, 1), MIXED, weights=((1,),) * 4), "dump.weights | 4 | 3"),
        (_moving(0), ""),
        (_moving(2), ""),
        (_moving(-1), "dump.transitions tablet | -1 | from 0 to 2"),
        (_moving(3), "dump.transitions tablet | 3 | from 0 to 2"),
        (TabletDump((1, 1), MIXED, version=4, fence_version=0), ""),
        (TabletDump((1, 1), MIXED, version=4, fence_version=4), ""),
        (TabletDump((1, 1), MIXED, version=4, fence_version=5), "dump.fence_version | 5 | 0 | 4"),
        (TabletDump((1, 1), MIXED, fence_version=-1), "dump.fence_version | -1 | 0 | 1"),
    ],
)  # fmt: skip
def test_a_dump_is_of_as_many_members_and_tablets(dump: TabletDump, said: str) -> None:
    """Of two members and three tablets: what is too short, too long or outside is named."""
    if not said:
        dump.check(2, 3)
        return
    with pytest.raises(BadInput) as error:
        dump.check(2, 3)
    assert says(error.value, said)


def test_a_model_is_built_of_a_dump_that_fits() -> None:
    """As many members as have shards, and as many tablets as are written."""
    given = {"nodes": 3, "tablets": ("A", "B"), "tables": ("ks.t",)}
    dump = {"shards": (1, 1, 1), "tables": ({"name": "ks.t", "tablets": 2},)}
    assert build("tablets", {**given, "dump": dump}).layout.shards == (1, 1, 1)
    for wrong, field in (({"shards": (1, 1)}, "shards"), ({"sizes": ((1,),)}, "sizes")):
        with pytest.raises(BadInput, match=f"dump.{field}"):
            build("tablets", {**given, "dump": {**dump, **wrong}})


def test_tables_of_a_dump_have_names_and_their_own_last_tokens() -> None:
    """The second table has one tablet, whose last token is written down."""
    dump = TabletDump((1, 1), MIXED)
    assert [dump.named(each.name) for each in MIXED] == list(MIXED)
    assert [dump.named(name).last_token(at) for name, at in (("ks.t", 1), ("ks.u", 0))] == [
        (1 << 63) - 1,
        7,
    ]
