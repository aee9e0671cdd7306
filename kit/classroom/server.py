"""The server of a class: a process of its own, which knows nothing of Jupyter.

It listens on loopback, or with ``--lan`` on the network of the room. What comes in is data of a
known form and size, and not too much of it: all else ends the connection. Nothing is stored.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from kit.classroom.pages import head_of, nodes_of, room_style, seat_page, sheet, wall_page
from kit.classroom.room import Enter, Leave, Press, Return, Room, Said, Sit
from kit.edge.door import Door, door
from kit.edge.json_text import decoded
from kit.errors import BadInput, KitError
from kit.views.shell import browser_module, raw_module
from kit.views.styles import widget_style

LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"
LARGEST = 2_000
"""Bytes of a message from a seat."""
MOST_OF_WALL = 20 * LARGEST
"""The projector says more, and has a key."""
BURST, A_SECOND = 10, 4
"""Messages that a page may send at once, and how many more with each second."""
PATIENCE = 40
"""Messages too many, after which a page is cut off."""
MOST_WRONG = 5
"""Wrong codes, after which a page is cut off."""
MOST_LINES, MOST_FROM_ONE = 200, 60
"""Connections in all, and from one address: a class behind one router has one address."""
POLICY = {
    **dict.fromkeys(("default-src", "base-uri", "form-action", "frame-ancestors"), "'none'"),
    **dict.fromkeys(("script-src", "style-src", "connect-src"), "'self'"),
    **dict.fromkeys(("img-src", "font-src"), "data:"),
}
HEADERS = {
    "Content-Security-Policy": "; ".join(map(" ".join, POLICY.items())),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
OF_PLAYER, OWN_SCRIPTS = ("linked", "memory", "alone"), ("line.js", "seat.js", "projector.js")
NOT_THE_KEY = (
    "This address does not have the key of this class. Open the projector's address that the "
    "terminal has printed, with all that follows the #."
)


def as_message(content: Any) -> str:
    """A piece of news for a page, as a message."""
    return msgspec.json.encode(content).decode()


class Bucket:
    """How much a page may say: ``BURST`` at once, ``A_SECOND`` more with each second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.left, self.then = clock, float(BURST), clock()

    def take(self) -> bool:
        """Whether one more is not too much; it is counted if so."""
        now = self.clock()
        self.left = min(float(BURST), self.left + (now - self.then) * A_SECOND)
        self.then = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class Wall(Struct, frozen=True, forbid_unknown_fields=True):
    """What the projector's page says beside what a Player hears: its key, or a seat to free."""

    key: str = ""
    free: str = ""


class Hall:
    """A room and all who are connected to it."""

    def __init__(self, room: Room, address: str = "") -> None:
        self.room, self.address = room, address
        self.seats: set[SeatLine] = set()
        self.walls: set[WallLine] = set()
        self.lines: Counter[str] = Counter()
        room.line.tell = self._tell_walls

    def tell_all(self) -> None:
        """Show everybody what there is now to see."""
        for seat in [*self.seats]:
            seat.show()
        self._tell_walls(as_message({"head": head_of(self.room, self.address).html()}))

    def _tell_walls(self, message: str | bytes) -> None:
        for wall in [*self.walls]:
            wall.tell(message)


class Handler(RequestHandler):
    """The parts that pages and lines share: the hall, headers, and their audience."""

    def initialize(self, hall: Hall) -> None:
        """Take the hall, as tornado hands it over."""
        self.hall = hall

    def set_default_headers(self) -> None:
        """Let the page load nothing from elsewhere, and no other page frame it."""
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Refuse a name that somebody else made point here: only addresses and localhost serve."""
        name = self.request.host_name.strip("[]")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            if name != "localhost":
                raise HTTPError(403) from None


class Page(Handler):
    """A page, a module or a style sheet."""

    def initialize(self, hall: Hall, kind: str = "", text: Callable[[], str] = str) -> None:
        """Take what is sent, as tornado hands it over."""
        self.hall, self.kind, self.text = hall, kind, text

    def get(self) -> None:
        """Send it."""
        self.set_header("Content-Type", f"{self.kind}; charset=utf-8")
        self.write(self.text())


class Line(Handler, WebSocketHandler):
    """A connection: so many are allowed, and each may say so much."""

    is_counted = False

    def open(self, *args: str, **kwargs: str) -> None:
        """Count the connection, or end it where there are too many."""
        hall, address = self.hall, self.request.remote_ip or ""
        if hall.lines.total() >= MOST_LINES or hall.lines[address] >= MOST_FROM_ONE:
            self.close(1013)
            return
        hall.lines[address] += 1
        self.is_counted = True

    def on_close(self) -> None:
        """Forget the connection."""
        if self.is_counted:
            self.hall.lines[self.request.remote_ip or ""] -= 1

    def tell(self, message: str | bytes) -> None:
        """Send something, if anybody is there still."""
        with suppress(WebSocketClosedError):
            sending = self.write_message(message, binary=isinstance(message, bytes))
            sending.add_done_callback(lambda ended: ended.exception())  # nobody may be there still


class SeatLine(Line):
    """The connection of a seat's page."""

    node = ticket = ""
    is_in = False
    wrong = too_many = 0

    def open(self, *args: str, **kwargs: str) -> None:
        """Show the door."""
        super().open()
        if self.is_counted:
            self.bucket = Bucket()
            self.hall.seats.add(self)
            self.say(show="door")

    def on_close(self) -> None:
        """Forget the connection; the seat stays taken, for a phone that comes back."""
        super().on_close()
        self.hall.seats.discard(self)

    def say(self, **content: Any) -> None:
        """Tell the page something."""
        self.tell(as_message(content))

    def on_message(self, message: str | bytes) -> None:
        """Hear what the page says. A refusal is told; what has no form ends the connection."""
        if not self.is_counted:
            return None
        if not self.bucket.take():
            self.too_many += 1
            self.say(wrong="Too fast: wait a moment.")
            return self.close(1008) if self.too_many > PATIENCE else None
        if len(message) > LARGEST:
            return self.close(1009)
        try:
            said = decoded(message, Said, "seat", LARGEST)
        except BadInput:
            return self.close(1007)
        try:
            self._hear(said)
        except KitError as error:
            self.say(wrong=str(error))
            if self.node:
                self.show()

    def _hear(self, said: Said) -> None:
        room = self.hall.room
        if isinstance(said, Enter):
            self._enter(said.code)
        elif isinstance(said, Sit):
            if self.is_in and not self.node:
                self.ticket, self.node = room.sit(said.node), said.node
                self.say(ticket=self.ticket)
                self.hall.tell_all()
        elif isinstance(said, Return):
            try:
                self.node, self.ticket = room.seat_of(said.ticket), said.ticket
            except KitError:
                self.say(out=True, show="door")
                raise
            self.is_in = True
            self.show()
        elif not self.node:
            self.say(wrong="Type the code of the class first.")
        elif isinstance(said, Leave):
            room.free(self.node)
            self.node = self.ticket = ""
            self.say(out=True)
            self.hall.tell_all()
        elif isinstance(said, Press):
            room.press(room.seat_of(self.ticket), said)
            self.hall.tell_all()

    def _enter(self, code: str) -> None:
        if self.hall.room.lets_in(code):
            self.is_in = True
            self.show()
            return
        self.wrong += 1
        is_last = self.wrong >= MOST_WRONG
        again = f"That was not the code {MOST_WRONG} times. Look at the projector."
        self.say(wrong=again if is_last else "That is not the code. Look at the projector.")
        if is_last:
            self.close(1008)

    def show(self) -> None:
        """Show the node that one is, or which ones are free; who lost a seat is told so."""
        room, lost = self.hall.room, {}
        if self.node and self.ticket not in room.tickets:
            freed = f"Your seat as {self.node} was freed. Choose a node."
            self.node, self.ticket, lost = "", "", {"out": True, "wrong": freed}
        if self.node:
            step = room.player.timeline.at
            self.say(html=room.seen(self.node).html(), step=step, show="node")
        elif self.is_in:
            self.say(nodes=nodes_of(room).html(), show="nodes", **lost)


class WallLine(Line):
    """The connection of the projector's page: it has the key first, and then is a Player's."""

    is_open = False

    def on_close(self) -> None:
        """Forget the connection."""
        super().on_close()
        self.hall.walls.discard(self)

    def on_message(self, message: str | bytes) -> None:
        """Hear the key, a seat to free, or what the page says to its Player."""
        if not self.is_counted:
            return None
        try:
            plain = decoded(message, dict[str, Any], "wall", MOST_OF_WALL)
            said = msgspec.convert(plain, Wall) if "message" not in plain else None
        except (BadInput, msgspec.ValidationError):
            return self.close(1007)
        if not self.is_open:
            return self._unlock(said)
        if said is None:
            self.hall.room.player.hear(plain)
        elif said.free:
            self.hall.room.free(said.free)
        return self.hall.tell_all()

    def _unlock(self, said: Wall | None) -> None:
        if said is None or not self.hall.room.opens(said.key):
            self.tell(as_message({"wrong": NOT_THE_KEY}))
            return self.close(1008)
        self.is_open = True
        self.hall.walls.add(self)
        line = self.hall.room.line
        self.tell(as_message({"traits": {"steps": line.steps}}))
        self.tell(line.pack)
        return self.hall.tell_all()


def application(hall: Hall) -> Application:
    """The pages and lines of a hall."""

    def page(path: str, kind: str, text: Callable[[], str]) -> tuple[str, Any, dict[str, Any]]:
        return path, Page, {"hall": hall, "kind": kind, "text": text}

    script = "text/javascript"
    return Application(
        [
            page("/", "text/html", seat_page),
            page("/projector", "text/html", wall_page),
            page("/player.js", script, lambda: browser_module("widget")),
            page("/player.css", "text/css", widget_style),
            page("/room.css", "text/css", room_style),
            *(page(f"/{each}.js", script, partial(raw_module, each)) for each in OF_PLAYER),
            *(page(f"/{each}", script, partial(sheet, each)) for each in OWN_SCRIPTS),
            ("/seat", SeatLine, {"hall": hall}),
            ("/wall", WallLine, {"hall": hall}),
        ],
        websocket_max_message_size=MOST_OF_WALL,
        websocket_ping_interval=20,
    )


def doors_at(port: int, host: str = LOOPBACK) -> list[Door]:
    """What listens from now on: who comes before anything is served waits for it.

    Raises KitError when the port is taken meanwhile.
    """
    try:
        return [door(each) for each in bind_sockets(port, host)]
    except OSError as error:
        raise KitError(f"port {port}: {error.strerror or error}") from None


async def serve(room: Room, address: str, doors: Sequence[Door]) -> None:
    """Serve a room until the task is cancelled; ``address`` is what the wall says."""
    server = HTTPServer(application(Hall(room, address)), max_buffer_size=1_000_000)
    server.add_sockets(doors)
    try:
        await asyncio.Event().wait()
    finally:
        server.stop()
        await server.close_all_connections()
