"""The removal of a dead node that nobody coordinates: one of its neighbours drives it.

That is the node on which an operator calls removenode. It says ``REMOVING`` of the dead node, waits
for RING_DELAY, has the new owner of the dead one's range copy it, waits for the answer, and says
``REMOVED``. How far it is, it alone knows: when it dies, the operator calls removenode on another
node, and all that was streamed is streamed again.
Sources: CEP-21, "Motivation"; blog post on 6.0, "Driving Topology Changes"; published code of the
older servers, ``StorageService.removeNode`` and ``Gossiper.advertiseRemoving``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.gossip.joining import state as act
from kit.protocols.gossip.joining.state import RingState, ViewNode
from kit.protocols.gossip.rules.endpoints import STATUS, endpoint_of, saying, started
from kit.protocols.gossip.rules.ownership import NORMAL, REMOVED, REMOVING, replicas, takes_over

if TYPE_CHECKING:
    from kit.protocols.gossip.joining.model import GossipJoin


class Removal:
    """The steps of who drives the removal of the dead member of a model."""

    def __init__(self, model: GossipJoin) -> None:
        self.model = model

    def rules(self) -> tuple[Rule[RingState, Any], ...]:
        """The operator's call, what the driver does then, and a member that is back."""

        def free(s: RingState, action: Any) -> None:
            return None

        return (
            paired(act.BeginRemoval, "removenode", self._calls, self._may_begin, self._begin),
            paired(act.RestoreReplica, "restore", _driving(act.RestoreReplica, "removing"),
                 self._may_restore, self._restore),
            paired(act.AnnounceRemoved, "removed", _driving(act.AnnounceRemoved, "restored"), free,
                 self._removed),
            paired(act.RestartDriver, "restart", self._downs, free, self._restart),
        )  # fmt: skip

    @property
    def dead(self) -> str:
        """The node that is removed."""
        return self.model.dead[0]

    # -- what holds --------------------------------------------------------------------------------

    def is_through(self, s: RingState) -> bool:
        """Whether some node has said that the dead one is removed: the operator has been told."""
        return any(endpoint_of(node.view, self.dead).says(STATUS) == REMOVED for node in s.nodes)

    def taker(self, s: RingState, driver: str) -> str:
        """The node that takes the dead one's place, by the driver's view."""
        view, rf = self.model.node(s, driver).view, self.model.parameters.rf
        return takes_over(view, self.model.walk, rf)[0]

    def sources(self, s: RingState, driver: str) -> tuple[str, ...]:
        """The replicas that the new owner may copy from, by the driver's view: who is up."""
        view, rf = self.model.node(s, driver).view, self.model.parameters.rf
        owners = replicas(view, self.model.walk, rf)
        return tuple(name for name in owners if self.model.node(s, name).phase == "member")

    def short(self, s: RingState) -> str | None:
        """What a new owner lacks of what was acknowledged, when the driver believes it has all."""
        for node in s.nodes:
            if node.drives == "restored":
                taker = self.taker(s, node.name)
                lacks = s.acknowledged & ~self.model.node(s, taker).data
                if lacks:
                    return f"{taker} takes the place of {self.dead}, and lacks write " + str(
                        lacks.bit_length()
                    )
        return None

    # -- steps -------------------------------------------------------------------------------------

    def _calls(self, s: RingState) -> Iterator[act.BeginRemoval]:
        """An operator who was told that the node is removed does not call it again."""
        if not self.is_through(s):
            for node in s.nodes:
                if node.phase == "member":
                    yield act.BeginRemoval(node.name, self.dead)

    def _may_begin(self, s: RingState, action: act.BeginRemoval) -> Refusal | None:
        driver = next((node.name for node in s.nodes if node.drives), "")
        return Refusal(f"{driver} drives the removal") if driver else None

    def _begin(self, s: RingState, action: act.BeginRemoval) -> RingState:
        """An endpoint alone writes of itself; of a dead one its driver does, a generation later."""
        node = self.model.node(s, action.node)
        generation = endpoint_of(node.view, action.dead).generation + 1
        view = started(node.view, action.dead, generation, STATUS=REMOVING)
        return self.model.with_node(s, replace(node, view=view, drives="removing"))

    def _may_restore(self, s: RingState, action: act.RestoreReplica) -> Refusal | None:
        taker = self.taker(s, action.node)
        if not self._answers(s, action.node, taker):
            return Refusal(f"{taker}, which takes the place of {self.dead}, does not answer")
        sources = self.sources(s, action.node)
        if self.model.parameters.rf > 1 and not sources:
            return Refusal(f"no replica is up that {taker} could copy from")
        if sources and not self.model.reaches(s, taker, sources[0]):
            return Refusal(f"{taker} does not reach {sources[0]}, which it is to copy from")
        return self.model.ring_delay(s, self.model.node(s, action.node), self.dead)

    def _answers(self, s: RingState, node: str, target: str) -> bool:
        return self.model.node(s, target).phase == "member" and self.model.reaches(s, node, target)

    def _restore(self, s: RingState, action: act.RestoreReplica) -> RingState:
        sources = self.sources(s, action.node)
        taker = self.model.node(s, self.taker(s, action.node))
        copied = self.model.node(s, sources[0]).data if sources else 0
        s = self.model.with_node(s, replace(taker, data=taker.data | copied))
        driver = replace(self.model.node(s, action.node), drives="restored")
        return self.model.with_node(s, driver, streams=s.streams + bool(sources))

    def _removed(self, s: RingState, action: act.AnnounceRemoved) -> RingState:
        node = self.model.node(s, action.node)
        view = saying(node.view, self.dead, STATUS=REMOVED)
        return self.model.with_node(s, replace(node, view=view, drives=""))

    def _downs(self, s: RingState) -> Iterator[act.RestartDriver]:
        for node in s.nodes:
            if node.phase == "down" and node.name != self.dead:
                yield act.RestartDriver(node.name)

    def _restart(self, s: RingState, action: act.RestartDriver) -> RingState:
        """It has its data and what it knew of others; it says of itself that it is back."""
        node = self.model.node(s, action.node)
        generation = node.generation + 1
        view = started(node.view, node.name, generation, STATUS=NORMAL)
        back = ViewNode(node.name, "member", generation, view, node.data)
        return self.model.with_node(s, back)


def _driving(action: Any, stage: str) -> Any:
    return lambda s: [action(node.name) for node in s.nodes if node.drives == stage]
