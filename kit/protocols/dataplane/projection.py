"""One data range of a real plan: what each of its events means for that range alone.

The metadata model itself says which events may follow which (:mod:`kit.protocols.tcm.model`), its
rules what each must wait for (:mod:`kit.protocols.tcm.rules.barrier`,
:mod:`kit.protocols.tcm.rules.streams`). Here their answers are narrowed to one range. Barriers of
other ranges are left out, so whatever the whole cluster can do, the projection can do: a search of
it that finds no harm speaks for the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.storage.rules.history import Copy, Course, Gate, Moment, Step, View
from kit.protocols.tcm.model import Tcm, TcmState
from kit.protocols.tcm.rules.barrier import Barrier, barriers
from kit.protocols.tcm.rules.metadata import Advance, Begin, Event, Sequence, Snapshot
from kit.protocols.tcm.rules.steps import OPERATION_SPECS
from kit.protocols.tcm.rules.streams import awaits_streams, must_stream, sources, stream_barriers
from kit.protocols.tcm.rules.streams import tasks as streaming_tasks
from kit.ring.natural import replicas
from kit.ring.ranges import Range
from kit.ring.topology import Ring

MOST_MOMENTS = 400


class Known(Struct, frozen=True):
    """A metadata state on the way, and the moments that lead to it."""

    state: TcmState
    path: tuple[int, ...]


def busiest(tcm: Tcm) -> int:
    """The right end of the range worth watching: with the most replicas old and new.

    Of several, one that ends at a token which the operation brings.

    Raises:
        BadInput: when no operation moves a replica.
    """
    found: list[tuple[int, bool, int]] = []
    start = tcm.start()
    for action, after in tcm.successors(start):
        metadata = tcm.snapshot(after.events).metadata
        sequence = metadata.sequence(action.operation.node) if isinstance(action, Begin) else None
        if sequence is not None:
            moved = sequence.plan.movements[0]
            ends = {stream.range.right for stream in moved.streams}
            pairs = zip(moved.locked, moved.affected, strict=True)
            own = set(sequence.plan.operation.tokens)
            found += [
                (-len(union), r.right not in own, r.right) for r, union in pairs if r.right in ends
            ]
    if not found:
        raise BadInput("operations", tcm.parameters.operations, "one that moves replicas")
    return min(found)[-1]


def project(tcm: Tcm, token: int) -> Course:
    """The course of the first keyspace's range that holds ``token``, through all its futures.

    Raises:
        BadInput: when the token is none of the ring's, or there are more futures than can be shown.
    """
    space = tcm.cluster.ring.space
    if not space.low < token <= space.high:
        raise BadInput("token", token, f"a token above {space.low} and up to {space.high}")
    return _Projection(tcm, token).course()


class _Projection:
    """The moments found so far; nodes are still codes of the ring."""

    def __init__(self, tcm: Tcm, token: int) -> None:
        self.tcm, self.token, self.group = tcm, token, 0
        self.known = [Known(tcm.start(), (0,))]
        self.edges: list[tuple[tuple[Event, int], ...]] = []
        while len(self.edges) < len(self.known):
            self.edges.append(tuple(self._follow(len(self.edges))))
        self.views = [self._view(known) for known in self.known]
        self.local = {code: i for i, code in enumerate(self._codes())}

    def _follow(self, at: int) -> Iterator[tuple[Event, int]]:
        """The events that the model allows here, with everything streamed."""
        found = self.known[at]
        for action, after in self.tcm.successors(_all_streamed(self.tcm, found.state)):
            if isinstance(action, Event):
                if len(self.known) >= MOST_MOMENTS:
                    allowed = f"together at most {MOST_MOMENTS} futures"
                    raise BadInput("operations, cancels", f"more than {MOST_MOMENTS}", allowed)
                path = (*found.path, len(self.known))
                self.known.append(Known(replace(after, streamed=()), path))
                yield action, len(self.known) - 1

    def snapshot(self, known: Known) -> Snapshot:
        """The metadata and placements of a moment."""
        return self.tcm.snapshot(known.state.events)

    # -- a moment's view, in codes ----------------------------------------------------------------

    def _view(self, known: Known) -> tuple[tuple[int, ...], ...]:
        """Reads, writes, owners before and owners after, each as codes."""
        snapshot = self.snapshot(known)
        placement = snapshot.placements[self.group]
        reads = _together(placement.reads.groups_of(self.token))
        writes = _together(placement.writes.groups_of(self.token))
        for sequence in snapshot.metadata.sequences:
            moved = sequence.plan.movements[self.group]
            if any(r.contains(self.token) for r in moved.locked):
                return reads, writes, self._owners(moved.before), self._owners(moved.after)
        return reads, writes, reads, reads

    def _owners(self, ring: Ring) -> tuple[int, ...]:
        replication = self.snapshot(self.known[0]).metadata.groups[self.group]
        row = replicas(ring, replication, np.array([self.token], dtype=np.int64))[0]
        return tuple(int(code) for code in row if code >= 0)

    def _codes(self) -> tuple[int, ...]:
        found = {code for view in self.views for group in view for code in group}
        for known in self.known:
            for sequence in self.snapshot(known).metadata.sequences:
                found |= {c for b in self._barriers(known, sequence) for c in b.replicas}
        return tuple(sorted(found))

    # -- the course, in the range's own numbers ---------------------------------------------------

    def course(self) -> Course:
        """All moments."""
        nodes = self.snapshot(self.known[-1]).metadata.ring.nodes
        named = [next(n for n in nodes if n.name == self.tcm.names[code]) for code in self.local]
        moments: list[Moment] = []
        for at in range(len(self.known)):
            moments.append(self._moment(at, moments))
        narrow = self._range()
        return Course(
            narrow.label(self.tcm.cluster.ring.space),
            narrow.left,
            narrow.right,
            tuple(node.name for node in named),
            tuple(node.dc for node in named),
            tuple(moments),
        )

    def _range(self) -> Range:
        """The narrowest range around the token that any moment has."""
        found = []
        for known in self.known:
            rows = self.snapshot(known).placements[self.group].reads
            found += [
                Range(int(rows.lefts[at]), int(rows.rights[at])) for at in rows.rows_of(self.token)
            ]
        return min(found, key=lambda r: r.right - r.left)

    def _moment(self, at: int, earlier: list[Moment]) -> Moment:
        known, codes = self.known[at], self.views[at]
        reads, writes, olds, news = (self._mask(group) for group in codes)
        version = 0
        if at:
            before = earlier[known.path[-2]].view
            same = (before.reads, before.writes) == (reads, writes)
            version = before.version if same else len(known.path) - 1
        snapshot = self.snapshot(known)
        return Moment(
            snapshot.metadata.epoch,
            self._title(known),
            known.path,
            View(reads, writes, olds, news, version),
            tuple(self._step(at, event, to) for event, to in self.edges[at]),
            tuple(self._copies(known)),
            self._mask(self.tcm.cluster.ring.code(name) for name in known.state.down),
        )

    def _mask(self, codes: Any) -> int:
        found = 0
        for code in codes:
            if code in self.local:
                found |= 1 << self.local[code]
        return found

    def _step(self, at: int, event: Event, to: int) -> Step:
        known = self.known[at]
        now, then = self.views[at], self.views[to]
        gains = self._mask(set(then[1]) - set(now[1]))
        gates: tuple[Gate, ...] = ()
        streamed = False
        if isinstance(event, Advance):
            sequence = self.snapshot(known).metadata.sequence(event.node)
            assert sequence is not None
            gates = (*self._driver(sequence), *self._gates(self._barriers(known, sequence)))
            streamed = must_stream(sequence, self.tcm.switches)
        return Step(
            self.tcm.verb(event),
            self._title(self.known[to]),
            to,
            gates,
            streamed,
            now[0] != then[0],
            gains,
        )

    def _barriers(self, known: Known, sequence: Sequence) -> tuple[Barrier, ...]:
        found = barriers(self.snapshot(known), sequence, self.tcm.switches)
        return tuple(barrier for barrier in found if self._here(barrier))

    def _here(self, barrier: Barrier) -> bool:
        return barrier.group == self.group and barrier.range.contains(self.token)

    def _gates(self, found: tuple[Barrier, ...]) -> tuple[Gate, ...]:
        return tuple(Gate(self._mask(b.replicas), b.needed, self._depth(b.epoch)) for b in found)

    def _depth(self, epoch: int) -> int:
        return epoch - self.snapshot(self.known[0]).metadata.epoch

    def _driver(self, sequence: Sequence) -> tuple[Gate, ...]:
        """A node that drives its operation has applied its own last step."""
        operation = sequence.plan.operation
        if OPERATION_SPECS[operation.kind].driver != "node" or sequence.undoing:
            return ()
        mask = self._mask([self.tcm.cluster.ring.code(operation.node)])
        return (Gate(mask, 1, self._depth(sequence.epoch)),) if mask else ()

    def _copies(self, known: Known) -> Iterator[Copy]:
        """What must be streamed for this range while the metadata is as it is."""
        snapshot = self.snapshot(known)
        for sequence in snapshot.metadata.sequences:
            if not awaits_streams(sequence):
                continue
            _, dead = self.tcm.absent(known.state, sequence.plan.operation)
            switches = self.tcm.switches
            for transfer in sequence.plan.transfers:
                if transfer.group == self.group and transfer.range.contains(self.token):
                    found = stream_barriers(snapshot, sequence, (transfer,), dead, switches)
                    gates = self._gates(tuple(b for b in found if self._here(b)))
                    for code in sources(transfer, dead, switches):
                        yield Copy(self.local[code], self.local[transfer.target], gates)

    def _title(self, known: Known) -> str:
        """What the newest event did."""
        events = known.state.events
        if not len(events):
            return "at rest"
        event = self.tcm.committed(events)
        if event.before is None and event.after is None:
            return f"{event.operation.title}, all at once"
        return f"{event.text} ({event.operation.title})"


def _together(groups: Any) -> tuple[int, ...]:
    return tuple(sorted({int(code) for group in groups for code in group}))


def _all_streamed(tcm: Tcm, s: TcmState) -> TcmState:
    """The state with every task of every operation done."""
    done = tuple(sorted((x.node, (1 << len(streaming_tasks(x))) - 1) for x in tcm.sequences(s)))
    return replace(s, streamed=done)
