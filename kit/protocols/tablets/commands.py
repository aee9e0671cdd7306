"""``tablets``: what is on one's own tablets, and what the balancer would do with them."""

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, takewhile
from typing import Any

from msgspec.structs import replace

from kit.commands.answer import GAP, Answer, Part, Rows, columns, listed, wrap
from kit.commands.parsing import Command, Word
from kit.edge.writing import check_place
from kit.errors import BadInput, counted, first_of
from kit.model.registry import check_one_of
from kit.operators.importers.anonymous import hidden
from kit.operators.importers.cql import ColumnType, from_json
from kit.operators.importers.snapshots import is_snapshot
from kit.protocols.group0.rules.releases import CHANGES, SUPPORTED, Release, has, release_of, spans
from kit.protocols.tablets.dry_run import report as reports
from kit.protocols.tablets.dry_run import what_if
from kit.protocols.tablets.dry_run.opening import SOMEWHERE, OpenedTablets, open_tablets
from kit.protocols.tablets.rules.balance.planner import why
from kit.protocols.tablets.rules.balance.reasons import (
    bytes_said,
    load_said,
    loads_said,
    reason_said,
    sizes_said,
)
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.replication import Misfit
from kit.protocols.tablets.rules.resize import TARGET_SIZE, CountCompared, resize_said
from kit.protocols.topology.commands import ANONYMIZE, EDITION, RELEASE, marked, short_names
from kit.protocols.topology.rules.cluster import Factor
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.remedies import (
    MAJORITY,
    LostNode,
    numbered,
    remedy_steps,
    steps_for_dead,
)

MOST_TABLETS = 8  # that a line names
MOST_HOSTS = 3  # that a reason names
FLAGS = ("--json", "--help", "--anonymize", "--")
FILES = ("topology", "status", "sizes", "loads", "schema")
ABOUT = """\
A dump of system.tablets: which node holds what, what the balancer would do next
and why, and what would happen if you changed something.

  show           nodes, tables and transitions (the default);
                 with --schema also keyspaces, and the tablets whose replicas don't match them
  balance        the next plan of the balancer: each move and its reason, loads before and after
  drain HOST     whether every tablet of a node has a place to go, which ones have none, and why
  resize         whether tables will be split or merged, and how far they are from that
  repair [MOMENT]
                 which tablets a primary-range repair skips, because their node has left, and
                 which were not repaired within gc_grace_seconds, now or at 2026-01-31T10:00:00Z
  rf KEYSPACE DC=N...
                 a change of a keyspace's replication, to a number or to racks (DC=RACK,RACK): which
                 nodes get replicas and which lose some, step by step, or why it is refused;
                 of nodes in a rack that hold as little, the server takes any
  lose HOST...   which tablets lose their quorum without these nodes (and those that are down)
  shard TOKEN    which nodes serve a token, on which shards, and where static sharding would put it
  why TABLE TABLET HOST:SHARD
                 why the next plan moves a tablet to that shard, or why it does not

After --table only resize can be asked, or
  tokens         the range of each tablet, how many are on a shard, and how large one is
"""
AFTER = """\
DUMP is what cqlsh writes for COPY system.tablets TO 'file' WITH HEADER = TRUE, or shows for
SELECT JSON * FROM system.tablets. The other dumps are made the same way. DUMP can also be a
snapshot of scylla-tablets (a folder or a .tar.gz), which has up to three of the other dumps.
Several snapshots are compared in order of time. Without a dump, --table imagines a table: count
(tablets), rf, size (bytes of all replicas), shards, target; K, M, G, T are powers of 1024. A HOST
is a host id, the beginning of one, or an address from --status.

The exit code is 0. It is 1 when a tablet has no place to go or loses its quorum, a drain would
wait for a node that is down or whose tablet sizes are unknown, an RF change is refused, or a repair
leaves tablets out, and 2 on bad input.

examples
  python -m kit tablets tablets.csv --topology topology.csv balance --json
  python -m kit tablets tablets.csv --status status.txt --sizes sizes.csv resize
  python -m kit tablets tablets.csv --topology topology.csv --schema schema.cql
  python -m kit tablets tablet_snap_261124_100000.tar.gz balance --anonymize
  python -m kit tablets tablet_snap_261124_100000 tablet_snap_261124_101000 --html moves.html
  python -m kit tablets tablets.csv --topology topology.csv lose 0000000a 0000000b
  python -m kit tablets tablets.csv --topology topology.csv rf shop dc1=3
  python -m kit tablets tablets.csv --topology topology.csv --schema schema.cql repair
  python -m kit tablets --table count=8,rf=3,size=400G resize
"""


Short = Mapping[str, str]


def tablets(argv: list[str]) -> int:
    """Answer a question about a cluster's tablets; 1 when something stands in the way."""
    return TABLETS(_options_first(argv))


def _options_first(argv: Sequence[str]) -> list[str]:
    options: list[str] = []
    free: list[str] = []
    words = iter(argv)
    for word in words:
        is_option = word.startswith("--")
        (options if is_option else free).append(word)
        if is_option and word not in FLAGS and "=" not in word:
            if (value := next(words, None)) is None:
                free.append(options.pop())  # so that no free word is taken for its value
            else:
                options[-1] += f"={value}"  # in one word, which may then begin with a dash
    return [*options, *free]


def _of_table(given: Namespace) -> Answer:
    for option in FILES:
        if getattr(given, option) not in (None, []):
            raise BadInput(f"--{option}", getattr(given, option), "nothing beside --table")
    table = reports.imagined(given.table, given.edition, release_of(given.release)[0])
    match given.words:
        case ["resize"]:
            line = table.resize()
            return _resized((line,), _edition_name(table), line)
        case ["tokens"]:
            return Answer(table.tokens(), parts=_tokens(table))
    words = " ".join(given.words) or "nothing"
    raise BadInput("ACTION", words, "resize or tokens, after --table")


def _edition_name(given: reports.ImaginedTable | OpenedTablets) -> str:
    return f"{given.edition} {given.release}" if given.edition == "server" else given.edition


def _tokens(table: reports.ImaginedTable) -> Iterator[Part]:
    lines = table.tokens()
    yield counted(len(lines), "tablet")
    yield Rows([(str(row.tablet), f"({row.after}, {row.last_token}]") for row in lines], "tablets")
    if table.shards is not None:
        replicas, shards = table.count * table.rf, table.shards
        yield f"{replicas:,} replicas on {shards:,} shards: {replicas / shards:,.2f} each"
    if table.size is not None:
        yield f"{bytes_said(table.size // table.rf // table.count)} per tablet"


def _answer(given: Namespace) -> Answer:
    if given.table is not None:
        return _of_table(given)
    if not given.words:
        raise BadInput("DUMP", "nothing", "a dump of system.tablets, or --table")
    several = [*takewhile(is_snapshot, given.words)]
    if len(several) > 1:
        return _series(given, several)
    if given.html is not None:
        raise BadInput("--html", given.html, "several snapshots; one snapshot is only one moment")
    dump, *words = given.words
    action, *rest = words or ["show"]
    check_one_of("ACTION", action, ACTIONS)
    least, most, usage, answer = ACTIONS[action]
    if not least <= len(rest) <= most:
        raise BadInput(f"words after {action}", " ".join(rest) or "nothing", usage)
    target = TARGET_SIZE if given.target is None else reports.parse_size("--target", given.target)
    files: dict[str, Any] = {option: getattr(given, option) or None for option in FILES}
    options: dict[str, Any] = {"edition": given.edition, "target_size": target}
    options["anonymize"] = given.anonymize
    options["release"], late = release_of(given.release, *chain.from_iterable(CHANGED.values()))
    with hidden(given.anonymize):
        opened = open_tablets(dump, **files, **options)
        answered = answer(opened, rest)
        heading = [*answered.heading, *_elsewhere(opened, action, rest, answered.data)]
    more = {"heading": heading, "warnings": (*answered.warnings, *late)}
    return replace(answered, data=marked(answered.data, given.anonymize), **more)


MOVES = ("rebuild-after-repair", "by-capacity", "complete-statistics", "two-reads")
CHANGED: dict[str, tuple[str, ...]] = dict.fromkeys(("balance", "drain", "why"), MOVES)
CHANGED |= {"rf": ("rf-changes",), "resize": ("sizing-rules", "goal-by-rack", "desired-by-size")}
"""What may differ between releases of the server in an answer."""


def _elsewhere(
    opened: OpenedTablets, action: str, rest: Sequence[str], data: object
) -> Iterator[str]:
    answers: dict[Release, object] = {}
    for change in (CHANGES[name] for name in CHANGED.get(action, ())):
        here = change.holds(opened.release)
        first = next(n for n, release in enumerate(SUPPORTED) if change.holds(release))
        sides = SUPPORTED[max(0, first - 1) : first + 1]  # of the change
        for release in sides:
            if release not in answers:
                there = replace(opened, release=release)
                same = release == opened.release
                answers[release] = data if same else ACTIONS[action][3](there, rest).data
        if opened.edition == "server" and answers[sides[0]] != answers[sides[-1]]:
            others = {str(r): change.said(r) for r in SUPPORTED if change.holds(r) != here}
            for where, what in spans({name: what for name, what in others.items() if what}).items():
                yield from wrap(what, f"{GAP}on {where}: ", GAP * 2)


def _series(given: Namespace, snapshots: Sequence[str]) -> Answer:
    if more := given.words[len(snapshots) :]:
        raise BadInput("words", " ".join(more), "nothing more after several snapshots")
    for option in (*FILES, "target"):
        if getattr(given, option):
            allowed = "nothing: it can't be combined with several snapshots"
            raise BadInput(f"--{option}", getattr(given, option), allowed)
    if given.html is not None:
        check_place(given.html, "--html", inputs=tuple(snapshots))
    # The pictures are loaded where snapshots are compared, not for each command.
    from kit.protocols.tablets.dry_run.series import series_of

    with hidden(given.anonymize):
        model = series_of(snapshots, given.edition, given.anonymize)
    if given.html is not None:
        from kit.views.export import export_html

        export_html(model.read_through(), given.html, field="--html")
    steps = [*zip(model.moments[1:], model.entries, strict=True)]
    parts: list[Part] = [
        Rows(
            [(each.what, each.words) for each in changed] or [("", "nothing changed")],
            "changes",
            f"{moment.opened.source}, version {moment.version}",
        )
        for moment, changed in steps
    ]
    data = {moment.opened.source: changed for moment, changed in steps}
    warnings = dict.fromkeys(line for moment in model.moments for line in moment.opened.warnings)
    first = model.moments[0]
    heading = [f"starting from {first.opened.source}, version {first.version}, in order of time"]
    return Answer(marked(data, given.anonymize), heading, parts, tuple(warnings))


def _show(opened: OpenedTablets, _words: Sequence[str]) -> Answer:
    report = reports.tablets_report(opened)
    kinds = Counter(line.kind for line in report.transitions)
    moving = listed((f"{count:,} {kind}" for kind, count in kinds.items()), "no transition")
    tablets = counted(sum(table.tablets for table in report.tables), "tablet")
    held = f"{tablets} of {counted(len(report.tables), 'table')}"
    heading = [f"{report.source}: {held}; {moving} (edition {_edition_name(opened)})"]
    heading += [] if report.balancing else ["balancing is disabled"]
    if report.transitions:
        heading.append(f"{GAP}tablets per node are counted as if each transition had succeeded")
        heading += _waiting(opened, what_if.stalled_by(opened), {}, _short(opened))
    return Answer(report, heading, _show_parts(report), report.warnings)


def _show_parts(report: reports.TabletsReport) -> Iterator[Rows]:
    short = short_names(node.host for node in report.nodes)
    nodes = [
        (
            short[node.host],
            f"{node.datacenter}/{node.rack}",
            counted(node.shards, "shard"),
            counted(node.tablets, "tablet"),
            _on_shards(node),
            _known(node),
            _standing(node),
        )
        for node in report.nodes
    ]
    yield Rows(nodes, "nodes", counted(len(nodes), "node"))
    tables = [
        (
            table.table,
            counted(table.tablets, "tablet"),
            listed((f"{dc} {count}" for dc, count in table.replicas.items()), "no replica"),
            "size unknown" if table.average is None else f"{bytes_said(table.average)} per tablet",
            "no resize"
            if table.resize_type == "none"
            else f"{table.resize_type}, number {table.resize_seq_number}",
            f"with {listed(table.colocated)}" if table.colocated else "",
        )
        for table in report.tables
    ]
    yield Rows(tables, "tables", counted(len(tables), "table"))
    yield from _keyspaces(report.keyspaces) if report.keyspaces else ()
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
        yield Rows(transitions, "transitions", "transitions")


def _on_shards(node: reports.TabletNode) -> str:
    least, most = node.least_on_a_shard, node.most_on_a_shard
    return f"{most:,} per shard" if least == most else f"{least:,} to {most:,} per shard"


def _known(node: reports.TabletNode) -> str:
    of = "" if node.capacity is None else f" of {bytes_said(node.capacity)}"
    if node.bytes is None or node.unsized == node.tablets > 0:
        return f"size unknown{of}"
    used = "" if node.utilisation is None else load_said(node.utilisation, "server", 1)
    unsized = f"{node.unsized:,} of unknown size" if node.unsized else ""
    return ", ".join(filter(None, (bytes_said(node.bytes) + of, used, unsized)))


def _standing(node: reports.TabletNode) -> str:
    role = "" if node.role == "normal" else node.role
    down = "" if node.up or node.role in ("left", "down") else "down"
    return ", ".join(filter(None, (role, down)))


def _beside(line: reports.TabletKeyspace) -> Iterator[str]:
    if line.views:
        yield listed(f"{view} is a view of {base}" for view, base in line.views.items())
    if line.without_tablets:
        yield f"without tablets: {listed(line.without_tablets)}"


def _keyspaces(keyspaces: Sequence[reports.TabletKeyspace]) -> Iterator[Rows]:
    rows = [
        (
            line.keyspace,
            _factors(line.replication),
            f"{counted(len(line.tables), 'table')}, {counted(line.tablets, 'tablet')}",
            "racks unknown"
            if not line.replication
            else f"{len(line.differing):,} differ"
            if line.differing
            else "all match the schema",
            "; ".join(_beside(line)),
        )
        for line in keyspaces
    ]
    yield Rows(rows, "keyspaces", counted(len(rows), "keyspace"))
    differing = [
        (f"{each.table} {each.tablet}", listed(map(misfit_said, each.misfits)))
        for line in keyspaces
        for each in line.differing
    ]
    if differing:
        yield Rows(differing, "tablets", "don't match the schema")


def _factors(factors: Mapping[str, Factor]) -> str:
    said = {n: f"[{' '.join(f)}]" if isinstance(f, tuple) else f for n, f in factors.items()}
    return listed((f"{name} {factor}" for name, factor in said.items()), "?")


def _balance(opened: OpenedTablets, _words: Sequence[str]) -> Answer:
    report, short = what_if.balance(opened), _short(opened)
    what = "shards, tablets" if opened.edition == "documents" else "nodes, storage"
    parts: list[Part] = [f"loads of {what}: {_spread(report.before, opened.edition)}"]
    if report.moves:
        moves = [
            (
                f"{move.table} {' and '.join(map(str, move.tablets))}",
                move.kind,
                _way(move.source, move.target, short),
                bytes_said(move.bytes),
                reason_said(move.reason, opened.edition),
            )
            for move in report.moves
        ]
        parts.append(f"{GAP}after this plan: {_spread(report.after, opened.edition)}")
        parts.append(Rows(moves, "moves", "moves"))
    parts += _stuck(report.stuck, short, opened.edition)
    heading = [f"{counted(len(report.moves), 'move')}, {bytes_said(report.bytes)} to copy"]
    heading += _assumed(opened, report.bytes)
    heading += _waiting(opened, report.stalled_by, {}, short)
    heading += _unknown(report.waits_for, report.left_out, short)
    status = int(bool(report.stuck or report.waits_for))
    return Answer(report, heading, parts, opened.warnings, status)


def _spread(spread: what_if.LoadSpread, edition: Edition) -> str:
    most, least, mean = loads_said(edition, spread.most, spread.least, spread.mean)
    return f"from {least} to {most}, mean {mean}"


def _drain(opened: OpenedTablets, words: Sequence[str]) -> Answer:
    report, short = what_if.drain(opened, opened.host(words[0], "HOST")), _short(opened)
    moved = sum(report.targets.values())
    goes = f"{moved:,} can go, {report.replicas - moved:,} cannot"
    held = f"{short[report.host]} has {counted(report.replicas, 'replica')}"
    heading = [f"{held}: {goes}; {bytes_said(report.bytes)} to copy"]
    heading += _assumed(opened, report.bytes)
    if report.in_transition:
        moving = counted(report.in_transition, "tablet")
        heading.append(f"{GAP}{moving} in transition, judged as if the transition were over")
    if report.host in opened.down and report.replicas:
        heading.append(f"{GAP}it is down, so this is a removenode: others rebuild what it has")
    heading += [f"{GAP}the request would be refused: {report.refused}"] * bool(report.refused)
    waits = report.stalled_by if report.replicas else ()
    heading += _waiting(opened, waits, report.targets, short)
    if waits and report.host not in opened.down:
        heading.append(f"{GAP}No decommission begins while a node is down.")
    sizes = report.waits_for if report.replicas else ()
    heading += _unknown(sizes, (), short)
    takes = Rows([(short[host], f"takes {n:,}") for host, n in report.targets.items()], "nodes")
    parts = [takes, *_stuck(report.stuck, short, opened.edition)]
    if report.host in opened.down and opened.edition == "server":
        others = [n.host for n in opened.nodes if n.role == "excluded" and n.host != report.host]
        rows = numbered(remedy_steps("remove", report.host, others, opened.release))
        parts.append(Rows(rows, title="steps"))
    status = int(bool(report.stuck or waits or sizes or report.refused))
    return Answer(report, heading, parts, opened.warnings, status)


def _assumed(opened: OpenedTablets, size: int) -> list[str]:
    said = f"{GAP}No sizes are known: each tablet counts as the target size."
    return [said] * (opened.sizes is None and size > 0)


def _waiting(
    opened: OpenedTablets, hosts: Sequence[str], takes: Mapping[str, int], short: Short
) -> Iterator[str]:
    if hosts:
        them = "it" if len(hosts) == 1 else "them"
        are = f"{first_of([short[host] for host in hosts], MOST_HOSTS)}: down, not excluded"
        yield f"{GAP}{are}. Barriers wait for {them}, so moves stall."
        if given := sum(takes.get(host, 0) for host in hosts):
            yield f"{GAP}{counted(given, 'replica')} would go there, because a drain skips no node."
        way = "exclude {} for good: nodetool excludenode"
        way = way if has("excludenode", opened.release) else "remove or replace {}"
        yield f"{GAP}Start {them} again, or {way.format(them)} (recover prints the steps)."


def _unknown(
    waits_for: Sequence[str] | None, left_out: Sequence[str], short: Short
) -> Iterator[str]:
    tells = "storage_load in system.load_per_node (the same on any node) is"
    if waits_for is None:
        yield f"{GAP}Not known: whether the server has all tablet sizes. From release 2026.1 on, a"
        yield f"{GAP}drain stalls while {tells} null on a node."
    for hosts, what in ((waits_for, "the drain stalls"), (left_out, "the plan leaves it out")):
        if hosts:
            them = first_of([short[host] for host in hosts], MOST_HOSTS)
            yield f"{GAP}{them}: the server lacks tablet sizes or the capacity, so {what}."
            yield f"{GAP}Wait until {tells} not null there."


def _stuck(stuck: Sequence[what_if.StuckTablet], short: Short, edition: Edition) -> Iterator[Rows]:
    rows = [
        (
            f"{tablet.table} {' and '.join(map(str, tablet.tablets))}",
            f"on {_place(tablet.source, short)}",
            "; ".join(
                f"{first_of([short.get(host, host) for host in hosts], MOST_HOSTS)}: "
                f"{reason_said(reason, edition)}"
                for reason, hosts in tablet.reasons
            ),
        )
        for tablet in stuck
    ]
    if rows:
        yield Rows(rows, "tablets", "no node can take")


def _resized(
    rows: Sequence[reports.ResizeLine], named: str, data: object, warnings: Sequence[str] = ()
) -> Answer:
    decided = Counter(row.decision for row in rows)
    kinds = f"{decided['split']:,} to split, {decided['merge']:,} to merge"
    heading = [f"{kinds}, {decided['none']:,} as they are (edition {named})"]
    if waiting := sum(row.later is not None for row in rows):
        heading.append(f"{GAP}{counted(waiting, 'resize')} for a later round")
    cells = [
        (
            row.table,
            counted(row.tablets, "tablet"),
            row.decision if row.decision == row.was else f"{row.was} → {row.decision}",
            f"number {row.resize_seq_number}",
            "; ".join(_reasons(row)),
        )
        for row in rows
    ]
    return Answer(data, heading, [Rows(cells, "tables")], warnings)


def _reasons(row: reports.ResizeLine) -> Iterator[str]:
    if isinstance(row.reason, CountCompared) and row.average is not None:
        yield f"{bytes_said(row.average)} per tablet"  # what a decision by count does not tell
    yield resize_said(row.reason, sizes_said)
    if row.later is not None:
        counts = row.later.taken, row.later.needs, row.later.limit
        taken, needs, limit = (f"{count:,}" for count in counts)
        why_later = {
            "requests": f"{taken} begin in this one, the most that can",
            "turn": "a table with larger tablets waits ahead of it",
            "shards": f"this round already resizes {taken} replicas, this table has {needs}, and "
            f"there are {limit} shards",
        }
        yield f"begins in a later round: {why_later[row.later.waits_for]}"
    alone = ""
    if row.target is not None:
        largest, count = max(row.target.rules.items(), key=lambda rule: rule[1])
        yield f"of all rules, {largest} asks for the most tablets: {count:,}"
        alone = "by size alone, "
    if row.to_split is None or row.to_merge is None:
        return
    if row.decision == row.was and row.to_revoke:
        which = "less" if row.was == "split" else "more"
        yield f"{alone}{bytes_said(row.to_revoke)} {which} per tablet would cancel it"
    elif row.to_split and row.to_merge:
        grow, shrink = bytes_said(row.to_split), bytes_said(row.to_merge)
        yield f"{alone}{grow} more per tablet would split it, {shrink} less would merge it"
    elif alone:
        yield f"{alone}it would be {'merged' if row.to_split else 'split'}"


def _repair(opened: OpenedTablets, words: Sequence[str]) -> Answer:
    moment = datetime.now(UTC)
    if words:
        moment = datetime.fromisoformat(str(from_json(ColumnType("timestamp"), words[0], "MOMENT")))
    report, short = what_if.repair_plan(opened, moment), _short(opened)
    skipped = sum(len(line.skipped) for line in report.tables)
    late = sum(len(line.late) for line in report.tables)
    passed = f"a primary-range repair on all nodes skips {counted(skipped, 'tablet')}"
    heading = [f"{passed}; {late:,} not repaired within the grace period at {report.at}"]
    if report.left:
        left = listed(short[host] for host in report.left)
        heading.append(f"{GAP}left, but still listed with replicas: {left}")
    rows = [
        (
            line.table,
            counted(line.tablets, "tablet"),
            f"{'none ' * (not line.skipped)}skipped{_numbers(line.skipped)}",
            f"{line.never:,} never repaired",
            _late(line),
        )
        for line in report.tables
    ]
    parts = [Rows(rows, "tables")]
    if skipped or late:
        repair = numbered(remedy_steps("repair", "", release=opened.release))
        parts.append(Rows(repair, title="steps"))
    times = [time for table in opened.repairs.values() for time in table.values() if time > moment]
    ahead = f"{counted(len(times), 'tablet')} repaired after {report.at}, as late as "
    ahead += f"{max(times, default='')}: was a clock wrong? They count as repaired in time"
    warnings = (*opened.warnings, *[ahead] * bool(times))
    return Answer(report, heading, parts, warnings, int(bool(skipped or late)))


def _late(line: what_if.RepairLine) -> str:
    mode = line.gc_mode or "unknown, treated as timeout"
    if not line.late:
        return f"tombstone mode {mode}"
    grace = f"within {line.gc_grace_seconds:,} s, after which tombstones are dropped"
    return f"not repaired {grace}{_numbers(line.late)} (tombstone mode {mode})"


def _numbers(tablets: Sequence[int]) -> str:
    return f": {first_of([*map(str, tablets)], MOST_TABLETS)}" if tablets else ""


def _rf(opened: OpenedTablets, words: Sequence[str]) -> Answer:
    report, short = what_if.rf_change(opened, words[0], words[1:]), _short(opened)
    heading = wrap(f"{report.keyspace}: {_factors(report.before)} → {_factors(report.after)}")
    warnings = (*opened.warnings, *_enforced(report))
    if report.refused:
        return Answer(report, heading, wrap(report.refused, "refused: "), warnings, status=1)
    is_gone = any(not tablet.after for tablet in report.tablets)
    status = int(is_gone or any(tablet.lacks for tablet in report.tablets))
    if is_gone:
        heading += wrap("No server refuses it, and all data of the keyspace goes with it.", GAP)
    if opened.edition == "server" and any(len(each.steps) > 1 for each in report.tablets):
        said = "one request in several steps (ongoing_rf_changes), which can be aborted while "
        heading += wrap(said + "replicas are still to come: an abort is not modelled", GAP)
    if report.aborted_by:
        dead, status = first_of([short[host] for host in report.aborted_by], MOST_HOSTS), 1
        heading.append(f"{GAP}the server aborts it: {dead} down in a rack where replicas come")
    copied = "size unknown" if report.bytes is None else f"{bytes_said(report.bytes)} to copy"
    hosts = [(short[host], f"gets {count:,}") for host, count in report.gains.items()]
    hosts += [(short[host], f"loses {count:,}") for host, count in report.losses.items()]
    rows = [
        (
            f"{each.table} {each.tablet}",
            listed((f"{step[0]}{_place(step[1:], short)}" for step in each.steps), "no step"),
            listed(map(misfit_said, each.lacks), ""),
        )
        for each in report.tablets
    ]
    line = f"{counted(len(report.tablets), 'tablet')} of the keyspace to change; {copied}"
    parts = line, Rows(hosts, "nodes"), Rows(rows, "tablets", "one replica at a time")
    return Answer(report, heading, parts, warnings, status)


def _enforced(report: what_if.RfReport) -> Iterator[str]:
    if report.invalid:
        yield f"{report.invalid}: refused where rf_rack_valid_keyspaces is on"
    if report.racks:
        number = (
            f"a number for a new datacenter becomes racks there, such as {_factors(report.racks)}"
        )
        then = f"refused: {report.refused_by_racks}" if report.refused_by_racks else "accepted"
        on = "where rf_rack_valid_keyspaces or enforce_rack_list is on"
        yield f"{on}, {number}; then it is {then}"


def _lose(opened: OpenedTablets, words: Sequence[str]) -> Answer:
    hosts = [opened.host(word, "HOST") for word in words]
    report, short = what_if.lose(opened, hosts), _short(opened)
    without = listed(short.get(host, host) for host in report.down)
    local = listed((f"{count:,} in {dc}" for dc, count in report.no_local_quorum.items()), "none")
    lost = f"{_have(report.no_quorum)} no quorum, {_have(report.no_replica)} no replica"
    head = f"without {without}: of {counted(report.tablets, 'tablet')}, {lost}"
    rows = []
    for tablet in report.lost:
        left = f"{tablet.alive} of {tablet.replicas} replicas left"
        rows.append((f"{tablet.table} {tablet.tablet}", left, _refused(tablet)))
    heading, parts = [f"{head}; no LOCAL_QUORUM: {local}"], [Rows(rows, "tablets")]
    gone = f"{GAP}Without a replica its data is lost if they never come back: restore a backup."
    heading += [gone] * bool(report.no_replica)
    if opened.edition == "server":
        bare = {node.host for node in opened.nodes if node.role == "zero-token"}
        at = {host: opened.places[host] for host in report.down if host not in opened.left}
        known = {host: "" if SOMEWHERE in place else "/".join(place) for host, place in at.items()}
        dead = [LostNode(host, place, host not in bare) for host, place in known.items()]
        ask = (MAJORITY,) * (2 * len(dead) >= min(len(opened.nodes), 3))
        steps = numbered([*ask, *steps_for_dead((), dead, opened.release, shrinks=True)])
        parts += [Rows(steps, title="if they never come back")] * bool(steps)
    return Answer(report, heading, parts, opened.warnings, int(bool(report.lost)))


def _refused(tablet: what_if.LostTablet) -> str:
    where = f"no majority in {listed(tablet.datacenters)}" if tablet.datacenters else ""
    if not tablet.stage:
        return where
    kinds = f"no quorum for {listed(tablet.without_quorum)}" if tablet.without_quorum else ""
    return "; ".join(filter(None, (where, f"in {tablet.stage}", kinds)))


def _have(number: int) -> str:
    return f"{number:,} {'has' if number == 1 else 'have'}"


def _shard(opened: OpenedTablets, words: Sequence[str]) -> Answer:
    if not re.fullmatch(r"-?[0-9]{1,19}", words[0], re.ASCII):
        raise BadInput("TOKEN", words[0], "a token, a signed 64-bit integer")
    answers = what_if.serving(opened, int(words[0]))
    short = short_names(dict.fromkeys(host.host for answer in answers for host in answer.hosts))
    lines = [f"token {int(words[0])}"]
    for answer in answers:
        stage = f", {answer.stage}" if answer.stage else ""
        rows = [
            (
                short[host.host],
                "no reads" if host.reads is None else f"reads on shard {host.reads}",
                f"writes on {listed(map(str, host.writes))}" if host.writes else "no writes",
                f"static sharding: {host.static}",
            )
            for host in answer.hosts
        ]
        held = f"tablet {answer.tablet}, ({answer.after}, {answer.up_to}]{stage}"
        lines += [f"{answer.table}: {held}", *columns(rows)]
    return Answer(answers, parts=[Rows([(line,) for line in lines], "lines", indent="")])


def _why(opened: OpenedTablets, words: Sequence[str]) -> Answer:
    table, tablet, place = words
    if not re.fullmatch("[0-9]{1,9}", tablet, re.ASCII):
        raise BadInput("TABLET", tablet, "the number of a tablet, from 0 up")
    name, _, shard = place.rpartition(":")
    if not name or not re.fullmatch("[0-9]{1,5}", shard, re.ASCII):
        raise BadInput("HOST:SHARD", place, "a node and one of its shards, such as 0000000a:0")
    base = opened.maps[table].base_table if table in opened.maps else ""
    target = TabletReplica(opened.host(name, "HOST:SHARD"), int(shard))
    answer = why(opened.input, base or table, int(tablet), target, edition=opened.edition)
    verdict = "is in the next plan" if answer.moves else "is not in the next plan"
    move = _way(answer.source, answer.target, _short(opened))
    if answer.source == answer.target:
        move, verdict = _place(str(target), _short(opened)), "holds this replica, or is to get it"
    reason = reason_said(answer.reason, opened.edition)
    return Answer(answer, wrap(f"{move} {verdict}: {reason}"), warnings=opened.warnings)


def _short(opened: OpenedTablets) -> Short:
    return short_names(node.host for node in opened.nodes)


def _places(places: Iterable[str], short: Short) -> str:
    return listed((_place(place, short) for place in places), "none")


def _place(place: str, short: Short) -> str:
    host, _, shard = place.rpartition(":")
    return f"{short.get(host, host)}:{shard}"


def _way(source: TabletReplica, target: TabletReplica, short: Short) -> str:
    return f"{_place(str(source), short)} → {_place(str(target), short)}"


# -- the words of the command line -----------------------------------------------------------------

ANY_NUMBER = 10_000
Question = Callable[[OpenedTablets, Sequence[str]], Answer]
ACTIONS: dict[str, tuple[int, int, str, Question]] = {
    "show": (0, 0, "nothing more", _show),
    "balance": (0, 0, "nothing more", _balance),
    "drain": (1, 1, "HOST", _drain),
    "resize": (
        *(0, 0, "nothing more"),
        lambda opened, _: _resized(
            rows := reports.resizes(opened), _edition_name(opened), rows, opened.warnings
        ),
    ),
    "lose": (1, ANY_NUMBER, "names of nodes", _lose),
    "repair": (0, 1, "at most one moment, such as 2026-01-31T10:00:00Z", _repair),
    "rf": (2, ANY_NUMBER, "KEYSPACE DC=REPLICAS...", _rf),
    "shard": (1, 1, "TOKEN", _shard),
    "why": (3, 3, "TABLE TABLET HOST:SHARD", _why),
}
"""What may be asked: how many words follow at least and at most, which, and what answers."""


WORDS = (
    Word("words", "DUMP ACTION", "a dump or a snapshot, then the question to answer", number="*"),
    Word("--topology", "FILE", "a dump of system.topology"),
    Word("--status", "FILE", "the text of nodetool status"),
    Word("--sizes", "FILE", "a dump of system.tablet_sizes"),
    Word("--loads", "FILE", "a dump of system.load_per_node"),
    Word(
        "--schema",
        "FILE",
        "DESCRIBE SCHEMA, or a dump of a table of system_schema; can be given several times",
        several=True,
    ),
    Word("--target", "SIZE", "the target size of a tablet (default: 5G)"),
    Word("--table", "count=N,...", "an imaginary table instead of a dump"),
    RELEASE,
    ANONYMIZE,
    Word("--html", "OUT", "with several snapshots: also write a page to step through"),
    EDITION,
)
TABLETS = Command("tablets", _answer, WORDS, ABOUT, AFTER)


def misfit_said(misfit: Misfit) -> str:
    """``dc1 has 2 of 3``, ``dc1/r2 has 1 of 0``."""
    place = f"{misfit.datacenter}/{misfit.rack}" if misfit.rack else misfit.datacenter
    return f"{place} has {misfit.has} of {misfit.wants}"
