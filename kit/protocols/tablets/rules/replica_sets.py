"""The replicas of a tablet before and after its transition: who is asked, who sends, what fails.

A replica is a shard of a host. Sources: Topology over Raft, "Tablet transitions" for selectors and
kinds; the published server for what a stream reads and writes; Q-43 for why a migration streams
from the replica that leaves. Where failed work leads: the error edges in the diagrams of Topology
over Raft, read by Q-09 (replicas that are alive and not ignored are counted, and a tie goes on) and
Q-24 (without an edge the work is tried again); the published server, which asks whether a
participant is excluded, and counts who is.
"""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.rules.machines import EdgeRow, Machine, Selector


class TabletReplica(NamedTuple):
    """A shard of a host that holds a tablet."""

    host: str
    shard: int = 0

    def __str__(self) -> str:
        return f"{self.host}:{self.shard}"


Replicas = tuple[TabletReplica, ...]


@lru_cache(1 << 12)
def replica_of(text: str) -> TabletReplica:
    """The replica that ``A:0`` names; ``A`` alone is its first shard."""
    host, _, shard = text.partition(":")
    return TabletReplica(host, int(shard or 0))


def replicas_in(text: str) -> Replicas:
    """The replicas ``A B C`` or ``A:0 B:1``. BadInput for none, a host twice, a shard ``A:x``."""
    words = text.split()
    for word in words:
        _, colon, shard = word.partition(":")
        if colon and not shard.isdecimal():
            raise BadInput("tablets", text, "hosts and shards, as in A:0 B:1")
    replicas = tuple(map(replica_of, words))
    if not replicas or len({each.host for each in replicas}) < len(replicas):
        raise BadInput("tablets", text, "at least one replica, and no more than one per host")
    return replicas


def words(replicas: Iterable[TabletReplica], between: str = ", ") -> str:
    """Replicas as they are written: ``A:0, B:1``."""
    return between.join(map(str, replicas))


REPAIR_WEIGHT = 2  # the streams that a repair counts as, where a migration is one


class ReplicaSets(Struct, frozen=True):
    """The replicas of a tablet and, while it is in transition, its new ones."""

    old: Replicas
    new: Replicas

    @property
    def both(self) -> Replicas:
        """Old replicas, then those that are new."""
        return self.old + self.pending

    @property
    def pending(self) -> Replicas:
        """Those that the transition adds."""
        return tuple(replica for replica in self.new if replica not in self.old)

    @property
    def leaving(self) -> Replicas:
        """Those that the transition takes away."""
        return tuple(replica for replica in self.old if replica not in self.new)

    def chosen(self, selector: Selector) -> Replicas:
        """The replicas that a selector stands for."""
        return {"old": self.old, "new": self.new, "both": self.both}[selector]


class DataTask(Struct, frozen=True):
    """What a stage with data work reads and writes; without targets there is nothing to do."""

    sources: Replicas
    targets: Replicas


def streaming(kind: TransitionKind, sets: ReplicaSets, excluded: Collection[str] = ()) -> DataTask:
    """Who sends to whom in ``streaming``; hosts that are ``excluded`` send nothing. A migration
    reads what leaves; where nothing leaves, as when a replica is added, and in a rebuild it reads
    all who stay, or one of them that ``rebuild_v2`` has repaired.
    """
    staying = tuple(each for each in sets.new if each in sets.old and each.host not in excluded)
    if kind in ("migration", "intranode_migration") and sets.leaving:
        return DataTask(sets.leaving, sets.pending)
    return DataTask(staying[:1] if kind == "rebuild_v2" else staying, sets.pending)


class StreamLoad(Struct, frozen=True):
    """The shards that a transition reads from and writes to, and how many streams each counts."""

    reads: Replicas
    writes: Replicas
    weight: int


def stream_load(
    kind: TransitionKind, sets: ReplicaSets, excluded: Collection[str] = ()
) -> StreamLoad:
    """What a transition takes of the streams of shards; hosts that are ``excluded`` have none. A
    repair, also that of ``rebuild_v2``, and a restore read and write all replicas that can be
    reached.
    """
    if kind in ("repair", "rebuild_v2", "restore"):
        reached = repairing(sets, excluded).sources
        added = sets.pending if kind == "rebuild_v2" else ()
        return StreamLoad(reached, reached + added, REPAIR_WEIGHT)
    task = streaming(kind, sets, excluded)
    return StreamLoad(task.sources if task.targets else (), task.targets, 1)


def repairing(sets: ReplicaSets, excluded: Collection[str] = ()) -> DataTask:
    """The replicas that ``repair`` and ``rebuild_repair`` make equal: the old ones in reach."""
    reached = tuple(each for each in sets.old if each.host not in excluded)
    return DataTask(reached, reached)


def after_failure(
    table: Machine,
    stage: str,
    sets: ReplicaSets,
    excluded: Collection[str],
    *,
    given_up: bool = False,
) -> EdgeRow | None:
    """The edge that a stage takes whose work failed; None: the work is tried again.

    ``table`` is that of the transition's kind (``stages.TRANSITIONS``, which has one for older
    releases), ``excluded`` are the hosts that are dead or ignored: ``sets`` names hosts, too
    (``replicas_in``). A server has ``given_up`` what it streams to a full disk, and from 2026.1
    on what it streams off a node that asked to leave.
    """
    edges = (edge for edge in table.edges if edge.source == stage)
    for edge in (edge for edge in edges if edge.kind in ("rollback", "proceed")):
        streams = given_up and stage == "streaming"
        if not edge.when or streams or CONDITIONS[edge.when](sets, excluded):
            return edge
    proceeds = any(each.on_failure == "proceed" for each in table.state(stage).work)
    return table.edge(stage, "happy") if proceeds else None


class StageChoice(Struct, frozen=True):
    """How a failure decides between two ways: a count of the old replicas and of the new ones that
    are left, or excluded (``counts``). ``target`` is the stage that follows; empty: the work is
    retried.
    """

    counts: Literal["left", "excluded"]
    old: int
    new: int
    target: str


def choice_of(
    table: Machine, stage: str, sets: ReplicaSets, excluded: Collection[str]
) -> StageChoice | None:
    """The choice that a failure of a stage's work would make now; None where it has none."""
    whens = {edge.when for edge in table.edges if edge.source == stage}
    if whens.isdisjoint(("more_old", "more_new", "more_new_excluded")):
        return None
    edge = after_failure(table, stage, sets, excluded)
    target = "" if edge is None else edge.target
    old, new = (_count_excluded(each, excluded) for each in (sets.old, sets.new))
    if "more_new_excluded" in whens:
        return StageChoice("excluded", old, new, target)
    return StageChoice("left", len(sets.old) - old, len(sets.new) - new, target)


def _count_excluded(replicas: Replicas, excluded: Collection[str]) -> int:
    return sum(replica.host in excluded for replica in replicas)


def _more_old(sets: ReplicaSets, excluded: Collection[str]) -> bool:
    old, new = (len(each) - _count_excluded(each, excluded) for each in (sets.old, sets.new))
    return old > new


CONDITIONS: dict[str, Callable[[ReplicaSets, Collection[str]], bool]] = {
    "excluded": lambda sets, excluded: _count_excluded(sets.both, excluded) > 0,
    "more_old": _more_old,
    "more_new": lambda sets, excluded: not _more_old(sets, excluded),
    "more_new_excluded": lambda sets, excluded: (
        _count_excluded(sets.new, excluded) > _count_excluded(sets.old, excluded)
    ),
}
"""What error edges ask for, by the names that the tables use."""
