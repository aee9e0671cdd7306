"""``recover``: what to do about a cluster that lost nodes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

import msgspec

from kit.commands.layout import put
from kit.commands.parsing import Parser
from kit.errors import BadInput
from kit.protocols.recovery.commands.recover_text import as_text, tables_text
from kit.protocols.recovery.dry_run.opening import open_cluster, source_of
from kit.protocols.recovery.dry_run.report import advise
from kit.protocols.recovery.rules.failure_tables import FAILURES, judged
from kit.protocols.topology.commands.options import add_edition

HOLDS, LOST = 0, 1
ABOUT = """\
What to do about a cluster that lost nodes: whether group 0 has its quorum, at which levels data are
available, which procedure, which leader, which order, and what is lost in the worst case.
"""
AFTER = """\
FILE is a description in JSON
  {"nodes": [{"name": "A", "dc": "dc1", "rack": "r1", "status": "up", "commit_index": 10},
             {"name": "B", "status": "lost"}, ...], "keyspaces": {"shop": {"dc1": 3}},
   "deaths": [["B"], ...], "upgrade": "done"}
(status: up, down: it may be restarted, or lost; only nodes and their names are needed; a node that
joins or leaves has a "state" as in system.topology, one that lost its vote "votes": false) or a
dump of system.topology, of which options tell who is dead, commit indexes and replication factors.

Ends with 0 when group 0 has a quorum, 1 when it has none, 2 on bad input.

examples
  python -m kit recover cluster.json
  python -m kit recover --documented
  python -m kit recover topology.csv --status status.txt --lost 0000000b --commit 0000000a=11 --json
"""


def recover(argv: list[str]) -> int:
    """Advise; 0 when group 0 has a quorum."""
    given = _parser().parse_args(argv)
    if given.documented:
        return _documented(given)
    if given.file is None:
        raise BadInput("FILE", "nothing", "a description, a dump of system.topology, --documented")
    cluster, warnings = open_cluster(
        given.file,
        status=given.status,
        down=given.down,
        lost=given.lost,
        commit=_pairs(given.commit, "--commit", "HOST", 2**62),
        factors=_pairs(given.rf, "--rf", "DATACENTER", 1000),
    )
    advice = advise(cluster, source_of(given.file), given.edition, given.leader, warnings)
    put(_json(advice) if given.json else as_text(advice))
    return HOLDS if advice.group0.holds else LOST


def _documented(given: argparse.Namespace) -> int:
    """The documents' tables of failures, beside what is computed."""
    if given.file is not None:
        raise BadInput("FILE", given.file, "nothing beside --documented")
    rows = tuple(judged(row) for row in FAILURES)
    put(_json(rows) if given.json else tables_text(rows))
    return HOLDS


def _json(answer: object) -> str:
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode()


def _pairs(words: Sequence[str], option: str, what: str, most: int) -> dict[str, int]:
    """Words such as ``A=10``; each name once."""
    pairs: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not name or not re.fullmatch("[0-9]{1,19}", number, re.ASCII) or int(number) > most:
            raise BadInput(option, word, f"{what}=NUMBER, the number from 0 to {most}")
        if name in pairs:
            raise BadInput(option, word, f"each {what} once")
        pairs[name] = int(number)
    return pairs


def _parser() -> Parser:
    parser = Parser(
        prog="python -m kit recover",
        description=ABOUT,
        epilog=AFTER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a description, or a dump of system.topology"
    )
    parser.add_argument(
        "--documented",
        action="store_true",
        help="instead: what the documents say of failures in clusters of 3, 6 and 9 nodes, and "
        "what is true of them",
    )
    parser.add_argument("--status", metavar="FILE", help="the text of nodetool status: who is up")
    for option, who in (("--down", "that may be restarted"), ("--lost", "that is gone for good")):
        parser.add_argument(
            option, action="append", default=[], metavar="HOST", help=f"a node {who} (repeatable)"
        )
    parser.add_argument(
        "--commit",
        action="append",
        default=[],
        metavar="HOST=INDEX",
        help="a node's commit index (repeatable)",
    )
    parser.add_argument(
        "--rf",
        action="append",
        default=[],
        metavar="DATACENTER=N",
        help="the replication factor in a datacenter (repeatable)",
    )
    parser.add_argument("--leader", metavar="HOST", help="what if this node led")
    add_edition(parser, "the published server and manual")
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    return parser
