"""The server: each node listens on a loopback address of its own, in a thread beside the notebook.

What comes in is data of a known form and size, and not too much of it. A frame that reads wrongly
is answered by one error; what cannot be a frame ends the connection. Slow clients wait alone.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address
from typing import Any

from kit.clients import frames
from kit.clients.cluster import ServedCluster
from kit.clients.conversation import Conversation, Prepared, awaited
from kit.clients.events import Change
from kit.clients.notation import MalformedError
from kit.clients.tables import Addresses
from kit.edge.arguments import whole_number
from kit.edge.door import Door
from kit.errors import BadInput, KitError
from kit.model.timeline import Timeline
from kit.playing.opening import Source, open_source
from kit.playing.session import Session

FIRST = IPv4Address("127.0.0.1")
MOST_NODES = 200
MOST_OPEN = 128
"""Requests that a connection may have open."""
MOST_UNREAD = 4 * 1024 * 1024
"""Bytes that a client may leave unread before it is cut off."""
PATIENCE = 10.0
"""Seconds for what has begun to arrive, and for the first frame."""
TRIES = 20
ELSEWHERE = (
    "a cluster needs a loopback address for each node, which {system} does not have by default: "
    "serve it on Linux, for example in a container"
)


class Connection:
    """A client of a node."""

    def __init__(self, hall: Served, at: int, reader: asyncio.StreamReader, writer: Any) -> None:
        self.hall, self.at, self.reader, self.writer = hall, at, reader, writer
        self.talk = Conversation(hall, at, hall.prepared, partial(awaited, hall))
        self.open: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Read frames until the client goes, or sends what cannot be a frame."""
        try:
            while await self._frame():
                pass
        except (OSError, EOFError, TimeoutError):
            self.writer.transport.abort()  # nobody reads what is left
        finally:
            for task in self.open:
                task.cancel()
            self.writer.close()

    async def _frame(self) -> bool:
        first = self.reader.readexactly(1)
        started = self.talk.started
        raw = await (first if started else asyncio.wait_for(first, PATIENCE))
        async with asyncio.timeout(PATIENCE):
            raw += await self.reader.readexactly(frames.HEADER - 1)
            try:
                head = frames.header(raw)
            except MalformedError as error:
                self.say(frames.stream_of(raw), frames.error(frames.PROTOCOL_ERROR, str(error)))
                await self.writer.drain()
                return False
            body = await self.reader.readexactly(head.length)
        try:
            message = frames.message_of(head, body)
        except MalformedError as error:
            self.say(head.stream, frames.error(frames.PROTOCOL_ERROR, str(error)))
            return True
        if len(self.open) >= MOST_OPEN:
            why = f"{MOST_OPEN} requests are already open on this connection"
            self.say(head.stream, frames.error(frames.OVERLOADED, why))
            return True
        task = asyncio.create_task(self._reply(head.stream, message))
        self.open.add(task)
        task.add_done_callback(self.open.discard)
        await asyncio.sleep(0)  # what waits for nothing is answered before the next is read
        async with asyncio.timeout(PATIENCE):
            await self.writer.drain()
        return True

    async def _reply(self, stream: int, message: frames.Message) -> None:
        try:
            reply = await self.talk.reply(message)
        except Exception as error:  # one statement's fault ends no other's
            reply = frames.error(frames.SERVER_ERROR, f"{type(error).__name__}: {error}")
        self.say(stream, reply)

    def say(self, stream: int, reply: tuple[int, bytes]) -> None:
        """Send a frame; who reads nothing of what is sent is cut off."""
        self.writer.write(frames.frame(reply[0], stream, reply[1]))
        if self.writer.transport.get_write_buffer_size() > MOST_UNREAD:
            self.writer.transport.abort()


class Served(ServedCluster):
    """A cluster that programs can connect to, until it is closed.

    ``addresses`` has the address of each node by its name, ``port`` is the same for all.
    """

    def __init__(self, source: Session | Timeline, port: int = 0) -> None:
        if sys.platform != "linux":
            raise KitError(ELSEWHERE.format(system=sys.platform))
        super().__init__(source)
        self.prepared: dict[bytes, Prepared] = {}
        if len(self.names) > MOST_NODES:
            raise BadInput("nodes", len(self.names), f"at most {MOST_NODES}")
        hosts = [str(FIRST + at) for at in range(len(self.names))]
        self.sockets = bound(hosts, port)
        self.port = int(self.sockets[0].getsockname()[1])
        self.addresses = dict(zip(self.names, hosts, strict=True))
        self.endpoints = Addresses(hosts, self.port)
        self.connections: set[Connection] = set()
        begun: Future[None] = Future()
        run = partial(asyncio.run, self._serve(begun))
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        begun.result()
        self.listeners.append(self._announce)

    async def _serve(self, begun: Future[None]) -> None:
        self.loop, self.over = asyncio.get_running_loop(), asyncio.Event()
        servers = [
            await asyncio.start_server(partial(self._meet, at), sock=each, limit=64 * 1024)
            for at, each in enumerate(self.sockets)
        ]
        begun.set_result(None)
        await self.over.wait()
        for server in servers:
            server.close()
        for connection in [*self.connections]:
            connection.writer.transport.abort()
        me = asyncio.current_task()
        while others := asyncio.all_tasks() - {me}:
            await asyncio.gather(*others, return_exceptions=True)

    async def _meet(self, at: int, reader: asyncio.StreamReader, writer: Any) -> None:
        if self.over.is_set() or not self.is_up(at):
            writer.transport.abort()
            return
        connection = Connection(self, at, reader, writer)
        self.connections.add(connection)
        try:
            await connection.run()
        finally:
            self.connections.discard(connection)

    def _announce(self, at: int, change: Change) -> None:
        with suppress(RuntimeError):  # the loop is over
            self.loop.call_soon_threadsafe(self._pass_on, at, change)

    def _pass_on(self, at: int, change: Change) -> None:
        body = change.body(self.endpoints)
        for each in [*self.connections]:
            if each.at == at and change.kind in each.talk.events:
                each.say(-1, (frames.EVENT, body))
            if (change.what, change.at) == ("DOWN", each.at):
                each.writer.transport.abort()

    def close(self) -> None:
        """End all connections, and listen no more."""
        super().close()
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        places = ", ".join(f"{name} {host}" for name, host in self.addresses.items())
        return f"Served({self.model.name}: port {self.port}; {places})"


def bound(hosts: Sequence[str], port: int) -> list[Door]:
    """A socket for each address, all on one port: this one, or (0) one that is free everywhere.

    Raises KitError where it is in use.
    """
    for _ in range(1 if port else TRIES):
        sockets: list[Door] = []
        try:
            for host in hosts:
                each = Door(socket.AF_INET, socket.SOCK_STREAM)
                sockets.append(each)
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                each.bind((host, port or (sockets[0].getsockname()[1] if sockets[:-1] else 0)))
        except OSError as error:
            wrong = error
            for each in sockets:
                each.close()
        else:
            return sockets
    raise KitError(f"port {port or 'any'}: {wrong.strerror or wrong}")


def serve(source: Session | Source = None, *, port: int = 0) -> Served:
    """Let programs connect to the cluster of a Player, a timeline, a model, a scenario by name.

    Every node has a loopback address of its own; ``port`` 0 picks a free one.

    Raises KitError on another system than Linux, or where the port is in use; Refused for a model
    whose servers answer no programs; BadInput for a port that no system has.
    """
    port = whole_number("port", port, most=65_535)
    return Served(source if isinstance(source, Session) else open_source(source).timeline, port)
