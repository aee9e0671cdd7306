"""A cluster as its own tables describe it, as the first state of the control model.

Such a cluster has many tables, nodes that differ, and tablets in transition. Its balancer is the
planner, which begins all of a plan at once; a stage's work on all tablets is one step.
"""

from collections.abc import Sized
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tablets.rules.maps import ResizeType, keyspace_of, last_token
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.tablets.rules.stages import PlayedKind
from kit.protocols.topology.rules.machines import Machine


class DumpedTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table: how many tablets it has, its co-located tables, its resize; ``lasts`` are the last
    tokens of its tablets where these are not as equal as tokens allow.
    """

    name: str
    tablets: int
    colocated: tuple[str, ...] = ()
    resize_type: ResizeType = "none"
    lasts: tuple[int, ...] = ()

    def last_token(self, number: int) -> int:
        """The last token of a tablet."""
        return self.lasts[number] if self.lasts else last_token(number, self.tablets)


class DumpedTransition(Struct, frozen=True, forbid_unknown_fields=True):
    """A tablet (by its number in all) in transition: to which replicas, as in ``A:0 B:1``."""

    tablet: int
    kind: PlayedKind
    stage: str
    new: str
    session: int = 0


class TabletDump(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The tables of a cluster beside those of who holds which tablet.

    ``shards`` and ``capacities`` (bytes, 0: not known) are those of each member. Tablets are
    counted through all ``tables`` in their order. ``sizes`` has, for each tablet, the bytes of each
    of its replicas, -1 where they are not known; it may be empty. So has ``weights`` what each
    counts for the load, where sizes are of several tables. ``rack_lists`` are the tables and
    datacenters of which the schema names the racks that have a replica. ``version`` and
    ``fence_version`` are those of the topology.
    """

    shards: tuple[int, ...]
    tables: tuple[DumpedTable, ...]
    capacities: tuple[int, ...] = ()
    sizes: tuple[tuple[int, ...], ...] = ()
    weights: tuple[tuple[int, ...], ...] = ()
    transitions: tuple[DumpedTransition, ...] = ()
    target_size: int = TARGET_SIZE
    rack_lists: tuple[tuple[str, str], ...] = ()
    version: int = 1
    fence_version: int = 1

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The number of each table's first tablet, and at last how many there are."""
        return tuple(accumulate((table.tablets for table in self.tables), initial=0))

    def tablets_of(self, keyspace: str) -> tuple[int, ...]:
        """The tablets of a keyspace, of all its tables."""
        return tuple(
            tablet
            for table, first in zip(self.tables, self.firsts, strict=False)
            if keyspace in map(keyspace_of, (table.name, *table.colocated))
            for tablet in range(first, first + table.tablets)
        )

    def check(self, nodes: int, tablets: int) -> None:
        """Check that it fits so many members and tablets. BadInput naming what does not."""
        lasts = [(f"tables.{t.name}.lasts", t.lasts, t.tablets) for t in self.tables if t.lasts]
        lengths: list[tuple[str, Sized, int]] = [
            *(("shards", self.shards, nodes), ("tables", range(self.firsts[-1]), tablets), *lasts),
            ("capacities", self.capacities, nodes if self.capacities else 0),
            ("sizes", self.sizes, tablets if self.sizes else 0),
            ("weights", self.weights, tablets if self.weights else 0),
        ]
        for name, given, wanted in lengths:
            if len(given) != wanted:
                raise BadInput(f"dump.{name}", len(given), str(wanted))
        for transition in self.transitions:
            if not 0 <= transition.tablet < tablets:
                allowed = f"a tablet from 0 to {tablets - 1}"
                raise BadInput("dump.transitions tablet", transition.tablet, allowed)
        if not 0 <= self.fence_version <= self.version:
            allowed = f"a number from 0 to the version, {self.version}"
            raise BadInput("dump.fence_version", self.fence_version, allowed)
        if min(self.shards) < 1:
            raise BadInput("dump.shards", min(self.shards), "a number from 1 up")


def holders(table: Machine, stage: str, sets: ReplicaSets) -> tuple[Replicas, Replicas]:
    """Who has all data of a tablet when its transition enters a stage, and who has any."""
    row = table.state(stage)
    if row.reads == "new":
        # In the last one the leaving replica has no data any more.
        held = sets.new if stage == "end_migration" else sets.both
        return held, held
    returned = stage == "write_both_read_old_fallback_cleanup"
    # In the first stage of a way back the pending replica has data, though nobody writes to it.
    some = sets.both if row.writes == "both" or stage == "cleanup_target" else sets.old
    return (sets.both if returned else sets.old), some
