"""Servers that many connect to and say nothing: whoever speaks is answered, in every server."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from kit import serve
from kit.classroom.room import Room
from kit.classroom.server import Hall, application
from kit.clients import frames
from kit.commands import site
from kit.edge import door
from tests.clients.programs import reply, request
from tests.clients.test_frames import STARTED
from tests.waiting import PATIENCE, until

LOOPBACK = "127.0.0.1"
Place = tuple[str, int]


@contextmanager
def in_thread(begin: Callable[[], int]) -> Iterator[Place]:
    """A server that a loop in another thread has begun."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def begun() -> int:
        return begin()

    try:
        yield LOOPBACK, asyncio.run_coroutine_threadsafe(begun(), loop).result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@contextmanager
def a_class(_: Path) -> Iterator[Place]:
    """A class, with its door."""

    def begin() -> int:
        sockets = [door.door(each) for each in bind_sockets(0, LOOPBACK)]
        HTTPServer(application(Hall(Room("raft")))).add_sockets(sockets)
        return int(sockets[0].getsockname()[1])

    with in_thread(begin) as place:
        yield place


@contextmanager
def pages(folder: Path) -> Iterator[Place]:
    """The server of the site."""
    (folder / "index.html").write_text("there", encoding="utf-8")
    with site.server(folder) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield LOOPBACK, served.server_port
        served.shutdown()


@contextmanager
def a_cluster(_: Path) -> Iterator[Place]:
    """A node that programs can connect to."""
    with serve("dataplane") as served:
        yield served.addresses["B"], served.port


SERVERS = {"class": a_class, "site": pages, "serve": a_cluster}


def answers(place: Place) -> bool:
    """Whether a server answers whoever speaks to it, in the one or the other protocol."""
    with socket.create_connection(place, timeout=PATIENCE) as line:
        if place[0] == LOOPBACK:
            line.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in line.recv(100)
        line.sendall(STARTED)
        told = reply(line)
        line.sendall(request(frames.OPTIONS))
        return told is not None and reply(line) is not None


@pytest.mark.parametrize("kind", SERVERS)
def test_silent_connections_keep_nobody_out(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """However many are open: those that say nothing are cut off, and nothing is printed."""
    monkeypatch.setattr(door, "MOST", 12)
    with SERVERS[kind](tmp_path) as place, ExitStack() as lines:
        assert answers(place)
        silent = [lines.enter_context(socket.create_connection(place)) for _ in range(40)]
        for _ in range(3):
            assert answers(place)
        silent[0].settimeout(PATIENCE)
        assert silent[0].recv(1) == b""  # the first of them was cut off
    assert capfd.readouterr().err == ""


def test_whoever_speaks_is_not_cut_off_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all have just spoken, another one is turned away, and they go on."""
    monkeypatch.setattr(door, "MOST", 3)
    with a_cluster(tmp_path) as place, ExitStack() as lines:
        known = [lines.enter_context(socket.create_connection(place, PATIENCE)) for _ in range(3)]
        for line in known:
            line.sendall(STARTED)
            assert reply(line) is not None
        with socket.create_connection(place, timeout=PATIENCE) as late:
            assert reply(late) is None
        for line in known:
            line.sendall(request(frames.OPTIONS))
            assert reply(line) is not None
        known.pop().close()
        until(lambda: _is_let_in(place), "there is room again")


def _is_let_in(place: Place) -> bool:
    with socket.create_connection(place, timeout=PATIENCE) as line:
        line.sendall(STARTED)
        return reply(line) is not None
