"""What a node tells its clients: derived from what it knew before a step, and what it knows after.

Source: native protocol v4, section 4.2.6; published ``EventNotifier``.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from kit.clients.notation import inet, string
from kit.clients.tables import Addresses, Catalog, replication_of

Kind = Literal["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"]


class Known(Struct, frozen=True):
    """What a node knows that its clients care for: members with their tokens, who is up, schema."""

    members: Mapping[int, tuple[str, ...]]
    up: frozenset[int]
    keyspaces: Mapping[str, Mapping[str, str]]
    tables: Mapping[tuple[str, str], Mapping[str, str]]


class Change(Struct, frozen=True):
    """Something that a node tells: of a node by its place, or of a keyspace or table of it."""

    kind: Kind
    what: str
    at: int = -1
    keyspace: str = ""
    table: str = ""

    def body(self, addresses: Addresses) -> bytes:
        """The body of its frame."""
        head = string(self.kind) + string(self.what)
        if self.kind != "SCHEMA_CHANGE":
            return head + inet(addresses.hosts[self.at], addresses.port)
        target = ("TABLE", self.keyspace, self.table) if self.table else ("KEYSPACE", self.keyspace)
        return head + b"".join(map(string, target))


def known(catalog: Catalog) -> Known:
    """The knowledge of the node of a catalog."""
    members = {at: tuple(catalog.tokens(at) or ()) for at in catalog.members()}
    reached = catalog.tools.reached(catalog.now, catalog.now.here)
    return Known(
        members,
        frozenset(at for at in members if at in reached),
        {each.name: replication_of(each) for each in catalog.keyspaces},
        {(each.keyspace, each.name): each.columns for each in catalog.users},
    )


def changes(before: Known, after: Known) -> Iterator[Change]:
    """The events that a node tells its clients on the way from one state to the other."""
    for at in after.members.keys() - before.members.keys():
        yield Change("TOPOLOGY_CHANGE", "NEW_NODE", at)
    for at in before.members.keys() & after.members.keys():
        if before.members[at] != after.members[at]:
            yield Change("TOPOLOGY_CHANGE", "MOVED_NODE", at)
    for at in sorted(after.up - before.up):
        yield Change("STATUS_CHANGE", "UP", at)
    for at in sorted(before.up - after.up):
        if at in after.members:
            yield Change("STATUS_CHANGE", "DOWN", at)
    for at in before.members.keys() - after.members.keys():
        yield Change("TOPOLOGY_CHANGE", "REMOVED_NODE", at)
    yield from _schema({(name, ""): each for name, each in before.keyspaces.items()},
                       {(name, ""): each for name, each in after.keyspaces.items()})  # fmt: skip
    yield from _schema(before.tables, after.tables)


def _schema(
    before: Mapping[tuple[str, str], Mapping[str, str]],
    after: Mapping[tuple[str, str], Mapping[str, str]],
) -> Iterator[Change]:
    for each in sorted(before.keys() | after.keys()):
        if before.get(each) != after.get(each):
            what = "UPDATED" if each in before and each in after else "CREATED"
            yield Change("SCHEMA_CHANGE", what if each in after else "DROPPED", -1, *each)
