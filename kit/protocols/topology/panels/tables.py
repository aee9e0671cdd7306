"""Tables as they are stored: ``system.topology``, what a driver reads, the keyspaces with tablets.

``system.topology`` has its static columns once and a row per node, null cells too. A request's id
is that of the group 0 state that it made, and the time of a CDC generation is that of the command
that committed it (a server adds twice the ring delay). Versions of software and shards are in no
state of the model: those columns are null here. What a driver reads is kept beside the tables of
group 0, so that drivers which know nothing of those go on working. Source: blog post on 6.0, "Move
to Raft", "CDC on Raft".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import asdict, replace

from kit.engine.breaches import PassedStep
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.facts.commands import RunIds, run_ids
from kit.protocols.topology.outages import address_of
from kit.protocols.topology.rules.cluster import ClusterTopology, Replication, mask_of
from kit.protocols.topology.rules.columns import COLUMNS, Generation, SystemTopology
from kit.protocols.topology.rules.loading import store
from kit.protocols.topology.rules.replication import altered, factor_text
from kit.protocols.topology.serving import SERVING_STATES
from kit.protocols.topology.topology import Topology
from kit.views.declared import (
    MOST_ROWS,
    Alike,
    Column,
    Drawn,
    Note,
    Table,
    others_lines,
    panel_of,
    told_apart,
    unsaid,
)
from kit.views.panel import Scene

NULL = "null"
STATIC = tuple(column.name for column in COLUMNS if column.scope == "static")
OF_ROWS = tuple(column.name for column in COLUMNS if column.scope in ("ck", "row"))
OWN = ("host_id", "tokens", "request_id")
"""Columns in which no two rows are alike."""
MOST_KEPT = 4


# -- system.topology -------------------------------------------------------------------------------


class TableTexts(Struct, frozen=True):
    """A table as texts: cells by host ("" for static ones) and column; what rows look like."""

    cells: Mapping[tuple[str, str], str]
    looks: Mapping[str, tuple[str, ...]]


def _of_step(scene: Scene) -> tuple[TableTexts, TableTexts]:
    """The table as it is and as it was."""
    names, ids = scene.model.names, run_ids(scene.way())
    now = texts(scene.state.topology, names, ids)
    return now, now if scene.before is None else texts(scene.before.topology, names, ids)


@lru_cache(MOST_KEPT)
def texts(topology: ClusterTopology, names: tuple[str, ...], ids: RunIds) -> TableTexts:
    """Every cell of a topology; a few are kept, since most steps leave the tables as they are."""
    table = _named(store(topology, names)[0], ids)
    static = asdict(table)
    cells = {("", name): _text(static[name]) for name in STATIC}
    looks = {}
    for row in table.rows:
        own = {name: _text(cell) for name, cell in asdict(row).items()}
        cells |= {(row.host_id, name): own[name] for name in OF_ROWS}
        set_cells = (name for name in OF_ROWS if name not in OWN and own[name] != NULL)
        looks[row.host_id] = tuple(f"{name} = {own[name]}" for name in set_cells)
    return TableTexts(cells, looks)


def _named(table: SystemTopology, ids: RunIds) -> SystemTopology:
    """The table with the ids and times that the run gave, in place of numbers."""
    of_state = {str(number): str(state) for number, state in ids.requests}
    time_of = {str(number): f"t{state}" for number, state in ids.generations}

    def timed(generations: tuple[Generation, ...]) -> tuple[Generation, ...]:
        return tuple((time_of.get(number, time), number) for time, number in generations)

    running = table.global_topology_request_id
    return replace(
        table,
        rows=tuple(
            replace(row, request_id=of_state.get(row.request_id or "", row.request_id))
            for row in table.rows
        ),
        global_topology_request_id=of_state.get(running or "", running),
        global_requests=tuple(of_state.get(number, number) for number in table.global_requests),
        committed_cdc_generations=timed(table.committed_cdc_generations),
        unpublished_cdc_generations=timed(table.unpublished_cdc_generations),
    )


def _text(value: object) -> str:
    """A cell as cqlsh prints it."""
    if value is None or value == ():
        return NULL
    if isinstance(value, tuple):
        return "{" + ", ".join(map(_part, value)) + "}"
    return str(value)


def _part(value: object) -> str:
    """A part of a set; of a generation its time, if it is known, and its number."""
    if not isinstance(value, tuple):
        return str(value)
    time, number = value
    return f"({time}, {number})" if time else str(number)


Host = tuple[str, Mapping[str, str]]
"""A host with its cells by column."""


def _hosts(scene: Scene) -> Iterator[Host]:
    now, _ = _of_step(scene)
    for host in now.looks:
        yield host, {name: now.cells[host, name] for name in OF_ROWS}


def _cell(name: str, row: Host) -> str:
    return row[1][name]


def _look(row: Host) -> tuple[str, ...]:
    cells = row[1].items()
    return tuple(f"{name} = {cell}" for name, cell in cells if name not in OWN and cell != NULL)


def _columns(scene: Scene) -> list[Column]:
    """Those that some row has a value in."""
    rows = [cells for _, cells in _hosts(scene)]
    names = [name for name in OF_ROWS if any(cells[name] != NULL for cells in rows)]
    return [Column(name, partial(_cell, name), none=NULL) for name in names]


def _nulls(scene: Scene) -> str:
    shown = {column.head for column in _columns(scene)}
    nulls = [name for name in OF_ROWS if name not in shown]
    return f"null in every row: {', '.join(nulls)}" if nulls else ""


def _lines(scene: Scene) -> Iterator[str]:
    """Every cell that is not null; ``*`` marks what the step changed."""
    now, was = _of_step(scene)

    def changed(host: str, name: str) -> bool:
        return was is not now and was.cells.get((host, name), NULL) != now.cells[host, name]

    def keep(host: str) -> bool:
        return any(changed(host, name) for name in OF_ROWS)

    rows = told_apart(tuple(now.looks), now.looks.__getitem__, keep)
    for (host, name), text in now.cells.items():
        new = changed(host, name)
        if host in ("", *rows.listed) and (new or text != NULL):
            yield f"{'* ' * new}{host or 'static'}.{name} = {text}"
    yield from others_lines(rows.others)


TABLE = panel_of(
    "table",
    "system.topology",
    Table(
        lambda scene: [(name, _of_step(scene)[0].cells["", name]) for name in STATIC],
        "column:{0[0]}",
        ("column", Column("value", itemgetter(1), none=NULL)),
        caption="Static columns",
        lines=_lines,
    ),
    Table(
        _hosts,
        "host:{0[0]}",
        _columns,
        caption="A row for each node",
        of="{0[0]}",
        lines=unsaid,
        alike=Alike(_look),
    ),
    Drawn(Note(_nulls).draw, unsaid),
    optional=True,
    tab="Table",
)


# -- what a driver reads: the tables of nodes that drivers have always read, and CDC's -------------

NOBODY_ANSWERS = "No node takes the driver's connection."
READ = ("peer", "host_id", "data_center", "rack", "tokens")


class PeerRow(Struct, frozen=True):
    """A node as drivers know it; empty where nothing is said.

    ``table`` is *local* for the node that the driver is connected to, *peers* for all others.
    """

    name: str
    table: str
    peer: str
    host_id: str
    data_center: str
    rack: str
    tokens: str


class DriverView(Struct, frozen=True):
    """What a driver reads by its connection to ``contact`` (empty: no node takes it).

    ``generations`` are the CDC generations in the description tables, by their times.
    """

    contact: str
    rows: tuple[PeerRow, ...] = ()
    generations: tuple[str, ...] = ()


def driver_view(m: Topology, s: ControlState, steps: Sequence[PassedStep]) -> DriverView:
    """What a driver reads now, by the first node that it reaches."""
    serving = mask_of(s.topology, *SERVING_STATES)
    contact = next((i for i in range(len(m.names)) if serving & s.up >> i & 1), None)
    if contact is None:
        return DriverView("")
    rows = {row.host_id: row for row in store(s.topology, m.names)[0].rows}
    return DriverView(
        m.names[contact],
        tuple(
            PeerRow(
                name,
                "local" if i == contact else "peers",
                _address(s, i, contact),
                name,
                rows[name].datacenter or "",
                rows[name].rack or "",
                ", ".join(rows[name].tokens),
            )
            for i, name in enumerate(m.names)
            if serving >> i & 1
        ),
        _published(m, s, steps),
    )


def _address(s: ControlState, node: int, contact: int) -> str:
    """The address that the contact knows of a node: that of before, as long as it has not heard."""
    if node == contact or not s.unheard >> node & 1:
        return address_of(s, node)
    before = (*s.addresses[:node], s.addresses[node] - 1, *s.addresses[node + 1 :])
    return address_of(replace(s, addresses=before), node)


def _published(m: Topology, s: ControlState, steps: Sequence[PassedStep]) -> tuple[str, ...]:
    """Those that are published; where that is no step of its own, all that are committed."""
    hidden = s.topology.unpublished if m.publishing else 0
    times = {number: f"t{state}" for number, state in run_ids(steps).generations}
    numbers = range(1, s.topology.generations - hidden + 1)
    return tuple(f"{number} from {times.get(number, 'the start')}" for number in numbers)


def _driver(scene: Scene) -> DriverView:
    return scene.once("driver", lambda: driver_view(scene.model, scene.state, scene.way()))


def _peer(row: PeerRow) -> str:
    named = ((name, getattr(row, name)) for name in READ)
    return f"system.{row.table}: " + "; ".join(f"{name} {cell}" for name, cell in named if cell)


def _generations(scene: Scene) -> str:
    made = "; ".join(_driver(scene).generations) or "none"
    return f"cdc_generation_timestamps: {made}" if _driver(scene).contact else ""


DRIVER = panel_of(
    "driver",
    "What a driver reads",
    Table(
        lambda scene: _driver(scene).rows,
        "driver:{0.name}",
        (
            Column("table", "system.{0.table}".format),
            *(Column(name, name, none=NULL) for name in READ),
        ),
        caption=lambda scene: (
            f"system.local and system.peers, by a connection to {_driver(scene).contact}"
        ),
        of="{0.name}",
        line=_peer,
        empty=NOBODY_ANSWERS,
        most=MOST_ROWS,
    ),
    Note(_generations, "driver:cdc", None),
    optional=True,
    tab="Driver",
)


# -- the keyspaces whose replicas the state tells, and what a request makes of them ----------------


class KeyspaceRow(Struct, frozen=True):
    """A keyspace: its replicas (empty: nothing tells them), and those that are asked for."""

    name: str
    replicas: str
    wanted: str = ""


def has_keyspaces(m: Topology) -> bool:
    """Whether the cluster of a model has a keyspace that is named, here or in a request."""
    return bool(m.plan.keyspaces) or any(request.keyspace for request in m.plan.requests)


def keyspace_rows(s: ControlState) -> tuple[KeyspaceRow, ...]:
    """A row for each keyspace that is named; of several requests for one the first tells."""
    known = dict(s.topology.keyspaces)
    wanted: dict[str, str] = {}
    for request in s.topology.requests:
        if request.kind == "keyspace_rf_change" and not request.done:
            wanted.setdefault(request.keyspace, replicas_text(altered(s.topology, request)))
    names = sorted({*known, *wanted})
    return tuple(
        KeyspaceRow(name, replicas_text(known.get(name, ())), wanted.get(name, ""))
        for name in names
    )


def replicas_text(replication: Replication) -> str:
    """``dc1=3 dc2=r1,r2``, as a request says it."""
    return " ".join(f"{name}={factor_text(factor)}" for name, factor in replication)


SCHEMA = panel_of(
    "schema",
    "Schema",
    Table(
        lambda scene: keyspace_rows(scene.state),
        "keyspace:{0.name}",
        (
            Column("keyspace", "name"),
            Column("replicas", "replicas", none="not told"),
            Column("asked for", "wanted", none="nothing"),
        ),
        caption="Keyspaces with tablets",
        line=lambda row: (
            f"{row.name}: replicas {row.replicas or 'not told'}; "
            f"asked for: {row.wanted or 'nothing'}"
        ),
        empty="No keyspace is named.",
    ),
    optional=True,
    shown=lambda scene: has_keyspaces(scene.model),
    tab="Schema",
)
