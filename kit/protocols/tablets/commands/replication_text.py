"""What keyspaces ask for, what a change of it would do, what repairs leave out, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kit.commands.layout import GAP, columns, limited, limited_columns, listed, wrap
from kit.errors import counted
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.dry_run.repairing import RepairLine, RepairReport
from kit.protocols.tablets.dry_run.report import TabletsReport
from kit.protocols.tablets.dry_run.rf_change import RfReport
from kit.protocols.tablets.dry_run.schema import TabletKeyspace
from kit.protocols.tablets.facts.replication import factor_said, misfit_said
from kit.protocols.tablets.rules.balance.reasons import bytes_said
from kit.protocols.topology.commands import short_names
from kit.protocols.topology.rules.cluster import Factor

MOST_TABLETS = 8  # that a line names


def keyspaces_text(report: TabletsReport) -> Iterator[str]:
    """What keyspaces ask for, and the tablets whose replicas differ from that."""
    if not report.keyspaces:
        return
    rows = [
        (
            line.keyspace,
            factors_text(line.replication),
            f"{counted(len(line.tables), 'table')}, {counted(line.tablets, 'tablet')}",
            _agreement(line),
            listed((f"{view} is a view of {base}" for view, base in line.views.items()), ""),
            f"without tablets: {listed(line.without_tablets)}" if line.without_tablets else "",
        )
        for line in report.keyspaces
    ]
    yield from ("", counted(len(rows), "keyspace"), *limited_columns(rows, "keyspaces"))
    differing = [
        (f"{each.table} {each.tablet}", listed(map(misfit_said, each.misfits)))
        for line in report.keyspaces
        for each in line.differing
    ]
    if differing:
        yield from ("", "not as the schema has it", *limited_columns(differing, "tablets"))


def factors_text(factors: Mapping[str, Factor]) -> str:
    """``dc1 3, dc2 [r1 r2]``."""
    return listed((f"{name} {factor_said(each)}" for name, each in factors.items()), "?")


def _agreement(line: TabletKeyspace) -> str:
    if not line.replication:
        return "racks are not known"
    return f"{len(line.differing):,} differ" if line.differing else "all as the schema has it"


def rf_text(report: RfReport, opened: OpenedTablets) -> str:
    """Who gets and who loses replicas, tablet by tablet; or why not."""
    short = short_names(node.host for node in opened.nodes)
    change = f"{factors_text(report.before)} → {factors_text(report.after)}"
    lines = [*wrap(f"{report.keyspace}: {change}")]
    lines += [line for text in opened.warnings for line in wrap(text, f"{GAP}warning: ")]
    if report.refused:
        return "\n".join([*lines, *wrap(report.refused, "refused: ")])
    copied = "size unknown" if report.bytes is None else f"{bytes_said(report.bytes)} to copy"
    lines.append(f"{counted(len(report.tablets), 'tablet')} of the keyspace change; {copied}")
    hosts = [(short[host], f"gets {count:,}") for host, count in report.gains.items()]
    hosts += [(short[host], f"loses {count:,}") for host, count in report.losses.items()]
    lines += limited(columns(hosts), "nodes")
    rows = [
        (
            f"{each.table} {each.tablet}",
            listed((_short(step, short) for step in each.steps), "no step"),
            listed(map(misfit_said, each.lacks), ""),
        )
        for each in report.tablets
    ]
    return "\n".join([*lines, "", "one replica at a time", *limited_columns(rows, "tablets")])


def _short(step: str, short: Mapping[str, str]) -> str:
    """A step with its host's first letters."""
    host, _, shard = step[1:].rpartition(":")
    return f"{step[0]}{short.get(host, host)}:{shard}"


def repair_text(report: RepairReport, opened: OpenedTablets) -> str:
    """What repairs leave out, table by table."""
    short = short_names(node.host for node in opened.nodes)
    skipped = sum(len(line.skipped) for line in report.tables)
    late = sum(len(line.late) for line in report.tables)
    passed = f"a primary-range repair on all nodes passes over {counted(skipped, 'tablet')}"
    lines = [f"{passed}; {late:,} not repaired within the grace at {report.at}"]
    if report.left:
        lines.append(
            f"{GAP}have left, with replicas: {listed(short[host] for host in report.left)}"
        )
    lines += [line for text in opened.warnings for line in wrap(text, f"{GAP}warning: ")]
    rows = [
        (
            line.table,
            counted(line.tablets, "tablet"),
            f"passed over: {_few(line.skipped)}" if line.skipped else "none passed over",
            f"{line.never:,} never repaired",
            _late(line),
        )
        for line in report.tables
    ]
    return "\n".join([*lines, *limited_columns(rows, "tables")])


def _late(line: RepairLine) -> str:
    mode = line.gc_mode or "unknown, judged as timeout"
    if not line.late:
        return f"tombstone mode {mode}"
    grace = f"within {line.gc_grace_seconds:,} s, after which tombstones go"
    return f"not repaired {grace}: {_few(line.late)} (tombstone mode {mode})"


def _few(tablets: Sequence[int]) -> str:
    more = len(tablets) - MOST_TABLETS
    return listed(map(str, tablets[:MOST_TABLETS])) + (f" and {more:,} more" if more > 0 else "")
