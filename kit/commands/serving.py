"""What others connect to while it runs: a cluster for programs, a model for a class.

``serve``: programs and ``cqlsh`` connect to a cluster, which one steps by typing. ``class``: a
class plays a run together, each phone or laptop a node of it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Sequence

from kit.classroom.room import Room
from kit.classroom.server import EVERYWHERE, LOOPBACK, doors_at
from kit.classroom.server import serve as teach
from kit.clients.server import Served, serve
from kit.commands.answer import put
from kit.commands.lab import choose_port, port_number
from kit.commands.parsing import Parser
from kit.commands.searches import PARAMETER, named, parameters_given
from kit.edge.door import be_brief
from kit.errors import KitError

CQL_PORT, CLASS_PORT = 9042, 8765
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
    parser.add_argument("--port", help=f"the port of every node (default {CQL_PORT})")
    given = parser.parse_args(argv)
    port = CQL_PORT if given.port is None else port_number(given.port)
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


OF_A_CLASS = """\
Open the first address on the projector. Everyone else opens the second one, types the code that
the projector shows, and becomes a node: they see what that node knows, and do what it can do.
Faults are for you alone, on the projector's page: those that the parameters allow, such as
-p crashes=1 -p drops=2 of raft. No names are asked for and nothing is stored. Ctrl-C ends the
class.
"""


def classroom(argv: Sequence[str]) -> int:
    """Serve a class until it is stopped; returns 0.

    Raises BadInput for a model whose nodes send no messages, a parameter that it does not take, or
    a port that is none.
    """
    parser = Parser(prog="python -m kit class", description=OF_A_CLASS)
    help_ = "a model or scenario of nodes that send messages (default: election)"
    parser.add_argument("source", metavar="NAME", nargs="?", default="election", help=help_)
    parser.add(PARAMETER)
    parser.add_argument("--port", help=f"first port to try (default {CLASS_PORT})")
    others = "accept connections from other machines, not only from this one"
    parser.add_argument("--lan", action="store_true", help=others)
    given = parser.parse_args(argv)
    port = choose_port(CLASS_PORT if given.port is None else port_number(given.port))
    words = given.parameter
    room = Room(given.source, parameters_given(named(given.source)[0], words) if words else None)
    faults, name = room.faults(), room.player.model.name
    host = own_address() if given.lan else LOOPBACK
    seats = f"http://{host}:{port}/"
    # They are open before an address is said: whoever reads one may come at once.
    doors = doors_at(port, EVERYWHERE if given.lan else LOOPBACK)
    put(f"projector (for you alone)  http://{LOOPBACK}:{port}/projector#{room.key}")
    put(f"everybody                  {seats}")
    none = f"none with these parameters (python -m kit show {name} lists all)"
    put(f"faults you can cause       {', '.join(faults) or none}")
    put("Ctrl-C ends the class")
    be_brief()
    try:
        asyncio.run(teach(room, seats, doors))
    except KeyboardInterrupt:
        put("the class is over")
    return 0


def own_address() -> str:
    """This machine's address on the network of the room, else loopback; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of no machine anywhere, by RFC 5737
        except OSError:
            return LOOPBACK
        return str(probe.getsockname()[0])
