"""The tablet maps that a dump shows, and the sizes of their tablets, checked against the nodes.

What cannot be so is refused with its line and column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.operators.importers.schema import ClusterSchema
from kit.operators.importers.tablet_tables import (
    Places,
    TableLines,
    TabletBytes,
    TabletLine,
    TabletsTable,
)
from kit.protocols.tablets.dry_run.nodes import SAME, KnownNodes
from kit.protocols.tablets.dry_run.schema import names_by_id
from kit.protocols.tablets.rules.balance.cluster import TabletSizes
from kit.protocols.tablets.rules.maps import ResizeType, Tablet, TabletMap, complete, faults
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS
from kit.protocols.topology.rules.machines import Edition

RESIZES: tuple[ResizeType, ...] = ("none", "split", "merge")
NOT_PLAYED = ("restore",)
"""Kinds of transitions that the published server has, too."""


def names_of(table: TabletsTable, schema: ClusterSchema | None = None) -> dict[str, str]:
    """Each table id's name; the id where two tables have one name."""
    described = names_by_id(schema)
    names = {
        id_: described.get(id_, id_) if lines.name == id_ else lines.name
        for id_, lines in table.tables.items()
    }
    times = Counter(names.values())
    return {id_: name if times[name] == 1 else id_ for id_, name in names.items()}


def map_of(
    lines: TableLines,
    table: TabletsTable,
    names: Mapping[str, str],
    known: KnownNodes,
    sessions: dict[str, int],
    edition: Edition,
) -> TabletMap:
    """A table's map, and all that it says possible."""
    name = names[lines.table_id]
    base = table.tables.get(lines.base_table)
    if lines.base_table and (base is None or base.base_table):
        allowed = "a table of this dump with tablets of its own"
        raise BadInput(f"{lines.line} base_table", lines.base_table, allowed)
    resize = next((kind for kind in RESIZES if kind == lines.resize_type), None)
    if resize is None:
        raise BadInput(f"{lines.line} resize_type", lines.resize_type, ", ".join(RESIZES))
    if lines.resize_seq_number < 0:
        allowed = "a number from 0 on"
        raise BadInput(f"{lines.line} resize_seq_number", lines.resize_seq_number, allowed)
    rows = sorted(lines.tablets, key=lambda row: row.last_token)
    given = TabletMap(
        name,
        tuple(_tablet(row, known, sessions, edition) for row in rows),
        names[lines.base_table] if lines.base_table else "",
        resize,
        lines.resize_seq_number,
    )
    for fault in faults(given):
        where = lines.line if fault.tablet is None else rows[fault.tablet].line
        raise BadInput(f"{where} {fault.column}", fault.value, f"{fault.allowed} (table {name})")
    counted = lines.tablet_count
    if not lines.base_table and counted is not None and counted != given.count:
        allowed = f"{given.count}, as many as there are rows; are some missing? (table {name})"
        raise BadInput(f"{lines.line} tablet_count", counted, allowed)
    return given


def _tablet(
    row: TabletLine, known: KnownNodes, sessions: dict[str, int], edition: Edition
) -> Tablet:
    kind = next((kind for kind in KINDS if kind == row.transition), None)
    if row.transition and kind is None:
        allowed = one_of(row.transition, list(KINDS))
        if row.transition in NOT_PLAYED:
            allowed += f"; {row.transition} is a kind of the server that this kit does not play"
        raise BadInput(f"{row.line} transition", row.transition, allowed)
    if kind is not None:
        stages = [state.name for state in TRANSITIONS[edition][kind].states]
        if row.stage not in stages:
            raise BadInput(f"{row.line} stage", row.stage, one_of(row.stage, stages))
    session = sessions.setdefault(row.session, len(sessions) + 1) if row.session else 0
    replicas = _places(row, "replicas", row.replicas, known)
    new = _places(row, "new_replicas", row.new_replicas, known)
    if kind is not None and not new:
        new = replicas
    return Tablet(row.last_token, replicas, new, row.stage, kind or "", session)


def _places(
    row: TabletLine, column: str, given: Places, known: KnownNodes
) -> tuple[TabletReplica, ...]:
    for host, shard in given:
        node = known.nodes.get(host)
        if node is None:
            allowed = f"a host that the other files name; {SAME}"
            raise BadInput(f"{row.line} {column}", host, allowed)
        if not 0 <= shard < node.shards:
            allowed = f"a shard from 0 to {node.shards - 1} of {host}"
            raise BadInput(f"{row.line} {column}", shard, allowed)
    return tuple(TabletReplica(*place) for place in given)


def sizes_of(
    given: TabletBytes,
    source: str,
    names: Mapping[str, str],
    maps: Mapping[str, TabletMap],
    known: KnownNodes,
) -> TabletSizes:
    """Sizes by table name and tablet; a warning says how many are of no replica.

    Raises:
        BadInput: for a tablet that the dump does not have, or a host that no file names.
    """
    hosts = set(known.nodes)
    if known.topology is not None:
        hosts.update(row.host_id for row in known.topology.table.rows)
    sizes: dict[str, list[Mapping[str, int]]] = {}
    of_none = 0
    for table, tablets in given.items():
        if table not in names:
            raise BadInput(f"{source} table_id", table, "a table of the dump of system.tablets")
        base = complete(names[table], maps)
        places = {tablet.last_token: tablet.sets.both for tablet in base.tablets}
        for last, row in tablets.items():
            if last not in places:
                allowed = f"the last token of a tablet of {names[table]}"
                raise BadInput(f"{source} last_token", last, allowed)
            stranger = next((host for host in row if host not in hosts), None)
            if stranger is not None:
                allowed = f"a host that the other files name; {SAME}"
                raise BadInput(f"{source} last_token {last} replicas", stranger, allowed)
            of_none += len(row.keys() - {place.host for place in places[last]})
        sizes[names[table]] = [tablets.get(last, {}) for last in base.last_tokens]
    if of_none:
        known.warnings.append(f"{source} has sizes where the dump has no replica: {of_none:,}")
    return sizes


def repairs_of(table: TabletsTable, names: Mapping[str, str]) -> dict[str, Mapping[int, datetime]]:
    """When each tablet was repaired last, by table name and tablet; those that ever were."""
    return {
        names[lines.table_id]: {
            number: datetime.fromisoformat(row.repair_time)
            for number, row in enumerate(sorted(lines.tablets, key=lambda row: row.last_token))
            if row.repair_time
        }
        for lines in table.tables.values()
    }
