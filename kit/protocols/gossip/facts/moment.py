"""One moment of a schema by gossip as rows: versions, definitions that differ, what became of each
change.
"""

from __future__ import annotations

from msgspec import Struct

from kit.engine.actors import ActorState
from kit.protocols.gossip.gossip import Gossip, is_dominated
from kit.protocols.gossip.rules.endpoints import SCHEMA, View, endpoint_of
from kit.protocols.gossip.rules.mutations import hashed_cells
from kit.protocols.gossip.rules.schema import cells_of, definitions, schema_of


class HeardVersion(Struct, frozen=True):
    """What a node has heard of an endpoint: how new that is, and its schema's version."""

    endpoint: str
    digest: str
    version: str


class VersionRow(Struct, frozen=True):
    """A node: its version, the cells that are hashed for it, what it has heard of the others.

    ``pulls`` are the endpoints of whose cells it may lack some; ``side`` is the side of
    a split network that it is on.
    """

    name: str
    version: str
    cells: int
    tables: int
    heard: tuple[HeardVersion, ...]
    pulls: tuple[str, ...]
    side: int


class DefinitionRow(Struct, frozen=True):
    """A keyspace, table or column: what each node says that it is (empty: it is not there)."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether two nodes say different things of it."""
        return len(set(self.values)) > 1


class ChangeRow(Struct, frozen=True):
    """A change that a client asked for: its timestamp once it is done, and what became of it.

    ``overwritten`` are the nodes that have something newer in its place, ``defines`` is what it
    made: ``table ks.t: id 2@A``.
    """

    text: str
    timestamp: int | None
    defines: tuple[str, ...]
    overwritten: tuple[str, ...]
    known: tuple[str, ...]


def spot(name: str) -> str:
    """The key of a node in the picture."""
    return f"node:{name}"


def versions(m: Gossip, s: ActorState) -> tuple[VersionRow, ...]:
    """A row for each node."""
    apart = set(m.carrier.apart(s.network))
    pulls: dict[str, list[str]] = {name: [] for name in m.index}
    for node, source in m.pulls(s):
        pulls[m.names[node]].append(m.names[source])
    return tuple(
        VersionRow(
            node.name,
            node.version,
            hashed_cells(node.cells),
            len(schema_of(node.cells).tables),
            tuple(_heard(node.view, endpoint) for endpoint in m.index if endpoint != node.name),
            tuple(pulls[node.name]),
            int(node.name in apart),
        )
        for node in s.nodes
    )


def _heard(view: View, endpoint: str) -> HeardVersion:
    state = endpoint_of(view, endpoint)
    return HeardVersion(endpoint, f"{state.generation}:{state.version}", state.says(SCHEMA))


def schemas(m: Gossip, s: ActorState) -> tuple[DefinitionRow, ...]:
    """Every keyspace, table and column that some node has."""
    each = [definitions(node.cells) for node in s.nodes]
    names = sorted({name for known in each for name in known}, key=lambda name: name.split()[1])
    return tuple(DefinitionRow(name, tuple(d.get(name, "") for d in each)) for name in names)


def changes(m: Gossip, s: ActorState) -> tuple[ChangeRow, ...]:
    """Every change that a client asks for, or has asked for."""
    rows = []
    for number, planned in enumerate(m.planned):
        timestamp = dict(s.nodes[planned.node].done).get(number)
        if timestamp is None:
            rows.append(ChangeRow(planned.text, None, (), (), ()))
            continue
        cells = cells_of(planned.change, timestamp, s.nodes[planned.node].name)
        defines = tuple(f"{name}: {value}" for name, value in definitions(cells).items())
        over = tuple(n.name for n in s.nodes if any(is_dominated(c, n) for c in cells))
        known = tuple(n.name for n in s.nodes if all(c in n.cells for c in cells))
        rows.append(ChangeRow(planned.text, timestamp, defines, over, known))
    return tuple(rows)


def split(m: Gossip, s: ActorState) -> str:
    """The sides of a split network: ``A | B C``; empty where it is whole."""
    apart = m.carrier.apart(s.network)
    return m.carrier.sides(apart) if apart else ""
