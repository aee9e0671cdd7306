"""The server of a class on loopback: what honest pages are told, and what others get."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.websocket import WebSocketClientConnection, websocket_connect

from kit.classroom import server
from kit.classroom.room import Room
from kit.classroom.server import LARGEST, LOOPBACK, MOST_WRONG, Bucket, Hall, application
from kit.views.actions import mark
from tests.waiting import PATIENCE

Test = Callable[[Hall, str], Awaitable[None]]


def served(test: Test, source: str = "raft") -> Hall:
    """Run a test against a served room of its own; returns the hall as it is afterwards."""

    async def run() -> Hall:
        hall = Hall(Room(source))
        sockets = bind_sockets(0, LOOPBACK)
        running = HTTPServer(application(hall))
        running.add_sockets(sockets)
        try:
            await test(hall, f"{LOOPBACK}:{sockets[0].getsockname()[1]}")
        finally:
            running.stop()
            await running.close_all_connections()
        return hall

    return asyncio.run(run())


class Guest:
    """One end of a connection to a room."""

    def __init__(self, line: WebSocketClientConnection) -> None:
        self.line = line

    async def hear(self) -> Any:
        """The next message; None: the line is cut."""
        said = await asyncio.wait_for(self.line.read_message(), PATIENCE)
        return json.loads(said) if isinstance(said, str) else said

    async def until(self, name: str) -> Any:
        """The part ``name`` of the first message that has it; None: the line is cut before."""
        while (told := await self.hear()) is not None:
            if name in told:
                return told[name]
        return None

    async def say(self, **message: Any) -> None:
        """Send a message."""
        await self.line.write_message(json.dumps(message))

    async def cut(self) -> int | None:
        """Wait until the line is cut; the code that it was cut with."""
        while await self.hear() is not None:
            pass
        return self.line.close_code


async def guest(place: str, path: str = "seat") -> Guest:
    """Come to a room."""
    return Guest(await websocket_connect(f"ws://{place}/{path}"))


async def seated(hall: Hall, place: str, node: str) -> Guest:
    """Come in, and be a node."""
    one = await guest(place)
    await one.say(say="enter", code=hall.room.code)
    assert f'data-node="{node}"' in await one.until("nodes")
    await one.say(say="sit", node=node)
    assert await one.until("ticket")
    return one


def acts_in(html: str) -> list[str]:
    """The marks of the buttons of a seat."""
    return re.findall(r'data-act="([0-9a-f]+)"', html)


def test_a_seat_plays_and_the_wall_sees_it() -> None:
    """What a node does is a step of the Player, and a message for every page on the wall."""

    async def test(hall: Hall, place: str) -> None:
        wall = await guest(place, "wall")
        await wall.say(key=hall.room.key)
        while not isinstance(await wall.hear(), bytes):
            pass
        one = await seated(hall, place, "A")
        while not (acts := acts_in(await one.until("html"))):
            pass
        await one.say(say="press", act=acts[0])
        assert "You are node A" in await one.until("html")
        assert (await wall.until("position"))["at"] == 1

    hall = served(test)
    assert len(hall.room.player.timeline.moments) == 2


def test_who_comes_back_has_the_same_seat() -> None:
    """A ticket opens the seat again on another line; one that is made up opens nothing."""

    async def test(hall: Hall, place: str) -> None:
        first = await seated(hall, place, "B")
        ticket = next(iter(hall.room.tickets))
        first.line.close()
        again, other = await guest(place), await guest(place)
        await again.say(say="return", ticket=ticket)
        assert "You are node B" in await again.until("html")
        await other.say(say="return", ticket="made-up")
        assert await other.until("out") is True
        assert "Type the code" in await other.until("wrong")

    served(test)


def test_the_wall_frees_a_seat() -> None:
    """Who sat there is told so among the nodes, and another one may sit down. Who gives a seat up
    knows it.
    """

    async def test(hall: Hall, place: str) -> None:
        wall = await guest(place, "wall")
        await wall.say(key=hall.room.key)
        one = await seated(hall, place, "C")
        await wall.say(free="C")
        while not (told := await one.hear()).get("out"):
            pass
        assert told["wrong"] == "Your seat as C was freed. Choose a node."
        assert told["show"] == "nodes"
        other = await seated(hall, place, "C")
        await other.say(say="leave")
        while (told := await other.hear()).get("show") != "nodes":
            assert "wrong" not in told
        assert "wrong" not in told

    served(test)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("no JSON", 1007),
        ('{"say": "nothing"}', 1007),
        ('{"say": "press", "act": 1}', 1007),
        ('{"say": "enter", "code": "x", "more": 1}', 1007),
        ('{"say": "enter", "code": "' + "x" * LARGEST + '"}', 1009),
        ("x" * 30 * LARGEST, 1009),
    ],
)
def test_what_has_no_form_ends_the_line(message: str, code: int) -> None:
    """The connection is cut, with the code that says why; the room goes on."""

    async def test(hall: Hall, place: str) -> None:
        one = await guest(place)
        await one.line.write_message(message)
        assert await one.cut() == code
        await seated(hall, place, "A")

    hall = served(test)
    assert len(hall.room.player.timeline.moments) == 1


def test_codes_are_not_tried_for_long() -> None:
    """After so many wrong codes the line is cut."""

    async def test(hall: Hall, place: str) -> None:
        one = await guest(place)
        for _ in range(MOST_WRONG - 1):
            await one.say(say="enter", code="AAAA AAAA")
            assert "not the code. Look" in await one.until("wrong")
        await one.say(say="enter", code="AAAA AAAA")
        assert f"not the code {MOST_WRONG} times" in await one.until("wrong")
        assert await one.cut() == 1008

    served(test)


def test_nobody_sits_or_presses_without_the_code() -> None:
    """Before the code there is no seat, and no button that does anything."""

    async def test(hall: Hall, place: str) -> None:
        one = await guest(place)
        await one.say(say="sit", node="A")
        own = mark(hall.room.player.model, next(iter(hall.room.known()["A"].acts)))
        await one.say(say="press", act=own)
        assert "code of the class first" in await one.until("wrong")

    hall = served(test)
    assert not hall.room.tickets
    assert len(hall.room.player.timeline.moments) == 1


def test_a_flood_is_held_up_and_then_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages too many are told so, and at last the line is cut; others play on."""
    monkeypatch.setattr(server, "A_SECOND", 0)

    async def test(hall: Hall, place: str) -> None:
        one = await guest(place)
        for _ in range(server.BURST + server.PATIENCE + 1):
            await one.say(say="leave")
        heard = [one.hear(), one.until("wrong")]
        assert await heard[0] == {"show": "door"}
        await heard[1]
        assert await one.cut() == 1008
        await seated(hall, place, "A")

    served(test)


def test_a_bucket_fills_again() -> None:
    """So many at once, and more with the time that has passed, never more than at first."""
    now = [0.0]
    bucket = Bucket(lambda: now[0])
    assert [bucket.take() for _ in range(server.BURST + 1)] == [True] * server.BURST + [False]
    now[0] += 1
    assert sum(bucket.take() for _ in range(20)) == server.A_SECOND
    now[0] += 1000
    assert sum(bucket.take() for _ in range(50)) == server.BURST


def test_only_so_many_lines_come_from_one_address(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One more is turned away, until one of the others has gone."""
    monkeypatch.setattr(server, "MOST_FROM_ONE", 2)

    async def test(hall: Hall, place: str) -> None:
        first, second = await guest(place), await guest(place)
        assert await first.until("show") == "door"
        assert await second.until("show") == "door"
        third = await guest(place)
        assert await third.cut() == 1013
        for path in ("seat", "wall"):  # they say something at once, as pages do
            early = await guest(place, path)
            await early.say(say="enter", code="x")
            assert await early.cut() == 1013
        assert len(hall.seats) == 2
        assert not caplog.records

    served(test)


def test_the_wall_is_for_who_has_the_key() -> None:
    """Without the key nothing is told and nothing is done."""

    async def test(hall: Hall, place: str) -> None:
        for said in ({"key": "guessed"}, {"message": "act", "control": "step", "at": 0, "have": 0}):
            wall = await guest(place, "wall")
            await wall.say(**said)
            assert "does not have the key" in (await wall.hear())["wrong"]
            assert await wall.hear() is None
            assert wall.line.close_code == 1008

    hall = served(test)
    assert len(hall.room.player.timeline.moments) == 1


def test_no_page_tells_the_code_or_the_key() -> None:
    """Pages are for everybody, so what opens the room is in none of them."""

    async def test(hall: Hall, place: str) -> None:
        for path in (
            "",
            "projector",
            "seat.js",
            "projector.js",
            "line.js",
            "memory.js",
            "alone.js",
            "player.js",
            "player.css",
            "room.css",
        ):
            page = await AsyncHTTPClient().fetch(f"http://{place}/{path}")
            text = page.body.decode()
            assert hall.room.code not in text
            assert hall.room.key not in text
            assert "default-src 'none'" in page.headers["Content-Security-Policy"]

    served(test)


def test_another_name_for_this_machine_does_not_serve() -> None:
    """A page elsewhere that lets its own name point here gets nothing."""

    async def test(hall: Hall, place: str) -> None:
        for host, status in (("class.example", 403), ("localhost", 200), ("10.0.0.7:8765", 200)):
            asked = HTTPRequest(f"http://{place}/", headers={"Host": host})
            answer = await AsyncHTTPClient().fetch(asked, raise_error=False)
            assert answer.code == status

    served(test)


def test_pages_of_others_open_no_line() -> None:
    """A line that a page from elsewhere opens is refused."""

    async def test(hall: Hall, place: str) -> None:
        asked = HTTPRequest(f"ws://{place}/seat", headers={"Origin": "http://elsewhere.example"})
        with pytest.raises(HTTPClientError, match="403"):
            await websocket_connect(asked)

    served(test)
