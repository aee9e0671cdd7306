"""The state of group 0: the log, how far each node is in it, the guards, what is on its way."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from msgspec import Struct

from kit.engine.log import Log
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.history import StateHistory, takes_effect
from kit.protocols.group0.rules.indexes import Indexes
from kit.protocols.group0.rules.safeguards import Group0Safeguards
from kit.protocols.group0.rules.schema import SchemaState, merged

Answer = Literal["waiting", "running", "success", "error", "unknown", "no answer"]
Stage = Literal["waiting", "sent", "served"]
ANSWERED = ("success", "error", "unknown", "no answer")


class HeldGuard(Struct, frozen=True, cache_hash=True):
    """What a node holds while it works on a change.

    ``operation`` is its number, ``step`` the last of the eight that was done. ``observed`` and
    ``new`` are the state ids of steps 3 and 4, 0 before. ``forgets`` is what its command carries.
    ``term`` is that of the leader that the command was submitted to last.
    """

    operation: int
    step: int = 1
    observed: int = 0
    new: int = 0
    forgets: int = 0
    term: int = 0


class CarriedVersion(Struct, frozen=True, cache_hash=True):
    """A request: whether it was sent, with which table version, and how far its coordinator had
    gone through the log.
    """

    stage: Stage = "waiting"
    version: int = 0
    index: int = 0


class FaultsLeft(Struct, frozen=True, cache_hash=True):
    """How often each fault may still happen."""

    elections: int
    crashes: int
    losses: int
    hours: int


class Group0State(Struct, frozen=True, cache_hash=True):
    """Nodes are numbers from 0, sets of them bit masks.

    ``log`` holds the committed commands. ``leader`` is the newest one, up or not; ``deposed`` are
    those that were leaders and have not heard of it. ``guards`` has an entry a node, ``answers``
    one per client's operation. ``in_flight`` are the commands that were submitted and are neither
    committed nor lost, sorted by id. State ids up to ``expired`` are more than an hour old.
    ``requests`` are reads and writes, an entry each.
    """

    log: Log
    indexes: tuple[Indexes, ...]
    up: int
    voters: int
    leader: int
    term: int
    deposed: int
    guards: tuple[HeldGuard | None, ...]
    answers: tuple[Answer, ...]
    in_flight: tuple[Command, ...]
    expired: int
    left: FaultsLeft
    requests: tuple[CarriedVersion, ...] = ()


class NodeTables(Struct, frozen=True, cache_hash=True):
    """What a node has after going through the log up to some index, in its tables.

    ``effective`` says of each command whether it took effect.
    """

    history: StateHistory = StateHistory()
    schema: SchemaState = SchemaState()
    effective: tuple[bool, ...] = ()


@lru_cache(1 << 16)
def tables_after(log: Log, safeguards: Group0Safeguards) -> NodeTables:
    """The tables of a node that went through the whole of ``log``: the same on every node."""
    if not len(log):
        return NodeTables()
    before, command = tables_after(log.shorter(), safeguards), log[len(log) - 1]
    counts = takes_effect(before.history.newest, command, safeguards)
    effective = (*before.effective, counts)
    if not counts:
        return NodeTables(before.history, before.schema, effective)
    schema = merged(before.schema, command.change, command.new)
    return NodeTables(before.history.recorded(command), schema, effective)


@lru_cache(1 << 16)
def prefix(log: Log, index: int) -> Log:
    """The first ``index`` entries of a log."""
    while len(log) > index:
        log = log.shorter()
    return log
