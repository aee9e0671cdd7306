"""``survive``: who must stay up, with nothing planned."""

from __future__ import annotations

from argparse import Namespace

from kit.commands.answer import Answer
from kit.commands.parsing import Command, Parser, add_ring
from kit.commands.rings import replicated
from kit.protocols.tcm.dry_run.survival import survival

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


def _survive(given: Namespace) -> Answer:
    """Who must stay up; 0 when any one node may die next."""
    return survival(replicated(given.file, given.others, given.keyspace), given.down).answer()


def _options(parser: Parser) -> None:
    add_ring(parser)
    parser.several(
        "--down",
        metavar="NODE",
        help="a node that is down, beside those that the files tell (repeatable)",
    )


SURVIVE = Command("survive", _survive, _options, ABOUT, AFTER)
