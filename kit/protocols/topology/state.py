"""The state of the control model: the tables, who has applied them, and what one coordinator does.

What a coordinator only remembers is *volatile*; all else is stored, or is a fact of the cluster.
A node's lag counts only commands that change what steers its requests and streams: the views.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.voters import is_majority, nodes_in
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology
from kit.protocols.topology.rules.fence import LocalView, local_view
from kit.protocols.topology.rules.voting import limited_voters, votes_again
from kit.protocols.topology.rules.work import voters

NO_MAJORITY = Refusal("group 0 has no majority")


class Attempted(Struct, frozen=True, cache_hash=True):
    """What a coordinator remembers, and another one would not know.

    ``step`` counts the pieces of the state's work that it did. Of a barrier: ``answered`` (a mask);
    ``commands`` once the drain failed and it goes on without. ``failed``: the piece of work failed.
    ``streaming``: the stream was begun. ``command`` is what it decided and has not committed yet.
    """

    step: int = 0
    answered: int = 0
    commands: bool = False
    failed: bool = False
    streaming: bool = False
    command: Command | None = None


NOTHING_DONE = Attempted()


class FaultBudget(Struct, frozen=True, cache_hash=True):
    """How often each fault may still happen, and how many clients still come."""

    crashes: int = 0
    changes: int = 0
    failures: int = 0
    cuts: int = 0
    late: int = 0
    addresses: int = 0
    exclusions: int = 0
    clients: int = 0
    tablets: int = 0


class ControlState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """A cluster while its coordinator works.

    ``state_id`` is that of the newest command that took effect. ``views`` are what of the
    topology some node still goes by, the newest last; ``applied[i]`` is the place of node
    ``i``'s among them. ``up`` and ``cut`` (cut off) are masks, and so is ``chosen``: who votes,
    where fewer do than could (0: all). ``coordinator`` is ``NOBODY`` while there is none;
    ``started``: it has committed its start marker; ``heir``: it did not begin what is under
    way. ``attempted`` is volatile. ``deposed`` is a command that an earlier coordinator decided
    on and that is still on its way. ``made`` counts the requests that were made. A client's
    request runs at ``client`` by ``client_version``. ``leftover`` is the session of a stream
    that was left behind (0: none), at ``leftover_at`` (``NOBODY``: on its way); ``sealed``: a
    barrier has passed since its session was closed. ``fence_before`` is the fence version of before
    the last fence. ``addresses[i]`` counts the addresses that node ``i`` had before its own of now
    (empty: nobody ever changed); ``unheard`` are those whose address of now the others have not
    heard of (a mask). No table of group 0 holds an address: they know nodes by host ids.
    """

    topology: ClusterTopology
    state_id: int
    views: tuple[LocalView, ...]
    applied: tuple[int, ...]
    up: int
    cut: int = 0
    chosen: int = 0
    coordinator: int = 0
    started: bool = True
    heir: bool = False
    attempted: Attempted = NOTHING_DONE
    deposed: Command | None = None
    made: int = 0
    client: int = NOBODY
    client_version: int = 0
    leftover: int = 0
    leftover_at: int = NOBODY
    sealed: bool = False
    fence_before: int = 1
    addresses: tuple[int, ...] = ()
    unheard: int = 0
    faults: FaultBudget = FaultBudget()

    @property
    def reachable(self) -> int:
        """The nodes that are up, not cut off, and where the others look for them (a mask)."""
        return self.up & ~self.apart

    @property
    def apart(self) -> int:
        """The nodes that the others do not hear, dead or not: cut off, or at an unknown address."""
        return self.cut | self.unheard


def voting(s: ControlState) -> int:
    """Who votes in group 0 (a mask)."""
    return s.chosen & voters(s.topology) or voters(s.topology)


def has_majority(s: ControlState) -> bool:
    """Whether a majority of group 0 is up and connected, so that commands can be committed."""
    return is_majority(s.reachable, voting(s))


def majority_refusal(s: ControlState, action: object) -> Refusal | None:
    """Why nothing can be committed now, whatever the action: group 0 has no majority."""
    return None if has_majority(s) else NO_MAJORITY


def same_nodes(before: ControlState, after: ControlState) -> bool:
    """Whether no command was committed, and the same nodes are up, heard and led as before."""
    return (
        before.topology is after.topology
        and before.up == after.up
        and before.apart == after.apart
        and before.coordinator == after.coordinator
    )


def reconfigured(s: ControlState) -> ControlState:
    """The state with the voters that the published server chooses, if a majority can commit it.

    It looks at them after every command, and whenever a node dies or is back. Who was to be removed
    or replaced, and is not, votes again once it has started again.
    """
    if s.coordinator == NOBODY or not has_majority(s):
        return s
    back = votes_again(s.topology, s.reachable)
    if back:
        s = replace(s, topology=replace(s.topology, nonvoters=s.topology.nonvoters & ~back))
    chosen = limited_voters(s.topology, s.reachable, s.coordinator, s.chosen)
    return replace(s, chosen=chosen) if chosen != s.chosen else s


def view_of(s: ControlState, node: int) -> LocalView:
    """What a node goes by."""
    return s.views[s.applied[node]]


def caught_up(s: ControlState, nodes: int) -> ControlState:
    """The state once these nodes (a mask) have applied all there is."""
    newest = len(s.views) - 1
    if s.applied.count(newest) == len(s.applied):
        return s
    behind = [i for i in nodes_in(nodes) if s.applied[i] != newest]
    if not behind:
        return s
    applied = list(s.applied)
    for i in behind:
        applied[i] = newest
    return replace(s, applied=tuple(applied))


def with_topology(s: ControlState, topology: ClusterTopology) -> ControlState:
    """The state with a topology that a command of group 0 made; nobody has applied it yet."""
    view = local_view(topology)
    views = s.views if view == s.views[-1] else (*s.views, view)
    if topology.fence_version > s.topology.fence_version:
        s = replace(s, fence_before=s.topology.fence_version)
    return replace(s, topology=topology, state_id=s.state_id + 1, views=views)


def without_coordinator(s: ControlState) -> ControlState:
    """The state once the coordinator is gone: what it remembered is lost, its command may come."""
    command = s.attempted.command
    deposed = s.deposed if command is None else command
    return replace(s, coordinator=NOBODY, attempted=NOTHING_DONE, deposed=deposed)


def settled(s: ControlState) -> ControlState:
    """The same state without what no longer matters: views that nobody goes by, ghosts of clients.

    Who is no member goes by nothing; such nodes count as having applied all. A coordinator that
    became a non-voter steps down.
    """
    if s.coordinator != NOBODY and not voting(s) >> s.coordinator & 1:
        s = without_coordinator(s)
    outside = (1 << len(s.applied)) - 1 & ~s.topology.members
    s = caught_up(s, outside)
    oldest = min(s.applied)
    if oldest:
        s = replace(s, views=s.views[oldest:], applied=tuple(i - oldest for i in s.applied))
    if s.client != NOBODY and not s.up >> s.client & 1:
        s = replace(s, client=NOBODY, client_version=0)
    if s.leftover_at != NOBODY and not s.up >> s.leftover_at & 1:
        s = replace(s, leftover=0, leftover_at=NOBODY, sealed=False)
    return s
