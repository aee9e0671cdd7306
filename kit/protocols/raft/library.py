"""Raft as a library: the core between three interfaces that whoever uses it supplies.

A ``RaftServer`` asks the core what an event makes of it. It stores what has to be written, then
sends messages, then applies what is committed. Groups go by UUID: each interface is told which
group it works for, so that groups may share one, or have their own and other options.
Source: Scylla, Raft in Scylla, "Raft application in Scylla".
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from msgspec import Struct

from kit.errors import BadInput, Refusal, Refused
from kit.protocols.raft import core
from kit.protocols.raft.messages import Message
from kit.protocols.raft.rules.configuration import Member
from kit.protocols.raft.state import Answer, Options, Output, Stored, Written
from kit.protocols.raft.tables import Group


class Persistence(Protocol):
    """Keeps on a node what its servers have stored."""

    def store(self, group: Group, written: Written, stored: Stored) -> None:
        """Store what was written, so that a crash leaves ``stored``. It returns once that is so."""

    def load(self, group: Group) -> Stored | None:
        """The stored data of a group; None: it was never here."""


class Rpc(Protocol):
    """Carries messages to servers of the same group on other nodes. Some may be lost."""

    def send(self, group: Group, source: str, target: Member, message: Message) -> None:
        """Send a message to a member, whose address says where it is."""


class StateMachine(Protocol):
    """The purpose of the group: it runs the commands that are committed, in order."""

    def apply(self, group: Group, commands: Sequence[str]) -> None:
        """Run these commands, which come behind all that were run before."""

    def take_snapshot(self, group: Group) -> str:
        """The snapshot of all commands that were run."""

    def load_snapshot(self, group: Group, state: str) -> None:
        """Forget what there is, and begin with such a snapshot."""


class RaftServer:
    """A member of a group: the core, and the three interfaces around it."""

    def __init__(
        self,
        group: Group,
        name: str,
        persistence: Persistence,
        rpc: Rpc,
        machine: StateMachine,
        options: Options = Options(),  # noqa: B008  # it is frozen
        members: Collection[Member] = (),
    ) -> None:
        """Start with what is stored, or as one of the first ``members`` of a new group."""
        self.group, self.options = group, options
        self.persistence, self.rpc, self.machine = persistence, rpc, machine
        self.answers: dict[str, Answer] = {}
        stored = persistence.load(group)
        if stored is None:
            stored = core.first_stored(members)
            persistence.store(group, Written(snapshot=stored.log.snapshot), stored)
        self._carry_out(core.restart(name, stored, options))

    def do(self, event: Callable[..., Output | Refusal], *given: Any, **named: Any) -> None:
        """An event of the core: ``do(submit, "x = 1", request="r1")``, ``do(tick)``.

        Raises Refused where the core refuses it.
        """
        output = event(self.server, *given, options=self.options, **named)
        if isinstance(output, Refusal):
            raise Refused(output.reason)
        self._carry_out(output)

    def receive(self, source: str, message: Message) -> None:
        """A message has arrived."""
        self._carry_out(core.receive(self.server, source, message, self.options))

    def take_snapshot(self) -> None:
        """Let a snapshot of the state machine stand for what it has applied."""
        self.do(core.take_snapshot, self.machine.take_snapshot(self.group))

    def _carry_out(self, output: Output) -> None:
        self.server, group = output.server, self.group
        if (written := output.written) != Written():
            self.persistence.store(group, written, self.server.stored)
        for sent in output.messages:
            self.rpc.send(group, self.server.id, self._member(sent.target), sent.message)
        if output.snapshot:
            self.machine.load_snapshot(group, output.snapshot.state)
        if commands := [e.data for e in output.committed if isinstance(e.data, str)]:
            self.machine.apply(group, commands)
        self.answers |= {answer.request: answer for answer in output.answers}
        if self.server.commit > self.server.applied:
            self._carry_out(core.apply(self.server, self.server.commit, self.options))

    def _member(self, name: str) -> Member:
        configuration = self.server.configuration
        known = (*configuration.current, *configuration.previous)
        return next((each for each in known if each.id == name), Member(name))


class GroupRegistry:
    """The servers of a node, which run on shard 0: every shard finds the one of a group id."""

    def __init__(self, shards: int = 1) -> None:
        self.shards: tuple[dict[Group, RaftServer], ...] = tuple({} for _ in range(shards))

    def add(self, server: RaftServer) -> None:
        """Tell all shards of a server."""
        for known in self.shards:
            known[server.group] = server

    def find(self, group: Group, shard: int = 0) -> RaftServer:
        """The server of a group, asked on a shard. Raises BadInput where there is none."""
        if not 0 <= shard < len(self.shards):
            raise BadInput("shard", shard, f"a number from 0 to {len(self.shards) - 1}")
        if group not in self.shards[shard]:
            raise BadInput("group", group, ", ".join(map(str, self.shards[shard])) or "none")
        return self.shards[shard][group]


# -- in memory, for simulations --------------------------------------------------------------------


class Routed(Struct, frozen=True):
    """A message on its way, with the group that it belongs to."""

    group: Group
    source: str
    target: Member
    message: Message


class Network:
    """An ``Rpc`` that all nodes share: messages wait until they are delivered, by group id."""

    def __init__(self) -> None:
        self.nodes: dict[str, GroupRegistry] = {}
        self.in_flight: deque[Routed] = deque()

    def send(self, group: Group, source: str, target: Member, message: Message) -> None:
        """Put it on its way."""
        self.in_flight.append(Routed(group, source, target, message))

    def deliver(self) -> Routed:
        """The oldest message arrives, at the server of its group. Raises Refused without one."""
        if not self.in_flight:
            raise Refused("no message is on its way")
        routed = self.in_flight.popleft()
        server = self.nodes[routed.target.id].find(routed.group)
        server.receive(routed.source, routed.message)
        return routed


class Commands:
    """A ``StateMachine`` that remembers the commands of each group, a line each."""

    def __init__(self) -> None:
        self.lines: dict[Group, list[str]] = {}

    def apply(self, group: Group, commands: Sequence[str]) -> None:
        """Remember them."""
        self.lines.setdefault(group, []).extend(commands)

    def take_snapshot(self, group: Group) -> str:
        """All lines."""
        return "\n".join(self.lines.get(group, ()))

    def load_snapshot(self, group: Group, state: str) -> None:
        """These lines instead."""
        self.lines[group] = state.splitlines()
