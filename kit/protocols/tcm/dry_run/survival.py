"""Who must stay up: a ring as it stands, with nothing planned, and what one more death would break.

Source: CEP-21, "Consistency Guarantees": an answer needs a quorum of the replicas; published
``blockForWrite``: of as many as the keyspace asks for, and one answer more for each pending one.
"""

from collections.abc import Iterable, Sequence
from functools import reduce

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.commands.answer import GAP, Answer, Rows, wrap
from kit.errors import BadInput, counted
from kit.model.registry import one_of
from kit.operators.importers.opening import Imported
from kit.operators.workload import PLACEMENTS, check_work
from kit.protocols.tcm.dry_run.history import check_begins, forced, operations_of
from kit.protocols.tcm.dry_run.player import RingSource, opened
from kit.protocols.tcm.facts.moment import Loss, losses_of
from kit.protocols.tcm.parameters import enter
from kit.protocols.tcm.rules.metadata import (
    SHRINKS,
    Advance,
    Snapshot,
    enact,
    initial,
    permit,
    plan,
)
from kit.protocols.tcm.rules.operations import (
    ALL_ON,
    ProtocolSwitches,
    ResolvedOperation,
    TcmSafeguards,
    placed,
    ring_after,
    validate,
)
from kit.ring.columns import np
from kit.ring.natural import replicas
from kit.ring.placements import Placement, Table, slots_of
from kit.ring.replication import Keyspace
from kit.ring.topology import Ring

CAPTION = "Quorums that are broken or that one more death would break"
UNLOCKED = ProtocolSwitches(safeguards=TcmSafeguards(range_locks=False))
SHARED = (
    "operations in flight share ranges, which only a ring that is spread by gossip allows: "
    "all of their pending replicas count"
)
HEADS = ("keyspace", "level", "no quorum now", "must stay up (ranges that need it)")


class Survival(Struct, frozen=True):
    """What one more death would break.

    ``down`` are the nodes that answer nobody now; ``must_stay_up`` every other node whose death
    would take a quorum from some range, in the order of the ring file; ``losses`` say which quorum
    of which keyspace, with the number of ranges. ``warnings`` are lines to read first.
    """

    down: tuple[str, ...]
    must_stay_up: tuple[str, ...]
    losses: tuple[Loss, ...]
    warnings: tuple[str, ...] = ()

    @property
    def broken(self) -> int:
        """Ranges that have no quorum now, of the level that has the most of them."""
        return max((loss.broken for loss in self.losses), default=0)

    def summary(self) -> str:
        """The answer in one line."""
        now = f"{', '.join(self.down) or 'no node'} down"
        lost = f"{counted(self.broken, 'range')} without a quorum; " if self.broken else ""
        if not self.must_stay_up:
            last = "one more death takes no other quorum" if lost else "any one node can die next"
            return f"{now}: {lost}{last}"
        who = counted(len(self.must_stay_up), "node")
        return f"{now}: {lost}{who} must stay up: {', '.join(self.must_stay_up)}"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """A row of text for each quorum that is broken, or that one more death would break."""
        return [_cells(loss) for loss in self.losses if not loss.ok]

    def __repr__(self) -> str:
        return f"Survival({self.summary()})"

    def answer(self) -> Answer:
        """The report as ``python -m kit survive`` gives it; 1 when a node has to stay up."""
        rows = Rows(self.rows(), "quorums", indent="", heads=HEADS, caption=CAPTION)
        quorums = [{**msgspec.to_builtins(each), "nodes": dict(each.nodes)} for each in self.losses]
        lists = {name: getattr(self, name) for name in ("down", "must_stay_up", "warnings")}
        return Answer(
            {**lists, "quorums": quorums},
            wrap(self.summary(), "", GAP),
            ("", rows) if rows.rows else (),
            self.warnings,
            1 if self.must_stay_up or self.broken else 0,
        )

    def _repr_html_(self) -> str:
        return self.answer().html()


def survive(
    ring: RingSource,
    *,
    down: str | Iterable[str] = (),
    keyspaces: str | Keyspace | Iterable[str | Keyspace] = (),
) -> Survival:
    """Say which nodes must stay up, with the ring as it is and nothing planned.

    ``ring`` and ``keyspaces`` are as in ``kit.rehearse``; ``down`` names nodes that are down beside
    those that the files tell. QUORUM is judged everywhere, LOCAL_QUORUM in each datacenter that
    has its own factor; operations in flight count with both of their groups, in both editions.
    """
    given = opened(ring, keyspaces)
    return survival(given, (down,) if isinstance(down, str) else tuple(down))


def survival(given: Imported, down: Iterable[str]) -> Survival:
    """The same of an opened ring; BadInput for a node that it lacks, or one that is too large."""
    names = given.ring.names
    for name in (also := tuple(down)):
        if name not in names:
            raise BadInput("down", name, one_of(str(name), list(names)))
    check_work(given, PLACEMENTS)
    down_too = {*given.down, *also}
    dead = tuple(name for name in dict.fromkeys((*names, *given.down)) if name in down_too)
    snapshot, shares = as_it_stands(given)
    lost = losses_of(snapshot, dead)
    breaking = {name for loss in lost for name, _ in loss.nodes}
    must_stay_up = tuple(name for name in snapshot.metadata.ring.names if name in breaking)
    counted_in = (
        f"{operation.title} is in flight: replicas before and after it count, in its own ranges"
        for operation in operations_of(given)
    )
    warnings = (*given.warnings, *forced(given), *counted_in, *(SHARED,) * shares)
    return Survival(dead, must_stay_up, lost, warnings)


def as_it_stands(given: Imported) -> tuple[Snapshot, bool]:
    """The ring with the operations in flight: begun, and with their pending replicas; and whether
    some of them share ranges.
    """
    ring, operations = enter(given.ring, operations_of(given))
    snapshot = initial(ring, given.keyspaces, given.epoch)
    for resolved in operations:
        validate(snapshot.metadata.ring, resolved)
        planned = plan(snapshot.metadata, resolved, ALL_ON)
        operation = resolved.operation
        check_begins(operation, permit(snapshot.metadata, planned, UNLOCKED))
        if permit(snapshot.metadata, planned, ALL_ON) is not None:
            return by_gossip(initial(ring, given.keyspaces, given.epoch), operations), True
        snapshot = enact(snapshot, resolved, ALL_ON)
        # Where tools show it in flight, its pending replicas are written to already: just before
        # the switch.
        while sequence := snapshot.metadata.sequence(operation.node):
            if sequence.next.switches:
                break
            snapshot = enact(snapshot, Advance(operation.node), ALL_ON)
    return snapshot, False


def by_gossip(snapshot: Snapshot, operations: Sequence[ResolvedOperation]) -> Snapshot:
    """The ring with operations that share ranges, which a log of metadata would have refused.

    Pending is whoever gets a range once all who leave are gone, and of those who come each one as
    if it came alone then. Source: published ``calculatePendingRanges``, before CEP-21.
    """
    now: Ring = reduce(placed, operations, snapshot.metadata.ring)
    goes = [each for each in operations if each.operation.kind in SHRINKS]
    left: Ring = reduce(ring_after, goes, now)
    ends = (left, *(ring_after(left, each) for each in operations))  # who goes is gone already
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


def _cells(loss: Loss) -> tuple[str, str, str, str]:
    side = "" if loss.side == "reads and writes" else f" of {loss.side}"
    ranges = f"{counted(loss.broken, 'range')}, such as {loss.broken_first}"
    nodes = ", ".join(f"{name} ({number:,})" for name, number in loss.nodes)
    names = ", ".join(loss.keyspaces)
    return names, f"{loss.level}{side}", ranges if loss.broken else "–", nodes or "–"
