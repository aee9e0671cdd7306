"""``serve``: programs and ``cqlsh`` connect to a cluster, which one steps by typing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from kit.clients.server import Served, serve
from kit.commands.answer import put
from kit.commands.lab import port_number
from kit.commands.parsing import Parser
from kit.edge.door import be_brief
from kit.errors import KitError

FIRST_PORT = 9042
HOLD, RELEASE = "hold", "release"
LONGEST = 1000  # characters
ABOUT = """\
Let programs connect to a cluster in the kit: drivers through the native protocol of CQL, or cqlsh.
Every node has its own address. Where replicas only store, they hand requests on to a coordinator. A
long history leaves out what programs' finished requests did, unless it can still be seen. An empty
line is one step; any other line is an action, given by its verb, such as `apply A`. `hold A` holds
back everything that would reach node A on its own; `release A` ends that. Ctrl-C stops the server.
"""


def serving(argv: Sequence[str]) -> int:
    """Serve a cluster until it is stopped; returns 0.

    Raises Refused for a model whose servers answer no programs, KitError for a port that is taken.
    """
    parser = Parser(prog="python -m kit serve", description=ABOUT)
    help_ = "a model or scenario (default: write-and-read)"
    parser.add_argument("source", metavar="NAME", nargs="?", default="write-and-read", help=help_)
    parser.add_argument("--port", help=f"the port of every node (default {FIRST_PORT})")
    given = parser.parse_args(argv)
    port = FIRST_PORT if given.port is None else port_number(given.port)
    with serve(given.source, port=port) as served:
        for name, host in served.addresses.items():
            put(f"{name:<8} cqlsh {host} {served.port}")
        put("Ctrl-C ends it")
        be_brief()
        try:
            for line in sys.stdin or ():
                put(entered(served, line[:LONGEST].strip()))
            threading.Event().wait()  # nothing more is typed: programs may still come
        except KeyboardInterrupt:
            put("the cluster is no longer served")
    return 0


def entered(served: Served, line: str) -> str:
    """The effect of a line, in words; a refusal is told, too."""
    word, _, rest = line.partition(" ")
    try:
        if word in (HOLD, RELEASE):
            (served.hold if word == HOLD else served.release)(*rest.split())
            return f"held: {', '.join(served.held) or 'none'}"
        return (served.act(line) if line else served.step()).say
    except KitError as error:
        return str(error)
