"""Servers of a group, driven by hand: every message arrives, in order, at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kit.errors import Refusal
from kit.protocols.raft import core
from kit.protocols.raft.rules.configuration import Member
from kit.protocols.raft.state import Answer, Options, Output, Server

UNTIMED = Options(timers=False)


def members(names: str) -> tuple[Member, ...]:
    """``A B c``: A and B vote, C does not."""
    return tuple(Member(name.upper(), can_vote=name.isupper()) for name in names.split())


class Group:
    """Servers by name, with what is on its way between them."""

    def __init__(self, names: str, options: Options = UNTIMED, more: str = "") -> None:
        """All of ``names`` are members; ``more`` have an empty disk."""
        self.options = options
        self.in_flight: list[tuple[str, str, Any]] = []
        self.answers: dict[str, Answer] = {}
        first = core.first_stored(members(names))
        self.servers: dict[str, Server] = {}
        for name in names.upper().split():
            self.did(core.restart(name, first, options))
        for name in more.split():
            self.did(core.restart(name, core.Stored(), options))

    def did(self, output: Output | Refusal) -> Output:
        """Take what came of an event; what is committed is applied at once."""
        assert isinstance(output, Output), output
        applied = core.apply(output.server, output.server.commit, self.options)
        name = output.server.id
        self.servers[name] = applied.server
        self.answers |= {a.request: a for a in (*output.answers, *applied.answers)}
        self.in_flight += [(name, m.target, m.message) for m in output.messages]
        return output

    def run(self, lost: Iterable[str] = ()) -> None:
        """Deliver all messages, but those from and to the servers that are ``lost``."""
        for _ in range(1000):
            if not self.in_flight:
                return
            source, target, message = self.in_flight.pop(0)
            if source not in lost and target not in lost:
                self.did(core.receive(self.servers[target], source, message, self.options))
        raise AssertionError("they never come to rest")

    def elect(self, name: str, lost: Iterable[str] = ()) -> None:
        """A server's timeout runs out, and all messages arrive."""
        self.did(core.campaign(self.servers[name], self.options))
        self.run(lost)

    def remind(self, name: str, lost: Iterable[str] = ()) -> None:
        """A leader repeats what has not been answered."""
        self.did(core.remind(self.servers[name], self.options))
        self.run(lost)
