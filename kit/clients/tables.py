"""The tables that a node answers: those of drivers, the schema, and those of the model's servers.

What a model does not tell is null. Source: published ``SystemKeyspace``, ``SchemaKeyspace``,
``VirtualSchemaKeyspace`` and ``DescribeStatement``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from kit.console.cassandra import NATIVE_PORT, PORT
from kit.console.drill import DrillMoment
from kit.console.server import VIRTUAL, KnownRing, Row, Servers, TableKey, declared
from kit.errors import BadInput
from kit.model.flows import as_uuid
from kit.ring.replication import Keyspace, LocalStrategy
from kit.ring.tokens import MURMUR3

RELEASE, CQL = "6.0.0-kit", "3.4.7"
"""The first published release with CEP-21, and ours."""
CLUSTER = "kit"
PARTITIONERS = "org.apache.cassandra.dht."
LOCATORS = "org.apache.cassandra.locator."
PARTS = 2
"""A table's name has two: its keyspace, and its own."""
IN_RING = "NLM"
"""The states in which a node is a peer: one that joins is none yet."""
STRATEGY: Mapping[str, str] = {"class": f"{LOCATORS}LocalStrategy"}
EMPTY = {
    "types": "keyspace_name text, type_name text; field_names list<text>, field_types list<text>",
    "functions": "keyspace_name text, function_name text, argument_types frozen<list<text>>",
    "aggregates": "keyspace_name text, aggregate_name text, argument_types frozen<list<text>>",
    "triggers": "keyspace_name text, table_name text, trigger_name text",
    "indexes": "keyspace_name text, table_name text, index_name text; kind text",
    "views": "keyspace_name text, view_name text; base_table_name text",
}
OF_SCHEMA = {
    "keyspaces": "keyspace_name text; durable_writes boolean, replication map<text, text>",
    "tables": "keyspace_name text, table_name text; flags set<text>, comment text, id uuid",
    "columns": (
        "keyspace_name text, table_name text, column_name text; clustering_order text, kind text, "
        "position int, type text"
    ),
}
LOCAL = (
    "key text; bootstrapped text, broadcast_address inet, broadcast_port int, cluster_name text, "
    "cql_version text, data_center text, host_id uuid, listen_address inet, listen_port int, "
    "native_protocol_version text, partitioner text, rack text, release_version text, "
    "rpc_address inet, rpc_port int, schema_version uuid, tokens set<text>"
)
PEERS = {
    "peers": (
        "peer inet; data_center text, host_id uuid, rack text, release_version text, "
        "rpc_address inet, schema_version uuid"
    ),
    "peers_v2": (
        "peer inet, peer_port int; data_center text, host_id uuid, native_address inet, "
        "native_port int, rack text, release_version text, schema_version uuid"
    ),
}
DESCRIBED = {"keyspace_name": "text", "type": "text", "name": "text", "create_statement": "text"}


class Table(Struct, frozen=True):
    """A table: its columns with their CQL types, its key, whose columns are first, and its rows."""

    keyspace: str
    name: str
    columns: Mapping[str, str]
    rows: Callable[[], Iterable[Row]] = tuple
    key: TableKey = TableKey()

    @property
    def title(self) -> str:
        """Its name, as statements have it."""
        return f"{self.keyspace}.{self.name}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of its key, the partition key first."""
        return self.key.of(self.columns)

    @property
    def is_virtual(self) -> bool:
        """Whether its rows are made when it is read."""
        return self.keyspace in VIRTUAL

    def kind_of(self, column: str) -> str:
        """The kind of a column in the schema."""
        if column in self.keys:
            return "clustering" if self.keys.index(column) else "partition_key"
        return "static" if column in self.key.static else "regular"

    def create(self) -> str:
        """The statement that would create it."""
        signed = ((each, " static" * (each[0] in self.key.static)) for each in self.columns.items())
        columns = "".join(f"    {name} {kind}{static},\n" for (name, kind), static in signed)
        order = f" WITH CLUSTERING ORDER BY ({', '.join(f'{each} DESC' for each in self.keys[1:])})"
        return (
            f"CREATE TABLE {self.title} (\n{columns}    PRIMARY KEY ({', '.join(self.keys)})\n)"
            f"{order * self.key.descending};"
        )


def made(keyspace: str, name: str, text: str, rows: Callable[[], Iterable[Row]] = tuple) -> Table:
    """A table from the declaration of its columns."""
    columns, key = declared(text)
    return Table(keyspace, name, columns, rows, key)


class Addresses(Struct, frozen=True):
    """The addresses of the nodes for clients: one each, by its place, and one port."""

    hosts: Sequence[str]
    port: int = NATIVE_PORT


class Catalog:
    """The tables of a node at a moment, by their names."""

    def __init__(self, tools: Servers, now: DrillMoment, addresses: Addresses) -> None:
        self.tools, self.now, self.addresses = tools, now, addresses
        self.keyspaces, self.users = tools.schema(now, now.here)
        own = "" if self.ring() is None else ", tokens set<text>"
        every = [
            made("system", "local", LOCAL, self._local),
            *(made("system", name, text + own, self._peers) for name, text in PEERS.items()),
            *(made("system_schema", name, text) for name, text in EMPTY.items()),
        ]
        rows = {"keyspaces": self._keyspaces, "tables": self._tables, "columns": self._columns}
        for schema in ("system_schema", "system_virtual_schema"):
            virtual = schema == "system_virtual_schema"
            for name, text in OF_SCHEMA.items():
                shown = text.partition(";")[0] if virtual and name == "keyspaces" else text
                every.append(made(schema, name, shown, partial(rows[name], virtual)))
        for each in tools.tables:
            rows_here = partial(each.rows, now, now.here)
            every.append(Table(each.keyspace, each.name, each.types, rows_here, each.key))
        every += [Table(each.keyspace, each.name, each.columns) for each in self.users]
        self.tables = {each.title: each for each in every}

    def table(self, keyspace: str, name: str) -> Table:
        """A table by its name. Raises BadInput where the node has none."""
        if (known := self.tables.get(f"{keyspace}.{name}")) is None:
            raise BadInput("table", f"{keyspace}.{name}", f"one of {', '.join(self.tables)}")
        return known

    def is_of_users(self, table: Table) -> bool:
        """Whether it is a table of users."""
        return (table.keyspace, table.name) in {(each.keyspace, each.name) for each in self.users}

    def names(self) -> list[str]:
        """The keyspaces, those of the system first."""
        held = [each.keyspace for each in self.tables.values()]
        return [*dict.fromkeys([*held, *(each.name for each in self.keyspaces)])]

    # -- who is there ------------------------------------------------------------------------------

    def ring(self) -> KnownRing | None:
        """The ring as the node knows it."""
        return self.tools.known_ring(self.now, self.now.here)

    def tokens(self, at: int) -> list[str] | None:
        """The tokens of a member as its partitioner writes them."""
        ring = self.ring()
        if ring is None or not ring.tokens.get(at) or self.partitioner() is None:
            return None
        hashed = ring.space == MURMUR3
        return [str(t) if hashed else t.to_bytes(8, "big").hex() for t in ring.tokens[at]]

    def partitioner(self) -> str | None:
        """That of the ring: in a small token space a key is its own token."""
        if (ring := self.ring()) is None or (ring.space.low < 0 and ring.space != MURMUR3):
            return None
        of = "Murmur3" if ring.space == MURMUR3 else "ByteOrdered"
        return f"{PARTITIONERS}{of}Partitioner"

    def members(self) -> list[int]:
        """The places of those in the ring."""
        known = ((at, letter) for at, letter, _ in self.tools.members(self.now))
        return [at for at, letter in known if letter in IN_RING]

    def version(self, at: int) -> str | None:
        """The schema version of a node, as a UUID; None where there is no schema."""
        if not (said := self.tools.version(self.now, at)):
            return None
        try:
            return str(UUID(said))
        except ValueError:
            return as_uuid(int.from_bytes(said.encode()[-16:], "big"))

    def _local(self) -> Iterator[Row]:
        at, host = self.now.here, self.tools.hosts(self.now)[self.now.here]
        yield {
            "key": "local",
            "bootstrapped": "COMPLETED" if at in self.members() else None,
            "broadcast_address": host.address,
            "broadcast_port": PORT,
            "cluster_name": CLUSTER,
            "cql_version": CQL,
            "data_center": host.dc,
            "host_id": host.host_id,
            "listen_address": host.address,
            "listen_port": PORT,
            "native_protocol_version": "4",
            "partitioner": self.partitioner(),
            "rack": host.rack,
            "release_version": RELEASE,
            "rpc_address": self.addresses.hosts[at],
            "rpc_port": self.addresses.port,
            "schema_version": self.version(at),
            "tokens": self.tokens(at),
        }

    def _peers(self) -> Iterator[Row]:
        hosts = self.tools.hosts(self.now)
        for at in self.members():
            if at != self.now.here:
                host, address = hosts[at], self.addresses.hosts[at]
                yield {
                    "peer": host.address,
                    "peer_port": PORT,
                    "data_center": host.dc,
                    "host_id": host.host_id,
                    "native_address": address,
                    "native_port": self.addresses.port,
                    "rack": host.rack,
                    "release_version": RELEASE,
                    "rpc_address": address,
                    "schema_version": self.version(at),
                    "tokens": self.tokens(at),
                }

    # -- the schema --------------------------------------------------------------------------------

    def _keyspaces(self, virtual: bool) -> Iterator[Row]:
        own = {each.name: each for each in self.keyspaces}
        for name in self.names():
            if (name in VIRTUAL) is virtual:
                replication = replication_of(own[name]) if name in own else STRATEGY
                yield {"keyspace_name": name, "durable_writes": True, "replication": replication}

    def _tables(self, virtual: bool) -> Iterator[Row]:
        for number, each in enumerate(self.tables.values()):
            if each.is_virtual is virtual:
                yield {
                    "keyspace_name": each.keyspace,
                    "table_name": each.name,
                    "flags": ["compound"],
                    "comment": "",
                    "id": as_uuid(number),
                }

    def _columns(self, virtual: bool) -> Iterator[Row]:
        for each in self.tables.values():
            if each.is_virtual is virtual:
                for name, type_ in each.columns.items():
                    kind = each.kind_of(name)
                    order = "desc" if each.key.descending else "asc"
                    yield {
                        "keyspace_name": each.keyspace,
                        "table_name": each.name,
                        "column_name": name,
                        "clustering_order": order if kind == "clustering" else "none",
                        "kind": kind,
                        "position": max(0, each.keys.index(name) - 1) if name in each.keys else -1,
                        "type": type_,
                    }

    def describe(self, words: Sequence[str], used: str) -> tuple[dict[str, str], list[Row]]:
        """The answer of DESCRIBE about a cluster, its keyspaces, or one of their tables.

        Raises BadInput for anything else.
        """
        what, *rest = (*words, "")
        what, rest = what.upper(), [word for word in rest if word]
        plain = {name: kind for name, kind in DESCRIBED.items() if name != "create_statement"}
        if what == "CLUSTER":
            row = {"cluster": CLUSTER, "partitioner": self.partitioner() or "?", "snitch": "?"}
            return dict.fromkeys(row, "text"), [row]
        if what == "KEYSPACES":
            return plain, [_described(name, "keyspace", name) for name in self.names()]
        if what == "TABLES":
            some = (t for t in self.tables.values() if used in ("", t.keyspace))
            return plain, [_described(t.keyspace, "table", t.name) for t in some]
        if what in ("SCHEMA", "FULL"):
            return DESCRIBED, [row for each in self.keyspaces for row in self._described(each.name)]
        names = rest if what in ("KEYSPACE", "TABLE", "COLUMNFAMILY") else [*words]
        name = names[-1] if names else used
        if len(names) < PARTS and what not in ("TABLE", "COLUMNFAMILY") and name in self.names():
            return DESCRIBED, self._described(name)
        keyspace = names[0] if len(names) == PARTS else used
        known = self.table(keyspace, name)
        return DESCRIBED, [_described(keyspace, "table", name, known.create())]

    def _described(self, name: str) -> list[Row]:
        own = {each.name: each for each in self.keyspaces}
        replication = replication_of(own[name]) if name in own else STRATEGY
        options = ", ".join(f"'{key}': '{value}'" for key, value in replication.items())
        create = f"CREATE KEYSPACE {name} WITH replication = {{{options}}};"
        tables = (each for each in self.tables.values() if each.keyspace == name)
        return [
            _described(name, "keyspace", name, create),
            *(_described(name, "table", each.name, each.create()) for each in tables),
        ]


def _described(keyspace: str, kind: str, name: str, create: str = "") -> Row:
    return {"keyspace_name": keyspace, "type": kind, "name": name, "create_statement": create}


def replication_of(keyspace: Keyspace) -> dict[str, str]:
    """How a keyspace is replicated, as the schema has it."""
    given: dict[str, Any] = msgspec.to_builtins(keyspace.replication)
    name = LOCATORS + given.pop("class")
    if isinstance(keyspace.replication, LocalStrategy):
        return {"class": name}
    pairs = given.pop("factors", given.items())
    return {"class": name, **{key: str(value) for key, value in pairs}}
