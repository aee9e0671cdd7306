"""One moment of a join: rows of host ids, what each process is at, and every check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.actors import ActorState
from kit.engine.breaches import PassedStep
from kit.engine.network import DuplicateMessage
from kit.protocols.topology.handshake import (
    JoinNodeQuery,
    JoinNodeResponse,
    joiner,
    members,
    removed,
    runs_group0,
    tables,
    up,
)
from kit.protocols.topology.join import Join
from kit.protocols.topology.rules.joining import CHECKS, FEATURE, JoinNodeRequest, Names, because

BY = {
    "receiver": "the receiver, by its configuration",
    "placing": "the receiver, by group 0",
    "coordinator": "the coordinator",
}


class HostRow(Struct, frozen=True):
    """A host id: its row of ``system.topology``, whether it is in group 0, why it was rejected."""

    host: str
    state: str
    member: bool
    features: Names
    attempt: int
    reason: str


class ProcessRow(Struct, frozen=True):
    """What a process is at, in words."""

    name: str
    doing: str


class CheckRow(Struct, frozen=True):
    """A check of the joiner as things are: who makes it, and whether it fails."""

    name: str
    by: str
    fails: bool


def hosts(s: ActorState) -> tuple[HostRow, ...]:
    """Every host id that has a row."""
    held = tables(s)
    return tuple(
        HostRow(
            row.host,
            row.state,
            row.host in held.members,
            row.features,
            row.attempt,
            because(row.reason) if row.reason else "",
        )
        for row in held.rows
    )


def processes(m: Join, s: ActorState) -> tuple[ProcessRow, ...]:
    """The members, the joiner and, where there is one, the removed node."""
    state, zombie = joiner(s), removed(s)
    named = [ProcessRow(each.name, _member(s, each.name)) for each in members(s)]
    doing = [
        f"{state.host}, start {state.boot}: {state.status}",
        f"features {', '.join(state.features) or 'none'}",
        "group 0 server runs" if runs_group0(state, m.setting) else "no group 0 server",
    ]
    if state.parked:
        doing.append("a response waits until it is told to wait for one")
    if state.reason:
        doing.append(because(state.reason))
    named.append(ProcessRow("N", "; ".join(doing)))
    if zombie is not None:
        awake = "has sent its old write" if zombie.awake else "is cut off"
        named.append(ProcessRow("Z", f"removed; {'knows it' if zombie.banned else awake}"))
    return tuple(named)


def _member(s: ActorState, name: str) -> str:
    state = next(each for each in members(s) if each.name == name)
    if not state.up:
        return "down"
    parts = ["coordinator"] if tables(s).coordinator == name else []
    parts += [f"handles the request of {asks.host}" for asks in state.handling]
    if state.call:
        done = "was handled" if state.call == "handled" else "is on its way"
        parts.append(f"its response {done}")
    if state.owes:
        parts.append(f"owes {state.owes[0]} a rejection")
    if state.stored:
        parts.append("has stored an old write")
    if state.banned:
        parts.append(f"bans {', '.join(state.banned)}")
    return "; ".join(parts) or "nothing to do"


def checks(m: Join, s: ActorState) -> tuple[CheckRow, ...]:
    """Every check, as it would end if it were made of the joiner now."""
    state = joiner(s)
    asks = replace(m.asks, host=state.host, call=state.boot, features=state.features)
    return tuple(
        CheckRow(check.reason, BY[check.by], check.fails(tables(s), asks, up(s)))
        for check in CHECKS
    )


def status(s: ActorState) -> tuple[str, str, str]:
    """The joiner's status, who coordinates, whether the feature is enabled."""
    lead = tables(s).coordinator
    enabled = FEATURE in tables(s).enabled
    return (
        f"{joiner(s).host} {joiner(s).status}",
        f"{lead} coordinates" if lead else "no coordinator",
        f"feature {FEATURE} {'enabled' if enabled else 'not enabled'}",
    )


class Tried(Struct, frozen=True):
    """How often calls of a join were made: the joiner's query and request, and the response.

    A call is tried again after a timeout, a lost connection or a new start of who made it.
    """

    queries: int = 0
    requests: int = 0
    responses: int = 0


def tried(steps: Sequence[PassedStep]) -> Tried:
    """How often each call was made in a run; the first query is on its way from the start."""
    counts: dict[type, int] = {JoinNodeQuery: 1, JoinNodeRequest: 0, JoinNodeResponse: 0}
    for step in steps:
        old = Counter(step.before.network.in_flight)
        for envelope, number in (Counter(step.after.network.in_flight) - old).items():
            kind = type(envelope.message)
            if kind in counts and not isinstance(step.action, DuplicateMessage):
                counts[kind] += number
    return Tried(*counts.values())
