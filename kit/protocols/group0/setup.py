"""Who takes part in a run of group 0, and what every rule asks of that."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

from kit.engine.log import Log
from kit.errors import BadInput, Refusal
from kit.protocols.group0.parameters import MOST_NODES, Group0Parameters
from kit.protocols.group0.rules.commands import next_state_id
from kit.protocols.group0.rules.guard import Guard, command_of
from kit.protocols.group0.rules.indexes import snapshot_index
from kit.protocols.group0.rules.safeguards import Group0Safeguards
from kit.protocols.group0.rules.schema import objection
from kit.protocols.group0.rules.voters import chosen_voters, is_majority
from kit.protocols.group0.state import Group0State, tables_after
from kit.protocols.group0.words import (
    ClientOperation,
    TableRequest,
    parse_operations,
    parse_requests,
)

T = TypeVar("T")
NAMES = "ABCDEFGHI"[:MOST_NODES]


class Setup(Struct, frozen=True):
    """The nodes by name, where they are, what clients ask of them, what is switched off.

    ``limited``: at most five nodes vote, and histories are kept for an hour (edition ``server``).
    ``kept`` is how many committed entries a leader keeps, 0 for all.
    """

    names: tuple[str, ...]
    dcs: tuple[int, ...]
    operations: tuple[ClientOperation, ...]
    requests: tuple[TableRequest, ...]
    safeguards: Group0Safeguards
    limited: bool
    kept: int = 0

    @property
    def everybody(self) -> int:
        """All nodes."""
        return (1 << len(self.names)) - 1

    def number(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def named(self, nodes: int) -> tuple[str, ...]:
        """The names of a set of nodes."""
        return tuple(name for i, name in enumerate(self.names) if nodes >> i & 1)

    def lacks_dropped(self, s: Group0State, node: int) -> bool:
        """Whether a node lacks entries that the leader has no more."""
        return s.indexes[node].stored < self.snapshot(s)

    def snapshot(self, s: Group0State) -> int:
        """The index of the leader's snapshot; 0 where it has all entries."""
        return snapshot_index(len(s.log), s.indexes[s.leader].applied, self.kept)

    def wanted_voters(self, s: Group0State) -> int:
        """Who should vote now."""
        if not self.limited:
            return self.everybody
        return chosen_voters(self.dcs, s.up, s.leader, s.voters)

    def no_leader(self, s: Group0State) -> Refusal | None:
        """Why nobody can ask the leader for anything, if so: a majority must stand behind it."""
        if not is_majority(s.up, s.voters):
            down = self.named(s.voters & ~s.up)
            return Refusal("no quorum: more than half of the voters must be up", missing=down)
        if not s.up >> s.leader & 1:
            name = self.names[s.leader]
            return Refusal(f"{name}, the leader, is down: another one must be elected", (), (name,))
        return None


def setup_of(parameters: Group0Parameters, safeguards: Group0Safeguards) -> Setup:
    """The nodes and operations of these parameters.

    Raises:
        BadInput: for an operation that is none.
    """
    names = tuple(NAMES[: parameters.nodes])
    return Setup(
        names,
        tuple(i % parameters.dcs for i in range(parameters.nodes)),
        parse_operations(parameters.operations, names),
        parse_requests(parameters.requests, names),
        safeguards,
        parameters.edition == "server",
        parameters.kept,
    )


def earlier_log(setup: Setup, operations: tuple[ClientOperation, ...]) -> Log:
    """A log of these operations, done one after the other.

    Raises:
        BadInput: for one that makes no sense after those before it.
    """
    log = Log()
    for operation in operations:
        tables = tables_after(log, setup.safeguards)
        why = objection(tables.schema, operation.statement)
        if why is not None:
            raise BadInput("earlier", operation.text, f"what makes sense there: {why}")
        newest, places = tables.history.newest, len(setup.names)
        new = next_state_id(newest, newest, operation.node, places)
        guard, name = Guard(newest, new), setup.names[operation.node]
        log = log.append(command_of(guard, operation.statement, name, Group0Safeguards()))
    return log


def put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    """The same with another value at one place."""
    return (*values[:at], value, *values[at + 1 :])


def each(kind: Any, names: tuple[str, ...]) -> dict[int, Any]:
    """One action of a kind for each node, made once."""
    return {i: kind(name) for i, name in enumerate(names)}
