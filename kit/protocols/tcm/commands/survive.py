"""``survive``: who must stay up, with nothing planned."""

from __future__ import annotations

import argparse

from kit.commands.layout import GAP, columns, limited, put, wrap
from kit.commands.parsing import Parser, add_ring
from kit.commands.rings import replicated
from kit.protocols.tcm.dry_run.survival import HEADS, Survival, as_json, survival

ANY, SOME = 0, 1
ABOUT = """\
A node is down, nothing is planned: which nodes must stay up? A line names a quorum that is broken
now, or that one more death would break, with the nodes whose death would.
"""
AFTER = """\
Ends with 0 when any one node may die next, 1 when some must stay up or a range has no quorum now,
2 on bad input. `python -m kit plan --help` shows a ring file.

examples
  python -m kit survive ring.json
  python -m kit survive ring.json --down n3 --json
  python -m kit survive ring.txt --with status.txt --keyspace KS={...}
"""


def survive(argv: list[str]) -> int:
    """Say who must stay up; 0 when any one node may die next."""
    given = _parser().parse_args(argv)
    ring = replicated(given.file, given.others, given.keyspace)
    report = survival(ring, given.down)
    put(as_json(report) if given.json else as_text(report))
    return SOME if report.must_stay_up or report.broken else ANY


def as_text(report: Survival) -> str:
    """The report in words: the answer, the warnings, a line for each quorum in danger."""
    lines = wrap(report.summary(), "", GAP)
    lines += [line for text in report.warnings for line in wrap(text, f"{GAP}warning: ")]
    rows = report.rows()
    table = ["", *limited(columns([HEADS, *rows], ""), "lines", "")] if rows else []
    return "\n".join([*lines, *table])


def _parser() -> Parser:
    parser = Parser(
        prog="python -m kit survive",
        description=ABOUT,
        epilog=AFTER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_ring(parser)
    parser.add_argument(
        "--down",
        action="append",
        default=[],
        metavar="NODE",
        help="a node that is down, beside those that the files tell (repeatable)",
    )
    return parser
