"""``topology``: what a coordinator would do next on one's own tables; a journal's history."""

from __future__ import annotations

import argparse

import msgspec

from kit.commands.layout import put
from kit.commands.parsing import Parser
from kit.edge.reading import read_text
from kit.edge.writing import check_place
from kit.errors import BadInput
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.topology_journals import is_journal
from kit.protocols.topology.commands.options import add_edition
from kit.protocols.topology.commands.topology_text import as_text, history_text
from kit.protocols.topology.dry_run.history import topology_history
from kit.protocols.topology.dry_run.report import coordinator

GOES_ON, STANDS = 0, 1
ABOUT = """\
A dump of system.topology: the state it is in, what the coordinator would do next and what it waits
for, the queue of requests with the reason for each. Or the journals of coordinators, as a history.
"""
AFTER = """\
DUMP is what cqlsh writes for COPY system.topology TO 'file' WITH HEADER = TRUE, or shows for
SELECT JSON * FROM system.topology. LOG is a journal, or a server's own log, with lines such as
raft_topology - entered `write both read old` transition state.

Ends with 0 when the coordinator can go on or has nothing to do, 1 when it waits for nodes or turns
requests away (with all nodes up, where nothing tells who is down), 2 on bad input.

examples
  python -m kit topology topology.csv --status status.txt
  python -m kit topology topology.csv --requests requests.csv --down 0000000b --json
  python -m kit topology node-a.log node-b.log --html history.html
"""


def topology(argv: list[str]) -> int:
    """Say what the coordinator would do next; 0 when it can go on or has nothing to do."""
    given = _parser().parse_args(argv)
    texts = [read_text(path, "DUMP|LOG", LARGEST_FILE) for path in given.files]
    if all(map(is_journal, texts)):
        return _history(given)
    if given.html is not None:
        raise BadInput("--html", given.html, "journals; a dump is one moment")
    if len(given.files) > 1:
        raise BadInput("DUMP|LOG", given.files[1], "one dump, or journals alone")
    answer = coordinator(
        given.files[0],
        requests=given.requests,
        status=given.status,
        down=given.down,
        rf=given.rf,
        edition=given.edition,
    )
    put(_json(answer) if given.json else as_text(answer))
    return GOES_ON if answer.goes_on else STANDS


def _history(given: argparse.Namespace) -> int:
    for option in ("requests", "status", "down", "rf"):
        if getattr(given, option):
            raise BadInput(f"--{option}", getattr(given, option), "nothing beside journals")
    if given.html is not None:
        check_place(given.html, "--html", inputs=tuple(given.files))
    passages = topology_history(given.files, edition=given.edition)
    if given.html is not None:
        # The page needs the widgets, which take a while to load.
        from kit.protocols.topology.dry_run.journal import journal_timeline
        from kit.views.export import export_html

        export_html(journal_timeline(passages, given.edition), given.html)
    put(_json({"passages": passages}) if given.json else history_text(passages))
    return GOES_ON


def _json(answer: object) -> str:
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode()


def _parser() -> Parser:
    parser = Parser(
        prog="python -m kit topology",
        description=ABOUT,
        epilog=AFTER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", metavar="DUMP|LOG", nargs="+", help="a dump, or journals")
    parser.add_argument("--requests", metavar="FILE", help="a dump of system.topology_requests")
    parser.add_argument("--status", metavar="FILE", help="the text of nodetool status: who is up")
    parser.add_argument(
        "--down",
        action="append",
        default=[],
        metavar="HOST",
        help="a node that is down: a host id, its beginning, or an address of --status; the "
        "others are up as far as --status does not say (repeatable)",
    )
    parser.add_argument(
        "--rf",
        type=int,
        default=0,
        metavar="N",
        help="replicas in each datacenter of a keyspace that has to stay RF-rack-valid",
    )
    add_edition(parser)
    parser.add_argument("--html", metavar="OUT", help="of journals: also one page to step through")
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    return parser
