"""``class``: a class plays a run together, each phone or laptop a node of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

from kit.classroom.room import Room
from kit.classroom.server import EVERYWHERE, LOOPBACK, serve
from kit.commands.answer import put
from kit.commands.lab import choose_port, port_number
from kit.commands.parsing import Parser
from kit.commands.searches import PARAMETER, named, parameters_given
from kit.edge.door import be_brief

FIRST_PORT = 8765
ABOUT = """\
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
    parser = Parser(prog="python -m kit class", description=ABOUT)
    help_ = "a model or scenario of nodes that send messages (default: election)"
    parser.add_argument("source", metavar="NAME", nargs="?", default="election", help=help_)
    parser.add(PARAMETER)
    parser.add_argument("--port", help=f"first port to try (default {FIRST_PORT})")
    others = "accept connections from other machines, not only from this one"
    parser.add_argument("--lan", action="store_true", help=others)
    given = parser.parse_args(argv)
    port = choose_port(FIRST_PORT if given.port is None else port_number(given.port))
    words = given.parameter
    room = Room(given.source, parameters_given(named(given.source)[0], words) if words else None)
    faults, name = room.faults(), room.player.model.name
    host = own_address() if given.lan else LOOPBACK
    seats = f"http://{host}:{port}/"
    put(f"projector (for you alone)  http://{LOOPBACK}:{port}/projector#{room.key}")
    put(f"everybody                  {seats}")
    none = f"none with these parameters (python -m kit show {name} lists all)"
    put(f"faults you can cause       {', '.join(faults) or none}")
    put("Ctrl-C ends the class")
    be_brief()
    try:
        asyncio.run(serve(room, seats, port, EVERYWHERE if given.lan else LOOPBACK))
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
