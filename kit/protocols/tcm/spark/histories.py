"""What happens to a large ring, step by step, computed once and sent to every worker.

The operations go through the same planning as in class; only the placements are left to the
workers, part by part. What is here costs what the operations change, not the size of the ring.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct

from kit.errors import BadInput, Refused
from kit.model.model import switched_off
from kit.protocols.tcm.parameters import enter, parse_operation
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules import operations as ops
from kit.protocols.tcm.rules.barrier import sources
from kit.ring.applying import Spans
from kit.ring.deltas import Delta
from kit.ring.natural import quotas
from kit.ring.ranges import Range
from kit.ring.replication import Keyspace, LocalStrategy, NetworkTopologyStrategy, Replication
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Packed, Ring

MOST = 10_000_000  # tokens of a drawn ring
SWITCHABLE = ("write-before-read", "old-writer-stays")
NOWHERE: Spans = (np.empty(0, np.int64), np.empty(0, np.int64))


class EpochStage(Struct, frozen=True):
    """One epoch: what its event does to each group of placements, and what holds after it.

    ``ring`` is the index of the ring whose walks order the reads; ``areas`` and ``locked`` are
    spans a group: where the operation works, and what it locks. ``dead`` are codes.
    """

    step: int
    epoch: int
    name: str
    operation: str
    deltas: tuple[Delta, ...]
    ring: int
    areas: tuple[Spans, ...]
    locked: tuple[Spans, ...]
    dead: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        """The step in words."""
        return ops.SENTENCES.get(self.name, "as it stands")


class RangeStream(Struct, frozen=True):
    """One range that ``target`` receives from each of ``sources`` (codes) before reads switch."""

    step: int
    group: int
    range: Range
    sources: tuple[int, ...]
    target: int


class History(Struct, frozen=True):
    """A ring, its groups of keyspaces with equal replication, and every stage; the first is before.

    ``rings`` share their node codes; ``keyspaces`` holds (name, group).
    """

    rings: tuple[Ring, ...]
    keyspaces: tuple[tuple[str, int], ...]
    groups: tuple[Replication, ...]
    stages: tuple[EpochStage, ...]
    streams: tuple[RangeStream, ...]

    @property
    def ring(self) -> Ring:
        """The ring as it stands before the first operation."""
        return self.rings[0]

    def wanted(self, group: int, step: int) -> int:
        """How many replicas of each range the ring of a step can give."""
        ring = self.rings[self.stages[step].ring]
        return sum(quota.wanted for quota in quotas(ring, self.groups[group]))


def history(
    ring: Ring,
    keyspaces: Iterable[Keyspace],
    operations: Iterable[str | ops.Operation] = (),
    *,
    edition: ops.Edition = "documents",
    off: Iterable[str] = (),
    epoch: int = 0,
) -> History:
    """Plan operations, one after the other, each through all its steps.

    ``off`` names safeguards to do without, of those in ``SWITCHABLE``. BadInput when an operation
    does not speak of this ring, or no keyspace is replicated; Refused when one may not begin.
    """
    parsed = tuple(o if isinstance(o, ops.Operation) else parse_operation(o) for o in operations)
    given = tuple(keyspaces)
    without = frozenset(off)
    for name in sorted(without - set(SWITCHABLE)):
        raise BadInput("off", name, "of " + ", ".join(SWITCHABLE))
    # Nodes that come later are known from the start, so that a node keeps its code for ever.
    ring, entered = enter(ring, parsed)
    for operation in entered:
        ops.validate(ring, operation)
    metadata = rules.Metadata(epoch, ring, given)
    if not metadata.groups:
        raise BadInput("keyspaces", [k.name for k in given], "at least one that is replicated")
    switches = ops.ProtocolSwitches(edition, switched_off(ops.TcmSafeguards, without))
    groups = len(metadata.groups)
    nothing, nowhere = (Delta.empty,) * groups, (NOWHERE,) * groups
    stages = [EpochStage(0, epoch, "before", "", nothing, 0, nowhere, nowhere)]
    rings, streams = [ring], list[RangeStream]()
    for operation in entered:
        ops.validate(metadata.ring, operation)
        planned = rules.plan(metadata, operation, switches)
        if (refusal := rules.permit(metadata, planned, switches)) is not None:
            raise Refused(refusal.reason)
        dead = frozenset[int]() if operation.dead is None else frozenset((operation.dead,))
        # Data moves before the read switch, hence in the stage before that one.
        switch = next((i for i, step in enumerate(planned.steps) if step.switches), 0)
        streams += (
            RangeStream(len(stages) + switch, t.group, t.range, sources(t, dead), t.target)
            for t in planned.transfers
        )
        title = planned.operation.title
        areas = tuple(moved.area for moved in planned.movements)
        locked = tuple(moved.locked_bounds for moved in planned.movements)
        for now, step, is_over in _epochs(metadata, operation, switches):
            if (walked := rules.reading_ring(now)) != rings[-1]:
                rings.append(walked)
            what = len(stages), now.epoch, step.name, title, step.deltas, len(rings) - 1
            stages.append(EpochStage(*what, areas, nowhere if is_over else locked, dead))
        metadata = now
    replicated = (k for k in given if not isinstance(k.replication, LocalStrategy))
    names = tuple((k.name, metadata.groups.index(k.replication)) for k in replicated)
    return History(tuple(rings), names, metadata.groups, tuple(stages), tuple(streams))


def _epochs(
    metadata: rules.Metadata, given: ops.ResolvedOperation, switches: ops.ProtocolSwitches
) -> Iterator[tuple[rules.Metadata, rules.PlannedStep, bool]]:
    """Each epoch of an operation, the step that it does, and whether the operation is over."""
    node = given.operation.node
    metadata, step = rules.advance(metadata, given, switches)
    while metadata.sequence(node) is not None:
        yield metadata, step, False
        metadata, step = rules.advance(metadata, rules.Advance(node), switches)
    yield metadata, step, True


class Sample(Struct, frozen=True):
    """A drawn cluster: its ring, its one keyspace, and tokens for a newcomer."""

    ring: Ring
    keyspaces: tuple[Keyspace, ...]
    free: tuple[int, ...]

    def bootstrap(self, name: str = "x", dc: str = "dc1", rack: str = "r1") -> ops.Operation:
        """The operation by which one more node like the others joins."""
        return ops.Operation("bootstrap", name, self.free, None, dc, rack)


def sample(
    nodes: int = 12, tokens: int = 16, *, dcs: int = 2, racks: int = 3, rf: int = 3, seed: int = 1
) -> Sample:
    """A ring of ``tokens`` random Murmur3 tokens per node, dealt to datacenters and racks in turn.

    The keyspace ``ks`` keeps ``rf`` replicas per datacenter. The same seed gives the same ring.
    BadInput names what is out of its limits.
    """
    limits = {
        "nodes": (nodes, 1, MOST),
        "tokens": (tokens, 1, MOST // max(nodes, 1)),
        "dcs": (dcs, 1, nodes),
        "racks": (racks, 1, MOST),
        "rf": (rf, 1, 100),
        "seed": (seed, 0, 2**64),
    }
    for field, (value, least, most) in limits.items():
        if type(value) is not int or not least <= value <= most:
            raise BadInput(field, value, f"a number from {least} to {most}")
    chance, count = np.random.default_rng(seed), (nodes + 1) * tokens
    drawn = np.empty(0, np.int64)
    while len(np.unique(drawn)) < count:  # distinct, none of them an end of the line
        drawn = chance.integers(MURMUR3.low + 1, MURMUR3.high, count, np.int64)
    names = tuple(f"n{i + 1}" for i in range(nodes))
    places = tuple((f"dc{i % dcs + 1}", f"r{i // dcs % racks + 1}") for i in range(nodes))
    counts = np.full(nodes, tokens, np.int32)
    packed = Packed(MURMUR3, names, places, counts, drawn[: nodes * tokens])
    replication = NetworkTopologyStrategy(tuple((f"dc{i + 1}", rf) for i in range(dcs)))
    free = tuple(drawn[nodes * tokens :].tolist())
    return Sample(Ring.unpacked(packed), (Keyspace("ks", replication),), free)
