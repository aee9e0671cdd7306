"""One data range of a real plan as a history: what each of its events means for that range alone.

The metadata model itself says which events may follow which (``kit.protocols.tcm.tcm``), its
rules what each must wait for (``kit.protocols.tcm.rules.barrier``). Here their answers are narrowed
to one range. Barriers of other ranges are left out, so whatever the whole cluster can do, the
projection can do: a search of it that finds no harm speaks for the cluster.

Where nobody's lag is bounded the whole past counts, and every run of events has a node of its own.
With a bound, runs that lead to the same metadata, whatever its epoch, lead to the same node.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import asdict, replace

from kit.errors import BadInput
from kit.masks import mask_of
from kit.protocols.storage.rules.conditions import MajorityKnows
from kit.protocols.storage.rules.history import CopyTask, Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.view import View
from kit.protocols.tcm.parameters import ClusterParameters, TcmParameters
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules.barrier import Barrier, barriers, must_stream, sources, stream_barriers
from kit.protocols.tcm.rules.operations import OPERATION_SPECS
from kit.protocols.tcm.tcm import Tcm, TcmState
from kit.ring.columns import np
from kit.ring.natural import replicas
from kit.ring.ranges import Range
from kit.ring.replication import LocalStrategy
from kit.ring.topology import Ring

MOST_EPOCHS = 400


def tcm_of(given: ClusterParameters, off: tuple[str, ...] = ()) -> Tcm:
    """The tcm model of a cluster; BadInput where its first keyspace is not replicated."""
    tcm = Tcm(TcmParameters(**asdict(given)), off)
    first = tcm.cluster.keyspaces[0]
    if isinstance(first.replication, LocalStrategy):
        raise BadInput("keyspaces", first.name, "a replicated keyspace first")
    return tcm


def busiest(tcm: Tcm) -> int:
    """The right end of the range worth watching: with the most replicas old and new.

    Those that get a replica have one more than all others. Of several, one that ends at a token
    which the operation brings; BadInput when none moves.
    """
    ranked: list[tuple[bool, int]] = []
    for action, after in tcm.successors(tcm.start()):
        metadata = tcm.snapshot(after.events).metadata
        sequence = (
            metadata.sequence(action.operation.node) if isinstance(action, rules.Begin) else None
        )
        if sequence is not None:
            own = sequence.plan.operation.tokens
            ends = (stream.range.right for stream in sequence.plan.movements[0].streams)
            ranked += [(right not in own, right) for right in ends]
    if not ranked:
        refusals = (each for act, each in tcm.options(tcm.start()) if isinstance(act, rules.Begin))
        why = next((each.reason for each in refusals if each), "here none moves")
        allowed = f"one that moves replicas; {why}"
        raise BadInput("operations", ", ".join(tcm.parameters.operations), allowed)
    return min(ranked)[-1]


def project(tcm: Tcm, token: int, lag: int | None = None) -> RangeHistory:
    """The history of the first keyspace's range that holds ``token``, through all its futures.

    Nobody is more than ``lag`` epochs behind (None: any number). BadInput when there are too many.
    """
    return projected(tcm, token, lag)[0]


def projected(
    tcm: Tcm, token: int, lag: int | None = None
) -> tuple[RangeHistory, tuple[TcmState, ...]]:
    """The same with the metadata of each of its epochs."""
    space = tcm.cluster.ring.space
    if not space.low < token <= space.high:
        raise BadInput("token", token, f"a token above {space.low} and up to {space.high}")
    projection = _Projection(tcm, token, lag)
    return projection.history(), tuple(projection.states)


class _Projection:
    """The metadata states met so far, each a node, and the events between; nodes are ring codes."""

    def __init__(self, tcm: Tcm, token: int, lag: int | None) -> None:
        self.tcm, self.token, self.lag, self.group = tcm, token, lag, 0
        self.states: list[TcmState] = []
        self.numbers: dict[Any, int] = {}
        self._number(tcm.start())
        self.edges: list[tuple[tuple[rules.Event, TcmState, int], ...]] = []
        for state in self.states:  # grows while it is walked along
            self.edges.append(tuple(self._follow(state)))
        self.views = [self._view(state) for state in self.states]
        self.local = {code: i for i, code in enumerate(self._codes())}

    def _follow(self, state: TcmState) -> Iterator[tuple[rules.Event, TcmState, int]]:
        for action, after in self.tcm.successors(_all_streamed(self.tcm, state)):
            if isinstance(action, rules.Event):
                bare = replace(after, streamed=())
                yield action, bare, self._number(bare)

    def _number(self, state: TcmState) -> int:
        meaning = len(self.states) if self.lag is None else self._meaning(state)
        if meaning not in self.numbers:
            if len(self.states) >= MOST_EPOCHS:
                allowed = f"at most {MOST_EPOCHS} futures in total"
                if self.lag is None:
                    allowed += ", or a bounded lag, so that runs with the same end count as one"
                raise BadInput("operations, cancels", f"more than {MOST_EPOCHS}", allowed)
            self.numbers[meaning] = len(self.states)
            self.states.append(state)
        return self.numbers[meaning]

    def _meaning(self, state: TcmState) -> Any:
        snapshot = self.snapshot(state)
        metadata = snapshot.metadata
        under_way = tuple(
            (
                (x.plan.operation, x.done, bool(x.undoing), metadata.epoch - x.epoch),
                tuple((moved.before, moved.after) for moved in x.plan.movements),
            )
            for x in metadata.sequences
        )
        return metadata.ring, under_way, metadata.cancels, snapshot.placements, state.down

    def snapshot(self, state: TcmState) -> rules.Snapshot:
        return self.tcm.snapshot(state.events)

    # -- an epoch's view, in codes ----------------------------------------------------------------

    def _view(self, state: TcmState) -> tuple[set[int], ...]:
        snapshot = self.snapshot(state)
        placement = snapshot.placements[self.group]
        reads = _together(placement.reads.groups_of(self.token))
        writes = _together(placement.writes.groups_of(self.token))
        for sequence in snapshot.metadata.sequences:
            moved = sequence.plan.movements[self.group]
            if any(r.contains(self.token) for r in moved.locked):
                return reads, writes, self._owners(moved.before), self._owners(moved.after)
        return reads, writes, reads, reads

    def _owners(self, ring: Ring) -> set[int]:
        replication = self.snapshot(self.tcm.start()).metadata.groups[self.group]
        row = replicas(ring, replication, np.array([self.token], dtype=np.int64))[0]
        return {*row.tolist()}

    def _codes(self) -> tuple[int, ...]:
        return tuple(sorted({code for view in self.views for group in view for code in group}))

    # -- the history, in the range's own numbers --------------------------------------------------

    def history(self) -> RangeHistory:
        named = [self.tcm.cluster.ring.nodes[code] for code in self.local]
        narrow = self._range()
        place = narrow.label(self.tcm.cluster.ring.space), narrow.left, narrow.right
        names, dcs = tuple(node.name for node in named), tuple(node.dc for node in named)
        epochs = tuple(map(self._epoch, range(len(self.states))))
        return RangeHistory(*place, names, dcs, epochs, lag=self.lag)

    def _range(self) -> Range:
        tables = (self.snapshot(state).placements[self.group].reads for state in self.states)
        rows = ((table, at) for table in tables for at in table.rows_of(self.token))
        ranges = (Range(int(table.lefts[at]), int(table.rights[at])) for table, at in rows)
        return min(ranges, key=lambda r: r.right - r.left)

    def _epoch(self, at: int) -> RangeEpoch:
        state = self.states[at]
        reads, writes, old, new = map(self._mask, self.views[at])
        view, copies = View(reads, writes, old, new), tuple(self._copies(state))
        edges = tuple(self._edge(at, *edge) for edge in self.edges[at])
        dead = self._mask(self.tcm.codes[name] for name in state.down)
        epoch, title = self.snapshot(state).metadata.epoch, self._title(state)
        return RangeEpoch(epoch, title, view, edges, copies, dead)

    def _mask(self, codes: Any) -> int:
        return mask_of(self.local[code] for code in codes if code in self.local)

    def _edge(self, at: int, event: rules.Event, after: TcmState, to: int) -> Edge:
        state = self.states[at]
        now, then = self.views[at], self.views[to]
        conditions, streamed = tuple[MajorityKnows, ...](), False
        if isinstance(event, rules.Advance):
            sequence = self.snapshot(state).metadata.sequence(event.node)
            assert sequence is not None
            barriers = self._conditions(state, self._barriers(state, sequence))
            conditions = (*self._driver(state, sequence), *barriers)
            streamed = must_stream(sequence, self.tcm.switches)
        does = self.tcm.verb(event), self._title(after), to, conditions, streamed
        switches, regains = now[0] != then[0], self._mask(then[1] - now[1])
        return Edge(
            *does, switches, regains, aside=isinstance(event, rules.Cancel | rules.AutomaticCancel)
        )

    def _barriers(self, state: TcmState, sequence: rules.Sequence) -> tuple[Barrier, ...]:
        everywhere = barriers(self.snapshot(state), sequence, self.tcm.switches)
        return tuple(filter(self._here, everywhere))

    def _here(self, barrier: Barrier) -> bool:
        return barrier.group == self.group and barrier.range.contains(self.token)

    def _conditions(self, state: TcmState, some: Iterable[Barrier]) -> tuple[MajorityKnows, ...]:
        return tuple(
            MajorityKnows(self._mask(b.replicas), b.needed, self._age(state, b.epoch)) for b in some
        )

    def _age(self, state: TcmState, epoch: int) -> int:
        return self.snapshot(state).metadata.epoch - epoch

    def _driver(self, state: TcmState, sequence: rules.Sequence) -> tuple[MajorityKnows, ...]:
        operation = sequence.plan.operation
        if OPERATION_SPECS[operation.kind].driver != "node" or sequence.undoing:
            return ()
        mask = self._mask([sequence.plan.resolved.node])
        return (MajorityKnows(mask, 1, self._age(state, sequence.epoch)),) if mask else ()

    def _copies(self, state: TcmState) -> Iterator[CopyTask]:
        snapshot = self.snapshot(state)
        for sequence in snapshot.metadata.sequences:
            if not sequence.next.switches:
                continue
            (_, dead), switches = self.tcm.absent(state, sequence), self.tcm.switches
            for transfer in sequence.plan.transfers:
                if transfer.group == self.group and transfer.range.contains(self.token):
                    everywhere = stream_barriers(snapshot, sequence, (transfer,), dead, switches)
                    waits = self._conditions(state, filter(self._here, everywhere))
                    senders = sources(transfer, dead, switches)
                    if not senders:
                        given, title = self.tcm.parameters, sequence.plan.operation.title
                        field = "keyspaces" if given.keyspaces else "rf"
                        allowed = f"2 or more, or nobody has the data of the dead node ({title})"
                        raise BadInput(field, given.keyspaces or given.rf, allowed)
                    for code in senders:
                        yield CopyTask(self.local[code], self.local[transfer.target], waits)

    def _title(self, state: TcmState) -> str:
        events = state.events
        if not len(events):
            return "stable"
        event = self.tcm.committed(events)
        if event.before is None and event.after is None:
            return f"{event.operation.title}, all at once"
        return f"{event.text} ({event.operation.title})"


def _together(groups: Any) -> set[int]:
    return {int(code) for group in groups for code in group}


def _all_streamed(tcm: Tcm, s: TcmState) -> TcmState:
    done = tuple((x.node, (1 << len(x.plan.tasks)) - 1) for x in tcm.sequences(s))
    return replace(s, streamed=done)
