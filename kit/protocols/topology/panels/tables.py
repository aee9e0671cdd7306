"""Tables as they are stored: the topology and its requests, what a driver reads, the keyspaces.

``system.topology`` has its static columns once and a row per node, null cells too, and the types of
all columns. The id of a request or a session is that of the group 0 state which made it, as a
TIMEUUID, and the time of a CDC generation is that of the command that committed it (a server adds
twice the ring delay). What a driver reads is kept beside the tables of group 0, so that drivers
which know nothing of those go on working. Sources: Topology over Raft, "Topology state persistence
table"; blog post on 6.0, "Our Move to Schema and Topology Changes on Raft", "CDC Stream Details on
Raft".
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec.structs import replace

from kit.masks import nodes_in
from kit.model.flows import as_timeuuid
from kit.operators.importers.system_tables import TOPOLOGY
from kit.protocols.topology.control import SERVING_STATES, serving, view_of
from kit.protocols.topology.facts import RunIds, ends_of, run_ids
from kit.protocols.topology.outages import address_of
from kit.protocols.topology.rules import columns
from kit.protocols.topology.rules.cluster import ClusterTopology, Replication, in_state
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.replication import altered, replication_words
from kit.views import declared
from kit.views.declared import Column, Table
from kit.views.panel import Scene

KEYS = {"key": "partition key", "host_id": "clustering key"}
STATIC = tuple(name for name, column in TOPOLOGY.items() if column.static)
OF_ROWS = tuple(name for name in TOPOLOGY if name not in (*STATIC, "key"))
OWN = ("host_id", "tokens", "request_id")
"""Columns in which no two rows are alike."""
MOST_KEPT = 4

# -- system.topology -------------------------------------------------------------------------------


Texts: TypeAlias = Mapping[tuple[str, str], str]
"""The cells of a table, by host ("" for static ones) and column."""


def _ids(scene: Scene) -> RunIds:
    return scene.once("ids of the run", lambda: run_ids(scene.way()))


def _of_step(scene: Scene) -> tuple[Texts, Texts]:
    def work() -> tuple[Texts, Texts]:
        names, ids = scene.model.names, _ids(scene)
        as_stored = names, ids, scene.model.edition
        now = texts(scene.state.topology, *as_stored)
        return now, now if scene.before is None else texts(scene.before.topology, *as_stored)

    return scene.once("cells of the step", work)


@lru_cache(MOST_KEPT)
def texts(
    topology: ClusterTopology, names: tuple[str, ...], ids: RunIds, edition: Edition
) -> Texts:
    """Every cell of a topology; a few are kept, since most steps leave the tables as they are.

    The server stores a transition state with spaces, the documents as they name it.
    """
    of_request, of_generation = ({str(number): state for number, state in each} for each in ids)

    def text(row: columns.SystemTopology | columns.SystemTopologyRow, name: str) -> str:
        value: Any = getattr(row, name)
        if name in columns.OF_REQUESTS:
            many = isinstance(value, tuple)
            known = [
                number and _id(of_request.get(number, number))
                for number in (value if many else (value,))
            ]
            value = tuple(known) if many else known[0]
        if name.endswith("cdc_generations"):
            times = {number: f"t{state}" for number, state in of_generation.items()}
            value = tuple((times.get(number, time), number) for time, number in value)
        if name == "session" and value:
            value = _id(value)
        if name == "transition_state" and value and edition == "documents":
            value = topology.transition
        return columns.cell_text(value)

    table = columns.store(topology, names)[0]
    of_rows = {(row.host_id, name): text(row, name) for row in table.rows for name in OF_ROWS}
    for row in () if any(row.datacenter for row in table.rows) else table.rows:
        # Where no rack is given all nodes are in one.
        of_rows |= {(row.host_id, "datacenter"): "dc1", (row.host_id, "rack"): "r1"}
    return {("", name): text(table, name) for name in STATIC} | of_rows


def _id(state_id: int | str) -> str:
    return as_timeuuid(int(state_id))


HostRow: TypeAlias = Mapping[str, str]
"""The cells of a host, by column."""


def _look(row: HostRow) -> tuple[str, ...]:
    shared = {name: cell for name, cell in row.items() if name not in OWN and cell != columns.NULL}
    return tuple(f"{name} = {cell}" for name, cell in shared.items())


def _hosts(scene: Scene) -> list[HostRow]:
    now, _ = _of_step(scene)
    hosts = dict.fromkeys(host for host, _ in now if host)
    return [{name: now[host, name] for name in OF_ROWS} for host in hosts]


def _columns(scene: Scene) -> list[Column]:
    def work() -> list[Column]:
        rows = _hosts(scene)
        names = [name for name in OF_ROWS if any(row[name] != columns.NULL for row in rows)]
        return [Column(name, itemgetter(name), none=columns.NULL) for name in names]

    return scene.once("columns of hosts", work)


def _nulls(scene: Scene) -> str:
    shown = {column.head for column in _columns(scene)}
    nulls = [name for name in OF_ROWS if name not in shown]
    return f"null in every row: {', '.join(nulls)}" if nulls else ""


def column_type(name: str, edition: Edition) -> str:
    """A column's type: the server stores features by their names, the documents by ids (Q-22)."""
    by_ids = name == "supported_features" and edition == "documents"
    return "set<uuid>" if by_ids else TOPOLOGY[name].type


def _schema(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for name in ("key", *OF_ROWS):
        yield name, column_type(name, scene.model.edition), KEYS.get(name, "")


def _cdc(scene: Scene) -> Iterator[tuple[str, str, str, str]]:
    s, times = scene.state, dict(_ids(scene)[1])
    newest = s.topology.generations
    for number in range(1, newest + 1):
        by = (i for i in nodes_in(s.topology.members) if view_of(s, i).generation == number)
        users = ", ".join(scene.model.names[i] for i in by)
        begins = f"t{times[number]}" if number in times else "before the run"
        yield str(number), begins, "committed", users
    if s.topology.transition == columns.COMMITS_CDC:
        yield str(newest + 1), columns.NULL, "prepared", ""


def _read_as(scene: Scene) -> str:
    names = "The documents print supported_features as UUIDs. Here they are shown as names (Q-22)."
    return names if scene.model.edition == "documents" else ""


def _lines(scene: Scene) -> Iterator[str]:
    now, was = _of_step(scene)
    cells = now if was is not now else ()
    new = {cell for cell in cells if was.get(cell, columns.NULL) != now[cell]}
    changed = {host for host, _ in new}
    apart = declared.told_apart(_hosts(scene), _look, lambda row: row["host_id"] in changed)
    listed = [(row["host_id"], name) for row in apart.listed for name in OF_ROWS]
    for host, name in (*(("", name) for name in STATIC), *listed):
        text = now[host, name]
        if (host, name) in new or text != columns.NULL:
            yield f"{'* ' * ((host, name) in new)}{host or 'static'}.{name} = {text}"
    yield from declared.others_lines(apart.others)


TABLE = declared.panel_of(
    "table",
    "system.topology",
    Table(
        lambda scene: [
            (name, column_type(name, scene.model.edition), _of_step(scene)[0]["", name])
            for name in STATIC
        ],
        "column:{0[0]}",
        ("column", "type", Column("value", itemgetter(2), none=columns.NULL)),
        caption="Static columns (shaded): one cell for all nodes",
        lines=_lines,
        look="raised",
    ),
    Table(
        _hosts,
        "host:{0[host_id]}",
        _columns,
        caption="One row per node",
        of="{0[host_id]}",
        lines=declared.unsaid,
        alike=declared.Alike(_look),
    ),
    declared.Drawn(declared.Note(_nulls).draw, declared.unsaid),
    Table(
        _schema,
        "schema:{0[0]}",
        ("column", "type", Column("key", itemgetter(2), none="")),
        caption="Columns of a node's row",
        lines=declared.unsaid,
    ),
    declared.Drawn(declared.Note(_read_as).draw, declared.unsaid),
    optional=True,
    tab="Table",
)


SHOWN = 30
CDC = declared.panel_of(
    "cdc",
    "CDC generations",
    Table(
        _cdc,
        "cdc:{0[0]}",
        ("generation", "timestamp", "standing", Column("used by", itemgetter(3), none="")),
        most=SHOWN,
    ),
    declared.Note("Each node writes CDC logs for the newest generation that it has applied."),
    optional=True,
    tab="CDC",
)


# -- system.topology_requests ----------------------------------------------------------------------

REQUEST_CELLS = ("id", "request_type", "target_host", "start_time", "error", "end_time")
KS_NAME, KS_DATA = "new_keyspace_rf_change_ks_name", "new_keyspace_rf_change_data"
PARAMETER_CELLS = ("truncate_table_id", KS_NAME, KS_DATA)


def _parameters(row: columns.SystemTopologyRequest) -> str:
    cells = ((name, columns.cell_text(getattr(row, name))) for name in PARAMETER_CELLS)
    return "; ".join(f"{name} {text}" for name, text in cells if text != columns.NULL)


def _requests(scene: Scene) -> list[columns.SystemTopologyRequest]:
    steps = scene.way()
    ids, ends = dict(run_ids(steps)[0]), ends_of(steps)

    def timed(state: int | None) -> str | None:
        return None if state is None else f"t{state}"

    named = (
        replace(
            row, id=_id(ids.get(n, n)), start_time=timed(ids.get(n)), end_time=timed(ends.get(n))
        )
        for n, row in enumerate(columns.store(scene.state.topology, scene.model.names)[1], 1)
    )
    return list(named)[::-1]


def _joined(scene: Scene) -> Iterator[tuple[str, str, str, str]]:
    topology, rows = scene.state.topology, _requests(scene)[::-1]
    waiting = [("global_requests", number) for number in topology.queue]
    running = [("global_topology_request_id", topology.running)] if topology.running else []
    for column, number in (*running, *waiting):
        row = rows[number - 1]
        yield column, row.id, row.request_type or columns.NULL, row.parameters


REQUESTS = declared.panel_of(
    "requests",
    "system.topology_requests",
    Table(
        _requests,
        "asked:{0.id}",
        (
            *(Column(name, name, none=columns.NULL) for name in REQUEST_CELLS),
            Column("done", lambda row: str(row.done)),
            Column("parameters", _parameters, none=columns.NULL),
        ),
        caption="All requests, newest first",
        of="{0.target_host}",
        empty="Nothing has been requested.",
        most=SHOWN,
        titled=True,
    ),
    Table(
        _joined,
        "joined:{0[1]}",
        ("column of system.topology", "id", "request_type", Column("parameters", itemgetter(3))),
        caption="Joined by id: waiting requests for the whole cluster, and the one under way",
        line="{0[0]} {0[1]}: {0[2]} {0[3]}",
        empty="No request for the whole cluster waits.",
        named=1,
        titled=True,
    ),
    declared.Note(
        "The model does not say which node took a request, so initiating_host is left out."
    ),
    optional=True,
    tab="Requests",
)


# -- what a driver reads: the tables of nodes that drivers have always read, and CDC's -------------

NOBODY_ANSWERS = "No node accepts the driver's connection."
READ = ("peer", "host_id", "data_center", "rack", "tokens")


def _contact(scene: Scene) -> int | None:
    """The first node that takes a driver's connection; None: no node does."""
    return next(nodes_in(serving(scene.state)), None)


def _peers(scene: Scene) -> Iterator[tuple[str, ...]]:
    """The nodes as drivers know them: each one's table, then the columns of ``READ``."""
    m, s, contact = scene.model, scene.state, _contact(scene)
    if contact is None:
        return
    rows = {row.host_id: row for row in columns.store(s.topology, m.names)[0].rows}
    for i in nodes_in(in_state(s.topology, *SERVING_STATES)):
        row = rows[m.names[i]]
        # The contact knows the address of before, as long as it has not heard of the new one.
        address = address_of(s, i, behind=i != contact and s.unheard >> i & 1)
        table = "system.local" if i == contact else "system.peers"
        place = row.datacenter or "", row.rack or "", ", ".join(row.tokens)
        yield table, address, row.host_id, *place


def _generations(scene: Scene) -> str:
    if _contact(scene) is None:
        return ""
    topology, times = scene.state.topology, dict(_ids(scene)[1])
    hidden = topology.unpublished
    numbers = range(1, topology.generations - hidden + 1)
    made = (f"{n} from {f't{times[n]}' if n in times else 'the start'}" for n in numbers)
    kept = f"; committed, and this run leaves out its publication: {hidden}"
    is_kept = hidden and not scene.model.publishing
    return f"cdc_generation_timestamps: {'; '.join(made) or 'none'}{kept if is_kept else ''}"


DRIVER = declared.panel_of(
    "driver",
    "What a driver reads",
    Table(
        _peers,
        "driver:{0[2]}",
        (
            "table",
            *(Column(name, itemgetter(at), none=columns.NULL) for at, name in enumerate(READ, 1)),
        ),
        caption=lambda scene: (
            f"system.local and system.peers, read from {scene.model.names[_contact(scene)]}"
        ),
        of="{0[2]}",
        empty=NOBODY_ANSWERS,
        most=declared.MOST_ROWS,
    ),
    declared.Note(_generations, "driver:cdc", None),
    optional=True,
    tab="Driver",
)


# -- the keyspaces whose replicas the state tells, and what a request makes of them ----------------


def _keyspaces(scene: Scene) -> Iterator[tuple[str, str, str]]:
    topology: ClusterTopology = scene.state.topology
    wanted: dict[str, Replication] = {}
    for request in topology.requests:
        if request.kind == "keyspace_rf_change" and not request.done:
            wanted.setdefault(request.keyspace, altered(topology, request))
    known = dict(topology.keyspaces)
    for name in sorted({*known, *wanted}):
        has, wants = (" ".join(replication_words(each.get(name, ()))) for each in (known, wanted))
        yield name, has or "unknown", wants or "nothing"


SCHEMA = declared.panel_of(
    "schema",
    "Schema",
    Table(
        _keyspaces,
        "keyspace:{0[0]}",
        (
            "keyspace",
            Column("replicas", itemgetter(1), none="unknown"),
            Column("requested", itemgetter(2), none="nothing"),
        ),
        caption="Keyspaces with tablets",
        empty="There is no keyspace.",
    ),
    optional=True,
    shown=lambda scene: (
        bool(scene.model.plan.keyspaces)
        or any(request.keyspace for request in scene.model.plan.requests)
    ),
    tab="Schema",
)
