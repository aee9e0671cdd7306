"""What must hold while a node joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.engine.actors import ActorState
from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.topology.handshake.actors import runs_group0
from kit.protocols.topology.handshake.state import joiner, members, tables
from kit.protocols.topology.rules.joining import JOINING

if TYPE_CHECKING:
    from kit.protocols.topology.handshake.model import Join


def right_attempt(s: ActorState) -> str | None:
    """Who goes on as accepted is the process whose request the cluster took and checked."""
    state = joiner(s)
    row = tables(s).row(state.host)
    taken = 0 if row is None else row.attempt
    if not state.attempt or state.attempt == taken:
        return None
    return (
        f"start {state.attempt} of {state.host} goes on as accepted, "
        f"and the cluster took the request of start {taken}"
    )


def only_accepted(s: ActorState) -> str | None:
    """In group 0's configuration are those that were accepted and have not left."""
    for host in tables(s).members:
        row = tables(s).row(host)
        if row is None or row.state not in (*JOINING, "normal"):
            return f"{host} is in group 0, and its row says {row.state if row else 'nothing'}"
    return None


def left_is_final(before: ActorState, action: Any, after: ActorState) -> str | None:
    """A host id that has left never comes back."""
    for row in tables(before).rows:
        now = tables(after).row(row.host)
        if row.state == "left" and (now is None or now.state != "left"):
            return f"{row.host} had left and is {now.state if now else 'gone'}"
    return None


def in_service(s: ActorState) -> str | None:
    """Who has finished its start is normal."""
    row = tables(s).row(joiner(s).host)
    serves = joiner(s).status == "normal"
    return (
        "it serves without being normal" if serves and (not row or row.state != "normal") else None
    )


def stored(before: ActorState, action: Any, after: ActorState) -> str | None:
    """A write of a node that was removed is stored nowhere, whenever it comes."""
    for then, now in zip(members(before), members(after), strict=True):
        if now.stored and not then.stored:
            return f"{now.name} stores a write of a node that was removed"
    return None


def nothing_comes_back(s: ActorState) -> str | None:
    """No member stores a write of a node that was removed."""
    names = [each.name for each in members(s) if each.stored]
    return f"{names[0]} has stored what was deleted long ago" if names else None


def over(s: ActorState) -> bool:
    """The joiner is in, or has stopped and knows why."""
    return joiner(s).status in ("normal", "stopped")


def properties_of(model: Join) -> tuple[Property, ...]:
    """The properties of a model: some depend on its setting."""
    setting = model.setting

    def can_read(s: ActorState) -> str | None:
        state = joiner(s)
        missing = set(tables(s).enabled) - set(state.features)
        receives = state.host in tables(s).members and runs_group0(state, setting)
        if not missing or not receives:
            return None
        return f"{state.host} receives group 0 commands, and lacks feature {min(missing)}"

    def stays_accepted(s: ActorState) -> str | None:
        row = tables(s).row(joiner(s).host)
        left = row is not None and row.state == "left"
        # The published code gives a joiner up whose answer was lost; the joiner sees it in group 0.
        lost = setting.edition == "documents" and left and joiner(s).attempt
        return "it was accepted, and has left" if lost else None

    return (
        always("attempt", "Accepted is who was checked", right_attempt, "INV-MEMBER"),
        always("members", "In group 0 are those who were accepted", only_accepted, "INV-MEMBER"),
        always("stays", "Who was accepted has not left", stays_accepted, "INV-MEMBER"),
        step("left-final", "Who has left stays so", left_is_final, "INV-MEMBER"),
        always("in-service", "Who serves is normal", in_service, "INV-SERVE"),
        always("features", "Who hears group 0 supports what is enabled", can_read, "INV-FEAT"),
        step("owners-store", "What a removed node writes is stored nowhere", stored, "INV-OWN"),
        always("no-return", "Deleted data stays away", nothing_comes_back, "INV-NORES"),
        sometimes("over", "The joiner is in, or knows why not", over),
        goal("ends", "Every join can come to its end", over, "INV-PROGRESS"),
    )
