"""What the coordinator plans for a tablet: which replica goes, which comes, one plan or two."""

from __future__ import annotations

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tablets.requests.parameters import BetweenNodes, Second
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica

FIRST, TARGET, OTHER_TARGET = "ABC", "D", "E"


class TransitionPlan(Struct, frozen=True):
    """One transition: the replica in a ``place`` of the tablet's list gives way to ``target``."""

    kind: BetweenNodes
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
        leaving = ", ".join(each.host for each in sets.leaving)
        return f"{self.kind} of {leaving} to {self.target.host}"


def first_replicas(rf: int) -> Replicas:
    """The replicas that the tablet begins with."""
    return tuple(TabletReplica(name) for name in FIRST[:rf])


def plans(kind: BetweenNodes, rf: int, second: Second) -> tuple[TransitionPlan, ...]:
    """The transitions, in the order in which they are planned.

    Raises:
        BadInput: when a dead replica is to be rebuilt and no other holds the data.
    """
    if kind.startswith("rebuild") and rf < 2:
        raise BadInput("rf", rf, "2 or more, so that a dead replica can be rebuilt")
    first = TransitionPlan(kind, 0, TabletReplica(TARGET))
    if second == "again":
        return first, first
    if second == "other":
        return first, TransitionPlan("migration", min(1, rf - 1), TabletReplica(OTHER_TARGET))
    return (first,)
