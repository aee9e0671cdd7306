"""Gossip by its rules alone: what nodes hear, who owns a key, the cells of a schema.

What a node says of itself: each endpoint has a generation (it grows when the node starts) and
application states with versions (they grow with every change). Of two views of an endpoint the
newer is kept, by generation and version; nobody but the endpoint itself writes it. Two nodes
compare digests and send each other what the other lacks: SYN, ACK, ACK2.

Who owns a key is written nowhere else: each node goes by its view. A node in ``NORMAL`` owns its
ranges; one in ``BOOT`` gets writes of those that it will own, and is not read. A node in
``REMOVING`` owns its ranges until it is ``REMOVED``; those that will own them get writes.

The schema is what every node stores: cells with timestamps. Nobody puts changes in an order. Nodes
merge each other's cells: of two for the same place the one with the greater timestamp wins, and
what is dropped leaves a tombstone. The version of the whole schema is a hash of all cells,
tombstones included, so that it costs more with every change. The node that is asked for one looks
at its own cells only, takes its own clock for the timestamp, and says that it is done.
Sources: published code of both databases, ``Gossiper`` and ``gossiper``, ``TokenMetadata`` and
``token_metadata``; "Group 0 schema versioning"; CEP-21, "Motivation", "Token ownership" and "Schema
Management"; manual on Raft, "Schema with Raft".
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, cast

from msgspec import Struct, msgpack
from msgspec.structs import replace

from kit.errors import BadInput

STATUS = "STATUS"
SCHEMA = "SCHEMA"
UNKNOWN = 0
"""The generation of an endpoint of which a node has not heard."""


class ApplicationState(Struct, frozen=True, cache_hash=True, order=True):
    """Something that an endpoint says of itself: ``SCHEMA`` is ``1f03c2``, since version 4."""

    name: str
    value: str
    version: int


class EndpointState(Struct, frozen=True, cache_hash=True, order=True):
    """A node's view of an endpoint: its generation and its states, sorted by name."""

    endpoint: str
    generation: int
    states: tuple[ApplicationState, ...] = ()

    @property
    def version(self) -> int:
        """The greatest version of its states."""
        return max((state.version for state in self.states), default=0)

    def says(self, name: str) -> str:
        """The value of a state; empty when it says nothing of it."""
        return next((state.value for state in self.states if state.name == name), "")


class EndpointDigest(Struct, frozen=True, cache_hash=True, order=True):
    """How much a node knows of an endpoint, and nothing of what."""

    endpoint: str
    generation: int
    version: int


View = tuple[EndpointState, ...]
"""What one node knows of all endpoints, sorted by their names; of itself, too."""
Digests = tuple[EndpointDigest, ...]


def endpoint_of(view: View, endpoint: str) -> EndpointState:
    """The state of an endpoint in a view; of an unknown one, nothing in generation 0."""
    known = (state for state in view if state.endpoint == endpoint)
    return next(known, EndpointState(endpoint, UNKNOWN))


def saying(view: View, endpoint: str, **states: str) -> View:
    """The view of a node that says something new of itself: each state gets the next versions.

    A state that it says already stays as it is.
    """
    own = endpoint_of(view, endpoint)
    version = own.version
    by_name = {state.name: state for state in own.states}
    for name, value in states.items():
        if own.says(name) != value:
            version += 1
            by_name[name] = ApplicationState(name, value, version)
    return _with(view, replace(own, states=tuple(sorted(by_name.values()))))


def started(view: View, endpoint: str, generation: int, **states: str) -> View:
    """The view of a node that starts, with nothing said of itself before in this generation."""
    return saying(_with(view, EndpointState(endpoint, generation)), endpoint, **states)


def digests(view: View) -> Digests:
    """The digests that a node sends with SYN."""
    return tuple(EndpointDigest(s.endpoint, s.generation, s.version) for s in view)


def compared(view: View, theirs: Digests) -> tuple[Digests, View]:
    """The answer of a node to SYN, as ACK: what it asks for, and what it knows better."""
    ours = digests(view)
    return tuple(_behind(ours, theirs)), since(view, _behind(theirs, ours))


def _behind(known: Digests, others: Digests) -> Iterator[EndpointDigest]:
    by_name = {digest.endpoint: digest for digest in known}
    for digest in others:
        own = by_name.get(digest.endpoint, EndpointDigest(digest.endpoint, UNKNOWN, 0))
        if own < digest:
            yield own


def since(view: View, known: Iterable[EndpointDigest]) -> View:
    """The states of endpoints that are newer than these digests: the answer to ACK, as ACK2."""
    newer = []
    for digest in known:
        own = endpoint_of(view, digest.endpoint)
        after = digest.version if own.generation == digest.generation else 0
        states = tuple(state for state in own.states if state.version > after)
        newer.append(replace(own, states=states))
    return tuple(newer)


@lru_cache(1 << 14)  # runs meet the same few views again and again
def heard(view: View, newer: View) -> View:
    """The view of a node that has received states of endpoints: what is older it leaves alone."""
    for state in newer:
        own = endpoint_of(view, state.endpoint)
        if state.generation > own.generation:
            view = _with(view, state)
        elif state.generation == own.generation:
            ranked = sorted((*state.states, *own.states), key=lambda each: each.version)
            newest = {each.name: each for each in ranked}
            view = _with(view, replace(own, states=tuple(sorted(newest.values()))))
    return view


def forgetting(view: View, endpoint: str) -> View:
    """The view of a node that takes an endpoint out: it was silent for too long."""
    return tuple(state for state in view if state.endpoint != endpoint)


def _with(view: View, state: EndpointState) -> View:
    return tuple(sorted((*forgetting(view, state.endpoint), state)))


NORMAL = "NORMAL"
BOOT = "BOOT"
REMOVING = "REMOVING"
REMOVED = "REMOVED"


def replicas(view: View, walk: tuple[str, ...], rf: int) -> tuple[str, ...]:
    """The nodes that a view reads a key from, and writes it to."""
    return tuple(islice(_in(view, walk, NORMAL, REMOVING), rf))


def pending(view: View, walk: tuple[str, ...], rf: int) -> tuple[str, ...]:
    """The nodes that a view writes a key to besides: those that join and would be replicas.

    Each is looked at as if it joined alone, as the published codes do. Besides them, who
    takes the place of a node that is being removed.
    """
    owning = tuple(_in(view, walk, NORMAL, REMOVING))
    joining = tuple(
        joiner
        for joiner in _in(view, walk, BOOT)
        if joiner in [name for name in walk if name in owning or name == joiner][:rf]
    )
    return (*joining, *takes_over(view, walk, rf))


def takes_over(view: View, walk: tuple[str, ...], rf: int) -> tuple[str, ...]:
    """The nodes that become replicas once those in ``REMOVING`` are removed."""
    now = replicas(view, walk, rf)
    return tuple(name for name in islice(_in(view, walk, NORMAL), rf) if name not in now)


def gives_up(view: View, walk: tuple[str, ...], rf: int, joiner: str) -> str:
    """The replica whose place a joining node takes by its own view; empty where it takes none."""
    now = replicas(view, walk, rf)
    later = [name for name in walk if name in now or name == joiner][:rf]
    return next((name for name in now if name not in later), "")


def _in(view: View, walk: tuple[str, ...], *statuses: str) -> Iterator[str]:
    return (name for name in walk if endpoint_of(view, name).says(STATUS) in statuses)


DIGITS = 6
"""Hex digits of a version: short enough to be read, long enough to differ."""


class SchemaCell(Struct, frozen=True, cache_hash=True, order=True):
    """A cell of the schema's tables: what stands at a place, and since when.

    The place is ``name`` (``id``, ``uses``, ``replication``, ``column c``) of a ``table``, of
    something else that is named with its kind there (``type t``), or of a keyspace where it is
    empty. An empty ``value`` is a tombstone; with an empty ``name``, too, it is one of the whole
    table or keyspace and covers every cell there that is not newer.
    """

    keyspace: str
    table: str
    name: str
    timestamp: int
    value: str

    @property
    def place(self) -> tuple[str, str, str]:
        """The place of a cell: two cells of one place are never both there."""
        return self.keyspace, self.table, self.name

    @property
    def rank(self) -> tuple[int, bool, str]:
        """The greater one wins: by time, then a tombstone, then by what it says."""
        return self.timestamp, not self.value, self.value


Mutations = tuple[SchemaCell, ...]
"""All cells of a node, sorted by place."""


def merged(mine: Mutations, theirs: Mutations) -> Mutations:
    """The cells of a node that has merged those of another one; the order does not matter."""
    newest: dict[tuple[str, str, str], SchemaCell] = {}
    for cell in (*mine, *theirs):
        other = newest.get(cell.place)
        if other is None or other.rank < cell.rank:
            newest[cell.place] = cell
    return tuple(sorted(cell for cell in newest.values() if not _covered(cell, newest)))


def _covered(cell: SchemaCell, newest: dict[tuple[str, str, str], SchemaCell]) -> bool:
    wider = [(cell.keyspace, "", "")] if cell.table or cell.name else []
    wider += [(cell.keyspace, cell.table, "")] if cell.table and cell.name else []
    return any(place in newest and newest[place].timestamp >= cell.timestamp for place in wider)


def version_of(cells: Mutations) -> str:
    """The version of the whole schema: a hash of all cells that a node has."""
    return hashlib.blake2b(msgpack.encode(cells), digest_size=DIGITS // 2).hexdigest()


ChangeVerb = Literal["create", "alter", "drop"]
KEY, KEY_TYPE = "pk", "int"
COLUMN = "column "
USES = {"table": "type", "function": "type", "aggregate": "function", "view": "table", "type": ""}
"""What there is in a keyspace, and which kind each may use."""
ALWAYS_USE = ("aggregate", "view")


def within(kind: str, name: str) -> str:
    """How cells name something in a keyspace: a table by its name, all else with its kind."""
    return name if kind == "table" else f"{kind} {name}"


def titled(keyspace: str, table: str = "") -> str:
    """The name that users call it by: ``keyspace ks``, ``table ks.t``, ``type ks.t``."""
    kind, _, name = table.rpartition(" ")
    return f"{kind or 'table'} {keyspace}.{name}" if table else f"keyspace {keyspace}"


class SchemaChange(Struct, frozen=True, cache_hash=True):
    """A statement: ``create table ks.t``, ``alter table ks.t add c text`` and the like.

    ``table`` is empty where it is about a keyspace, and names what is no table with its kind
    (``view v``). ``column`` is what an ``alter table`` adds with its ``type``, or drops where that
    is empty; ``replication`` is the factor of a keyspace; ``uses`` is what the definition needs.
    """

    verb: ChangeVerb
    keyspace: str
    table: str = ""
    column: str = ""
    type: str = ""
    replication: int = 0
    uses: str = ""

    @property
    def text(self) -> str:
        """The statement as a line."""
        column = f" add {self.column} {self.type}" if self.type else f" drop {self.column}"
        more = column if self.column else f" rf {self.replication}" if self.replication else ""
        uses = f" using {self.uses.rpartition(' ')[2]}" if self.uses else ""
        return f"{self.verb} {titled(self.keyspace, self.table)}{more}{uses}"


class LegacyTable(Struct, frozen=True, cache_hash=True):
    """A table: its name, the id under which its data lie on disk, its columns with their types."""

    keyspace: str
    name: str
    id: str
    columns: tuple[tuple[str, str], ...]


class LegacySchema(Struct, frozen=True, cache_hash=True):
    """The schema that a node reads from its cells.

    ``keyspaces`` have their replication factor. ``named`` are all tables, types and the like, and
    ``uses`` says which of them needs which other one. ``orphans`` are columns whose table is
    gone, tables whose keyspace is gone, and what needs something that is gone: a node that restarts
    cannot load them.
    """

    keyspaces: tuple[tuple[str, int], ...]
    tables: tuple[LegacyTable, ...]
    orphans: tuple[str, ...]
    named: tuple[tuple[str, str], ...] = ()
    uses: tuple[tuple[str, str, str], ...] = ()

    def table(self, keyspace: str, name: str) -> LegacyTable | None:
        """The table of that name, if there is one."""
        return next((t for t in self.tables if (t.keyspace, t.name) == (keyspace, name)), None)


@lru_cache(1 << 14)  # as above
def schema_of(cells: Mutations) -> LegacySchema:
    """The schema that a node reads from its cells."""
    live = {cell.place: cell.value for cell in cells if cell.value}
    keyspaces = {place[0]: int(value) for place, value in live.items() if place[2] == "replication"}
    ids = {place[:2]: value for place, value in live.items() if place[2] == "id"}
    columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for (keyspace, table, name), value in live.items():
        if name.startswith(COLUMN):
            columns.setdefault((keyspace, table), []).append((name.removeprefix(COLUMN), value))
    tables = tuple(
        LegacyTable(*named, id=each, columns=tuple(columns.get(named, ())))
        for named, each in ids.items()
        if " " not in named[1]
    )
    uses = tuple((*place[:2], value) for place, value in live.items() if place[2] == "uses")
    lost = [titled(*named) for named in ids if named[0] not in keyspaces]
    lost += [
        f"column {'.'.join(named)}.{column}"
        for named, those in columns.items()
        if named not in ids
        for column, _ in those
    ]
    lost += [
        f"{titled(keyspace, user)} using {titled(keyspace, used)}"
        for keyspace, user, used in uses
        if (keyspace, used) not in ids
    ]
    return LegacySchema(tuple(keyspaces.items()), tables, tuple(lost), tuple(ids), uses)


def definitions(cells: Mutations) -> dict[str, str]:
    """Each keyspace, table and column that a node knows, with what it is: ``column ks.t.c``."""
    words = {"replication": "rf ", "id": "id ", "uses": "uses "}
    known: dict[str, str] = {}
    for cell in (cell for cell in cells if cell.value):
        title, word = titled(cell.keyspace, cell.table), words.get(cell.name, "")
        if not word:
            title = f"{title.replace('table', 'column', 1)}.{cell.name.removeprefix(COLUMN)}"
        said = f"{word}{cell.value}"
        known[title] = f"{known[title]}, {said}" if title in known else said
    return known


def objection(schema: LegacySchema, change: SchemaChange) -> str | None:
    """The fault of a statement on this schema, as the user hears it; None: it makes sense."""
    there = change.keyspace in dict(schema.keyspaces)
    if not change.table and change.verb == "create":
        return f"keyspace {change.keyspace} already exists" if there else None
    if not there:
        return f"keyspace {change.keyspace} does not exist"
    if not change.table:
        return None
    place = change.keyspace, change.table
    name = titled(*place)
    if change.verb == "create":
        used = change.keyspace, change.uses
        if place in schema.named:
            return f"{name} already exists"
        lacks = change.uses and used not in schema.named
        return f"{titled(*used)} does not exist" if lacks else None
    if place not in schema.named:
        return f"{name} does not exist"
    if change.verb == "drop":
        users = (titled(ks, user) for ks, user, used in schema.uses if (ks, used) == place)
        return next((f"{user} uses {name}" for user in users), None)
    table = schema.table(*place)
    assert table is not None, "nothing else is altered"
    if (change.column in dict(table.columns)) is bool(change.type):
        has = "already has" if change.type else "has no"
        return f"{name} {has} column {change.column}"
    return None


def cells_of(change: SchemaChange, timestamp: int, node: str) -> Mutations:
    """The cells that a node writes for a statement, with its clock's ``timestamp``.

    A new table gets an id made of time and node, so that no two are equal.
    """
    keyspace, table = change.keyspace, change.table

    def cell(name: str, value: str) -> SchemaCell:
        return SchemaCell(keyspace, table, name, timestamp, value)

    if change.verb == "drop":
        return (cell("", ""),)
    if not table:
        return (cell("replication", str(change.replication or 1)),)
    if change.verb == "create":
        key = (cell(f"{COLUMN}{KEY}", KEY_TYPE),) if " " not in table else ()
        uses = (cell("uses", change.uses),) if change.uses else ()
        return (*key, cell("id", f"{timestamp}@{node}"), *uses)
    return (cell(f"{COLUMN}{change.column}", change.type),)


WAYS = (
    "create keyspace KS [rf N]",
    "alter keyspace KS rf N",
    "drop keyspace KS",
    "create table KS.T",
    "alter table KS.T add COLUMN TYPE",
    "alter table KS.T drop COLUMN",
    "drop table KS.T",
    "create type KS.T, drop type KS.T",
    "create table KS.T using TYPE; likewise function using TYPE",
    "create aggregate KS.A using FUNCTION; likewise view using TABLE",
)
_LINE = re.compile(
    rf"(?P<verb>create|alter|drop) (?:keyspace (?P<keyspace>\w+)"
    rf"|(?P<kind>{'|'.join(USES)}) (?P<of>\w+)\.(?P<table>\w+))"
    r"(?: add (?P<added>\w+) (?P<type>\w+)| drop (?P<dropped>\w+)| rf (?P<rf>[1-9])"
    r"| using (?P<uses>\w+))?"
    r" at (?P<node>.*)",
    re.ASCII,
)


class PlannedChange(Struct, frozen=True):
    """A statement, and the node (by its number) that a client asks for it."""

    change: SchemaChange
    node: int
    text: str


def parse_changes(
    field: str, lines: Sequence[str], nodes: Sequence[str]
) -> tuple[PlannedChange, ...]:
    """The changes in these lines: ``alter table ks.t add c text at B``.

    Raises BadInput for a line that is no statement at a node of ``nodes``, or one that stands
    twice.
    """
    changes: list[PlannedChange] = []
    for line in lines:
        text = " ".join(line.split())
        match = _LINE.fullmatch(text)
        if not match or not (change := _statement(match)):
            raise BadInput(field, line, "; ".join(f"{way} at NODE" for way in WAYS))
        if match["node"] not in nodes:
            raise BadInput(field, line, f"one of the nodes {', '.join(nodes)}")
        planned = PlannedChange(change, nodes.index(match["node"]), text)
        if planned in changes:
            raise BadInput(field, text, "each change once")
        changes.append(planned)
    return tuple(changes)


def _statement(match: re.Match[str]) -> SchemaChange | None:
    verb, table, rf = cast(ChangeVerb, match["verb"]), match["table"], match["rf"]
    column = match["added"] or match["dropped"]
    if bool(column) != (verb == "alter" and bool(table)) or column == KEY:
        return None
    if (rf and (table or verb == "drop")) or (verb == "alter" and not (table or rf)):
        return None
    kind, uses = match["kind"] or "", match["uses"]
    may_use = USES.get(kind, "") if verb == "create" else ""
    if (uses and not may_use) or (may_use and kind in ALWAYS_USE and not uses):
        return None
    if verb == "alter" and kind not in ("", "table"):
        return None
    return SchemaChange(
        verb,
        match["keyspace"] or match["of"],
        within(kind, table) if table else "",
        column or "",
        match["type"] or "",
        int(rf or 0),
        within(may_use, uses) if uses else "",
    )
