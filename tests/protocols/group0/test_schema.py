"""The schema on group 0: versions made by the sender, and carried by requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.lessons import schema_costs
from kit.model.registry import build
from kit.protocols.group0.lessons import change_cost, total_cost
from kit.protocols.group0.rules.schema import (
    KEY_COLUMN,
    SchemaState,
    Statement,
    merged,
    objection,
    parse_operations,
)
from kit.search.check import check
from kit.views.fragment import Frag
from tests.protocols.group0.driving import FIRST_SIX, Driven

ALTER = "alter table ks.t add c at A"
TABLE = ("create keyspace ks at A", "create table ks.t at A")
CREATE = TABLE[1]
WRITE = "write ks.t at A to B"
STATEMENTS = st.sampled_from(
    (
        Statement("create", "ks"),
        Statement("alter", "ks", replication=3),
        Statement("drop", "ks"),
        Statement("create", "ks", "t"),
        Statement("alter", "ks", "t", "c"),
        Statement("alter", "ks", "t", "d"),
        Statement("drop", "ks", "t"),
    )
)


def altered() -> Driven:
    """A has added a column and applied it; B and C lag."""
    driven = Driven(operations=(ALTER,), earlier=TABLE, requests=(WRITE,)).submitted(ALTER)
    return driven.do("commit 7 by A C", "apply A")


@pytest.mark.spec("C-043")
def test_only_the_sender_of_a_change_computes_the_table_version() -> None:
    """A has a tick beside the version; C stores the version that it got."""
    driven = altered().do("replicate C", "apply C")
    assert driven.part("schema", "table:A:ks.t").text().endswith("7 true ✓ computed here")
    assert driven.part("schema", "table:C:ks.t").text().endswith("7 true given by A")


@pytest.mark.spec("C-044")
def test_a_node_stores_the_schema_version_when_it_applies_the_change() -> None:
    """As ``group0_schema_version``; before the first change there is no row."""
    driven = altered()
    assert driven.part("schema", "schema:A").text() == "A 7 ks"
    assert driven.part("schema", "schema:B").text() == "B 4 ks"
    assert Driven(operations=TABLE[:1], earlier=()).part("schema", "schema:A").text() == (
        "A no row none"
    )


@pytest.mark.spec("C-045")
def test_a_changed_table_has_the_senders_version_on_every_node() -> None:
    """The cells ``version`` and ``committed_by_group0`` of an altered and of a created table."""
    creates = "create table ks.u at A"
    created = Driven(operations=(creates,), earlier=TABLE).submitted(creates)
    created.do("commit 7 by A C", "apply A")
    for driven, name, columns in ((altered(), "ks.t", "c, pk"), (created, "ks.u", "pk")):
        driven.do("replicate C", "apply C")
        by_node = [driven.part("schema", f"table:{node}:{name}").text() for node in "AC"]
        assert by_node[0].endswith(f"{name} {columns} 7 true ✓ computed here")
        assert by_node[1].endswith(f"{name} {columns} 7 true given by A")


@pytest.mark.spec("C-050")
@given(st.lists(STATEMENTS, max_size=12))
def test_the_schema_version_grows_with_every_change(statements: list[Statement]) -> None:
    """The version is the change's timestamp; no table has a version that no change gave."""
    schema, last = SchemaState(), 0
    for timestamp, statement in enumerate(statements, start=1):
        if objection(schema, statement) is None:
            schema = merged(schema, statement, timestamp)
            assert schema.version == timestamp > last
            assert {table.version for table in schema.tables} <= set(range(1, timestamp + 1))
            last = timestamp


@pytest.mark.spec("C-050")
def test_the_version_of_a_table_grows_on_every_node() -> None:
    """A and B alter a table on the same state: the loser's first id is never a version."""
    both = (ALTER, "alter table ks.t add d at B")
    driven = Driven(operations=both, earlier=TABLE)
    steps = (f"{step} {node}" for step in FIRST_SIX for node in "AB")
    driven.do(*both, *steps, "commit 7 by A B", "commit 5 by A B")
    found: dict[str, list[str]] = {node: ["4"] for node in "ABC"}
    assert driven.words("schema").count("ks.t  pk  4  true") == 3
    while driven.timeline.forward() is not None:
        for node, versions in found.items():
            cell = driven.part("schema", f"table:{node}:ks.t").kids[3]
            assert isinstance(cell, Frag)
            versions.append(cell.text())
    assert {tuple(dict.fromkeys(versions)) for versions in found.values()} == {("4", "7", "8")}


@given(st.lists(STATEMENTS, max_size=8))
def test_a_statement_without_objection_changes_the_schema(statements: list[Statement]) -> None:
    """An objection names the keyspace and what exists already, or does not."""
    schema = SchemaState()
    for timestamp, statement in enumerate(statements, start=1):
        why = objection(schema, statement)
        if why is None:
            after = merged(schema, statement, timestamp)
            assert after != schema
            schema = after
        else:
            assert statement.keyspace in why
            assert why.endswith(("exists", "not exist")) or "has column" in why


@pytest.mark.spec("C-041")
def test_a_replica_with_an_older_schema_fetches_before_serving() -> None:
    """The request carries version 7; B has 4, fetches, and serves with 7."""
    driven = altered().do(WRITE)
    assert driven.flows() == ["A → B: request with version 7"]
    assert driven.part("schema", "request:0").text() == f"{WRITE}: version 7 sent"
    assert driven.refused(f"serve: {WRITE}") == (
        "B has version 4 of ks.t, the request carries 7: B fetches the schema first"
    )
    driven.do(f"fetch: {WRITE}")
    assert driven.flows() == ["B → A: schema?", "A → B: version 7"]
    driven.do(f"serve: {WRITE}")
    assert driven.scene.say == f"B serves {WRITE} with version 7 of ks.t."


@pytest.mark.spec("C-041")
@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize(
    ("change", "earlier", "newest"),
    [(ALTER, TABLE, 7), (CREATE, TABLE[:1], 4)],
    ids=["an older version", "an unknown table"],
)
def test_a_request_is_served_only_with_a_schema_as_new_as_its_own(
    kind: str, change: str, earlier: tuple[str, ...], newest: int
) -> None:
    """Of a table known in an older version or not at all. Without the check a search finds harm."""
    request = f"{kind} ks.t at A to B"
    given = {"operations": (change,), "earlier": earlier, "requests": (request,)}
    driven = Driven(**given).submitted(change)
    driven.do(f"commit {newest} by A C", "apply A", request)
    assert driven.flows() == [f"A → B: request with version {newest}"]
    assert f"the request carries {newest}" in driven.refused(f"serve: {request}")
    driven.do(f"fetch: {request}", f"serve: {request}")
    own = driven.model.own_version(driven.state, 0, 1)
    assert own >= newest
    whole = check(build("group0", {**given, "nodes": 2}))
    assert (whole.violation, whole.complete) == (None, True)
    found = check(build("group0", {**given, "nodes": 2}, ("schema-version-check",)))
    assert found.violation is not None
    assert found.violation.property == "new-enough"


@pytest.mark.spec("C-041")
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_replica_with_a_newer_schema_serves_at_once(kind: str) -> None:
    """A coordinator that lags is no reason to fetch."""
    requests = (f"{kind} ks.t at B to A",)
    driven = Driven(operations=(ALTER,), earlier=TABLE, requests=requests).submitted(ALTER)
    driven.do("commit 7 by A C", "apply A", requests[0], f"serve: {requests[0]}")
    assert driven.scene.say == f"A serves {requests[0]} with version 7 of ks.t."


def test_an_unknown_table_has_the_version_of_the_whole_schema() -> None:
    """So a node knows whether its schema is too old for the table."""
    empty, schema = SchemaState(), merged(SchemaState(), Statement("create", "ks"), 5)
    assert [each.version_of("ks", "t") for each in (empty, schema)] == [0, 5]


@pytest.mark.spec("C-051")
def test_the_cost_of_a_change_grows_with_the_tables_by_hash_alone() -> None:
    """10 to 20 seconds with the hash, one or less with the timestamp."""
    words = repr(schema_costs())
    assert "hash: 10 to 20" in words
    assert "timestamp: 1 or less" in words
    assert "with half as many tables: at most 10 by hash, no change by timestamp" in words
    assert schema_costs().png == schema_costs().png
    costs = [change_cost("hash", tables)[1] for tables in (2_000, 4_000, 8_000)]
    assert costs[1] == 2 * costs[0]
    assert costs[2] == 4 * costs[0]
    assert change_cost("timestamp", 10) == change_cost("timestamp", 10_000)


def test_creating_all_tables_costs_a_square_by_hash_and_a_line_by_timestamp() -> None:
    """Twice as many tables take four times as long with the hash, twice with the timestamp."""
    small, large = (total_cost("hash", tables) for tables in (20_000, 40_000))
    assert 3.9 < large / small < 4.1
    assert total_cost("timestamp", 40_000) == 2 * total_cost("timestamp", 20_000)


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("create keyspace ks at A", Statement("create", "ks")),
        ("alter keyspace ks rf 3 at A", Statement("alter", "ks", replication=3)),
        ("alter table ks.t add c at A", Statement("alter", "ks", "t", "c")),
        ("drop  table ks.t  at A", Statement("drop", "ks", "t")),
        ("create keyspace ks add c at A", None),
        ("create keyspace ks rf 3 at A", None),
        ("create table ks.t rf 3 at A", None),
        ("alter keyspace ks at A", None),
        ("alter keyspace ks rf 0 at A", None),
        ("alter table ks.t at A", None),
        (f"alter table ks.t add {KEY_COLUMN} at A", None),
        ("alter table ks.t add c rf 3 at A", None),
        ("alter keyspace ks add c rf 3 at A", None),
        ("drop table ks.t add c at A", None),
        ("rename table ks.t at A", None),
    ],
)
def test_a_statement_is_refused_for_foreign_parts(line: str, statement: Statement | None) -> None:
    """Columns go with altered tables, replicas with altered keyspaces; the key is there."""
    if statement is not None:
        [operation] = parse_operations([line], ("A",))
        assert (operation.statement, operation.node) == (statement, 0)
        assert f"{statement.text} at A" == operation.text
        return
    with pytest.raises(BadInput, match=r"alter table KS\.T add COLUMN at NODE"):
        parse_operations([line], ("A",))


@pytest.mark.parametrize("table", ["", "t"])
@pytest.mark.parametrize(("timestamp", "newer"), [(4, False), (5, True), (6, True)])
def test_an_older_statement_changes_nothing(table: str, timestamp: int, newer: bool) -> None:
    """The schema was made at 5; of two equally new statements the later to be merged counts."""
    schema = merged(SchemaState(), Statement("create", "ks", replication=2), 5)
    schema = merged(schema, Statement("create", "ks", "t"), 5)
    schema = merged(schema, Statement("alter", "ks", "t", "c"), 5)
    after = merged(schema, Statement("create", "ks", table), timestamp)
    if table:
        rows = [(each.columns, each.version) for each in after.tables]
        made = (KEY_COLUMN,), timestamp
        assert rows == [made if newer else (("c", KEY_COLUMN), 5)]
    else:
        rf = [(each.replication, each.timestamp) for each in after.keyspaces]
        assert rf == [(1, timestamp) if newer else (2, 5)]


@pytest.mark.parametrize("tables", [0, 1_000_001])
def test_a_chart_of_no_or_too_many_tables_is_refused(tables: int) -> None:
    """The error says how many are allowed."""
    with pytest.raises(BadInput, match="a number from 1 to 1000000"):
        schema_costs(tables)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("write ks.t",), "read KS.T at NODE to NODE"),
        (("write ks.t at A to Z",), "nodes among A, B, C"),
        ((WRITE, WRITE), "each request once"),
    ],
)
def test_a_malformed_or_repeated_request_is_refused(lines: tuple[str, ...], words: str) -> None:
    """The error says what is allowed."""
    with pytest.raises(BadInput, match=words):
        build("group0", {"requests": lines})


def after(*lines: str) -> SchemaState:
    """The schema after these statements, made at 1, 2 and so on."""
    schema = SchemaState()
    for timestamp, line in enumerate(lines, start=1):
        [operation] = parse_operations([f"{line} at A"], "A")
        schema = merged(schema, operation.statement, timestamp)
    return schema


THERE = ("create keyspace a", "create keyspace ks", "create table a.u", "create table ks.t",
         "alter table ks.t add c")  # fmt: skip


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("create keyspace ks", "keyspace ks already exists"),
        ("create keyspace a", "keyspace a already exists"),
        ("create keyspace new", None),
        ("alter keyspace ks rf 3", None),
        ("alter keyspace new rf 3", "keyspace new does not exist"),
        ("drop keyspace ks", None),
        ("drop keyspace new", "keyspace new does not exist"),
        ("create table ks.t", "table ks.t already exists"),
        ("create table ks.u", None),  # another keyspace has a table of that name
        ("create table a.t", None),
        ("create table new.t", "keyspace new does not exist"),
        ("alter table ks.t add c", "table ks.t already has column c"),
        ("alter table ks.t add d", None),
        ("alter table a.u add c", None),
        ("alter table ks.u add c", "table ks.u does not exist"),
        ("alter table new.t add c", "keyspace new does not exist"),
        ("drop table ks.t", None),
        ("drop table ks.u", "table ks.u does not exist"),
        ("drop table new.t", "keyspace new does not exist"),
    ],
)
def test_a_statement_is_refused_by_what_the_schema_has(line: str, why: str | None) -> None:
    """Each row: a statement and the objection to it."""
    [operation] = parse_operations([f"{line} at A"], "A")
    assert objection(after(*THERE), operation.statement) == why


@pytest.mark.parametrize(
    ("more", "keyspaces", "tables"),
    [
        ((), "a/1 ks/1", "a.u(pk) ks.t(c,pk)"),
        (("drop keyspace ks",), "a/1", "a.u(pk)"),
        (("drop keyspace a",), "ks/1", "ks.t(c,pk)"),
        (("drop table ks.t",), "a/1 ks/1", "a.u(pk)"),
        (("drop table ks.t", "create table ks.t"), "a/1 ks/1", "a.u(pk) ks.t(pk)"),
        (("create keyspace b",), "a/1 b/1 ks/1", "a.u(pk) ks.t(c,pk)"),
        (("create table a.t",), "a/1 ks/1", "a.t(pk) a.u(pk) ks.t(c,pk)"),
        (("alter keyspace a rf 3",), "a/3 ks/1", "a.u(pk) ks.t(c,pk)"),
        (("alter table a.u add b", "alter table ks.t add d"), "a/1 ks/1",
         "a.u(b,pk) ks.t(c,d,pk)"),
    ],
)  # fmt: skip
def test_a_statement_changes_only_the_named_object(
    more: tuple[str, ...], keyspaces: str, tables: str
) -> None:
    """A keyspace goes with its tables and no other; all are in order."""
    schema = after(*THERE, *more)
    assert " ".join(f"{each.name}/{each.replication}" for each in schema.keyspaces) == keyspaces
    rows = (f"{t.keyspace}.{t.name}({','.join(t.columns)})" for t in schema.tables)
    assert " ".join(rows) == tables
