"""Dumps of tablets: what is read, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.operators.importers.system_tables import parse_tablets, read_loads, read_sizes
from tests.saying import says

FIXTURES = Path(__file__).parents[1] / "fixtures" / "tablets"
TABLE = "00000001-0000-11f0-8000-0000000000aa"
A, B = (f"{n:08x}-0000-4000-8000-{n:012x}" for n in (1, 2))
HEAD = "table_id,last_token,tablet_count,replicas,resize_type"


def dump(*rows: str, head: str = HEAD) -> str:
    """CSV with these rows below a header."""
    return "\n".join([head, *rows, ""])


def row(last: int | str, replicas: str = f"[({A}, 0)]", rest: str = "none") -> str:
    """A row of one table of two tablets."""
    return f'{TABLE},{last},2,"{replicas}",{rest}'


def test_both_forms_are_one_table() -> None:
    """CSV with collections as CQL writes them, and what SELECT JSON shows."""
    csv, shown = (
        parse_tablets((FIXTURES / name).read_text("utf-8"), "dump")
        for name in ("tablets.csv", "tablets.txt")
    )
    assert csv.tables.keys() == shown.tables.keys()
    for table, lines in csv.tables.items():
        other = shown.tables[table]
        assert [t.replicas for t in lines.tablets] == [t.replicas for t in other.tablets]
        assert (lines.name, lines.resize_type) == (other.name, other.resize_type)
    orders = csv.tables[TABLE]
    assert (orders.name, orders.tablet_count, len(orders.tablets)) == ("shop.orders", 4, 4)
    first = orders.tablets[0]
    assert (first.stage, first.transition, first.new_replicas[0][1]) == (
        "streaming",
        "migration",
        1,
    )
    by_day = next(lines for lines in csv.tables.values() if lines.base_table)
    assert (by_day.base_table, by_day.tablets) == (TABLE, ())


def test_sizes_and_loads() -> None:
    """Bytes by table, last token and host; capacities by node."""
    sizes = read_sizes(FIXTURES / "sizes.csv")
    assert sizes[TABLE][-1][A] == 2 * 3 * 2**29
    loads = read_loads(FIXTURES / "loads.csv")
    assert [load.capacity for load in loads] == [2**40] * 4 + [2**41]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "dump | no row"),
        (dump(), "dump | no row"),
        (dump(head="table_id,last_token"), "dump line 1 | rows of system.tablets | replicas"),
        (dump(row(-1), head=f"{HEAD},table_id"), "dump line 1 | a header with each column once"),
        (dump(row(-1)[:-5]), "dump line 2 | 5 fields | cut short"),
        (dump(row("x")), "dump line 2 last_token | 'x' | a signed 64-bit integer"),
        (dump(row(2**63)), "dump line 2 last_token | a signed 64-bit integer"),
        (dump(row(-1, "[(x, 0)]")), "dump line 2 replicas | as cqlsh writes it"),
        (dump(row(-1, f"[({A}, 0), ({B}]")), "dump line 2 replicas | as cqlsh writes it"),
        (dump(row(-1), row(0, rest="split")), "line 3 resize_type | 'split' | is static"),
        (dump(row(-1), f"{TABLE},5,3,,none"), "dump line 3 tablet_count | 3 | dump line 2"),
        (dump(f',5,3,"[({A}, 0)]",none'), "dump line 2 table_id | None | a value in each row"),
        (dump('"' + row(-1)), "no CSV"),
        ("[1]", "dump row 1 | a row as a JSON object"),
        ('[{"table_id": 5, "last_token": 1, "replicas": []}]', "dump row 1 table_id | 5 | a UUID"),
        ("{", "dump line 1 | JSON"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    """One line with the place, the value and what is allowed."""
    with pytest.raises(BadInput) as error:
        parse_tablets(text, "dump")
    assert says(error.value, said), error.value


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([f"{A},-1"], "line 2 storage_capacity | -1 | bytes, a number from 0 up"),
        ([f"{A},1", f"{A},1"], "line 3 node | each node once"),
        ([",1"], "line 2 node | None"),
    ],
)
def test_loads_that_are_refused(rows: list[str], said: str, tmp_path: Path) -> None:
    """Capacities below nothing, a node twice or none."""
    path = tmp_path / "loads.csv"
    path.write_text(dump(*rows, head="node,storage_capacity"), "utf-8")
    with pytest.raises(BadInput) as error:
        read_loads(path)
    assert says(error.value, said), error.value
