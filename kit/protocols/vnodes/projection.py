"""One range of a vnode keyspace as a history: read off the transition table of its operation.

A table says for each state which replicas reads and writes use, what is done in it and where that
leads. For one range only what requests can tell apart counts: states joined by edges that raise no
version are one, and ways on which the range never changes are left out.

- Reads and writes of an epoch are the selectors of its state; epochs are numbered by ``version``.
- An edge waits for the work of its state: a *global* barrier until every live node knows the
  version and no request of an older one is left (its drain), a *command* barrier until every
  node knows it. ``stream`` begins after the barriers that stand before it in the row.
- A rollback waits for nothing, for any work may fail at any time.
- A node that is shut down is dead from then on: an event without a version of its own.
- Where a barrier may fail and the table says *proceed*, the next edge may be taken without it: the
  pause that the published server makes there is no promise.
- ``fence_version`` follows a barrier that was met. Where the drain may fail (edition ``code``)
  setting it is an event of its own, and what comes next waits until every node knows the fence.

Deciding, working and committing are one step here. Whatever nodes know is told by the storage
model: any version since the one that the last barrier asked for. Source: seed 000, "Topology state
machine" and the global token metadata barrier; Q-21; the published coordinator for the drain.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.storage.rules.conditions import AllKnow, Condition, NothingBelow
from kit.protocols.storage.rules.history import CopyTask, Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.masks import mask_of
from kit.protocols.storage.rules.view import Acknowledgement, View
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow, Edition, Machine, StateRow
from kit.protocols.vnodes.rules.ranges import MovedRange
from kit.protocols.vnodes.rules.safeguards import VnodeSafeguards
from kit.protocols.vnodes.rules.tables import SHUT_DOWN, guarded

ACKNOWLEDGEMENT: dict[Edition, Acknowledgement] = {"seed": "joint", "code": "quorum-plus-pending"}
"""What acknowledges a write while replicas are pending, by edition (Q-48)."""
STREAM = "stream"
_AT_REST = StateRow(BOUNDARY, ())


class ProjectionOptions(Struct, frozen=True):
    """How a table is read: the first version, what may fail, which safeguards are on.

    ``barrier_fails``: where the table says *proceed*, the next edge may be taken without it.
    """

    version: int = 1
    drain_fails: bool = False
    barrier_fails: bool = False
    safeguards: VnodeSafeguards = VnodeSafeguards()


class _Standing(Struct, frozen=True):
    """Where the operation stands: states that requests cannot tell apart, and how it came here.

    ``at`` counts the events so far; ``since`` and ``fence`` are those of the events that gave it
    its version and the version that is the fence. ``fenced``: that was set here, without a drain.
    """

    states: tuple[StateRow, ...]
    title: str
    version: int
    at: int = 0
    since: int = 0
    fence: int = 0
    dead: int = 0
    quiet: bool = False
    fenced: bool = False


def project(
    machine: Machine, edition: Edition, moving: MovedRange, options: ProjectionOptions
) -> RangeHistory:
    """The history of a range while the operation of this table moves it."""
    return _RangeProjection(guarded(machine, options.safeguards), moving, options).history(edition)


class _RangeProjection:
    """The epochs found so far; a tree, for the past of an epoch decides what its fence bars."""

    def __init__(self, machine: Machine, moving: MovedRange, options: ProjectionOptions) -> None:
        self.machine, self.moving, self.options = machine, moving, options
        self.code = {name: i for i, name in enumerate(moving.replicas)}
        self.old, self.new = self._mask(moving.old), self._mask(moving.new)
        self.epochs: list[RangeEpoch] = []

    def history(self, edition: Edition) -> RangeHistory:
        """All epochs, from the stable one."""
        dead = self._mask(self.moving.dead)
        self._add(_Standing(self._joined(_AT_REST), "stable", self.options.version, dead=dead))
        return RangeHistory(
            self.moving.label,
            self.moving.left,
            self.moving.right,
            self.moving.replicas,
            ("dc1",) * len(self.code),
            tuple(self.epochs),
            unit="version",
            admission="fence" if self.options.safeguards.fencing else "all",
            acknowledgement=ACKNOWLEDGEMENT[edition],
        )

    def _mask(self, names: tuple[str, ...]) -> int:
        return mask_of(self.code[name] for name in names if name in self.code)

    # -- the table, as a range sees it ------------------------------------------------------------

    def _joined(self, row: StateRow) -> tuple[StateRow, ...]:
        """The states that follow this one without any request noticing."""
        rows = [row]
        for each in rows:  # grows while it is walked along
            for edge in self._edges(each):
                target = self._target(edge, each)
                if not _is_seen(edge, each, target) and target not in rows:
                    rows.append(target)
        return tuple(rows)

    def _edges(self, row: StateRow) -> tuple[EdgeRow, ...]:
        return tuple(edge for edge in self.machine.edges if edge.source == row.name)

    def _target(self, edge: EdgeRow, source: StateRow) -> StateRow:
        """The state behind an edge; behind the operation's end all use what reads used last."""
        for row in self.machine.states:
            if row.name == edge.target:
                return row
        return StateRow("", (), source.reads, source.reads)

    def _moves(self, row: StateRow, met: frozenset[str] = frozenset()) -> bool:
        """Whether the range changes here or on some way from here."""
        if (row.reads, row.writes) != (_AT_REST.reads, _AT_REST.writes):
            return True
        return row.name not in met and any(
            self._moves(self._target(edge, row), met | {row.name}) for edge in self._edges(row)
        )

    # -- epochs -----------------------------------------------------------------------------------

    def _add(self, place: _Standing) -> int:
        """Append the epoch of a place, then those behind it; its number."""
        number, view = len(self.epochs), self._view(place)
        epoch = RangeEpoch(
            place.version,
            place.title,
            view,
            copies=tuple(self._copies(place)),
            dead=place.dead,
            quiet=place.quiet,
        )
        self.epochs.append(epoch)
        edges = tuple(self._behind(place, view))
        self.epochs[number] = replace(epoch, edges=edges)
        return number

    def _view(self, place: _Standing) -> View:
        row = place.states[0]
        groups = {"old": self.old, "new": self.new, "both": self.old | self.new}
        reads, writes = groups[row.reads], groups[row.writes]
        owners = (reads, reads) if row.reads == row.writes else (self.old, self.new)
        return View(reads, writes, *owners, fence=place.at - place.fence)

    def _behind(self, place: _Standing, now: View) -> Iterator[Edge]:
        """What may come next: a node that goes, a fence, the edges of the table."""
        for row in place.states:
            if self._drained(row) and self.options.drain_fails and not place.fenced:
                yield self._event(place, now, (), _fence(place), "commit fence_version")
            if any(work.name == SHUT_DOWN for work in row.work):
                yield self._shut_down(place, row, now)
        first = not place.at
        for row in place.states:
            for edge in self._edges(row):
                target = self._target(edge, row)
                if _is_seen(edge, row, target) and not (first and not self._moves(target)):
                    yield self._edge(place, row, edge, target, now)
                    if self.options.barrier_fails and edge.kind == "happy" and _goes_on(row):
                        yield self._edge(place, row, edge, target, now, failed=True)

    def _edge(
        self,
        place: _Standing,
        row: StateRow,
        edge: EdgeRow,
        target: StateRow,
        now: View,
        *,
        failed: bool = False,
    ) -> Edge:
        happy = edge.kind == "happy"
        subject, becomes = self.moving.subject, edge.becomes
        word = target.name or becomes
        title = target.name or f"{subject} is {becomes}"
        states = self._joined(target)
        after = _Standing(
            states,
            f"{title} ({self.moving.title})",
            place.version + 1,
            place.at + 1,
            place.at + 1,
            place.since if happy and self._drained(row) else place.fence,
            place.dead,
        )
        waits = self._barrier(place, row) if happy and not failed else ()
        verb = f"{'go on to' if failed else 'commit'} {word}" if happy else f"roll back to {word}"
        awaited = happy and self.options.safeguards.streams_before_switch
        streamed = awaited and any(work.name == STREAM for work in row.work)
        return self._event(
            place, now, waits, after, verb, streamed=streamed, aside=failed or not happy
        )

    def _shut_down(self, place: _Standing, row: StateRow, now: View) -> Edge:
        """The node that leaves stops; nothing else changes."""
        subject = self.moving.subject
        gone = replace(
            place,
            states=(StateRow("", (), row.reads, row.writes),),
            title=f"{subject} is shut down ({self.moving.title})",
            at=place.at + 1,
            dead=place.dead | self._mask((subject,)),
            quiet=True,
        )
        waits = self._barrier(place, row, SHUT_DOWN)
        return self._event(place, now, waits, gone, f"shut down {subject}")

    def _event(
        self,
        place: _Standing,
        now: View,
        waits: tuple[Condition, ...],
        after: _Standing,
        verb: str,
        *,
        streamed: bool = False,
        aside: bool = False,
    ) -> Edge:
        then = self._view(after)
        return Edge(
            verb,
            after.title,
            self._add(after),
            waits,
            streamed,
            switches=then.reads != now.reads and not aside,
            regains=then.writes & ~now.writes,
            aside=aside,
        )

    # -- what is waited for -----------------------------------------------------------------------

    def _drained(self, row: StateRow) -> bool:
        return any(work.barrier == "global" for work in row.work)

    def _barrier(self, place: _Standing, row: StateRow, until: str = "") -> tuple[Condition, ...]:
        """What the barriers of a state wait for, as far as they come before the work ``until``."""
        names = [work.name for work in row.work]
        before = row.work[: names.index(until)] if until in names else row.work
        barriers = {work.barrier for work in before} - {""}
        if not barriers:
            return ()
        everyone = AllKnow(((1 << len(self.code)) - 1) & ~place.dead)
        drains = (
            "global" in barriers and not place.fenced and self.options.safeguards.barrier_drains
        )
        return (everyone, NothingBelow()) if drains else (everyone,)

    def _copies(self, place: _Standing) -> Iterator[CopyTask]:
        """What streams while the operation stands here."""
        for row in place.states:
            if any(work.name == STREAM for work in row.work):
                waits = self._barrier(place, row, STREAM)
                known = waits if self.options.safeguards.known_before_streams else ()
                for source, target in self.moving.copies:
                    yield CopyTask(self.code[source], self.code[target], known)


def _goes_on(row: StateRow) -> bool:
    """Whether a barrier that fails here is followed by the next step, after a pause."""
    return any(work.barrier == "global" and work.on_failure == "proceed" for work in row.work)


def _is_seen(edge: EdgeRow, source: StateRow, target: StateRow) -> bool:
    """Whether requests can tell that an edge was taken."""
    moved = (source.reads, source.writes) != (target.reads, target.writes)
    return edge.version or moved


def _fence(place: _Standing) -> _Standing:
    """The place once its version is the fence, though requests of older ones may be left."""
    return replace(
        place,
        title=f"fence_version is {place.version}",
        at=place.at + 1,
        fence=place.since,
        quiet=True,
        fenced=True,
    )
