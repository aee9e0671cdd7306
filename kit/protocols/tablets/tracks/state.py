"""The state of many tablets: their rows, what the coordinator remembers, what is on its way.

The cluster is that of ``kit.protocols.topology``: a commit of a tablet's stage changes nothing in
it but who has tablets. What only a coordinator remembers is *volatile*.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.machines import EdgeKind

NO_SESSION = 0


class TabletTransition(Struct, frozen=True, cache_hash=True):
    """A transition of a tablet: its columns in ``system.tablets``, and how far its stage is.

    ``old`` are the replicas that it was planned on, ``session`` is ``NO_SESSION`` where none is
    open. Volatile: ``done`` counts the pieces of the stage's work that are done; ``failed``: the
    next one has failed.
    """

    kind: TransitionKind
    stage: str
    old: Replicas
    new: Replicas
    session: int = NO_SESSION
    done: int = 0
    failed: bool = False

    @property
    def sets(self) -> ReplicaSets:
        """The replicas before and after it."""
        return ReplicaSets(self.old, self.new)


class TabletRow(Struct, frozen=True, cache_hash=True):
    """A tablet: its replicas, its transitions (at most one), and who holds data of it.

    ``whole`` are the replicas that hold all of its data, ``some`` all that hold any.
    """

    replicas: Replicas
    transitions: tuple[TabletTransition, ...]
    whole: Replicas
    some: Replicas


class StageChange(Struct, frozen=True, cache_hash=True):
    """What a command does to a transition: the stage that it enters, by the edge of that kind.

    ``tablet`` and ``place`` say which transition; ``after`` is the stage that it was decided on.
    """

    tablet: int
    place: int
    after: str
    kind: EdgeKind


class TabletCommand(Struct, frozen=True, cache_hash=True):
    """A command of group 0 that changes tablets: stages to enter, transitions to begin.

    ``joint``: it is one command with a change of the cluster's. ``stale``: group 0 changed after
    the state that it was decided on, so that its guard fails.
    """

    changes: tuple[StageChange, ...] = ()
    begins: tuple[tuple[int, TabletTransition], ...] = ()
    joint: bool = False
    stale: bool = False


class LateRpc(Struct, frozen=True, cache_hash=True):
    """An RPC of a stage that nobody waits for any more, with the permit that it carries.

    ``stage`` and ``session`` are those it was sent in. ``runs``: a node let it in. ``sealed``: a
    barrier has passed since its stage was over.
    """

    tablet: int
    work: str
    targets: Replicas
    stage: str
    session: int
    runs: bool = False
    sealed: bool = False


SelectedReplicas = tuple[tuple[Replicas, Replicas], ...]
"""Of each tablet the replicas that requests read, and those that they write."""


class TracksState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """Tablets while the coordinator moves them.

    ``control`` is the cluster. ``command`` is what the coordinator decided of tablets and has not
    committed yet (volatile), ``deposed`` such a command of an earlier one. ``moves`` is how many
    transitions the balancer may still begin, ``lates`` how many RPCs may still be late,
    ``failures`` how much work on tablets may still fail by itself.

    Where nodes answer one by one: ``views`` are the replicas that some node still goes by, the
    newest last, ``applied[i]`` is the place of node ``i``'s among them, and ``answered`` a mask of
    who has answered the barrier that runs (volatile).
    """

    control: ControlState
    tablets: tuple[TabletRow, ...]
    command: TabletCommand | None = None
    deposed: TabletCommand | None = None
    late: LateRpc | None = None
    moves: int = 0
    lates: int = 0
    failures: int = 0
    views: tuple[SelectedReplicas, ...] = ()
    applied: tuple[int, ...] = ()
    answered: int = 0


def with_tablet(s: TracksState, tablet: int, row: TabletRow) -> TracksState:
    """The state with another row of one tablet."""
    if s.tablets[tablet] == row:
        return s
    return replace(s, tablets=(*s.tablets[:tablet], row, *s.tablets[tablet + 1 :]))


def with_tablets(s: TracksState, rows: Mapping[int, TabletRow]) -> TracksState:
    """The state with other rows of these tablets."""
    if all(s.tablets[tablet] == row for tablet, row in rows.items()):
        return s
    tablets = list(s.tablets)
    for tablet, row in rows.items():
        tablets[tablet] = row
    return replace(s, tablets=tuple(tablets))


def with_transition(row: TabletRow, place: int, transition: TabletTransition | None) -> TabletRow:
    """The row with another transition in that place, or without it."""
    kept = () if transition is None else (transition,)
    left, right = row.transitions[:place], row.transitions[place + 1 :]
    return replace(row, transitions=(*left, *kept, *right))


def same_stages(before: TracksState, after: TracksState) -> bool:
    """Whether every transition is in the stage that it was in, and has not failed meanwhile."""
    if before.tablets is after.tablets:
        return True
    stages = (
        [[(t.stage, t.failed) for t in row.transitions] for row in s.tablets]
        for s in (before, after)
    )
    return next(stages) == next(stages)


def deposed_alone(s: TracksState) -> bool:
    """Whether what an earlier coordinator decided last changes tablets, and nothing else."""
    return s.deposed is not None and not s.deposed.joint


def in_transition(s: TracksState) -> bool:
    """Whether any tablet is in transition."""
    return any(row.transitions for row in s.tablets)


def forgotten(row: TabletRow) -> TabletRow:
    """The row without what only a coordinator knew."""
    if not any(each.done or each.failed for each in row.transitions):
        return row
    fresh = tuple(replace(each, done=0, failed=False) for each in row.transitions)
    return replace(row, transitions=fresh)


def sessions_in(s: TracksState) -> set[int]:
    """The sessions that are open, or that some RPC still carries."""
    used = {each.session for row in s.tablets for each in row.transitions}
    return used | {s.late.session} if s.late else used


def fresh_session(used: Container[int]) -> int:
    """A number of no session in use."""
    return next(number for number in count(1) if number not in used)
