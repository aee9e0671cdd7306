"""A ring as it stands, with nothing planned: what one more death would break is judged there.

Source: CEP-21, "Consistency Guarantees": an answer needs a quorum of the replicas; published
``blockForWrite``: of as many as the keyspace asks for, and one answer more for each pending one.
"""

from collections.abc import Sequence
from functools import reduce

from msgspec.structs import replace

from kit.operators.importers.opening import Imported
from kit.protocols.tcm.dry_run.history import check_begins, operations_of
from kit.protocols.tcm.parameters import enter
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules import operations as ops
from kit.ring.columns import np
from kit.ring.natural import replicas
from kit.ring.placements import Placement, Table, slots_of
from kit.ring.topology import Ring

UNLOCKED = ops.ProtocolSwitches(safeguards=ops.TcmSafeguards(range_locks=False))
SHARED = (
    "operations in flight share ranges, which only a ring that is spread by gossip allows: "
    "all of their pending replicas count"
)


def as_it_stands(given: Imported) -> tuple[rules.Snapshot, bool]:
    """The ring with the operations in flight: begun, and with their pending replicas; and whether
    some of them share ranges.
    """
    ring, operations = enter(given.ring, operations_of(given))
    snapshot = rules.initial(ring, given.keyspaces, given.epoch)
    for resolved in operations:
        ops.validate(snapshot.metadata.ring, resolved)
        planned = rules.plan(snapshot.metadata, resolved, ops.ALL_ON)
        operation = resolved.operation
        check_begins(operation, rules.permit(snapshot.metadata, planned, UNLOCKED))
        if rules.permit(snapshot.metadata, planned, ops.ALL_ON) is not None:
            return by_gossip(rules.initial(ring, given.keyspaces, given.epoch), operations), True
        snapshot = rules.enact(snapshot, resolved, ops.ALL_ON)
        # Where tools show it in flight, its pending replicas are written to already: just before
        # the switch.
        while sequence := snapshot.metadata.sequence(operation.node):
            if sequence.next.switches:
                break
            snapshot = rules.enact(snapshot, rules.Advance(operation.node), ops.ALL_ON)
    return snapshot, False


def by_gossip(
    snapshot: rules.Snapshot, operations: Sequence[ops.ResolvedOperation]
) -> rules.Snapshot:
    """The ring with operations that share ranges, which a log of metadata would have refused.

    Pending is whoever gets a range once all who leave are gone, and of those who come each one as
    if it came alone then. Source: published ``calculatePendingRanges``, before CEP-21.
    """
    now: Ring = reduce(ops.placed, operations, snapshot.metadata.ring)
    goes = [each for each in operations if each.operation.kind in rules.SHRINKS]
    left: Ring = reduce(ops.ring_after, goes, now)
    ends = (left, *(ops.ring_after(left, each) for each in operations))  # who goes is gone already
    rights = reduce(np.union1d, (ring.rights for ring in ends), now.rights)
    lefts = np.append(np.int64(now.space.low), rights[:-1])
    placements = []
    for placement, replication in zip(snapshot.placements, snapshot.metadata.groups, strict=True):
        groups = replicas(now, replication, rights)
        for ring in ends:
            new = replicas(ring, replication, rights)
            late = np.where(slots_of(new, groups) < 0, new, np.int32(-1))
            groups = np.concatenate((groups, late), axis=1)
        placements.append(Placement(placement.reads, Table(lefts, rights, groups)))
    return replace(snapshot, placements=tuple(placements))
