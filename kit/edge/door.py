"""One limit for the connections of all servers of the kit: who is silent makes room for others.

A server listens on a ``Door``. Where ``MOST`` are inside, one that has said nothing is cut off when
somebody comes, or else the one that has been silent for longest, once that is ``IDLE``; if nobody
is so silent, whoever comes is turned away. Nothing of that is printed.
"""

import logging
import socket
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import Any

from kit.edge.limits import most_files

MOST = min(256, most_files() // 4)
IDLE = 60.0
"""Seconds; pages of a class are asked every 20, and drivers ask every 30."""
MOST_SAID = 100
_INSIDE: list["Line"] = []
_LOCK = Lock()


class Line(socket.socket):
    """A connection that knows when something last came through it."""

    has_spoken, heard = False, 0.0

    def recv(self, *given: Any) -> bytes:
        """The bytes that come."""
        came = super().recv(*given)
        self._note(came)
        return came

    def recv_into(self, *given: Any) -> int:
        """How much comes."""
        came = super().recv_into(*given)
        self._note(came)
        return came

    def _note(self, came: object) -> None:
        if came:
            self.has_spoken, self.heard = True, monotonic()


class Door(socket.socket):
    """A socket that listens."""

    def accept(self) -> tuple[socket.socket, Any]:
        """Whoever comes next. Raises BlockingIOError where nobody can be let in now."""
        handle, address = self._accept()  # type: ignore[attr-defined]  # as in socket.accept
        line = Line(self.family, self.type, self.proto, fileno=handle)
        line.setblocking(True)
        line.heard = monotonic()
        with _LOCK:
            _INSIDE[:] = [each for each in _INSIDE if each.fileno() >= 0]
            if len(_INSIDE) >= MOST:
                first = min(_INSIDE, key=lambda each: (each.has_spoken, each.heard))
                if first.has_spoken and line.heard - first.heard < IDLE:
                    line.close()
                    raise BlockingIOError
                _INSIDE.remove(first)
                with suppress(OSError):  # its server sees that it ends
                    first.shutdown(socket.SHUT_RDWR)
            _INSIDE.append(line)
        return line, address


def door(listening: socket.socket) -> Door:
    """A door in the place of a socket."""
    made = Door(listening.family, listening.type, listening.proto, fileno=listening.fileno())
    made.settimeout(listening.gettimeout())
    listening.detach()
    return made


class Brief(logging.Filter):
    """Lets so many records through, and says when no more follow."""

    left = MOST_SAID

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this one may be printed."""
        self.left -= 1
        if self.left == 0:
            record.msg, record.args, record.exc_info = "nothing more is printed here", (), None
        return self.left >= 0


def be_brief() -> None:
    """Let a server of this process print no more than so many lines of what goes wrong."""
    if logging.lastResort is not None:
        logging.lastResort.addFilter(Brief())
