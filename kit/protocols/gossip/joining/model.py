"""The model of an operation that nobody coordinates: one node drives it, gossip tells of it.

The joining node drives its own join, a neighbour the removal of a dead node (module ``removal``).
One key is followed, whose replicas change. A round of gossip is one step here
(its messages are model ``gossip``); both call the same rules. RING_DELAY is a time in which news
should have reached everybody: it has passed once all nodes that the driving one reaches know of it.
A node that is cut off meanwhile has not heard, and the time passes all the same.
Sources: CEP-21, "Motivation", "Schema Management"; blog post on 6.0, "Driving Topology Changes".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput, Refusal
from kit.protocols.gossip.joining import state as act
from kit.protocols.gossip.joining import wording
from kit.protocols.gossip.joining.parameters import (
    JOIN_SAFEGUARDS_BY_GOSSIP,
    GossipJoinParameters,
    GossipJoinSafeguards,
)
from kit.protocols.gossip.joining.properties import (
    SILENT,
    early_reads,
    members,
    properties_of,
    quorum,
    talking,
)
from kit.protocols.gossip.joining.removal import Removal
from kit.protocols.gossip.joining.state import RingState, ViewNode
from kit.protocols.gossip.rules.endpoints import (
    STATUS,
    View,
    endpoint_of,
    forgetting,
    heard,
    saying,
    started,
)
from kit.protocols.gossip.rules.ownership import BOOT, NORMAL, gives_up, pending, replicas

TITLE = "A join or a removal by gossip: no coordinator drives it"


class GossipJoin(Model[RingState, Any]):
    """A cluster that nodes join, each on its own, or whose dead member a live one removes."""

    name = "gossip_join"
    title = TITLE
    State = RingState
    Action = act.RingAction
    safeguards = JOIN_SAFEGUARDS_BY_GOSSIP
    faults = ("crash", "cut")
    rests_at_goals = True

    def __init__(
        self, parameters: GossipJoinParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, or more replicas than members.
        """
        self.parameters: GossipJoinParameters = parameters or GossipJoinParameters()
        self.off = off
        check_limits(self.parameters)
        self.guarded = switched_off(GossipJoinSafeguards, off)
        given = self.parameters
        if given.rf > given.nodes:
            raise BadInput("rf", given.rf, f"a number from 1 to {given.nodes}, the members")
        self.members = tuple("ABCDE"[: given.nodes])
        joins = given.operation == "join"
        self.joiners: tuple[str, ...] = tuple("XY"[: given.joiners]) if joins else ()
        self.dead: tuple[str, ...] = () if joins else ("Z",)
        self.changing = (*self.joiners, *self.dead)
        self.walk = (*self.changing, *self.members)
        self.index = {name: at for at, name in enumerate((*self.members, *self.changing))}
        self.removal = Removal(self)
        self.rules = self._rules()
        self.properties = properties_of(self)
        self.signs = (early_reads(self),)

    def start(self) -> RingState:
        """All members know one another; nobody joins, and nobody is being removed yet."""
        view: View = ()
        for name in (*self.members, *self.dead):
            view = started(view, name, 1, STATUS=NORMAL)
        nodes = [ViewNode(name, "member", 1, view) for name in self.members]
        nodes += [ViewNode(name, "out", 0, ()) for name in self.joiners]
        nodes += [ViewNode(name, "down", 1, view) for name in self.dead]
        given = self.parameters
        return RingState(tuple(nodes), "", 0, 0, 0, given.crashes, given.cuts)

    def node(self, s: RingState, name: str) -> ViewNode:
        """A node by its name."""
        return s.nodes[self.index[name]]

    def reaches(self, s: RingState, a: str, b: str) -> bool:
        """Whether the network lets two nodes talk."""
        return a == b or s.cut_off not in (a, b)

    def _rules(self) -> tuple[Rule[RingState, Any], ...]:
        def free(s: RingState, action: Any) -> None:
            return None

        changing: tuple[Rule[RingState, Any], ...] = self.removal.rules()
        if self.joiners:
            changing = self._joining(free)
        return (
            paired(act.Exchange, "gossip", self._exchanges, self._may_exchange, self._exchange),
            *changing,
            paired(act.WriteKey, "write", self._writes, free, self._write),
            paired(act.ForgetJoiner, "forget", self._forgotten, free, self._forget),
            paired(act.CrashDriver, "crash", self._crashes, free, self._crash),
            paired(act.CutNodeOff, "cut", self._cuts, free,
                 lambda s, a: replace(s, cut_off=a.node, cuts=s.cuts - 1)),
            paired(act.HealCut, "reconnect", lambda s: (act.HealCut(),) if s.cut_off else (),
                 free, lambda s, a: replace(s, cut_off="")),
        )  # fmt: skip

    def _joining(self, free: Any) -> tuple[Rule[RingState, Any], ...]:
        return (
            paired(act.ShadowRound, "shadow", self._shadows, self._may_shadow, self._shadow),
            paired(act.AnnounceBoot, "boot", self._in(act.AnnounceBoot, "shadow"), self._may_boot,
                 self._boot),
            paired(act.StreamRange, "stream", self._in(act.StreamRange, "boot"), self._may_stream,
                 self._stream),
            paired(act.AnnounceNormal, "normal", self._in(act.AnnounceNormal, "streamed"), free,
                 self._normal),
        )  # fmt: skip

    def _in(self, action: Any, phase: str) -> Any:
        return lambda s: [action(node.name) for node in s.nodes if node.phase == phase]

    def with_node(self, s: RingState, node: ViewNode, **more: Any) -> RingState:
        """The state with another node of that name."""
        at = self.index[node.name]
        return replace(s, nodes=(*s.nodes[:at], node, *s.nodes[at + 1 :]), **more)

    # -- gossip ------------------------------------------------------------------------------------

    def _exchanges(self, s: RingState) -> Iterator[act.Exchange]:
        """Of two nodes that gossip and know different things one begins: it does not matter who."""
        return (
            act.Exchange(a.name, b.name) for a, b in combinations(talking(s), 2) if a.view != b.view
        )

    def _may_exchange(self, s: RingState, action: act.Exchange) -> Refusal | None:
        if self.reaches(s, action.node, action.target):
            return None
        return Refusal(f"{s.cut_off} is cut off")

    def _exchange(self, s: RingState, action: act.Exchange) -> RingState:
        a, b = self.node(s, action.node), self.node(s, action.target)
        s = self.with_node(s, replace(a, view=heard(a.view, b.view)))
        return self.with_node(s, replace(b, view=heard(b.view, a.view)))

    # -- the joining node --------------------------------------------------------------------------

    def _shadows(self, s: RingState) -> Iterator[act.ShadowRound]:
        """One that has asked before may ask a contact that knows something else by now."""
        for node in s.nodes:
            for contact in members(s):
                again = node.phase == "shadow" and node.view != contact.view
                if contact.name in self.members and (again or node.phase == "out"):
                    yield act.ShadowRound(node.name, contact.name)

    def _may_shadow(self, s: RingState, action: act.ShadowRound) -> Refusal | None:
        if not self.reaches(s, action.node, action.contact):
            return Refusal(f"{s.cut_off} is cut off")
        if not self.guarded.one_at_a_time:
            return None
        for other in s.nodes:
            if other.name in self.joiners and other.name != action.node:
                unsettled = other.phase != "member" and other.generation > 0
                if unsettled or any(
                    endpoint_of(node.view, other.name) != endpoint_of(other.view, other.name)
                    for node in members(s)
                ):
                    return Refusal(f"{other.name} has begun to join, and not all know it as joined")
        return None

    def _shadow(self, s: RingState, action: act.ShadowRound) -> RingState:
        """It learns what the contact knows; nobody learns of it. Its generation is a new one."""
        node, contact = self.node(s, action.node), self.node(s, action.contact)
        generation = node.generation + (node.phase == "out")
        return self.with_node(s, ViewNode(node.name, "shadow", generation, contact.view))

    def _may_boot(self, s: RingState, action: act.AnnounceBoot) -> Refusal | None:
        """The published codes refuse to join beside another one that is known to join."""
        for state in self.node(s, action.node).view:
            if state.endpoint != action.node and state.says(STATUS) == BOOT:
                return Refusal(f"{action.node} has heard that {state.endpoint} is joining")
        return None

    def _boot(self, s: RingState, action: act.AnnounceBoot) -> RingState:
        node = self.node(s, action.node)
        view = started(node.view, node.name, node.generation, STATUS=BOOT)
        return self.with_node(s, replace(node, phase="boot", view=view))

    def _may_stream(self, s: RingState, action: act.StreamRange) -> Refusal | None:
        node = self.node(s, action.node)
        source = self.source(s, action.node)
        if source and not self.reaches(s, action.node, source):
            return Refusal(f"{action.node} does not reach {source}, whose place it takes")
        return self.ring_delay(s, node, node.name)

    def ring_delay(self, s: RingState, node: ViewNode, endpoint: str) -> Refusal | None:
        """Whether a node has to wait, for others do not know what it announced of an endpoint."""
        if not self.guarded.ring_delay:
            return None
        own = endpoint_of(node.view, endpoint)
        deaf = tuple(
            other.name
            for other in talking(s)
            if self.reaches(s, node.name, other.name) and endpoint_of(other.view, endpoint) != own
        )
        return Refusal("RING_DELAY has not passed", missing=deaf) if deaf else None

    def source(self, s: RingState, name: str) -> str:
        """The replica that a joining node copies from, by its own view; empty: from none."""
        return gives_up(self.node(s, name).view, self.walk, self.parameters.rf, name)

    def _stream(self, s: RingState, action: act.StreamRange) -> RingState:
        node, source = self.node(s, action.node), self.source(s, action.node)
        copied = self.node(s, source).data if source else 0
        node = replace(node, phase="streamed", data=node.data | copied)
        return self.with_node(s, node, streams=s.streams + bool(source))

    def _normal(self, s: RingState, action: act.AnnounceNormal) -> RingState:
        node = self.node(s, action.node)
        view = saying(node.view, node.name, STATUS=NORMAL)
        return self.with_node(s, replace(node, phase="member", view=view))

    # -- clients -----------------------------------------------------------------------------------

    def targets(self, s: RingState, coordinator: str) -> tuple[tuple[str, ...], int]:
        """The nodes that a coordinator writes to by its view, and how many must acknowledge."""
        view, rf = self.node(s, coordinator).view, self.parameters.rf
        owners, more = replicas(view, self.walk, rf), pending(view, self.walk, rf)
        return (*owners, *more), quorum(len(owners)) + len(more)

    def _writes(self, s: RingState) -> Iterator[act.WriteKey]:
        """The smallest sets of acknowledgements that count; nobody else gets the write."""
        if s.written == self.parameters.writes:
            return
        for node in members(s):
            targets, needed = self.targets(s, node.name)
            able = [
                name
                for name in targets
                if self.node(s, name).phase not in SILENT and self.reaches(s, node.name, name)
            ]
            for by in combinations(able, needed):
                yield act.WriteKey(node.name, by)

    def _write(self, s: RingState, action: act.WriteKey) -> RingState:
        bit = 1 << s.written
        for name in action.by:
            node = self.node(s, name)
            s = self.with_node(s, replace(node, data=node.data | bit))
        return replace(s, acknowledged=s.acknowledged | bit, written=s.written + 1)

    # -- faults ------------------------------------------------------------------------------------

    def _crashes(self, s: RingState) -> Iterable[act.CrashDriver]:
        if not s.crashes:
            return ()
        joining = ("shadow", "boot", "streamed")
        return [
            act.CrashDriver(node.name) for node in s.nodes if node.phase in joining or node.drives
        ]

    def _crash(self, s: RingState, action: act.CrashDriver) -> RingState:
        """The operation starts from scratch later: nothing of what was done is of use to anybody.

        A member keeps its data, and its place in the ring.
        """
        node = self.node(s, action.node)
        gone = ViewNode(node.name, "out", node.generation, ())
        if node.drives:
            gone = replace(node, phase="down", drives="")
        return self.with_node(s, gone, crashes=s.crashes - 1)

    def _forgotten(self, s: RingState) -> Iterator[act.ForgetJoiner]:
        for node in s.nodes:
            known = any(endpoint_of(each.view, node.name).generation for each in s.nodes)
            if node.phase == "out" and known:
                yield act.ForgetJoiner(node.name)

    def _forget(self, s: RingState, action: act.ForgetJoiner) -> RingState:
        nodes = (replace(each, view=forgetting(each.view, action.node)) for each in s.nodes)
        return replace(s, nodes=tuple(nodes))

    def _cuts(self, s: RingState) -> Iterable[act.CutNodeOff]:
        return [act.CutNodeOff(name) for name in self.members] if s.cuts and not s.cut_off else []

    # -- words and schedule ------------------------------------------------------------------------

    def suggest(self, s: RingState) -> Any | None:
        """News first, then what the driving node does next; clients and faults are left out."""
        enabled = (a for a in self.actions(s) if self.kind(a) not in ("write", *self.faults))
        return next(enabled, None)

    def verb(self, action: Any) -> str:
        """``shadow X A``, ``boot X``, ``gossip A X``, ``write A by B C``."""
        return wording.verb(action)

    def describe(self, before: RingState, action: Any, after: RingState) -> str:
        """What the step did, and why."""
        return wording.described(self, before, action, after)

    def milestone(self, before: RingState, action: Any, after: RingState) -> str | None:
        """The steps of the node that drives the operation, and faults."""
        if isinstance(action, act.Exchange | act.WriteKey):
            return None
        return self.verb(action)
