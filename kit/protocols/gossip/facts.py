"""One moment of a schema or of an operation by gossip as rows, and what scenario files show."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kit.console.cassandra import GossipServers, gossiped
from kit.console.drill import DrillMoment
from kit.console.server import Row, UserTable
from kit.model.actors import ActorState
from kit.protocols.gossip import rules
from kit.protocols.gossip.gossip import Gossip, is_dominated
from kit.protocols.gossip.gossip_join import SILENT, GossipJoin, RingState, talking
from kit.ring.replication import Keyspace, SimpleStrategy


class VersionRow(Struct, frozen=True):
    """A node: its version, the cells that are hashed for it, what it knows of the others.

    ``pulls`` are the endpoints of whose cells it may lack some.
    """

    name: str
    version: str
    cells: int
    tables: int
    heard: rules.View
    pulls: tuple[str, ...]


class ChangeRow(Struct, frozen=True):
    """A change that a client asked for: its timestamp once it is done, and what became of it.

    ``newer`` are the nodes that have something newer in its place, whether or not they ever knew
    it; ``overwritten``: the node that made it is one of them. ``defines`` is what it made:
    ``table ks.t: id 2@A``.
    """

    text: str
    timestamp: int | None
    defines: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()
    overwritten: bool = False
    known: tuple[str, ...] = ()


class ViewRow(Struct, frozen=True):
    """A node: how far it is, what it has heard of each one that joins or goes, whom it asks.

    ``phase`` is how far the removal is that it drives, if it does. ``says`` gives the status and
    generation of each node that joins or is removed, ``holds`` the writes that are here.
    """

    name: str
    phase: str
    says: tuple[str, ...]
    reads: tuple[str, ...]
    pending: tuple[str, ...]
    holds: tuple[int, ...]
    cut_off: bool


def versions(m: Gossip, s: ActorState) -> tuple[VersionRow, ...]:
    """A row for each node."""
    pulls = [(m.names[node], m.names[source]) for node, source in m.pulls(s)]
    rows = []
    for node in s.nodes:
        heard = tuple(rules.endpoint_of(node.view, name) for name in m.index if name != node.name)
        lacks = tuple(source for name, source in pulls if name == node.name)
        tables = len(rules.schema_of(node.cells).tables)
        rows.append(VersionRow(node.name, node.version, len(node.cells), tables, heard, lacks))
    return tuple(rows)


def short_versions(m: Gossip, s: ActorState) -> dict[str, str]:
    """Short names of versions: ``v0`` the first one, ``v1+2`` of who has changes 1 and 2. One whose
    name would stand for another one, too, goes by its hash.
    """
    names = {rules.version_of(m.cells): "v0"}
    rows = changes(m, s)
    for node in s.nodes:
        has = [str(at) for at, row in enumerate(rows, 1) if node.name in row.known]
        if (name := f"v{'+'.join(has)}") in (*names.values(), "v"):
            name = node.version
        names.setdefault(node.version, name)
    return names


def schemas(m: Any, s: Any) -> tuple[tuple[str, ...], ...]:
    """Every definition that some node has, by name: whether nodes say different things of it, its
    name, what each says that it is (empty: it is not there).
    """
    each = [rules.definitions(node.cells) for node in s.nodes]
    names = sorted({name for known in each for name in known}, key=lambda name: name.split()[1])
    rows = ((name, [known.get(name, "") for known in each]) for name in names)
    return tuple(("≠" if len(set(said)) > 1 else "=", name, *said) for name, said in rows)


def changes(m: Gossip, s: ActorState) -> tuple[ChangeRow, ...]:
    """Every change that a client asks for, or has asked for."""
    rows = []
    for number, planned in enumerate(m.planned):
        timestamp = dict(s.nodes[planned.node].done).get(number)
        if timestamp is None:
            rows.append(ChangeRow(planned.text, None))
            continue
        cells = rules.cells_of(planned.change, timestamp, s.nodes[planned.node].name)
        defines = tuple(f"{name}: {value}" for name, value in rules.definitions(cells).items())
        newer = tuple(n.name for n in s.nodes if any(is_dominated(c, n) for c in cells))
        over = m.names[planned.node] in newer
        known = tuple(n.name for n in s.nodes if all(c in n.cells for c in cells))
        rows.append(ChangeRow(planned.text, timestamp, defines, newer, over, known))
    return tuple(rows)


def views(m: GossipJoin, s: RingState) -> tuple[ViewRow, ...]:
    """A row for each node; what one knew before it went down counts for nothing."""
    rows = []
    for node in s.nodes:
        holds = tuple(at + 1 for at in range(s.written) if node.data >> at & 1)
        cut, phase = node.name == s.cut_off, node.drives or node.phase
        view = () if phase == "down" else node.view
        heard = (rules.endpoint_of(view, name) for name in m.changing)
        says = tuple(
            f"{each.says(rules.STATUS)} {each.generation}" * (each.generation != rules.UNKNOWN)
            for each in heard
        )
        owners, more = (of(view, m.walk, m.rf) for of in (rules.replicas, rules.pending))
        rows.append(ViewRow(node.name, phase, says, owners, more, holds, cut))
    return tuple(rows)


def _news(m: GossipJoin, s: RingState) -> Iterator[rules.EndpointState]:
    for name in m.newcomers:
        if m.node(s, name).phase not in SILENT:
            yield rules.endpoint_of(m.node(s, name).view, name)
    for name in m.dead:
        heard = (rules.endpoint_of(node.view, name) for node in talking(s))
        yield max(heard, key=lambda each: (each.generation, each.version))


Rumour = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""The node it is about, what it says, which nodes have heard it, and which have not."""


def news(m: GossipJoin, s: RingState) -> Iterator[Rumour]:
    """Everything that all shall hear."""
    for each in _news(m, s):
        ears = {node.name: rules.endpoint_of(node.view, each.endpoint) for node in talking(s)}
        there = tuple(name for name, heard in ears.items() if heard == each)
        missing = tuple(name for name in ears if name not in there)
        yield each.endpoint, f"{each.endpoint} {each.says(rules.STATUS)}", there, missing


# -- what scenario files show ----------------------------------------------------------------------


def _versions(m: Gossip, s: ActorState, _: str) -> str:
    return "\n".join(
        f"{row.name}: {row.version}; heard "
        + ", ".join(f"{each.endpoint} {each.says(rules.SCHEMA)}" for each in row.heard)
        for row in versions(m, s)
    )


def schemas_shown(m: Any, s: Any, _: str = "") -> str:
    """Each node's version of each definition."""
    lines = []
    for sign, what, *said in schemas(m, s):
        words = (f"{n.name} {word or '–'}" for n, word in zip(s.nodes, said, strict=True))
        lines.append(f"{sign} {what}: {', '.join(words)}")
    return "\n".join(lines)


def _changes(m: Gossip, s: ActorState, _: str) -> str:
    lines = (
        f"{row.text}: timestamp {row.timestamp}, known to {', '.join(row.known) or 'no node'}"
        + (f", something newer on {', '.join(row.newer)}" if row.newer else "")
        for row in changes(m, s)
        if row.timestamp is not None
    )
    return "\n".join(lines) or "no change has been made"


def _views(m: GossipJoin, s: RingState, _: str) -> str:
    return "\n".join(
        f"{row.name}: reads from {', '.join(row.reads) or '–'}"
        + (f", also writes to {', '.join(row.pending)}" if row.pending else "")
        + (
            f", has write{'s' * (len(row.holds) > 1)} {', '.join(map(str, row.holds))}"
            if row.holds
            else ""
        )
        for row in views(m, s)
    )


OUTPUT = {"versions": _versions, "schemas": schemas_shown, "changes": _changes}
JOIN_OUTPUT = {"views": _views, "streams": lambda m, s, _: f"streams so far: {s.streams}"}


# -- what ``nodetool`` answers ---------------------------------------------------------------------


class SchemaServers(GossipServers):
    """Servers that know of each other, and of the schema, by gossip alone."""

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """No node goes down in this model."""
        return True

    def version(self, now: DrillMoment, at: int) -> str:
        """The version of a node's schema."""
        return str(now.state.nodes[at].version)

    def schema(self, now: DrillMoment, at: int) -> tuple[tuple[Keyspace, ...], list[UserTable]]:
        """The schema that a node reads from its cells."""
        known = rules.schema_of(now.state.nodes[at].cells)
        keyspaces = tuple(Keyspace(name, SimpleStrategy(rf)) for name, rf in known.keyspaces)
        return keyspaces, [
            UserTable(each.keyspace, each.name, {rules.KEY: rules.KEY_TYPE, **dict(each.columns)})
            for each in known.tables
        ]

    def heard(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """The view of a node."""
        for each in now.state.nodes[at].view:
            host = self.hosts(now)[now.model.names.index(each.endpoint)]
            states = {state.name: (state.version, state.value) for state in each.states}
            yield gossiped(host.address, states, each.generation)


SCHEMA_SERVERS = SchemaServers()
