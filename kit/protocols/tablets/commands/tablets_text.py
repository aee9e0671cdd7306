"""What a cluster's tablets are, and what would become of them, in words for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kit.commands.layout import GAP, columns, limited, limited_columns, listed, wrap
from kit.errors import counted
from kit.protocols.tablets.commands.replication_text import keyspaces_text
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.dry_run.report import ResizeLine, TabletNode, TabletsReport
from kit.protocols.tablets.dry_run.what_if import (
    BalanceReport,
    DrainReport,
    LoadSpread,
    LossReport,
    LostTablet,
    ServedToken,
    StuckTablet,
)
from kit.protocols.tablets.rules.balance.loads import TabletMove
from kit.protocols.tablets.rules.balance.reasons import (
    bytes_said,
    load_said,
    loads_said,
    reason_said,
    sizes_said,
)
from kit.protocols.tablets.rules.balance.why import WhyAnswer
from kit.protocols.tablets.rules.resize import CountCompared, resize_said
from kit.protocols.topology.commands import short_names
from kit.protocols.topology.rules.machines import Edition

Short = Mapping[str, str]


def report_text(report: TabletsReport) -> str:
    """Nodes, tables and transitions."""
    short = short_names(node.host for node in report.nodes)
    kinds = Counter(line.kind for line in report.transitions)
    moving = listed((f"{count:,} {kind}" for kind, count in kinds.items()), "no transition")
    total = sum(table.tablets for table in report.tables)
    held = f"{counted(total, 'tablet')} of {counted(len(report.tables), 'table')}"
    lines = [f"{report.source}: {held}; {moving} (edition {report.edition})"]
    lines += [] if report.balancing else ["balancing is disabled"]
    lines += _warnings(report.warnings)
    nodes = [
        (
            short[node.host],
            f"{node.datacenter}/{node.rack}",
            counted(node.shards, "shard"),
            counted(node.tablets, "tablet"),
            _each(node),
            _known(node.bytes, node.utilisation),
            listed(filter(None, (_role(node.role), "down" * _is_down(node))), ""),
        )
        for node in report.nodes
    ]
    lines += ["", counted(len(nodes), "node"), *limited_columns(nodes, "nodes")]
    tables = [
        (
            table.table,
            counted(table.tablets, "tablet"),
            listed((f"{dc} {count}" for dc, count in table.replicas.items()), "no replica"),
            "size unknown" if table.average is None else f"{bytes_said(table.average)} a tablet",
            _resize(table.resize_type, table.resize_seq_number),
            f"with {listed(table.colocated)}" if table.colocated else "",
        )
        for table in report.tables
    ]
    lines += ["", counted(len(tables), "table"), *limited_columns(tables, "tables")]
    lines += keyspaces_text(report)
    transitions = [
        (
            f"{line.table} {line.tablet}",
            line.kind,
            line.stage,
            f"reads {line.reads}, writes {line.writes}",
            f"{_places(line.replicas, short)} → {_places(line.new_replicas, short)}",
        )
        for line in report.transitions
    ]
    if transitions:
        lines += ["", "transitions", *limited_columns(transitions, "transitions")]
    return "\n".join(lines)


def balance_text(report: BalanceReport, opened: OpenedTablets) -> str:
    """The plan: loads before and after, moves with their reasons."""
    short = short_names(node.host for node in opened.nodes)
    what = "shards, tablets" if opened.edition == "documents" else "nodes, storage"
    lines = [f"{counted(len(report.moves), 'move')}, {bytes_said(report.bytes)} to copy"]
    lines += _warnings(opened.warnings)
    lines.append(f"loads of {what}: {_spread(report.before, opened.edition)}")
    if report.moves:
        lines.append(f"{GAP}after this plan: {_spread(report.after, opened.edition)}")
        lines += ["", "moves", *_moves(report.moves, short, opened.edition)]
    return "\n".join([*lines, *_stuck(report.stuck, short, opened.edition)])


def drain_text(report: DrainReport, opened: OpenedTablets) -> str:
    """Who takes what of an emptied node, and what cannot go."""
    short = short_names(node.host for node in opened.nodes)
    moved = sum(report.targets.values())
    goes = f"{moved:,} can go, {report.replicas - moved:,} cannot"
    held = f"{short[report.host]} has {counted(report.replicas, 'replica')}"
    lines = [f"{held}: {goes}; {bytes_said(report.bytes)} to copy"]
    if report.in_transition:
        moving = counted(report.in_transition, "tablet")
        lines.append(f"{GAP}{moving} of it in transition, judged as if that were over")
    lines += _warnings(opened.warnings)
    rows = [(short[host], f"takes {count:,}") for host, count in report.targets.items()]
    lines += limited(columns(rows), "nodes")
    return "\n".join([*lines, *_stuck(report.stuck, short, opened.edition)])


def resize_text(rows: Sequence[ResizeLine], edition: Edition, warnings: Iterable[str] = ()) -> str:
    """Each table's decision, and how far it is from another one."""
    decided = Counter(row.decision for row in rows)
    kinds = f"{decided['split']:,} to split, {decided['merge']:,} to merge"
    lines = [f"{kinds}, {decided['none']:,} as they are (edition {edition})"]
    waiting = sum(row.later is not None for row in rows)
    lines += [f"{GAP}{counted(waiting, 'resize')} begin in a later round"] if waiting else []
    lines += _warnings(warnings)
    cells = [
        (
            row.table,
            counted(row.tablets, "tablet"),
            row.decision if row.decision == row.was else f"{row.was} → {row.decision}",
            f"number {row.resize_seq_number}",
            "; ".join(
                filter(None, (_average(row), resize_said(row.reason, sizes_said), *_beside(row)))
            ),
        )
        for row in rows
    ]
    return "\n".join([*lines, *limited_columns(cells, "tables")])


def _average(row: ResizeLine) -> str:
    """The size beside a decision by count, whose reason does not tell it."""
    by_count = isinstance(row.reason, CountCompared) and row.average is not None
    return f"{bytes_said(row.average or 0)} a tablet" if by_count else ""


def _beside(row: ResizeLine) -> Iterator[str]:
    """How far a size is from asking for a resize; else which of all rules asks for the most.

    Before that: why a resize has to wait for another round.
    """
    if row.later is not None:
        taken, limit = f"{row.later.taken:,}", f"{row.later.limit:,}"
        if row.later.waits_for == "requests":
            yield f"begins in a later round: {taken} begin in this one, as many as may"
        elif row.later.waits_for == "turn":
            yield "begins in a later round: behind one with larger tablets, which waits"
        else:
            needs = f"it needs {row.later.needs:,}"
            yield f"begins in a later round: {taken} of {limit} shards are in use, {needs}"
    if row.target is not None:
        rules = row.target.rules
        largest = max(rules, key=rules.__getitem__)
        yield f"of all rules {largest} asks for the most, {rules[largest]:,}"
    yield from _by_size(row)


def _by_size(row: ResizeLine) -> Iterator[str]:
    """How far the average tablet is from the thresholds, which need not decide alone."""
    alone = "by size alone " if row.target is not None else ""
    if row.to_split is None or row.to_merge is None:
        return
    if row.decision == row.was and row.to_revoke:
        which = "less" if row.was == "split" else "more"
        yield f"{alone}{bytes_said(row.to_revoke)} {which} a tablet would cancel it"
    elif row.to_split and row.to_merge:
        grow, shrink = bytes_said(row.to_split), bytes_said(row.to_merge)
        yield f"{alone}{grow} more a tablet would split it, {shrink} less would merge it"
    elif alone:
        yield f"{alone}it would be {'merged' if row.to_split else 'split'}"


def loss_text(report: LossReport, opened: OpenedTablets) -> str:
    """How many tablets lose their quorum, and which."""
    short = short_names(node.host for node in opened.nodes)
    without = listed(short.get(host, host) for host in report.down)
    local = listed((f"{count:,} in {dc}" for dc, count in report.no_local_quorum.items()), "none")
    lost = f"{_have(report.no_quorum)} no quorum, {_have(report.no_replica)} no replica"
    head = f"without {without}: of {counted(report.tablets, 'tablet')} {lost}"
    lines = [f"{head}; no LOCAL_QUORUM: {local}"]
    lines += _warnings(opened.warnings)
    rows = [
        (
            f"{tablet.table} {tablet.tablet}",
            f"{tablet.alive} of {tablet.replicas} replicas left",
            _refused(tablet),
        )
        for tablet in report.lost
    ]
    return "\n".join([*lines, *limited_columns(rows, "tablets")])


def _refused(tablet: LostTablet) -> str:
    """Which requests of a tablet fail: named where it is in transition, and they may differ."""
    where = f"no majority in {listed(tablet.datacenters)}" if tablet.datacenters else ""
    if not tablet.stage:
        return where
    kinds = f"no quorum for {listed(tablet.without_quorum)}" if tablet.without_quorum else ""
    return "; ".join(filter(None, (where, f"in {tablet.stage}", kinds)))


def _have(number: int) -> str:
    return f"{number:,} {'has' if number == 1 else 'have'}"


def shard_text(token: int, answers: Sequence[ServedToken]) -> str:
    """Who serves a token in each table."""
    short = short_names(dict.fromkeys(host.host for answer in answers for host in answer.hosts))
    lines = [f"token {token}"]
    for answer in answers:
        stage = f", {answer.stage}" if answer.stage else ""
        head = f"{answer.table}: tablet {answer.tablet}, ({answer.after}, {answer.up_to}]{stage}"
        rows = [
            (
                short[host.host],
                f"reads on shard {host.reads}",
                f"writes on {listed(map(str, host.writes))}",
                f"static sharding: {host.static}",
            )
            for host in answer.hosts
        ]
        lines += [head, *columns(rows)]
    return "\n".join(limited(lines, "lines", ""))


def why_text(answer: WhyAnswer, opened: OpenedTablets) -> str:
    """One move that was asked about, and the reason for it or against it."""
    short = short_names(node.host for node in opened.nodes)
    move = f"{_place(str(answer.source), short)} → {_place(str(answer.target), short)}"
    verdict = "in the next plan" if answer.moves else "not in the next plan"
    reason = reason_said(answer.reason, opened.edition)
    return "\n".join([*wrap(f"{move}: {verdict}: {reason}"), *_warnings(opened.warnings)])


def _warnings(warnings: Iterable[str]) -> list[str]:
    return [line for text in warnings for line in wrap(text, f"{GAP}warning: ")]


def _each(node: TabletNode) -> str:
    """How many tablets a shard of a node has: the least and the most."""
    least, most = node.least_on_a_shard, node.most_on_a_shard
    return f"{most:,} per shard" if least == most else f"{least:,} to {most:,} per shard"


def _known(size: int | None, utilisation: float | None) -> str:
    if size is None:
        return "size unknown"
    used = () if utilisation is None else (load_said(utilisation, "server", 1),)
    return ", ".join((bytes_said(size), *used))


def _is_down(node: TabletNode) -> bool:
    """Whether a node is to be called down: of one that has left that goes without saying."""
    return not node.up and node.role != "left"


def _role(role: str) -> str:
    return "" if role == "normal" else role


def _resize(kind: str, number: int) -> str:
    return f"{kind}, number {number}" if kind != "none" else "no resize"


def _spread(spread: LoadSpread, edition: Edition) -> str:
    most, least, mean = loads_said(edition, spread.most, spread.least, spread.mean)
    return f"from {least} to {most}, mean {mean}"


def _moves(moves: Sequence[TabletMove], short: Short, edition: Edition) -> list[str]:
    rows = [
        (
            f"{move.table} {' and '.join(map(str, move.tablets))}",
            move.kind,
            f"{_place(str(move.source), short)} → {_place(str(move.target), short)}",
            bytes_said(move.bytes),
            reason_said(move.reason, edition),
        )
        for move in moves
    ]
    return limited_columns(rows, "moves")


def _stuck(stuck: Sequence[StuckTablet], short: Short, edition: Edition) -> list[str]:
    """What cannot leave its node, and what each other node has against it."""
    if not stuck:
        return []
    rows = [
        (
            f"{tablet.table} {' and '.join(map(str, tablet.tablets))}",
            f"on {_place(tablet.source, short)}",
            "; ".join(
                f"{listed(short.get(host, host) for host in hosts[:3])}"
                f"{f' and {len(hosts) - 3:,} more' if len(hosts) > 3 else ''}: "
                f"{reason_said(reason, edition)}"
                for reason, hosts in tablet.reasons
            ),
        )
        for tablet in stuck
    ]
    return ["", "no node may take", *limited_columns(rows, "tablets")]


def _places(places: Iterable[str], short: Short) -> str:
    return listed((_place(place, short) for place in places), "none")


def _place(place: str, short: Short) -> str:
    """A host's first letters and a shard."""
    host, _, shard = place.rpartition(":")
    return f"{short.get(host, host)}:{shard}"
