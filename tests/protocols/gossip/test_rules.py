"""What gossip carries: cells of the schema, end points, and where a role is held."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.protocols.gossip.lessons import POLL_SECONDS, can_log_in, rebuild_delay, role_replicas
from kit.protocols.gossip.rules import (
    STATUS,
    EndpointDigest,
    LegacyTable,
    Mutations,
    SchemaCell,
    SchemaChange,
    View,
    cells_of,
    compared,
    definitions,
    digests,
    endpoint_of,
    forgetting,
    heard,
    merged,
    objection,
    parse_changes,
    saying,
    schema_of,
    since,
    started,
    version_of,
)

PLACES = (("", "replication"), ("", ""), ("t", "id"), ("t", "column c"), ("t", ""), ("u", "id"))

CELLS = st.builds(
    lambda place, time, value: SchemaCell(
        "ks", table=place[0], name=place[1], timestamp=time, value=value if place[1] else ""
    ),
    st.sampled_from(PLACES),
    st.integers(1, 4),
    st.sampled_from(("", "1", "2")),
)

MUTATIONS = st.lists(CELLS, max_size=6).map(lambda cells: merged((), tuple(cells)))


@given(MUTATIONS, MUTATIONS, MUTATIONS)
def test_merging_cells_is_commutative_associative_and_idempotent(
    a: Mutations, b: Mutations, c: Mutations
) -> None:
    """Tombstones and equal timestamps are included, and the version follows."""
    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))
    assert merged(a, a) == a
    assert version_of(merged(a, b)) == version_of(merged(b, a))


@given(MUTATIONS, MUTATIONS)
def test_a_merge_keeps_the_newest_cell_of_each_place_and_none_under_a_tombstone(
    a: Mutations, b: Mutations
) -> None:
    """A tombstone covers the cells of its table or keyspace that are not newer."""
    both = merged(a, b)
    assert len({cell.place for cell in both}) == len(both)
    for cell in both:
        rivals = [other for other in (*a, *b) if other.place == cell.place]
        assert max(other.rank for other in rivals) == cell.rank
        tombs = [other for other in both if not other.name and other.place != cell.place]
        own = [t for t in tombs if not t.table or t.table == cell.table]
        assert all(tomb.timestamp < cell.timestamp for tomb in own)


@given(MUTATIONS, MUTATIONS)
def test_schema_versions_are_equal_exactly_when_their_cells_are(a: Mutations, b: Mutations) -> None:
    """Agreement on a version would mean nothing if two schemas could share one."""
    assert (version_of(a) == version_of(b)) is (a == b)


def played(*changes: tuple[SchemaChange, int]) -> Mutations:
    """The cells after these changes on one node, each with its timestamp."""
    cells: Mutations = ()
    for change, timestamp in changes:
        cells = merged(cells, cells_of(change, timestamp, "A"))
    return cells


KEYSPACE = (SchemaChange("create", "ks"), 1)
TABLE = (SchemaChange("create", "ks", "t"), 2)


def test_a_dropped_table_leaves_one_tombstone() -> None:
    """Each table that comes and goes leaves one cell more, though no definition is left."""
    costs = []
    for count in range(5):
        changes = [KEYSPACE]
        for i in range(count):
            table = f"t{i}"
            changes.append((SchemaChange("create", "ks", table), 2 * i + 2))
            changes.append((SchemaChange("drop", "ks", table), 2 * i + 3))
        assert definitions(played(*changes)) == {"keyspace ks": "rf 1"}, count
        costs.append(len(played(*changes)))
    assert costs == [1, 2, 3, 4, 5]


def test_a_schema_is_the_newest_definition_of_each_place() -> None:
    """Keyspaces with their factor, tables with id and columns. The second alter of rf wins."""
    cells = played(
        *(KEYSPACE, TABLE, (SchemaChange("alter", "ks", "t", "c", "text"), 3)),
        *((SchemaChange("alter", "ks", replication=3), 4), (SchemaChange("create", "ks", "u"), 5)),
        *((SchemaChange("alter", "ks", "t", "c"), 6), (SchemaChange("drop", "ks", "u"), 7)),
    )
    schema = schema_of(cells)
    assert schema.keyspaces == (("ks", 3),)
    assert schema.tables == (LegacyTable("ks", "t", "2@A", (("pk", "int"),)),)
    assert schema.orphans == ()
    assert definitions(cells) == {
        "keyspace ks": "rf 3", "table ks.t": "id 2@A", "column ks.t.pk": "int"
    }  # fmt: skip


def test_a_column_altered_after_a_concurrent_drop_of_its_table_is_an_orphan() -> None:
    """One node drops the table at 3, and another alters it at 4."""
    both = played(KEYSPACE, TABLE)
    dropped = merged(both, cells_of(SchemaChange("drop", "ks", "t"), 3, "A"))
    altered = merged(both, cells_of(SchemaChange("alter", "ks", "t", "c", "int"), 4, "B"))
    assert schema_of(merged(dropped, altered)).orphans == ("column ks.t.c",)


def test_a_table_created_after_a_concurrent_drop_of_its_keyspace_is_an_orphan() -> None:
    """One node drops the keyspace at 3, and another creates a table in it at 4."""
    both = played(KEYSPACE)
    dropped = merged(both, cells_of(SchemaChange("drop", "ks"), 3, "A"))
    created = merged(both, cells_of(SchemaChange("create", "ks", "t"), 4, "B"))
    assert schema_of(merged(dropped, created)).orphans == ("table ks.t",)


TYPE = SchemaChange("create", "ks", "type ud")
USING = SchemaChange("create", "ks", "t", uses="type ud")

RACES = (
    (TYPE, USING, SchemaChange("drop", "ks", "type ud"), ("table ks.t", "type ks.ud")),
    (
        SchemaChange("create", "ks", "function f"),
        SchemaChange("create", "ks", "aggregate a", uses="function f"),
        SchemaChange("drop", "ks", "function f"),
        ("aggregate ks.a", "function ks.f"),
    ),
    (
        SchemaChange("create", "ks", "t"),
        SchemaChange("create", "ks", "view v", uses="t"),
        SchemaChange("drop", "ks", "t"),
        ("view ks.v", "table ks.t"),
    ),
)


@pytest.mark.parametrize(("used", "user", "dropped", "names"), RACES)
def test_a_drop_concurrent_with_a_first_use_leaves_an_orphan(
    used: SchemaChange, user: SchemaChange, dropped: SchemaChange, names: tuple[str, str]
) -> None:
    """Each node may make its own change, and objects only once it knows the other one."""
    before = played(KEYSPACE, (used, 2))
    assert objection(schema_of(before), user) is objection(schema_of(before), dropped) is None
    on_a = merged(before, cells_of(user, 3, "A"))
    on_b = merged(before, cells_of(dropped, 4, "B"))
    assert objection(schema_of(on_a), dropped) == " uses ".join(names)
    assert objection(schema_of(on_b), user) == f"{names[1]} does not exist"
    assert schema_of(merged(on_a, on_b)).orphans == (" using ".join(names),)


def test_a_type_in_use_cannot_be_dropped_and_an_unused_type_can() -> None:
    """The refusal names the table that uses the type."""
    other = SchemaChange("create", "ks", "type other")
    schema = schema_of(played(KEYSPACE, (TYPE, 2), (other, 3), (USING, 4)))
    assert objection(schema, SchemaChange("drop", "ks", "type other")) is None
    refused = objection(schema, SchemaChange("drop", "ks", "type ud"))
    assert refused == "table ks.t uses type ks.ud"


def test_a_statement_names_what_its_table_or_view_uses() -> None:
    """A table may use a type, and a view always uses a table."""
    lines = ("create table ks.t using ud at A", "create view ks.v using t at A")
    asked = parse_changes("changes", lines, ("A",))
    assert asked[0].change == USING
    assert asked[1].change == SchemaChange("create", "ks", "view v", uses="t")
    assert [f"{each.change.text} at A" for each in asked] == [*lines]


STATEMENTS = {
    "create keyspace ks": SchemaChange("create", "ks"),
    "create keyspace ks rf 3": SchemaChange("create", "ks", replication=3),
    "alter keyspace ks rf 2": SchemaChange("alter", "ks", replication=2),
    "drop keyspace ks": SchemaChange("drop", "ks"),
    "create table ks.t": SchemaChange("create", "ks", "t"),
    "alter table ks.t add c text": SchemaChange("alter", "ks", "t", "c", "text"),
    "alter table ks.t drop c": SchemaChange("alter", "ks", "t", "c"),
    "drop table ks.t": SchemaChange("drop", "ks", "t"),
    "drop type ks.ud": SchemaChange("drop", "ks", "type ud"),
    "create aggregate ks.a using f": SchemaChange("create", "ks", "aggregate a", uses="function f"),
    "drop aggregate ks.a": SchemaChange("drop", "ks", "aggregate a"),
    "drop view ks.v": SchemaChange("drop", "ks", "view v"),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_parsed_with_its_node(text: str) -> None:
    """Each form that a statement may have gives its change."""
    [planned] = parse_changes("changes", (f"{text} at B",), ("A", "B"))
    assert (planned.change, planned.node) == (STATEMENTS[text], 1)


@pytest.mark.parametrize(
    "line",
    [
        "create table ks.t rf 3 at A",
        "drop keyspace ks rf 3 at A",
        "alter keyspace ks at A",
        "alter table ks.t at A",
        "alter table ks.t add pk int at A",
        "alter table ks.t drop pk at A",
        "create keyspace ks add c int at A",
        "create table ks.t add c text at A",
        "alter table ks.t rf 2 at A",
        "drop table ks.t rf 2 at A",
        "create aggregate ks.a at A",
        "truncate table ks.t at A",
        "create view ks.v at A",
        "create type ks.ud using t at A",
        "drop table ks.t using ud at A",
        "alter type ks.ud add c int at A",
    ],
)
def test_a_statement_with_a_missing_or_foreign_clause_is_refused(line: str) -> None:
    """For example a table with a replication factor, or a view that uses no table."""
    with pytest.raises(BadInput):
        parse_changes("changes", (line,), ("A",))


def test_a_node_objects_to_a_change_that_its_own_schema_contradicts() -> None:
    """A change that fits meets no objection."""
    schema = schema_of(played(KEYSPACE, TABLE))
    assert {change: objection(schema, change) for change in OBJECTIONS} == OBJECTIONS


OBJECTIONS = {
    SchemaChange("create", "ks"): "keyspace ks already exists",
    SchemaChange("create", "new"): None,
    SchemaChange("drop", "no"): "keyspace no does not exist",
    SchemaChange("drop", "ks"): None,
    SchemaChange("create", "ks", "t"): "table ks.t already exists",
    SchemaChange("create", "ks", "u"): None,
    SchemaChange("drop", "ks", "u"): "table ks.u does not exist",
    SchemaChange("drop", "ks", "t"): None,
    SchemaChange("alter", "ks", "t", "pk", "int"): "table ks.t already has column pk",
    SchemaChange("alter", "ks", "t", "c"): "table ks.t has no column c",
    SchemaChange("alter", "ks", "t", "c", "text"): None,
}

Round = tuple[View, View]

SAYING = st.tuples(
    st.sampled_from(("say", "start")), st.sampled_from("AB"), st.sampled_from("12")
)  # fmt: skip


def history(steps: list[tuple[str, str, str]]) -> list[View]:
    """All views that there were: endpoints A and B say things, and start again."""
    view = started(started((), "A", 1), "B", 1)
    views = [view]
    for what, node, value in steps:
        own = endpoint_of(view, node)
        if what == "start":
            view = started(view, node, own.generation + 1, SCHEMA=value)
        else:
            view = saying(view, node, STATUS=value)
        views.append(view)
    return views


def exchanged(a: View, b: View) -> Round:
    """What both know after one round that A begins."""
    asked, newer = compared(b, digests(a))
    a = heard(a, newer)
    return a, heard(b, since(a, asked))


@given(st.lists(SAYING, max_size=6), st.data())
def test_one_gossip_round_brings_either_node_the_newest_endpoint_states(
    steps: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    """The newest state has the greatest generation, then the greatest version."""
    views = history(steps)
    at = st.integers(0, len(views) - 1)
    a = tuple(views[data.draw(at)][i] for i in (0, 1))
    b = tuple(views[data.draw(at)][i] for i in (0, 1))
    newest = tuple(
        max(pair, key=lambda state: (state.generation, state.version))
        for pair in zip(a, b, strict=True)
    )
    assert exchanged(a, b) == (newest, newest)


@given(st.lists(SAYING, max_size=6), st.data())
def test_an_older_gossip_message_leaves_a_newer_view_unchanged(
    steps: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    """A message may be late, or arrive twice."""
    views = history(steps)
    old = views[data.draw(st.integers(0, len(views) - 1))]
    assert heard(views[-1], old) == views[-1]


def test_a_gossip_round_tells_either_node_of_an_unknown_endpoint() -> None:
    """A forgotten endpoint is unknown again, and is asked for anew."""
    a, c = started((), "A", 1, STATUS="NORMAL"), started((), "C", 3, STATUS="BOOT", SCHEMA="0")
    both = heard(a, c)
    assert exchanged(a, c) == (both, both)
    assert endpoint_of(both, "C").says(STATUS) == "BOOT"
    assert endpoint_of(both, "D").generation == 0
    assert forgetting(both, "C") == a
    assert compared(a, digests(both)) == ((EndpointDigest("C", 0, 0),), ())


def test_a_gossip_answer_carries_only_states_newer_than_the_digest() -> None:
    """A new generation carries all its states."""
    old = started((), "A", 1, STATUS="NORMAL", SCHEMA="0")
    new = saying(old, "A", SCHEMA="1", STATUS="NORMAL")
    [own] = since(new, digests(old))
    assert [(state.name, state.value, state.version) for state in own.states] == [
        ("SCHEMA", "1", 3)
    ]
    [same] = since(new, digests(new))
    assert same.states == ()
    [whole] = since(started(new, "A", 2, SCHEMA="1"), digests(old))
    assert (whole.generation, [state.name for state in whole.states]) == (2, ["SCHEMA"])


NODES = ("A", "B", "C", "D")


@pytest.mark.parametrize("rf", range(7))
@pytest.mark.parametrize("role", range(4))
def test_a_role_by_gossip_has_rf_holders_and_in_group0_every_node(role: int, rf: int) -> None:
    """By gossip the holders are the nodes around the ring from the role's own on, none twice."""
    held = role_replicas(role, NODES, rf, "legacy")
    assert held == tuple("ABCDABCD"[role:][: min(rf, 4)])
    assert role_replicas(role, NODES, rf, "group 0") == NODES


def test_a_login_needs_some_holder_that_is_up() -> None:
    """Nodes that do not hold the role make no difference."""
    sets = [set(some) for size in range(5) for some in combinations(NODES, size)]
    for holders in sets:
        for up in sets:
            assert can_log_in((*holders,), (*up,)) is bool(holders & up), (holders, up)


def test_service_levels_come_within_a_poll_by_gossip_and_at_once_in_group0() -> None:
    """The interval is ten seconds unless configured."""
    assert POLL_SECONDS == 10
    assert rebuild_delay("legacy") == (0, 10)
    assert rebuild_delay("legacy", 3.5) == (0, 3.5)
    assert rebuild_delay("group 0", 3.5) == rebuild_delay("group 0") == (0, 0)
