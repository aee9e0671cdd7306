"""An opened cluster as parameters of the control model: its nodes by short names, its tablets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.dry_run.schema import replication_in
from kit.protocols.tablets.dump import DumpedTable, DumpedTransition, TabletDump
from kit.protocols.tablets.rules.balance.cluster import BalancerNode
from kit.protocols.tablets.rules.maps import TabletMap, group, last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.parameter_types import MOST_FAULTS
from kit.protocols.topology.request_plan import MOST_NODES, NAME
from kit.protocols.topology.rules.replication import factor_text

RF_CHANGE = "keyspace_rf_change"
LEAST_LETTERS = 4  # of a host id's beginning
MOST_TO_CHOOSE = 128  # nodes of which any may be lost: of more nobody could choose
SEVERAL = 3  # of what may be lost, excluded or undone by the way


def parameters_of(
    opened: OpenedTablets, requests: Sequence[tuple[str, str]], balance: bool, lost: Sequence[str]
) -> tuple[Any, Mapping[str, str], tuple[str, ...]]:
    """The parameters whose model begins with this cluster, the names of hosts, lines to read first.

    Raises:
        BadInput: for more nodes, requests or losses than a Player has.
    """
    nodes, warnings = _members(opened)
    _check(opened, nodes, requests, lost)
    names = short_names(opened, nodes)
    bases = {name: table for name, table in opened.maps.items() if not table.base_table}
    tablets = [tablet for table in bases.values() for tablet in table.tablets]
    removed = {host for word, host in requests if word == "removenode"}
    down = (node for node in nodes if node.host in opened.down or node.host in removed)
    excluded = (node for node in nodes if node.role == "excluded")
    spare = SEVERAL * (len(nodes) <= MOST_TO_CHOOSE)
    parameters = Tablets.Parameters(
        edition=opened.edition,
        nodes=len(nodes),
        names=tuple(names[node.host] for node in nodes),
        racks=tuple(f"{node.datacenter}/{node.rack}" for node in nodes),
        tablets=tuple(_text(tablet.replicas, names) for tablet in tablets),
        kinds=("migration", "intranode_migration"),
        balancing=opened.enabled,
        moves=int(balance),
        operations=tuple(f"{word} {names.get(what, what)}" for word, what in requests),
        keyspaces=tuple(_keyspaces(opened, requests)),
        down=tuple(sorted({names[node.host] for node in down} | {names[n.host] for n in excluded})),
        ignored=(),
        crashes=min(MOST_FAULTS, len(lost) + spare),
        exclusions=SEVERAL,
        undone=min(MOST_FAULTS, len(requests)),
        dump=_dump(opened, nodes, names, bases),
    )
    return parameters, names, warnings


def _keyspaces(opened: OpenedTablets, requests: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What the schema says of the keyspaces whose RF is to be changed."""
    known = {} if opened.schema is None else opened.schema.keyspaces
    for name in dict.fromkeys(what.split()[0] for word, what in requests if word == RF_CHANGE):
        if name in known:
            factors = replication_in(known[name], opened.nodes).items()
            yield " ".join([name, *(f"{dc}={factor_text(factor)}" for dc, factor in factors)])


def _members(opened: OpenedTablets) -> tuple[tuple[BalancerNode, ...], tuple[str, ...]]:
    """The nodes that take part: all but those that take no tablets and have none."""
    used = {
        replica.host
        for table in opened.maps.values()
        for tablet in table.tablets
        for replica in (*tablet.replicas, *tablet.new_replicas)
    }
    kept = tuple(node for node in opened.nodes if node.role != "excluded" or node.host in used)
    left = len(opened.nodes) - len(kept)
    return kept, (f"left out, as they take no tablets and have none: {left:,} nodes",) * bool(left)


def _check(
    opened: OpenedTablets,
    nodes: Sequence[BalancerNode],
    requests: Sequence[tuple[str, str]],
    lost: Sequence[str],
) -> None:
    if len(nodes) > MOST_NODES:
        raise BadInput(f"{opened.source} nodes", len(nodes), f"at most {MOST_NODES} for a Player")
    for field, given in (("operations", requests), ("lost nodes", lost)):
        if len(given) > MOST_FAULTS:
            raise BadInput(field, len(given), f"at most {MOST_FAULTS} in one rehearsal")


def short_names(opened: OpenedTablets, nodes: Sequence[BalancerNode]) -> dict[str, str]:
    """What a picture calls each host: its address where all are known, else its id's beginning."""
    hosts = [node.host for node in nodes]
    addresses = {host: address for address, host in opened.addresses.items()}
    if all(NAME.fullmatch(addresses.get(host, "")) for host in hosts):
        return {host: addresses[host] for host in hosts}
    longest = max(map(len, hosts))
    letters = next(
        n for n in range(LEAST_LETTERS, longest + 1) if len({h[:n] for h in hosts}) == len(hosts)
    )
    return {host: host[:letters] for host in hosts}


def _text(replicas: Replicas, names: Mapping[str, str]) -> str:
    return " ".join(f"{names[each.host]}:{each.shard}" for each in replicas)


def _dump(
    opened: OpenedTablets,
    nodes: Sequence[BalancerNode],
    names: Mapping[str, str],
    bases: Mapping[str, TabletMap],
) -> TabletDump:
    capacities = tuple(node.capacity for node in nodes)
    return TabletDump(
        shards=tuple(node.shards for node in nodes),
        tables=tuple(_table(opened, table) for table in bases.values()),
        capacities=capacities if all(capacities) else (),
        sizes=() if opened.sizes is None else tuple(_sizes(opened, bases)),
        transitions=tuple(_transitions(names, bases)),
        target_size=opened.target_size,
        rack_lists=tuple(sorted(opened.rack_lists())),
    )


def _table(opened: OpenedTablets, table: TabletMap) -> DumpedTable:
    lasts = table.last_tokens
    usual = lasts == last_tokens(table.count)
    return DumpedTable(
        table.table,
        table.count,
        group(table.table, opened.maps)[1:],
        table.resize_type,
        () if usual else lasts,
    )


def _sizes(opened: OpenedTablets, bases: Mapping[str, TabletMap]) -> Iterator[tuple[int, ...]]:
    """The bytes of each replica, of all tables of its group."""
    sizes = opened.sizes or {}
    for name, table in bases.items():
        columns = [sizes.get(each, ()) for each in group(name, opened.maps)]
        for number, tablet in enumerate(table.tablets):
            rows = [column[number] if number < len(column) else {} for column in columns]
            yield tuple(
                sum(row[place.host] for row in rows)
                if all(place.host in row for row in rows)
                else -1
                for place in tablet.replicas
            )


def _transitions(
    names: Mapping[str, str], bases: Mapping[str, TabletMap]
) -> Iterator[DumpedTransition]:
    tablets = (tablet for table in bases.values() for tablet in table.tablets)
    for number, tablet in enumerate(tablets):
        if tablet.transition:
            new = _text(tablet.new_replicas, names)
            yield DumpedTransition(number, tablet.transition, tablet.stage, new, tablet.session)
