"""Moments of topology over Raft: the coordinator's states, barriers and sessions; recovery.

Source: as ``kit.protocols.topology`` and ``kit.protocols.recovery`` have it, in edition ``server``.
"""

from collections.abc import Callable

from kit.errors import counted
from kit.masks import majority
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import facts
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.worlds.alignment import Now, in_order


def enters(state: str, node: str = "") -> Callable[[Now], bool]:
    """The moment at which a transition state is entered, of an operation of ``node`` if given."""

    def is_it(now: Now) -> bool:
        if now.before is None or now.before.topology.transition == now.after.topology.transition:
            return False
        operation = work.task_of(now.after, now.m.setting).node
        own = not node or (operation != NOBODY and now.m.names[operation] == node)
        return now.after.topology.transition == state and own

    return is_it


def becomes(node: str, state: str) -> Callable[[Now], bool]:
    """The moment at which a node comes to a state."""

    def is_it(now: Now) -> bool:
        before = now.before and now.before.topology.nodes[now.m.number(node)].state
        return before is not None and status(now, node) == state != before

    return is_it


def status(now: Now, node: str) -> str:
    """The state of a node in the tables."""
    return str(now.after.topology.nodes[now.m.number(node)].state)


def addressed(now: Now) -> set[str]:
    """The nodes that the running barrier asks."""
    barrier = facts.barrier(now.m, now.after)
    return set(barrier.needs) if barrier else set()


def lacking(now: Now) -> set[str]:
    """Who of them has not answered it."""
    barrier = facts.barrier(now.m, now.after)
    return {*barrier.needs} - {*barrier.answered} if barrier else set()


def waits(now: Now) -> bool:
    """The moment at which somebody has answered and the barrier still waits."""
    return now.is_a("answer") and bool(lacking(now))


def waits_in(state: str) -> Callable[[Now], bool]:
    """The same in a transition state."""
    return lambda now: now.after.topology.transition == state and waits(now)


def opens(now: Now) -> bool:
    """The moment at which the last answer opens the barrier."""
    return now.is_a("answer") and bool(addressed(now)) and not lacking(now)


def waits_for_one(now: Now) -> bool:
    """The moment at which only nodes that are down have not answered."""
    up = set(now.m.named(now.after.up))
    return now.is_a("answer") and bool(lacking(now)) and not lacking(now) & up


def streams(now: Now) -> bool:
    """The moment at which streaming begins."""
    return now.before is not None and now.after.attempted.streaming > now.before.attempted.streaming


def requests(now: Now) -> tuple[str, ...]:
    """The requests that are not done, in their order."""
    return tuple(facts.title(now.m, each) for each in facts.entries(now.m, now.after))


def coordinator(now: Now) -> str:
    """The coordinator."""
    return str(now.m.names[now.after.coordinator])


def says_request(now: Now) -> str:
    """The request in the tables, and who will carry it out."""
    return (
        f"State {now.after.state_id}: the request is in the tables. "
        f"The coordinator on {coordinator(now)} carries it out."
    )


def says_state(now: Now) -> str:
    """The transition state, its version, and by whom it was committed."""
    topology = now.after.topology
    return (
        f"State {now.after.state_id}: {topology.transition or 'no transition'}, version "
        f"{topology.version}, committed by the coordinator on {coordinator(now)}."
    )


def says_barrier(now: Now) -> str:
    """The nodes that the barrier asks, and those that are missing."""
    nodes, missing = addressed(now), lacking(now)
    said = f"The barrier asks {in_order(nodes)} and needs {len(nodes)} of {len(nodes)} answers."
    return f"{said} It is {'closed' if missing else 'open'}. Still missing: {in_order(missing)}."


def says_streams(now: Now) -> str:
    """The session of the stream, and the fence before it."""
    topology = now.after.topology
    return (
        f"Streaming has the permit of session {topology.session}. Fence {topology.fence_version} "
        "was set first."
    )


def says_ended(now: Now) -> str:
    """How many states and versions it took."""
    topology = now.after.topology
    versions, states = topology.version - 1, now.after.state_id - 1
    number = counted(versions, "new version")
    return f"Version {topology.version}: {counted(states, 'command')}, {number}."


def says_queue(now: Now) -> str:
    """The requests that wait in the queue."""
    return f"State {now.after.state_id}. Requests: {', '.join(requests(now)) or 'none'}."


def says_died(now: Now) -> str:
    """The node that is down, and that the barrier needs it."""
    return f"{now.verb.split()[-1]} is down. The barrier asks {in_order(addressed(now))}."


def says_failed(now: Now) -> str:
    """The way back."""
    return says_state(now).replace("committed", "on the way back, committed")


# -- recovery --------------------------------------------------------------------------------------


def has_majority(now: Now) -> bool:
    """Whether nodes that are counted on can change the schema."""
    return bool(now.after.can_change_schema)


def says_voters(now: Now) -> str:
    """How many voters live, and how many are needed."""
    node = next(at for at, each in enumerate(now.after.nodes) if each.takes_part)
    group = now.after.nodes[node].group
    voters, live = now.after.voters_of(group), now.after.running(group)
    count = voters.bit_count()
    up = (voters & live).bit_count()
    name = now.m.group_name(group)
    return f"{name}: {up} of {counted(count, 'voter')} up, {majority(count)} needed."


def says_stored(now: Now) -> str:
    """That data was stored while the schema could not be changed."""
    able = "possible" if has_majority(now) else "impossible"
    return f"{now.verb.split()[1]} stores data. Schema changes are {able}."


def says_chosen(now: Now) -> str:
    """The leader, and who else could be."""
    return f"{now.verb.split()[-1]} will lead. Possible choices: {in_order(now.could('choose'))}."
