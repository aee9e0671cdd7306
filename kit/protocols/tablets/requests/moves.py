"""What the coordinator plans for a tablet: which replica goes, which comes, one plan or two."""

from __future__ import annotations

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tablets.requests.parameters import Second
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind

FIRST, TARGET, OTHER_TARGET, OTHER_SHARD = "ABC", "D", "E", 1
WITHIN_NODE: TransitionKind = "intranode_migration"


class TransitionPlan(Struct, frozen=True):
    """One transition: the replica in a ``place`` of the tablet's list gives way to ``target``."""

    kind: TransitionKind
    place: int
    target: TabletReplica

    def sets(self, replicas: Replicas) -> ReplicaSets:
        """The replicas before and after; a repair changes none."""
        if self.kind == "repair":
            return ReplicaSets(replicas, replicas)
        new = (*replicas[: self.place], self.target, *replicas[self.place + 1 :])
        return ReplicaSets(replicas, new)

    def fits(self, replicas: Replicas) -> bool:
        """Whether there is anything left to do."""
        return self.kind == "repair" or self.target not in replicas

    def title(self, sets: ReplicaSets) -> str:
        """The transition in a few words."""
        if self.kind == "repair":
            return "repair"
        if self.kind == WITHIN_NODE:
            return f"{self.kind} of {', '.join(map(str, sets.leaving))} to {self.target}"
        leaving = ", ".join(each.host for each in sets.leaving)
        return f"{self.kind} of {leaving} to {self.target.host}"


def first_replicas(rf: int) -> Replicas:
    """The replicas that the tablet begins with."""
    return tuple(TabletReplica(name) for name in FIRST[:rf])


def plans(kind: TransitionKind, rf: int, second: Second) -> tuple[TransitionPlan, ...]:
    """The transitions, in the order in which they are planned.

    Raises:
        BadInput: when a dead replica is to be rebuilt and no other holds the data.
    """
    if kind.startswith("rebuild") and rf < 2:
        raise BadInput("rf", rf, "2 or more, so that a dead replica can be rebuilt")
    beside = TabletReplica(FIRST[0], OTHER_SHARD)
    target = beside if kind == WITHIN_NODE else TabletReplica(TARGET)
    first = TransitionPlan(kind, 0, target)
    if second == "again":
        return first, first
    if second == "other":
        return first, TransitionPlan("migration", min(1, rf - 1), TabletReplica(OTHER_TARGET))
    return (first,)
