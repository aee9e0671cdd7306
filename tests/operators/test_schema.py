"""Schemas beside dumps of tablets: CQL and rows of system_schema, read strictly."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.operators.importers.schema import ClusterSchema, SchemaParts, add_text, read_schema
from tests.saying import says

FIXTURE = Path(__file__).parents[1] / "fixtures" / "tablets" / "schema.cql"
ORDERS = "00000001-0000-11f0-8000-0000000000aa"
NETWORK = "'class': 'NetworkTopologyStrategy'"
KS = f"CREATE KEYSPACE ks WITH replication = {{{NETWORK}, 'dc1': 3}}"
T = f"CREATE TABLE ks.t (i int) WITH id = {ORDERS}"
KEYSPACES = "keyspace_name,durable_writes,replication,replication_v2\n"
LISTS = f"\"{{{NETWORK}, 'dc1:0': 'r2', 'dc1:1': 'r1', 'dc2': '1'}}\""


def parse_schema(text: str, source: str) -> ClusterSchema:
    """The schema that one text tells."""
    parts = SchemaParts()
    add_text(parts, text, source)
    return parts.schema(source)


def test_what_describe_schema_prints() -> None:
    """Keyspaces, tables with ids and counts, views; texts and comments end no statement."""
    schema = read_schema(FIXTURE)
    [shop] = schema.keyspaces.values()
    assert (shop.name, dict(shop.factors), shop.every) == ("shop", {"dc1": 3}, None)
    assert (shop.tablets, shop.initial, shop.line) == (True, 4, "schema.cql line 2")
    assert list(schema.tables) == ["shop.orders", "shop.orders_by_day"]
    orders, by_day = schema.tables.values()
    assert (orders.table_id, orders.line) == (ORDERS, "schema.cql line 4")
    assert orders.counts == {"min_tablet_count": 8, "min_per_shard_tablet_count": Fraction(1, 2)}
    assert (by_day.view_of, by_day.keyspace) == ("orders", "shop")


@pytest.mark.parametrize(
    ("options", "factors", "every"),
    [
        ("'dc1': ['r1', 'r2'], 'dc2': '1'", {"dc1": ("r1", "r2"), "dc2": 1}, None),
        ("'replication_factor': 3", {}, 3),
        ("'dc1': 0, 'replication_factor': '2'", {"dc1": 0}, 2),
        ("'dc1': []", {"dc1": ()}, None),
        ("'dc1:-1': '', 'dc2:0': 'r1'", {"dc1": (), "dc2": ("r1",)}, None),
    ],
)
def test_replication(options: str, factors: dict[str, object], every: int | None) -> None:
    """Numbers, texts of numbers, rack lists, and one factor for every datacenter."""
    schema = parse_schema(f'create keyspace "Ks" with REPLICATION={{{NETWORK}, {options}}};', "s")
    [keyspace] = schema.keyspaces.values()
    assert (keyspace.name, dict(keyspace.factors), keyspace.every) == ("Ks", factors, every)
    assert keyspace.tablets is None


def test_rows_of_several_tables_are_one_schema(tmp_path: Path) -> None:
    """Rack lists come from replication_v2, a number of tablets from scylla_keyspaces."""
    files = {
        "keyspaces.csv": f"{KEYSPACES}ks,True,\"{{{NETWORK}, 'dc1': '2', 'dc2': '1'}}\",{LISTS}\n",
        "scylla.csv": "keyspace_name,initial_tablets\nks,16\n",
        "tables.txt": '[json]\n---\n {"keyspace_name": "ks", "table_name": "t", "id": "'
        f'{ORDERS}"}}\n\n(1 rows)\n',
        "views.json": '[{"keyspace_name": "ks", "view_name": "v", "base_table_name": "t"}]',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    schema = read_schema(*(tmp_path / name for name in files))
    keyspace = schema.keyspaces["ks"]
    assert dict(keyspace.factors) == {"dc1": ("r2", "r1"), "dc2": 1}
    assert (keyspace.tablets, keyspace.initial) == (True, 16)
    assert schema.tables["ks.t"].table_id == ORDERS
    assert schema.tables["ks.v"].view_of == "t"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "s | no keyspace | DESCRIBE SCHEMA"),
        (f"{KS}", "s line 1 | CREATE | cut short"),
        (f"\n\n{KS} AND comment = 'x;", "s line 3 | every quote and comment closed"),
        (f"{KS}; /* more", "line 1 | closed"),
        (f"{KS};\nALTER KEYSPACE ks WITH x = 1;", "s line 2 | ALTER KEYSPACE KS | CREATE"),
        (f"{KS};\n{KS};", "s line 2 | 'ks' | each keyspace once, but it is also in s line 1"),
        ("CREATE KEYSPACE ks;", "line 1 | also WITH replication"),
        ("CREATE KEYSPACE ;", "line 1 | the name of a keyspace"),
        ("CREATE KEYSPACE ks WITH replication = 3;", "replication of keyspace ks | 3 | a class"),
        ("CREATE KEYSPACE ks WITH\n replication = {'class': f()};", "s line 2 replication | CQL"),
        ("CREATE KEYSPACE ks WITH replication = {'class': 'X'};", "class | 'X' | SimpleStrategy"),
        (f"{KS} AND replication = {{}};", "line 1 | replication | each property once"),
        (f"{KS} AND tablets = {{'enabled': 7}};", "tablets.enabled | 7 | true or false"),
        (f"{KS} AND tablets = {{'initial': -1}};", "tablets.initial | -1 | a number"),
        (f"{KS} AND tablets = 8;", "line 1 tablets | 8 | a map"),
        (KS.replace("3", "'many'") + ";", "dc1 | 'many' | or a list of racks"),
        (KS.replace("3", "-3") + ";", "dc1 | -3 | a number of replicas"),
        (KS.replace("3", "['r1', 'r1']") + ";", "dc1 | r1, r1 | each rack once"),
        (KS.replace("3", "[r1]") + ";", "dc1 | 'r1' | the name of a rack, as a string"),
        (KS.replace("Network", "Every") + ";", "class"),
        (f"{KS}; CREATE TABLE t (id int);", "s line 1 | 't' | USE keyspace"),
        (f"{KS};\nUSE ;", "s line 2 | 'USE' | the name of a keyspace"),
        (f"{KS};\nUSE ks.t;", "s line 2 | 'USE ks . t' | the name of a keyspace"),
        (KS.replace("dc1", "\x1b:0").replace("3", "'r'") + ";", "datacenter | printable"),
        (KS.replace("dc1", "dc1:-1").replace("3", "'r'") + ";", "dc1 | -1 | and nothing else"),
        (f"{KS}; CREATE TABLE ks. ;", "a name, or keyspace.name"),
        (f"{KS}; CREATE TABLE ks.t (i int) WITH id = 7;", "line 1 id | 7 | a UUID"),
        (f"{KS}; CREATE MATERIALIZED VIEW ks.v AS SELECT;", "FROM and its base table as well"),
        (f"{KS}; {T};\n{T.replace('.t', '.u')};", "s line 2 | an id of its own, but s line 1"),
        ("keyspace_name,x\nks,1\n", "s line 2 | keyspace_name, x | rows of system_schema"),
        ("keyspace_name,table_name\nks,t\n", "s | no keyspace"),
        ("keyspace_name,initial_tablets\nks,8\n", "line 2 | 'ks' | its row of system_schema"),
        (f"{KEYSPACES}ks,True,{{}},\n", "keyspace ks replication | a map with a class"),
        (KEYSPACES + "ks,True,x," + LISTS.replace("dc1:1", "dc1:2"), "dc1 | 0, 2 | dc1:0, dc1:1"),
        ('[{"keyspace_name": 3}]', "s row 1 keyspace_name | 3 | a name"),
    ],
)  # fmt: skip
def test_what_is_no_schema(text: str, said: str) -> None:
    """One line that names the line of the file, the value, and what may stand there."""
    with pytest.raises(BadInput) as error:
        parse_schema(text, "s")
    assert says(error.value, said), error.value


def test_two_files_may_not_contradict_each_other() -> None:
    """Another id for the same table is refused."""
    rows = f'[{{"keyspace_name": "ks", "table_name": "t", "id": "{ORDERS}"}},'
    rows += f' {{"keyspace_name": "ks", "table_name": "t", "id": "{ORDERS[:-1]}b", "cdc": null}}]'
    with pytest.raises(BadInput, match="table_id"):
        parse_schema(rows, "s")
