"""One state of a join by its parts: what group 0 holds, the members, the joiner, a removed node."""

from __future__ import annotations

from kit.engine.actors import ActorState
from kit.protocols.topology.handshake.actors import JoinerState, MemberState, RemovedState
from kit.protocols.topology.rules.joining import JoinTables, Names


def tables(s: ActorState) -> JoinTables:
    """What group 0 holds."""
    first = s.nodes[0]
    assert isinstance(first, JoinTables)
    return first


def members(s: ActorState) -> tuple[MemberState, ...]:
    """Every member, in the order of names."""
    return tuple(state for state in s.nodes if isinstance(state, MemberState))


def member(s: ActorState, name: str) -> MemberState:
    """What one member is at."""
    return next(state for state in members(s) if state.name == name)


def coordinator(s: ActorState) -> MemberState:
    """The member that coordinates; there has to be one."""
    return member(s, tables(s).coordinator)


def joiner(s: ActorState) -> JoinerState:
    """The joiner's process and disk."""
    return next(state for state in s.nodes if isinstance(state, JoinerState))


def removed(s: ActorState) -> RemovedState | None:
    """The removed node, where there is one."""
    return next((state for state in s.nodes if isinstance(state, RemovedState)), None)


def up(s: ActorState) -> Names:
    """The members that are up."""
    return tuple(state.name for state in members(s) if state.up)


def with_tables(s: ActorState, after: JoinTables) -> ActorState:
    """The state with other tables."""
    return ActorState((after, *s.nodes[1:]), s.network)


def with_member(s: ActorState, after: MemberState) -> ActorState:
    """The state with another state of one member."""
    nodes = (
        after if isinstance(state, MemberState) and state.name == after.name else state
        for state in s.nodes
    )
    return ActorState(tuple(nodes), s.network)
