"""One moment of group 0 as rows: the log, its nodes, the guard's steps, what is asked for."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.group0.group0 import Group0
from kit.protocols.group0.rules.guard import STEPS
from kit.protocols.group0.rules.schema import SchemaTable
from kit.protocols.group0.rules.voters import majority
from kit.protocols.group0.state import Group0State, HeldGuard, key_of, said, tables_after

Reach = Literal["applied", "committed", "stored", ""]
StepStatus = Literal["done", "next", "pending"]


class EntryRow(Struct, frozen=True):
    """An entry of the log: ``index`` counts from 1, ``effective`` says that it is no no-op."""

    index: int
    text: str
    creator: str
    previous: int | None
    new: int
    effective: bool


class MemberRow(Struct, frozen=True):
    """A node: its three indexes, and what it is in the group.

    ``leads`` is what it takes itself for; ``deposed`` that it is wrong.
    """

    name: str
    up: bool
    votes: bool
    leads: bool
    deposed: bool
    stored: int
    commit: int
    applied: int

    def reach(self, index: int) -> Reach:
        """How far the node is with an entry."""
        if index <= self.applied:
            return "applied"
        if index <= self.commit:
            return "committed"
        return "stored" if index <= self.stored else ""


class GuardStepRow(Struct, frozen=True):
    """One of the eight steps of a guard that is held, with what it found."""

    number: int
    name: str
    status: StepStatus
    result: str


class GuardRow(Struct, frozen=True):
    """A guard that a node holds: for which change, and how far."""

    node: str
    change: str
    steps: tuple[GuardStepRow, ...]


class OperationAnswer(Struct, frozen=True):
    """What a client asked for, and what it was told."""

    number: int
    text: str
    answer: str


class SentRow(Struct, frozen=True):
    """A command on its way; ``key`` is its own among equal ones."""

    key: str
    text: str


def entries(m: Group0, s: Group0State) -> tuple[EntryRow, ...]:
    """The log, the oldest first."""
    effective = tables_after(s.log, m.switches).effective
    return tuple(
        EntryRow(i, command.change.text, command.creator, command.previous, command.new, counts)
        for i, (command, counts) in enumerate(zip(s.log, effective, strict=True), start=1)
    )


def nodes(m: Group0, s: Group0State) -> tuple[MemberRow, ...]:
    """The members of the group."""
    return tuple(
        MemberRow(
            name,
            bool(s.up >> i & 1),
            bool(s.voters >> i & 1),
            bool(s.up >> i & 1) and (s.leader == i or bool(s.deposed >> i & 1)),
            bool(s.deposed >> i & 1),
            at.stored,
            at.commit,
            at.applied,
        )
        for i, (name, at) in enumerate(zip(m.names, s.indexes, strict=True))
    )


def guards(m: Group0, s: Group0State) -> tuple[GuardRow, ...]:
    """The guards that are held."""
    return tuple(
        GuardRow(name, m.clients[held.operation].statement.text, _steps(m, s, i, held))
        for i, (name, held) in enumerate(zip(m.names, s.guards, strict=True))
        if held is not None
    )


def _steps(m: Group0, s: Group0State, node: int, held: HeldGuard) -> tuple[GuardStepRow, ...]:
    statuses: tuple[StepStatus, ...] = ("done", "next", "pending")
    return tuple(
        GuardStepRow(
            number,
            name,
            statuses[(number > held.step) + (number > held.step + 1)],
            _result(m, s, node, held, number) if number <= held.step else "",
        )
        for number, name in enumerate(STEPS, start=1)
    )


def _result(m: Group0, s: Group0State, node: int, held: HeldGuard, number: int) -> str:
    """What a step that was done came to."""
    if number == 2:
        return f"applied {s.indexes[node].applied}" if m.switches.read_barrier else "left out"
    if number == 6:
        return f"{held.observed} → {held.new}"
    return {1: "held", 3: str(held.observed), 4: str(held.new), 5: "makes sense", 7: "applied"}[
        number
    ]


def operations(m: Group0, s: Group0State) -> tuple[OperationAnswer, ...]:
    """What clients ask for, and what they were told."""
    return tuple(
        OperationAnswer(i, operation.text, answer)
        for i, (operation, answer) in enumerate(zip(m.clients, s.answers, strict=True))
    )


def sent(s: Group0State) -> tuple[SentRow, ...]:
    """The commands on their way to the leader."""
    return tuple(SentRow(key_of(s.in_flight, i), said(c)) for i, c in enumerate(s.in_flight))


def quorum(s: Group0State) -> tuple[int, int, int]:
    """How many voters are up, how many there are, how many a majority is."""
    count = s.voters.bit_count()
    return (s.up & s.voters).bit_count(), count, majority(count)


def history(m: Group0, s: Group0State, node: str) -> tuple[int, ...]:
    """The rows of ``group0_history`` on a node, the newest first."""
    return tuple(reversed(m.tables(s, m.number(node)).history.rows))


def schema_version(m: Group0, s: Group0State, node: str) -> int:
    """What ``group0_schema_version`` says in ``scylla_local`` on a node; 0: there is no row."""
    return m.tables(s, m.number(node)).schema.version


def schema_tables(m: Group0, s: Group0State, node: str) -> tuple[SchemaTable, ...]:
    """The rows of ``system_schema.scylla_tables`` on a node."""
    return m.tables(s, m.number(node)).schema.tables


class RequestVersion(Struct, frozen=True):
    """A read or write with the table version that it carries; 0 before it is sent."""

    number: int
    text: str
    version: int
    stage: str


def requests(m: Group0, s: Group0State) -> tuple[RequestVersion, ...]:
    """The reads and writes, in order."""
    return tuple(
        RequestVersion(i, request.text, carried.version, carried.stage)
        for i, (request, carried) in enumerate(zip(m.table_requests, s.requests, strict=True))
    )


def computed_by(s: Group0State, version: int) -> str:
    """The node that made a table version: the creator of the command with that state id."""
    creator: str = next(command.creator for command in s.log if command.new == version)
    return creator


def keyspaces(m: Group0, s: Group0State, node: str) -> tuple[str, ...]:
    """The names of the keyspaces on a node."""
    return tuple(each.name for each in m.tables(s, m.number(node)).schema.keyspaces)
