"""``tablets``: what is on one's own tablets, and what the balancer would do with them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from kit.commands.layout import put
from kit.commands.parsing import Parser
from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.operators.importers.columns import ColumnType, from_json
from kit.protocols.tablets.commands import tablets_text as text
from kit.protocols.tablets.commands.replication_text import repair_text, rf_text
from kit.protocols.tablets.commands.table_words import imagined, parse_size, token_lines
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.tablets.dry_run.repairing import repair_plan
from kit.protocols.tablets.dry_run.report import resizes, tablets_report
from kit.protocols.tablets.dry_run.rf_change import rf_change
from kit.protocols.tablets.dry_run.what_if import balance, drain, lose, serving
from kit.protocols.tablets.rules.balance.why import why
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.topology.commands import add_edition

FINE, IN_THE_WAY = 0, 1
FLAGS = ("--json", "--help", "--")
ABOUT = """\
A dump of system.tablets: who holds what, what the balancer would do next and why, and what if.

  show           nodes, tables and transitions (this is what is done when nothing is asked for);
                 with --schema also keyspaces, and the tablets whose replicas differ from theirs
  balance        the next plan of the balancer: each move and its reason, loads before and after
  drain HOST     whether every tablet of a node has a place to go to, which have not, and why
  resize         whether tables are to be split or merged, and how far they are from it
  repair [MOMENT]
                 which tablets a primary-range repair passes over, as their node has left, and
                 which were not repaired within gc_grace_seconds, now or at 2026-01-31T10:00:00Z
  rf KEYSPACE DC=N...
                 a change of a keyspace's replication, to a number or to racks (DC=RACK,RACK): who
                 gets replicas, who loses some, step by step, or why it is refused
  lose HOST...   which tablets lose their quorum without these nodes (and those that are down)
  shard TOKEN    who serves a token, on which shards, beside static sharding
  why TABLE TABLET HOST:SHARD
                 why the next plan moves a tablet to that shard, or why it does not
"""
AFTER = """\
DUMP is what cqlsh writes for COPY system.tablets TO 'file' WITH HEADER = TRUE, or shows for
SELECT JSON * FROM system.tablets; the other dumps likewise. Without a dump, --table imagines a
table: count (tablets), rf, size (bytes of all replicas), shards, target; K, M, G, T are powers of
1024. A HOST is a host id, its beginning, or an address of --status.

Ends with 0; with 1 when a tablet has no place to go to or loses its quorum, an RF change is
refused, or a repair leaves some out; 2 on bad input.

examples
  python -m kit tablets tablets.csv --topology topology.csv balance --json
  python -m kit tablets tablets.csv --status status.txt --sizes sizes.csv resize
  python -m kit tablets tablets.csv --topology topology.csv --schema schema.cql
  python -m kit tablets tablets.csv --topology topology.csv lose 0000000a 0000000b
  python -m kit tablets tablets.csv --topology topology.csv rf shop dc1=3
  python -m kit tablets tablets.csv --topology topology.csv --schema schema.cql repair
  python -m kit tablets --table count=8,rf=3,size=400G resize
"""


class _Said(NamedTuple):
    """An answer: as data, in words, and the status to end with."""

    data: object
    words: Callable[[], str]
    status: int = FINE


def tablets(argv: list[str]) -> int:
    """Answer a question about a cluster's tablets; 1 when something stands in the way."""
    given = _parser().parse_args(_options_first(argv))
    said = _of_table(given) if given.table is not None else _of_dump(given)
    if given.json:
        put(msgspec.json.format(msgspec.json.encode(said.data), indent=1).decode())
    else:
        put(said.words())
    return said.status


def _options_first(argv: Sequence[str]) -> list[str]:
    """The same words in an order that argparse understands: it takes free words in one piece."""
    options: list[str] = []
    free: list[str] = []
    words = iter(argv)
    for word in words:
        is_option = word.startswith("--")
        (options if is_option else free).append(word)
        if is_option and word not in FLAGS and "=" not in word:
            value = next(words, None)
            if value is None:
                free.append(options.pop())  # so that no free word is taken for its value
            else:
                options[-1] += f"={value}"  # in one word, which may then begin with a dash
    return [*options, *free]


def _of_table(given: argparse.Namespace) -> _Said:
    """What is asked of a table without a cluster."""
    for option in ("topology", "status", "sizes", "loads", "schema"):
        if getattr(given, option) is not None:
            raise BadInput(f"--{option}", getattr(given, option), "nothing beside --table")
    table = imagined(given.table, given.edition)
    match given.words:
        case ["resize"]:
            line = table.resize()
            return _Said(line, lambda: text.resize_text((line,), given.edition))
        case ["tokens"]:
            return _Said(table.tokens(), lambda: "\n".join(token_lines(table)))
    words = " ".join(given.words) or "nothing"
    raise BadInput("words", words, "resize or tokens, after --table")


def _of_dump(given: argparse.Namespace) -> _Said:
    """What is asked of a dump."""
    if not given.words:
        raise BadInput("DUMP", "nothing", "a dump of system.tablets, or --table")
    dump, *words = given.words
    action, *rest = words or ["show"]
    if action not in ACTIONS:
        raise BadInput("words", action, one_of(action, list(ACTIONS)))
    least, most, answer = ACTIONS[action]
    if not least <= len(rest) <= most:
        wanted = USAGE.get(action, "nothing more")
        raise BadInput(f"words after {action}", " ".join(rest) or "nothing", wanted)
    target = TARGET_SIZE if given.target is None else parse_size("--target", given.target)
    opened = open_tablets(
        dump,
        topology=given.topology,
        status=given.status,
        sizes=given.sizes,
        loads=given.loads,
        schema=given.schema,
        edition=given.edition,
        target_size=target,
    )
    return answer(opened, rest)


def _show(opened: OpenedTablets, _words: Sequence[str]) -> _Said:
    report = tablets_report(opened)
    return _Said(report, lambda: text.report_text(report))


def _balance(opened: OpenedTablets, _words: Sequence[str]) -> _Said:
    report = balance(opened)
    status = IN_THE_WAY if report.stuck else FINE
    return _Said(report, lambda: text.balance_text(report, opened), status)


def _drain(opened: OpenedTablets, words: Sequence[str]) -> _Said:
    report = drain(opened, opened.host(words[0], "HOST"))
    status = IN_THE_WAY if report.stuck else FINE
    return _Said(report, lambda: text.drain_text(report, opened), status)


def _resize(opened: OpenedTablets, _words: Sequence[str]) -> _Said:
    lines = resizes(opened)
    return _Said(lines, lambda: text.resize_text(lines, opened.edition, opened.warnings))


def _lose(opened: OpenedTablets, words: Sequence[str]) -> _Said:
    report = lose(opened, [opened.host(word, "HOST") for word in words])
    status = IN_THE_WAY if report.lost else FINE
    return _Said(report, lambda: text.loss_text(report, opened), status)


def _shard(opened: OpenedTablets, words: Sequence[str]) -> _Said:
    if not re.fullmatch(r"-?[0-9]{1,19}", words[0], re.ASCII):
        raise BadInput("TOKEN", words[0], "a token: a signed 64-bit integer")
    answers = serving(opened, int(words[0]))
    return _Said(answers, lambda: text.shard_text(int(words[0]), answers))


def _repair(opened: OpenedTablets, words: Sequence[str]) -> _Said:
    at = _moment(words[0]) if words else datetime.now(UTC)
    report = repair_plan(opened, at)
    in_the_way = any(line.skipped or line.late for line in report.tables)
    return _Said(report, lambda: repair_text(report, opened), IN_THE_WAY if in_the_way else FINE)


def _moment(text: str) -> datetime:
    moment = from_json(ColumnType("timestamp"), text, "MOMENT")
    return datetime.fromisoformat(str(moment))


def _rf(opened: OpenedTablets, words: Sequence[str]) -> _Said:
    report = rf_change(opened, words[0], words[1:])
    in_the_way = report.refused or any(tablet.lacks for tablet in report.tablets)
    return _Said(report, lambda: rf_text(report, opened), IN_THE_WAY if in_the_way else FINE)


def _why(opened: OpenedTablets, words: Sequence[str]) -> _Said:
    table, tablet, place = words
    if not re.fullmatch("[0-9]{1,9}", tablet, re.ASCII):
        raise BadInput("TABLET", tablet, "the number of a tablet, from 0 on")
    name, _, shard = place.rpartition(":")
    if not name or not re.fullmatch("[0-9]{1,5}", shard, re.ASCII):
        raise BadInput("HOST:SHARD", place, "a node and one of its shards, such as 0000000a:0")
    base = opened.maps[table].base_table if table in opened.maps else ""
    target = TabletReplica(opened.host(name, "HOST:SHARD"), int(shard))
    answer = why(opened.input, base or table, int(tablet), target, edition=opened.edition)
    return _Said(answer, lambda: text.why_text(answer, opened))


ANY_NUMBER = 10_000
ACTIONS: dict[str, tuple[int, int, Callable[[OpenedTablets, Sequence[str]], _Said]]] = {
    "show": (0, 0, _show),
    "balance": (0, 0, _balance),
    "drain": (1, 1, _drain),
    "resize": (0, 0, _resize),
    "lose": (1, ANY_NUMBER, _lose),
    "repair": (0, 1, _repair),
    "rf": (2, ANY_NUMBER, _rf),
    "shard": (1, 1, _shard),
    "why": (3, 3, _why),
}
"""What may be asked: how many words follow at least and at most, and what answers."""

USAGE = {
    "drain": "HOST",
    "lose": "names of nodes",
    "repair": "a moment at most, such as 2026-01-31T10:00:00Z",
    "rf": "KEYSPACE DC=REPLICAS...",
    "shard": "TOKEN",
    "why": "TABLE TABLET HOST:SHARD",
}


def _parser() -> Parser:
    parser = Parser(
        prog="python -m kit tablets",
        description=ABOUT,
        epilog=AFTER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", metavar="DUMP ACTION", nargs="*", help="a dump, what to answer")
    parser.add_argument("--topology", metavar="FILE", help="a dump of system.topology")
    parser.add_argument("--status", metavar="FILE", help="the text of nodetool status")
    parser.add_argument("--sizes", metavar="FILE", help="a dump of system.tablet_sizes")
    parser.add_argument("--loads", metavar="FILE", help="a dump of system.load_per_node")
    parser.add_argument(
        "--schema",
        metavar="FILE",
        action="append",
        help="DESCRIBE SCHEMA, or a dump of a table of system_schema; may be given several times",
    )
    parser.add_argument(
        "--target", metavar="SIZE", help="the target size of a tablet (5G if not given)"
    )
    parser.add_argument("--table", metavar="count=N,...", help="a table to imagine, for no dump")
    add_edition(parser)
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    return parser
