"""Programs as tests write them: the published driver, connected to one node."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import FallthroughRetryPolicy, WhiteListRoundRobinPolicy
from cassandra.query import SimpleStatement

from kit.clients.server import Served
from tests.waiting import PATIENCE

AT_ONCE = dict.fromkeys(
    ("topology_event_refresh_window", "status_event_refresh_window", "schema_event_refresh_window"),
    0,
)
KINDS = ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")


class Program:
    """A program that talks to one node, and never asks another one again by itself."""

    def __init__(self, served: Served, node: str) -> None:
        host = served.addresses[node]
        profile = ExecutionProfile(
            load_balancing_policy=WhiteListRoundRobinPolicy([host]),
            request_timeout=PATIENCE,
            retry_policy=FallthroughRetryPolicy(),
        )
        self.cluster = Cluster(
            [host], port=served.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **AT_ONCE
        )
        self.session = self.cluster.connect()
        self.events: list[tuple[str, str, str]] = []
        watchers = dict.fromkeys(KINDS, self._heard)
        self.cluster.control_connection._connection.register_watchers(watchers)

    def _heard(self, event: dict[str, Any]) -> None:
        where = event.get("table") or event.get("keyspace") or event["address"][0]
        self.events.append((event["change_type"], where, event.get("keyspace", "")))

    def begin(self, text: str, level: str = "QUORUM", *values: Any) -> Any:
        """Ask for something; the answer comes later."""
        code = getattr(ConsistencyLevel, level)
        return self.session.execute_async(SimpleStatement(text, consistency_level=code), values)

    def ask(self, text: str, level: str = "QUORUM", *values: Any) -> list[Any]:
        """Ask for something, and wait for the rows."""
        rows: list[Any] = self.begin(text, level, *values).result().all()
        return rows


@contextmanager
def program(served: Served, node: str) -> Iterator[Program]:
    """A program that is connected, until it ends."""
    connected = Program(served, node)
    try:
        yield connected
    finally:
        connected.cluster.shutdown()


def line_to(served: Served, node: str) -> socket.socket:
    """A bare connection to a node."""
    return socket.create_connection((served.addresses[node], served.port), timeout=PATIENCE)


def request(opcode: int, body: bytes = b"", stream: int = 1, version: int = 4) -> bytes:
    """A frame of a client."""
    head = bytes((version, 0)) + stream.to_bytes(2, "big") + bytes((opcode,))
    return head + len(body).to_bytes(4, "big") + body


def reply(line: socket.socket) -> tuple[int, int, bytes] | None:
    """The next frame: its opcode, its stream, its body; None: the line is cut."""
    head = _read(line, 9)
    if head is None:
        return None
    body = _read(line, int.from_bytes(head[5:], "big"))
    return None if body is None else (head[4], int.from_bytes(head[2:4], "big"), body)


def _read(line: socket.socket, count: int) -> bytes | None:
    found = b""
    while len(found) < count:
        try:
            more = line.recv(count - len(found))
        except ConnectionResetError:
            return None
        if not more:
            return None
        found += more
    return found
