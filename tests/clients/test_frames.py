"""Frames on a bare line: what is malformed, too large, too slow or too much harms nobody."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Timeline, build, serve
from kit.clients import frames, server, statements
from kit.clients.cluster import ServedCluster
from kit.clients.conversation import Conversation, awaited
from kit.clients.frames import HEADER, LARGEST
from kit.clients.notation import MalformedError
from kit.clients.server import Served
from kit.edge import door
from kit.errors import KitError
from tests.clients.programs import line_to, program, reply, request
from tests.waiting import until

STARTED = request(frames.STARTUP, struct.pack(">H", 1) + b"\0\x0bCQL_VERSION\0\x053.4.7")
LEVEL_ONE = b"\0\x01\0"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A cluster that all of these tests meet."""
    with serve("dataplane") as cluster:
        yield cluster


def query(text: str) -> bytes:
    """The body of a QUERY at ONE."""
    return struct.pack(">i", len(text)) + text.encode() + LEVEL_ONE


def error_of(told: tuple[int, int, bytes] | None) -> tuple[int, str]:
    """The code and the text of an error."""
    assert told is not None
    opcode, _, body = told
    assert opcode == frames.ERROR
    code, length = struct.unpack(">iH", body[:6])
    return code, body[6 : 6 + length].decode()


@pytest.mark.parametrize("version", [0, 1, 3, 5, 66, 0x84])
def test_other_versions_are_told_which_one_is_spoken(served: Served, version: int) -> None:
    """The error is of version 4 and of the request's stream; the line is cut behind it."""
    with line_to(served, "A") as line:
        line.sendall(request(frames.OPTIONS, version=version, stream=77))
        told = reply(line)
        assert told is not None
        assert told[1] == 77
        assert "supported versions are (4/v4)" in error_of(told)[1]
        assert reply(line) is None


def test_options_are_told_before_anything_is_agreed(served: Served) -> None:
    """A client may ask what is spoken; nothing is compressed."""
    with line_to(served, "A") as line:
        line.sendall(request(frames.OPTIONS))
        told = reply(line)
        assert told is not None
        assert told[0] == frames.SUPPORTED
        assert b"COMPRESSION\x00\x00" in told[2]


@pytest.mark.parametrize(
    ("frame", "wrong"),
    [
        (request(99), "opcode 0x63"),
        (request(frames.QUERY, query("SELECT * FROM system.local")), "STARTUP has to come first"),
        (request(frames.STARTUP, b"\0\x01\0"), "1 are left"),
        (request(frames.STARTUP, b"\xff\xff"), "at most 10000"),
        (request(frames.REGISTER, b"\0\x01\0\x04NOPE"), "REGISTER NOPE"),
        (request(frames.OPTIONS, b"more"), "extra bytes after its end: 4"),
        (request(frames.QUERY, b"\0\0\0\x02\xff\xff" + LEVEL_ONE), "not UTF-8"),
        (request(frames.QUERY, b"\0\0\0\x01a\0\x63\0"), "consistency 0x0063"),
        (request(frames.BATCH, b"\x07"), "batch type 7"),
        (request(frames.EXECUTE, b"\x7f\xff"), "bytes are announced"),
    ],
)
def test_a_malformed_body_is_one_error(served: Served, frame: bytes, wrong: str) -> None:
    """The line goes on: the next frame is answered as if nothing had been."""
    with line_to(served, "A") as line:
        line.sendall(frame + STARTED)
        code, text = error_of(reply(line))
        assert code == frames.PROTOCOL_ERROR
        assert wrong in text
        told = reply(line)
        assert told is not None
        assert told[0] == frames.READY


def test_a_body_that_is_too_large_is_not_read(served: Served) -> None:
    """Its header alone ends the line, with an error."""
    with line_to(served, "A") as line:
        line.sendall(request(frames.QUERY)[:5] + struct.pack(">i", LARGEST + 1))
        assert f"at most {LARGEST}" in error_of(reply(line))[1]
        assert reply(line) is None


def said(work: Callable[[], object], *faults: type[KitError]) -> str:
    """What is wrong, in words, where one of these faults is raised; empty: nothing is."""
    try:
        work()
    except faults as error:
        return str(error)
    return ""


@given(st.binary(max_size=60), st.sampled_from(sorted(frames.ASKED)), st.integers(0, 255))
def test_no_body_is_more_than_malformed(body: bytes, opcode: int, flags: int) -> None:
    """Whatever bytes come, they are a request or are malformed, which one line says."""
    head = frames.Header(flags, 1, opcode, len(body))
    assert "\n" not in said(lambda: frames.message_of(head, body), MalformedError)


@given(st.binary(min_size=HEADER, max_size=HEADER))
def test_no_header_is_more_than_malformed(raw: bytes) -> None:
    """A header is one of version 4 with a body that may be read, or is refused."""
    assert said(lambda: frames.header(raw), MalformedError) or frames.header(raw).length <= LARGEST


@given(st.text(max_size=80))
def test_no_text_is_more_than_a_syntax_error(text: str) -> None:
    """Whatever text comes, it is a statement or is told to be none, in one line."""
    assert "\n" not in said(lambda: statements.parsed(text), KitError)


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_no_bytes_harm_a_conversation(bodies: list[bytes]) -> None:
    """After any requests a plain one is answered."""
    cluster = ServedCluster(Timeline(build("commit")))
    cluster.endpoints = type(cluster.endpoints)([f"127.0.0.{n}" for n in range(1, 9)])
    talk = Conversation(cluster, 0, {}, lambda request, value: awaited(cluster, request, value))
    talk.started = True

    async def run() -> tuple[int, bytes]:
        for body in bodies:
            try:
                asked = frames.message_of(frames.Header(0, 1, frames.QUERY, 0), body)
            except MalformedError:
                continue
            await talk.reply(asked)
        text = query("SELECT * FROM system.local")
        return await talk.reply(frames.message_of(frames.Header(0, 1, frames.QUERY, 0), text))

    assert asyncio.run(run())[0] == frames.RESULT


def connect_one_after_the_other(served: Served, times: int) -> None:
    """So many clients come and go; then one more is answered."""
    for _ in range(times):
        with line_to(served, "A") as line:
            line.sendall(STARTED)
            told = reply(line)
            assert told is not None
            assert told[0] == frames.READY
    until(lambda: not served.connections, "all are forgotten")
    with program(served, "K1") as one:
        assert len(one.ask("SELECT * FROM system.local")) == 1


def test_connections_one_after_the_other(served: Served) -> None:
    """Five hundred of them leave nothing behind."""
    connect_one_after_the_other(served, 500)


@pytest.mark.deep
def test_ten_thousand_connections_one_after_the_other(served: Served) -> None:
    """Nor do ten thousand."""
    connect_one_after_the_other(served, 10_000)


def test_who_says_nothing_makes_room() -> None:
    """However many connect and are silent: who speaks is answered, and goes on."""
    with serve("dataplane") as served, line_to(served, "A") as first:
        first.sendall(STARTED)
        assert reply(first) is not None
        lines = [line_to(served, "A") for _ in range(2 * door.MOST)]
        with line_to(served, "B") as line:
            line.sendall(STARTED)
            told = reply(line)
            assert told is not None
            assert told[0] == frames.READY
        first.sendall(request(frames.OPTIONS))
        told = reply(first)
        assert told is not None
        assert told[0] == frames.SUPPORTED
        until(lambda: len(served.connections) <= door.MOST, "the others are cut off")
        for each in lines:
            each.close()
        first.close()
        until(lambda: not served.connections, "all are gone")
        with program(served, "K1") as one:
            assert one.ask("SELECT * FROM system.local")


@pytest.mark.parametrize("begun", [b"", b"\x04", request(frames.QUERY, b"x" * 100)[:50]])
def test_who_is_slow_is_cut_off(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    """A frame that begins has to end, and a client has to say something first."""
    monkeypatch.setattr(server, "PATIENCE", 0.2)
    with serve("dataplane") as served, line_to(served, "A") as line:
        if begun:
            line.sendall(begun)
        assert reply(line) is None
        until(lambda: not served.connections, "it is forgotten")


def test_who_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks and asks, and reads no answer, is not waited for."""
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    with serve("dataplane") as served, socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((served.addresses["A"], served.port))
        asked = request(frames.QUERY, query("SELECT * FROM system_schema.columns"))
        line.sendall(STARTED)
        assert reply(line) is not None
        with suppress(OSError):
            line.sendall(asked * 10_000)
        until(lambda: not served.connections, "it is cut off")
        with program(served, "K1") as one:
            assert one.ask("SELECT * FROM system.local")


def test_so_many_requests_may_be_open(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is told that there are too many; the others are answered in the end."""
    monkeypatch.setattr(server, "MOST_OPEN", 2)
    key = served.model.history.right
    served.hold("A", "B", "C")
    text = query(f"SELECT * FROM ks.items WHERE key = {key}")
    with line_to(served, "K1") as line:
        line.sendall(STARTED)
        assert reply(line) is not None
        line.sendall(b"".join(request(frames.QUERY, text, stream) for stream in (1, 2, 3)))
        told = reply(line)
        assert told is not None
        assert told[1] == 3
        assert error_of(told)[0] == frames.OVERLOADED
        served.release()
        assert sorted(each[1] for each in (reply(line), reply(line)) if each) == [1, 2]
