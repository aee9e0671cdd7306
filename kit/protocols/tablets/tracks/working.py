"""The work of stages, and the commands with which the coordinator moves tablets on.

Sources: Topology over Raft, "Tablet transitions"; published coordinator, its handler of tablet
migration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.rules.failures import after_failure
from kit.protocols.tablets.rules.replica_sets import Replicas, repairing, streaming
from kit.protocols.tablets.rules.stages import (
    CLEANUP_LEAVING,
    CLEANUP_PENDING,
    REPAIR,
    REPLACES,
    STREAM,
    onward,
)
from kit.protocols.tablets.tracks.planning import excluded_nodes
from kit.protocols.tablets.tracks.state import (
    NO_SESSION,
    LateRpc,
    StageChange,
    TabletCommand,
    TabletRow,
    TabletTransition,
    TracksState,
    fresh_session,
    sessions_in,
    with_tablet,
    with_tablets,
    with_transition,
)
from kit.protocols.topology.rules.cluster import mask_of
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow, WorkRow
from kit.protocols.topology.rules.states import NODE_STATE_OF

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks


class Piece(Struct, frozen=True):
    """The next piece of a transition's work, and whom it needs.

    ``hosts`` are the nodes (a mask); ``possible`` is false where it can only fail. ``table`` is the
    table that it is done for, of co-located ones one after the other; ``last``: it is the last one.
    """

    tablet: int
    place: int
    transition: TabletTransition
    work: WorkRow
    hosts: int
    possible: bool = True
    table: str = ""
    last: bool = True


def pieces(model: Tracks, s: TracksState) -> Iterator[Piece]:
    """What is to be done next on each tablet in transition, unless it has failed or is done."""
    for tablet, row in enumerate(s.tablets):
        for place, transition in enumerate(row.transitions):
            work = model.work(transition.kind, transition.stage)
            if not transition.failed and transition.done < len(work):
                yield _piece(model, s, tablet, place)


def _piece(model: Tracks, s: TracksState, tablet: int, place: int) -> Piece:
    transition = s.tablets[tablet].transitions[place]
    work, table = model.work(transition.kind, transition.stage)[transition.done]
    if work.barrier:
        return Piece(tablet, place, transition, work, barrier_nodes(s))
    task = involved(model, s, transition, work.name)
    lost = work.name == STREAM and bool(transition.sets.pending) and not task[0]
    hosts, last = model.mask(task[0] + task[1]), table == model.parameters.tables[-1]
    return Piece(tablet, place, transition, work, hosts, not lost, table, last)


def barrier_nodes(s: TracksState) -> int:
    """The nodes that a barrier for tablets asks (a mask): the normal ones, and who takes part."""
    topology = s.control.topology
    states = ("normal", *NODE_STATE_OF.values())
    return mask_of(topology, *states) & topology.members & ~excluded_nodes(topology)


def involved(
    model: Tracks, s: TracksState, transition: TabletTransition, name: str
) -> tuple[Replicas, Replicas]:
    """The replicas that a piece of work reads, and those that it writes."""
    sets, excluded = transition.sets, model.excluded(s)
    if name == STREAM:
        task = streaming(transition.kind, sets, excluded)
        return (task.sources, task.targets) if task.targets else ((), ())
    if name == REPAIR:
        task = repairing(sets, excluded)
        return task.sources, task.targets
    cleaned = {CLEANUP_LEAVING: sets.leaving, CLEANUP_PENDING: sets.pending}.get(name, sets.old)
    return (), tuple(each for each in cleaned if each.host not in excluded)


def done_row(row: TabletRow, piece: Piece) -> TabletRow:
    """The row with a piece of work behind the coordinator."""
    done = replace(piece.transition, done=piece.transition.done + 1)
    return with_transition(row, piece.place, done)


def worked(model: Tracks, s: TracksState, piece: Piece) -> TracksState:
    """The state once a piece of work that is no barrier is done."""
    return with_tablet(s, piece.tablet, worked_row(model, s, piece))


def worked_row(model: Tracks, s: TracksState, piece: Piece) -> TabletRow:
    """The tablet's row once that piece is done."""
    sources, written = involved(model, s, piece.transition, piece.work.name)
    row = s.tablets[piece.tablet]
    # Data are those of all co-located tables: they are whole, or gone, with the last one.
    if piece.last or piece.work.name == STREAM:
        row = effect(row, piece.work.name, written, sources if piece.last else None)
    return done_row(row, piece)


def effect(
    row: TabletRow, name: str, written: Replicas, sources: Replicas | None = None
) -> TabletRow:
    """The row after data work: streams bring data, all if their sources have all; cleanups end it.

    A late stream (no ``sources``) brings some data only.
    """
    if name == STREAM:
        complete = sources is not None and any(each in row.whole for each in sources)
        whole = _joined(row.whole, written) if complete else row.whole
        return replace(row, whole=whole, some=_joined(row.some, written))
    if name in (CLEANUP_LEAVING, CLEANUP_PENDING):
        return replace(row, whole=_without(row.whole, written), some=_without(row.some, written))
    return row


def _joined(held: Replicas, more: Replicas) -> Replicas:
    return tuple(sorted({*held, *more}))


def _without(held: Replicas, removed: Replicas) -> Replicas:
    return tuple(each for each in held if each not in removed)


def error_edge(model: Tracks, s: TracksState, transition: TabletTransition) -> EdgeRow | None:
    """The edge that failed work of the stage takes; None: it is tried again."""
    lost = model.lost(s)
    return after_failure(model.table(transition), transition.stage, transition.sets, lost)


def changes(model: Tracks, s: TracksState) -> tuple[StageChange, ...]:
    """The changes of stages that are due: of all tablets whose work is done, or has failed."""
    return tuple(
        StageChange(tablet, place, transition.stage, edge.kind)
        for tablet, row in enumerate(s.tablets)
        for place, transition in enumerate(row.transitions)
        if (edge := _due(model, s, transition)) is not None
    )


def _due(model: Tracks, s: TracksState, transition: TabletTransition) -> EdgeRow | None:
    table = model.table(transition)
    if transition.failed:
        return error_edge(model, s, transition)
    complete = transition.done == len(model.work(transition.kind, transition.stage))
    return onward(table, transition.stage) if complete else None


def committed(model: Tracks, s: TracksState, command: TabletCommand) -> TracksState:
    """The state once a command is in the log: with its effect, or with none on another state."""
    if command.stale and model.guarded:
        return s
    rows: dict[int, TabletRow] = {}
    used, carried = sessions_in(s), {s.late.session} if s.late else set()
    for change in reversed(command.changes):
        row = rows.get(change.tablet, s.tablets[change.tablet])
        if change.place < len(row.transitions):
            rows[change.tablet] = _changed(model, row, change, used)
            used |= carried
    for tablet, transition in command.begins:
        row = rows.get(tablet, s.tablets[tablet])
        begun = _entered(transition, onward(model.table(transition), BOUNDARY), used)
        rows[tablet] = replace(row, transitions=(*row.transitions, begun))
    return with_tablets(s, rows)


def _changed(model: Tracks, row: TabletRow, change: StageChange, used: set[int]) -> TabletRow:
    transition = row.transitions[change.place]
    edge = model.table(transition).edge(change.after, change.kind)
    assert edge is not None, f"no such edge: {change}"
    if edge.target == BOUNDARY:
        row = with_transition(row, change.place, None)
        return replace(row, replicas=transition.new) if REPLACES in edge.effects else row
    entered = _entered(transition, edge, used)
    row = with_transition(row, change.place, entered)
    if model.table(transition).state(entered.stage).writes == "both":
        row = replace(row, some=_joined(row.some, entered.sets.pending))
    return row


def _entered(transition: TabletTransition, edge: EdgeRow, used: set[int]) -> TabletTransition:
    """The transition in the stage that an edge leads to; ``used`` are sessions, kept true."""
    session = transition.session
    if edge.session:
        session = fresh_session(used) if edge.session == "opens" else NO_SESSION
        used -= {transition.session}
        used |= {session}
    return replace(transition, stage=edge.target, session=session, done=0, failed=False)


def is_over(s: TracksState, late: LateRpc) -> bool:
    """Whether the stage in which an RPC was sent is over."""
    return not any(
        each.stage == late.stage and each.session == late.session
        for each in s.tablets[late.tablet].transitions
    )


def owners(model: Tracks, s: TracksState) -> int:
    """The nodes that have tablets (a mask)."""
    held = {each.host for row in s.tablets for each in row.replicas}
    return sum(1 << model.number[host] for host in held)


def named(model: Tracks, mask: int) -> tuple[str, ...]:
    """The names of the nodes in a mask."""
    return tuple(model.names[i] for i in nodes_in(mask))
