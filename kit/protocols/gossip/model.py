"""The model of a schema that every node changes by itself and hears of by gossip.

Nodes compare digests in rounds of SYN, ACK and ACK2; who hears of another version pulls all cells
of that node and merges them. A round between two nodes that know the same is left out, and so is a
second one between two nodes whose first is on its way: they would change nothing. Sources: "Group 0
schema versioning"; manual on Raft, "Schema with Raft"; CEP-21, "Schema Management".
"""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_uppercase
from typing import Any

from kit.engine.actors import ActorModel, ActorState
from kit.engine.model import Rule
from kit.engine.network import MESSAGE_ACTIONS, NetworkOptions
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.errors import BadInput, Refusal
from kit.protocols.gossip import wording
from kit.protocols.gossip.actors import (
    OF_A_PULL,
    OF_A_ROUND,
    BeginRound,
    GossipMessage,
    LegacyActor,
    LegacyNode,
    MakeChange,
    PullCells,
    TimedChange,
    begun,
)
from kit.protocols.gossip.parameters import GossipParameters
from kit.protocols.gossip.properties import agreed, lost_updates, properties_of, split_brain
from kit.protocols.gossip.rules.endpoints import SCHEMA
from kit.protocols.gossip.rules.mutations import Mutations, merged
from kit.protocols.gossip.rules.schema import cells_of, objection, schema_of
from kit.protocols.gossip.words import PlannedChange, parse_changes

TITLE = "A schema by gossip: the newest timestamp wins"


class Gossip(ActorModel):
    """Nodes that change the schema on their own and gossip about its version."""

    faults = ("drop", "partition")
    parameters: GossipParameters
    rests_at_goals = True

    def __init__(
        self, parameters: GossipParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A cluster of ``parameters.nodes`` nodes. It has no safeguards to switch ``off``.

        Raises:
            BadInput: when a parameter is out of its limits, or a line is no change.
        """
        given = parameters or GossipParameters()
        check_limits(given)
        names = tuple(ascii_uppercase[: given.nodes])
        if len(given.clocks) > given.nodes:
            raise BadInput("clocks", given.clocks, f"a number for each of {given.nodes} nodes")
        self.changes = parse_changes("changes", given.changes, names)
        self.earlier = parse_changes("earlier", given.earlier, names)
        self.clocks = (*given.clocks, *[0] * (given.nodes - len(given.clocks)))
        cells = _done_before(self.earlier, names)
        view = begun(names, cells)
        super().__init__(
            "gossip",
            TITLE,
            tuple(LegacyActor(name, cells, view) for name in names),
            NetworkOptions(drops=given.losses, partitions=given.partitions),
            message=GossipMessage,
        )
        self.parameters = given
        self.properties = properties_of(self.sides)
        self.monitors = (
            split_brain(self.changes, self.sides),
            lost_updates(self.changes, self.index),
        )

    def more_rules(self) -> tuple[Rule[ActorState, Any], ...]:
        """To pull another schema, to gossip, to do what a client asks for."""
        return (
            paired(PullCells, "pull", self.pulls, self._may_pull, self._event),
            paired(BeginRound, "gossip", self._rounds, self._may_gossip, self._event),
            paired(MakeChange, "change", self._not_done, self._may_change, self._change),
        )

    def node(self, s: ActorState, name: str) -> LegacyNode:
        """A node by its name."""
        node = s.nodes[self.index[name]]
        assert isinstance(node, LegacyNode)
        return node

    def sides(self, s: ActorState) -> tuple[tuple[LegacyNode, ...], ...]:
        """The nodes on each side of a split network; one side where it is whole."""
        apart = set(self.carrier.apart(s.network))
        here = tuple(node for node in s.nodes if node.name not in apart)
        there = tuple(node for node in s.nodes if node.name in apart)
        return (here, there) if there else (here,)

    def timestamp(self, s: ActorState, number: int) -> int:
        """What the clock of a node says when it does a change: time is the count of changes."""
        done = sum(len(node.done) for node in s.nodes)
        return len(self.earlier) + 1 + done + self.clocks[self.changes[number].node]

    # -- what may be done --------------------------------------------------------------------------

    def _event(self, s: ActorState, action: Any) -> ActorState:
        return self.advance(s, action.node, action)

    def _pairs(self) -> Iterable[tuple[str, str]]:
        return ((a, b) for a in self.index for b in self.index if a != b)

    def _rounds(self, s: ActorState) -> list[BeginRound]:
        views = {name: self.node(s, name).view for name in self.index}
        return [BeginRound(a, b) for a, b in self._pairs() if views[a] != views[b]]

    def _may_gossip(self, s: ActorState, action: BeginRound) -> Refusal | None:
        return self._may_talk(s, action.node, action.target, OF_A_ROUND)

    def _may_talk(
        self, s: ActorState, node: str, other: str, kinds: tuple[type, ...]
    ) -> Refusal | None:
        """Two nodes talk when they reach one another, once at a time, and few at once do."""
        if self.carrier.cut(s.network, node, other):
            return Refusal(f"{node} does not reach {other}: the network is split")
        under_way: set[tuple[str, str]] = set()
        for e in s.network.in_flight:
            if {e.source, e.target} == {node, other} and isinstance(e.message, kinds):
                return Refusal(
                    f"{node} and {other} are at it: {self.in_short(e.message)} is under way"
                )
            if not self.carrier.cut(s.network, e.source, e.target):
                under_way.add((e.source, e.target))
        if len(under_way) >= self.parameters.at_once:
            return Refusal("as many messages are under way as this model lets be at once")
        return None

    def pulls(self, s: ActorState) -> Iterable[PullCells]:
        """From each endpoint that gossips a version whose cells the node may lack."""
        for node in s.nodes:
            for state in node.view:
                theirs = state.says(SCHEMA)
                if theirs != node.version and theirs not in node.past:
                    yield PullCells(node.name, state.endpoint)

    def _may_pull(self, s: ActorState, action: PullCells) -> Refusal | None:
        return self._may_talk(s, action.node, action.source, OF_A_PULL)

    def _not_done(self, s: ActorState) -> Iterable[MakeChange]:
        done = {number for node in s.nodes for number, _ in node.done}
        return (MakeChange(n) for n in range(len(self.changes)) if n not in done)

    def _may_change(self, s: ActorState, action: MakeChange) -> Refusal | None:
        planned = self.changes[action.number]
        why = objection(schema_of(s.nodes[planned.node].cells), planned.change)
        return None if why is None else Refusal(why)

    def _change(self, s: ActorState, action: MakeChange) -> ActorState:
        planned = self.changes[action.number]
        event = TimedChange(action.number, planned.change, self.timestamp(s, action.number))
        return self.advance(s, self.actors[planned.node].name, event)

    # -- words and schedule ------------------------------------------------------------------------

    def verb(self, action: Any) -> str:
        """``gossip A B``, ``pull B A``, a statement, and messages without all that they say."""
        if isinstance(action, MakeChange):
            return self.changes[action.number].text
        if isinstance(action, MESSAGE_ACTIONS):
            envelope = action.envelope
            way = f"{envelope.source}>{envelope.target}"
            return f"{self.kind(action)} {way} {self.in_short(envelope.message)}"
        return wording.verb(action) or super().verb(action)

    def in_short(self, message: Any) -> str:
        """A message in a word or two: ``syn``, ``pull``, ``cells 1f03c2``."""
        return wording.called(message)

    def in_full(self, message: Any) -> str:
        """A message with what it tells."""
        return wording.in_full(message)

    def actor_of(self, s: ActorState, action: Any) -> str:
        """The node that does a change, or begins a round or a pull."""
        if isinstance(action, MakeChange):
            return self.actors[self.changes[action.number].node].name
        return super().actor_of(s, action)

    def describe(self, before: ActorState, action: Any, after: ActorState) -> str:
        """What the step did, and why."""
        words = wording.described(self, before, action, after)
        return words or super().describe(before, action, after)

    def suggest(self, s: ActorState) -> Any | None:
        """What is on its way first, then pulls, rounds, what clients ask for; no faults."""
        enabled = (action for action in self.actions(s) if self.kind(action) not in self.faults)
        return next(enabled, None)

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """The network splits or heals, a client's change is done, or all nodes agree again."""
        if isinstance(action, MakeChange):
            return self.changes[action.number].text
        if agreed(after) and not agreed(before):
            return f"version {after.nodes[0].version}"
        return super().milestone(before, action, after)


def _done_before(earlier: tuple[PlannedChange, ...], names: tuple[str, ...]) -> Mutations:
    """The cells that all nodes have at the start.

    Raises:
        BadInput: for a change that makes no sense after those before it.
    """
    cells: Mutations = ()
    for timestamp, planned in enumerate(earlier, start=1):
        why = objection(schema_of(cells), planned.change)
        if why is not None:
            raise BadInput("earlier", planned.text, f"a change that makes sense: {why}")
        cells = merged(cells, cells_of(planned.change, timestamp, names[planned.node]))
    return cells
