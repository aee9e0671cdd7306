"""A join or a removal that nobody coordinates: one node drives it, gossip tells of it.

The joining node drives its own join, a neighbour the removal of a dead node: the one on which an
operator calls removenode. That node says ``REMOVING`` of the dead one, waits for RING_DELAY, has
the new owner of the dead one's range copy it, waits for the answer, and says ``REMOVED``. How far
it is, it alone knows: when it dies, the operator calls removenode on another node, and all that
was streamed is streamed again.

One key is followed, whose replicas change. A round of gossip is one step here (its messages are
model ``gossip``); both call the same rules. RING_DELAY is a time in which news should have reached
everybody: it has passed once all nodes that the driving one reaches know of it. A node that is cut
off meanwhile has not heard, and the time passes all the same.
Sources: CEP-21, "Motivation", "Schema Management"; blog post on 6.0, "Driving Topology Changes";
published code of the older servers, ``StorageService.removeNode`` and
``Gossiper.advertiseRemoving``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Annotated, Any, Literal, TypeAlias

from kit.errors import BadInput, Refusal, counted
from kit.masks import majority, union, where
from kit.model import declared
from kit.model.declared import Node, State, Travel, action, always, parameter, purpose, refused
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.gossip import rules

MOST_FAULTS = 5
JoinPhase = Literal["out", "shadow", "boot", "streamed", "member", "down"]
RemovalStage = Literal["", "removing", "restored"]
"""How far a removal is: announced; streamed, too, and answered. Only the node that drives it "
"knows."""
JOINING = ("shadow", "boot", "streamed")
SILENT = ("out", "shadow", "down")
"""The phases in which a node does not gossip, and gets no writes."""


class ViewNode(State, frozen=True, cache_hash=True):
    """A node: how far it is, what it knows of all endpoints, and which writes it holds (a mask).

    ``out``: it has not begun, or is down; ``shadow``: it has asked what there is and nobody knows
    of it; ``boot`` and ``streamed``: it joins; ``member``: it is up and owns its ranges; ``down``:
    a member that is dead. ``drives`` is the removal that this node drives; it is in memory only.
    """

    name: str
    phase: JoinPhase
    generation: int
    view: rules.View
    data: int = 0
    drives: RemovalStage = ""


class RingState(State, frozen=True, cache_hash=True):
    """All nodes, whom the network cuts off (empty: nobody), what was acknowledged, what is left.

    ``acknowledged`` is a mask of writes; ``streams`` counts how often data were streamed.
    """

    nodes: tuple[ViewNode, ...]
    cut_off: str
    acknowledged: int
    written: int
    streams: int
    crashes: int
    cuts: int


Next: TypeAlias = RingState | Refusal
Replicas: TypeAlias = Annotated[tuple[str, ...], declared.Each((), ", ".join)]


def members(s: RingState) -> tuple[ViewNode, ...]:
    """The nodes that clients may ask."""
    return tuple(node for node in s.nodes if node.phase == "member")


def talking(s: RingState) -> tuple[ViewNode, ...]:
    """The nodes that gossip."""
    return tuple(node for node in s.nodes if node.phase not in SILENT)


def is_settled(s: RingState) -> bool:
    """Whether the network is whole and all members know the same."""
    return not s.cut_off and len({node.view for node in members(s)}) == 1


def leg(kind: Any, source: str, target: str, label: str, what: str, number: int = 0) -> Travel:
    """Something on its way between two nodes, and in words what."""
    text = f"{source} → {target}: {what}"
    return Travel(kind, f"n:{source}", f"n:{target}", label, text, number)


def so_far(how: JoinPhase | RemovalStage) -> Any:
    """The nodes that are so far in their join, or in a removal, as a bit mask."""
    return lambda m, s: where(how in (n.phase, n.drives) for n in s.nodes)


def _range_travels(m: GossipJoin, before: RingState, a: Any, after: RingState) -> Iterable[Travel]:
    if source := m.source(before, m.number(a.node)):
        yield leg("data", source, a.node, "range", "the range")


def _copy_travels(m: GossipJoin, before: RingState, a: Any, after: RingState) -> Iterable[Travel]:
    taker, source = m.taker(before, m.number(a.node)), m.lender(before, m.number(a.node))
    if taker != a.node:
        yield leg("request", a.node, taker, "stream", "stream")
    if source:
        yield leg("data", source, taker, "range", "the range", 1)
    if taker != a.node:
        yield leg("answer", taker, a.node, "done", "done", 2)


def _stream_says(m: GossipJoin, before: RingState, a: Any, after: RingState) -> str:
    if source := m.source(before, m.number(a.node)):
        return f"{{node}} copies the key from {source}, the replica that it replaces."
    return "{node} replaces no replica of this key, so it streams nothing."


def _restore_says(m: GossipJoin, before: RingState, a: Any, after: RingState) -> str:
    taker, source = m.taker(before, m.number(a.node)), m.lender(before, m.number(a.node))
    if not source:
        return f"{{node}} finds no replica other than the dead one, so {taker} copies nothing."
    if taker == a.node:
        return f"{{node}} is the new replica itself, so it copies the key from {source}."
    return (
        f"{{node}} asks {taker} to copy the key from {source}, and {taker} reports that it is done."
    )


class GossipJoin(declared.NodeModel[RingState]):
    """A cluster that nodes join, each on its own, or whose dead member a live one removes."""

    name, title = "gossip_join", "A join or a removal by gossip: no coordinator drives it"
    premise = (
        "No node leads: each node learns only by gossip which nodes join and leave. "
        "Until all nodes have heard, they disagree on which nodes hold the data."
    )
    about = "The cluster, the nodes that join or are removed, the writes, and what can go wrong."
    State = RingState
    rests_at_goals = True
    costs = tuple(
        declared.Cost(name, harm, "CEP-21, Motivation", when=lambda m: m.cuts > 0)
        for name, harm in (
            (
                "kept",
                "RING_DELAY passes while a node is cut off, and that node misses writes later.",
            ),
            ("restored", "A node that was cut off meanwhile still writes to the old replicas."),
        )
    )

    operation: Literal["join", "removenode"] = parameter(
        "join",
        "join: nodes join; removenode: a neighbour removes Z, a dead extra member next to the key",
    )
    nodes: int = parameter(3, "nodes in the cluster, named A, B, C, …", ge=1, le=5)
    joiners: int = parameter(
        1, "nodes that join next to the key, named X and Y (only for join)", ge=1, le=2
    )
    rf: int = parameter(1, "replicas of the key", ge=1, le=3)
    writes: int = declared.budget(1, "how many times the key is written", le=3, own=False)
    crashes: int = declared.budget(
        0, "how many times a node that drives an operation dies", le=MOST_FAULTS
    )
    cuts: int = declared.budget(0, "how many times the network cuts a node off", le=MOST_FAULTS)

    ring_delay: bool = declared.safeguard(
        "S-08",
        "Streaming begins only when all reachable nodes know which node is joining or "
        "being removed",
        ("INV-STREAM", "INV-VISIBLE"),
        smallest={"nodes": 2},
    )
    one_at_a_time: bool = declared.safeguard(
        "S-09",
        "A node begins to join only when all nodes know that the previous one has joined",
        ("INV-LOCK", "INV-VISIBLE"),
        smallest={"joiners": 2, "nodes": 2},
    )

    def set_up(self) -> None:
        """The members, and who joins or is dead; ``walk`` are all of them, clockwise from the key.

        Raises BadInput for more replicas than members.
        """
        if self.rf > self.nodes:
            raise BadInput("rf", self.rf, f"a number from 1 to {self.nodes}, the number of members")
        joins = self.operation == "join"
        self.members = tuple("ABCDE"[: self.nodes])
        self.newcomers: tuple[str, ...] = tuple("XY"[: self.joiners]) if joins else ()
        self.dead = "" if joins else "Z"
        self.changing = (*self.newcomers, *self.dead)
        self.walk = (*self.changing, *self.members)
        self.names = (*self.members, *self.changing)

    def start(self) -> RingState:
        """All members know one another; nobody joins, and nobody is being removed yet."""
        view: rules.View = ()
        for name in (*self.members, *self.dead):
            view = rules.started(view, name, 1, STATUS=rules.NORMAL)
        nodes = [ViewNode(name, "member", 1, view) for name in self.members]
        nodes += [ViewNode(name, "out", 0, ()) for name in self.newcomers]
        nodes += [ViewNode(name, "down", 1, view) for name in self.dead]
        return RingState(tuple(nodes), "", 0, 0, 0, self.crashes, self.cuts)

    def node(self, s: RingState, name: str) -> ViewNode:
        """A node by its name."""
        return s.nodes[self.index[name]]

    def reaches(self, s: RingState, a: str, b: str) -> bool:
        """Whether the network lets two nodes talk."""
        return a == b or s.cut_off not in (a, b)

    def too_early(self, s: RingState, node: ViewNode, endpoint: str) -> Refusal | None:
        """Whether a node has to wait, for others do not know what it announced of an endpoint."""
        if not self.ring_delay:
            return None
        own = rules.endpoint_of(node.view, endpoint)
        unlike = (n.name for n in talking(s) if rules.endpoint_of(n.view, endpoint) != own)
        deaf = tuple(name for name in unlike if self.reaches(s, node.name, name))
        return refused("RING_DELAY has not passed", deaf) if deaf else None

    # -- gossip ------------------------------------------------------------------------------------

    def unlike(self, s: RingState) -> Iterator[tuple[int, int]]:
        """Two nodes that gossip and know different things: it does not matter who begins."""
        known = [(i, node.view) for i, node in enumerate(s.nodes) if node.phase not in SILENT]
        return ((i, j) for (i, view), (j, other) in combinations(known, 2) if view != other)

    @action(
        tag="gossip",
        each=unlike,
        travels=[
            leg("message", "{node}", "{target}", "gossip", "digests"),
            leg("message", "{target}", "{node}", "gossip", "newer states", 1),
        ],
    )
    @purpose("News spreads from node to node, and each node acts on what it has heard.")
    def exchange(self, s: RingState, node: Node, target: Node) -> Next:
        """{node} and {target} gossip. Now both know the latest news that either of them had."""
        a, b = s.nodes[node], s.nodes[target]
        if not self.reaches(s, a.name, b.name):
            return refused(f"{s.cut_off} is cut off")
        s = s.at(node, view=rules.heard(a.view, b.view))
        return s.at(target, view=rules.heard(b.view, a.view))

    # -- the joining node --------------------------------------------------------------------------

    def shadows(self, s: RingState) -> Iterator[tuple[int, int]]:
        """One that has asked before may ask a contact that knows something else by now."""
        for place, node in enumerate(s.nodes):
            for at, contact in enumerate(s.nodes[: len(self.members)]):
                again = node.phase == "shadow" and node.view != contact.view
                if again or node.phase == "out":  # where nodes join, no member dies
                    yield place, at

    @action(
        tag="shadow",
        each=shadows,
        when=lambda m: m.newcomers,
        travels=[
            leg("request", "{node}", "{contact}", "who is there?", "shadow round"),
            leg("answer", "{contact}", "{node}", "states", "its states", 1),
        ],
    )
    @purpose("A newcomer must know the ring before it announces itself.")
    def shadow_round(self, s: RingState, node: Node, contact: Node) -> Next:
        """{node} asks {contact} about the ring and says nothing about itself.

        The node learns what the contact knows, and its generation is a new one.
        """
        name = self.names[node]
        if not self.reaches(s, name, self.names[contact]):
            return refused(f"{s.cut_off} is cut off")
        if self.one_at_a_time and (other := self.unsettled(s, name)):
            return refused(
                f"{other} is still joining, or not every node has heard yet that it has joined"
            )
        generation = s.nodes[node].generation + (s.nodes[node].phase == "out")
        view = s.nodes[contact].view
        return s.at(node, phase="shadow", generation=generation, view=view, data=0, drives="")

    def unsettled(self, s: RingState, but: str) -> str:
        """Another node that has begun to join, and that not all members know as joined."""
        for name in (name for name in self.newcomers if name != but):
            other = self.node(s, name)
            own, joins = rules.endpoint_of(other.view, name), other.phase != "member"
            if (joins and other.generation > 0) or any(
                rules.endpoint_of(node.view, name) != own for node in members(s)
            ):
                return name
        return ""

    @action(tag="boot", each=so_far("shadow"), when=lambda m: m.newcomers)
    @purpose("Every node that has heard of the newcomer should also send writes to it.")
    def announce_boot(self, s: RingState, node: Node) -> Next:
        """{node} will gossip BOOT in generation {generation}. Nodes that hear this also write to
        {node}.

        The published code refuses to join while another node is known to be joining.
        """
        mine = s.nodes[node]
        for state in mine.view:
            if state.endpoint != mine.name and state.says(rules.STATUS) == rules.BOOT:
                return refused(f"{mine.name} has heard that {state.endpoint} is joining")
        view = rules.started(mine.view, mine.name, mine.generation, STATUS=rules.BOOT)
        return s.at(node, phase="boot", view=view)

    def source(self, s: RingState, node: int) -> str:
        """The replica that a joining node copies from, by its own view; empty: from none."""
        return rules.gives_up(s.nodes[node].view, self.walk, self.rf, self.names[node])

    @action(
        tag="stream",
        each=so_far("boot"),
        when=lambda m: m.newcomers,
        says=_stream_says,
        travels=_range_travels,
    )
    @purpose("New writes do not bring the older data, so that data has to be copied.")
    def stream_range(self, s: RingState, node: Node) -> Next:
        """The joining node copies the data of the replica that it replaces."""
        mine, source = s.nodes[node], self.source(s, node)
        if source and not self.reaches(s, mine.name, source):
            return refused(f"{mine.name} cannot reach {source}, the replica that it replaces")
        if why := self.too_early(s, mine, mine.name):
            return why
        copied = self.node(s, source).data if source else 0
        s = s.at(node, phase="streamed", data=mine.data | copied)
        return s.but(streams=s.streams + bool(source))

    @action(tag="normal", each=so_far("streamed"), when=lambda m: m.newcomers)
    @purpose("Nodes hear this at different times, so they start to read at different times.")
    def announce_normal(self, s: RingState, node: Node) -> Next:
        """{node} will gossip NORMAL. Nodes that hear this start to read from {node}."""
        view = rules.saying(s.nodes[node].view, self.names[node], STATUS=rules.NORMAL)
        return s.at(node, phase="member", view=view)

    # -- who drives the removal of the dead node ---------------------------------------------------

    def is_through(self, s: RingState) -> bool:
        """Whether some node has said that the dead one is removed: the operator has been told."""
        said = (rules.endpoint_of(node.view, self.dead).says(rules.STATUS) for node in s.nodes)
        return rules.REMOVED in said

    def taker(self, s: RingState, driver: int) -> str:
        """The node that takes the dead one's place, by the driver's view."""
        [name] = rules.takes_over(s.nodes[driver].view, self.walk, self.rf)  # one is dead
        return name

    def lender(self, s: RingState, driver: int) -> str:
        """The replica that the new owner copies from, by the driver's view; empty: none is up."""
        owners = rules.replicas(s.nodes[driver].view, self.walk, self.rf)
        return next((name for name in owners if self.node(s, name).phase == "member"), "")

    def calls(self, s: RingState) -> Iterator[tuple[int, int]]:
        """On any member, but an operator who was told that it is removed does not call again."""
        if not self.is_through(s):
            dead = self.number(self.dead)
            yield from ((at, dead) for at, node in enumerate(s.nodes) if node.phase == "member")

    @action(tag="removenode", each=calls, when=lambda m: m.dead)
    @purpose("A dead node cannot leave on its own, so another node drives its removal.")
    def begin_removal(self, s: RingState, node: Node, dead: Node) -> Next:
        """The operator runs removenode {dead} on {node}, and {node} will gossip that {dead} is
        REMOVING.

        Only an endpoint writes its own state. For a dead node, its driver does, a generation later.
        """
        if driver := next((each.name for each in s.nodes if each.drives), ""):
            return refused(f"{driver} is already driving the removal")
        view, gone = s.nodes[node].view, self.names[dead]
        generation = rules.endpoint_of(view, gone).generation + 1
        view = rules.started(view, gone, generation, STATUS=rules.REMOVING)
        return s.at(node, view=view, drives="removing")

    @action(
        tag="restore",
        each=so_far("removing"),
        when=lambda m: m.dead,
        says=_restore_says,
        travels=_copy_travels,
    )
    @purpose("The dead node's copy is gone, so the new replica needs a copy from another node.")
    def restore_replica(self, s: RingState, node: Node) -> Next:
        """The driver asks the new replica to copy from a live one, and hears when it is done."""
        name, taker, source = self.names[node], self.taker(s, node), self.lender(s, node)
        owner, dead = self.node(s, taker), self.dead
        if owner.phase != "member" or not self.reaches(s, name, taker):
            return refused(f"{taker}, which takes the place of {dead}, does not answer")
        if self.rf > 1 and not source:
            return refused(f"no replica is up that {taker} could copy from")
        if source and not self.reaches(s, taker, source):
            return refused(f"{taker} cannot reach {source}, the replica that it must copy from")
        if why := self.too_early(s, s.nodes[node], dead):
            return why
        copied = self.node(s, source).data if source else 0
        s = s.at(self.index[taker], data=owner.data | copied).at(node, drives="restored")
        return s.but(streams=s.streams + bool(source))

    @action(tag="removed", each=so_far("restored"), when=lambda m: m.dead)
    @purpose("Nodes stop counting on the dead node only when they hear this.")
    def announce_removed(self, s: RingState, node: Node) -> Next:
        """{node} will gossip that {gone} is REMOVED. Nodes that hear this send {gone} no more
        requests.
        """
        view = rules.saying(s.nodes[node].view, self.dead, STATUS=rules.REMOVED)
        return s.at(node, view=view, drives="")

    @action(
        tag="restart",
        each=lambda m, s: where(node.phase == "down" for node in s.nodes[: len(m.members)]),
        when=lambda m: m.dead,
    )
    @purpose("No log keeps the plan, so the removal has to start again from the beginning.")
    def restart_driver(self, s: RingState, node: Node) -> Next:
        """{node} is up again with its data, but does not remember driving a removal.

        The node still knows what it knew about others, and announces that it is back.
        """
        name, generation = self.names[node], s.nodes[node].generation + 1
        view = rules.started(s.nodes[node].view, name, generation, STATUS=rules.NORMAL)
        return s.at(node, phase="member", generation=generation, view=view, drives="")

    # -- clients -----------------------------------------------------------------------------------

    def targets(self, s: RingState, coordinator: int) -> tuple[tuple[str, ...], int]:
        """The nodes that a coordinator writes to by its view, and how many must acknowledge."""
        given = s.nodes[coordinator].view, self.walk, self.rf
        owners, more = rules.replicas(*given), rules.pending(*given)
        return (*owners, *more), majority(len(owners)) + len(more)

    def acknowledging(self, s: RingState) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The smallest sets of acknowledgements that count; nobody else gets the write."""
        if s.written == self.writes:
            return
        up = {node.name for node in talking(s)}
        for place, node in enumerate(s.nodes):
            if node.phase == "member":
                targets, needed = self.targets(s, place)
                able = [name for name in targets if name in up and self.reaches(s, node.name, name)]
                yield from ((place, by) for by in combinations(able, needed))

    @action(
        tag="write",
        each=acknowledging,
        verb=lambda m, a: f"write {a.coordinator} by {' '.join(a.by)}",
        travels=lambda m, _, a, s: [
            leg("data", a.coordinator, name, *(f"write {s.written}",) * 2)
            for name in a.by
            if name != a.coordinator
        ],
        unasked=True,
    )
    @purpose("A request coordinator writes to the replicas in its own view.")
    def write_key(self, s: RingState, coordinator: Node, by: Replicas) -> Next:
        """{coordinator} writes to {targets}, following its own view. It needs {needed} and gets
        {them} from {by}.
        """
        bit = 1 << s.written
        for name in by:
            s = s.at(self.index[name], data=self.node(s, name).data | bit)
        return s.but(acknowledged=s.acknowledged | bit, written=s.written + 1)

    # -- faults ------------------------------------------------------------------------------------

    def forgotten(self, s: RingState) -> int:
        """The nodes that are out, and of which some node still knows, as a bit mask."""
        known = {endpoint.endpoint for node in s.nodes for endpoint in node.view}
        return where(node.phase == "out" and node.name in known for node in s.nodes)

    @action(tag="forget", each=forgotten)
    @purpose("Nobody announces that a joiner has died: its silence is the only sign.")
    def forget_joiner(self, s: RingState, node: Node) -> Next:
        """{node} has been silent for too long, so the other nodes forget it."""
        name = self.names[node]
        return s.but(nodes=tuple(n.but(view=rules.forgetting(n.view, name)) for n in s.nodes))

    @action(
        tag="crash",
        each=lambda m, s: where(bool(node.drives) or node.phase in JOINING for node in s.nodes),
        spends="crashes",
        says=lambda m, s, a, _: (
            "{node} dies while it is joining. No other node can finish the join, so {node} has to "
            "start from scratch."
            if a.node in m.newcomers
            else "{node} dies while it is driving the removal. No other node knows how far it got, "
            "so the operator has to start from scratch on another node."
        ),
        fault=True,
    )
    @purpose("No log records what the node was driving, so no other node takes over.")
    def crash_driver(self, s: RingState, node: Node) -> Next:
        """The operation has to start from scratch later: none of the work can be reused.

        A member keeps its data and its place in the ring.
        """
        if s.nodes[node].drives:
            return s.at(node, phase="down", drives="")
        return s.at(node, phase="out", view=(), data=0)

    @action(
        tag="cut-off",
        kind="cut",
        each=lambda m, s: 0 if s.cut_off else (1 << len(m.members)) - 1,
        spends="cuts",
        fault=True,
        hand=lambda m, s, a: ((a.node,), tuple(n for n in m.names if n != a.node)),
    )
    @purpose("Nodes that cannot talk keep their old views and act on them.")
    def cut_node_off(self, s: RingState, node: Node) -> Next:
        """The network cuts {node} off."""
        return s.but(cut_off=self.names[node])

    @action(tag="reconnect", each=lambda m, s: int(bool(s.cut_off)))
    @purpose("Messages get through again, so the views can become equal.")
    def heal_cut(self, s: RingState) -> Next:
        """The network is whole again."""
        return s.but(cut_off="")

    # -- what must hold ----------------------------------------------------------------------------

    def misses(self, s: RingState) -> Iterator[str]:
        """Reads, by any coordinator and of any quorum that is up, which miss a write."""
        data = {node.name: node.data for node in members(s)}
        for node in members(s):
            owners = rules.replicas(node.view, self.walk, self.rf)
            up = [name for name in owners if name in data and self.reaches(s, node.name, name)]
            for some in combinations(up, majority(len(owners))):
                if missed := s.acknowledged & ~union(data[name] for name in some):
                    write = missed.bit_length()
                    yield f"{node.name} reads from {', '.join(some)} and misses write {write}"

    def is_at_rest(self, s: RingState) -> bool:
        """Whether all nodes but the dead one are members, and know the same."""
        return len(members(s)) + len(self.dead) == len(s.nodes) and is_settled(s)

    @always("INV-VISIBLE")
    def kept(self, s: RingState) -> str | None:
        """Once all nodes have heard the news, every read sees every acknowledged write."""
        return next(self.misses(s), None) if is_settled(s) else None

    @always(sign=lambda m: True)
    def seen(self, s: RingState) -> str | None:
        """At any moment, every read sees every acknowledged write.

        Gossip does not promise this while news travels.
        """
        return next(self.misses(s), None)

    @always("INV-STREAM", when=lambda m: m.dead)
    def restored(self, s: RingState) -> str | None:
        """Before a dead node is removed, its replacement has every acknowledged write."""
        for place, node in enumerate(s.nodes):
            if node.drives == "restored":
                taker = self.taker(s, place)
                if lacks := s.acknowledged & ~self.node(s, taker).data:
                    number = lacks.bit_length()
                    return f"{taker} takes the place of {self.dead}, but it lacks write {number}"
        return None

    @declared.step("INV-STREAM", on=(announce_normal,), when=lambda m: m.newcomers and not m.cuts)
    def streamed(self, before: RingState, action: Any, after: RingState) -> str | None:
        """When a node becomes a replica, no quorum of replicas lacks an acknowledged write."""
        owners = rules.replicas(self.node(after, action.node).view, self.walk, self.rf)
        for write in range(before.acknowledged.bit_length()):
            lack = [name for name in owners if not self.node(after, name).data >> write & 1]
            owed = before.acknowledged >> write & 1
            if owed and action.node in lack and len(lack) >= majority(len(owners)):
                without = f"{', '.join(lack)} lack{'s' * (len(lack) == 1)} write {write + 1}"
                return f"{action.node} becomes a replica, but {without}"
        return None

    @always("INV-LOCK", when=lambda m: m.newcomers)
    def one_joins(self, s: RingState) -> str | None:
        """No two nodes join at the same time."""
        joining = [node.name for node in s.nodes if node.phase in ("boot", "streamed")]
        return f"{' and '.join(joining)} are joining at the same time" if len(joining) > 1 else None

    @declared.sometimes(when=lambda m: m.dead)
    def removed(self, s: RingState) -> bool:
        """The dead node has been removed."""
        return self.is_through(s)

    @declared.goal(when=lambda m: m.dead)
    def all_out(self, s: RingState) -> bool:
        """The dead node can still be removed, and every node can hear of its removal."""
        return self.is_through(s) and self.is_at_rest(s)

    @declared.sometimes(when=lambda m: m.newcomers)
    def joined(self, s: RingState) -> bool:
        """A node has joined."""
        return s.nodes[-1].phase == "member"

    @declared.goal(when=lambda m: m.newcomers)
    def all_in(self, s: RingState) -> bool:
        """All newcomers can still join, and every node can hear of them."""
        return self.is_at_rest(s)

    # -- words -------------------------------------------------------------------------------------

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """A joiner's generation, the dead node, and to whom a coordinator writes."""
        if isinstance(action, AnnounceBoot):
            return {"generation": self.node(after, action.node).generation}
        if isinstance(action, AnnounceRemoved):
            return {"gone": self.dead}
        if isinstance(action, WriteKey):
            targets, needed = self.targets(before, self.number(action.coordinator))
            return {
                "targets": ", ".join(targets),
                "needed": counted(needed, "acknowledgement"),
                "them": "it" if needed == 1 else "them",
            }
        return {}

    def milestone(self, before: RingState, action: Any, after: RingState) -> str | None:
        """The steps of the node that drives the operation, and faults."""
        return None if isinstance(action, Exchange | WriteKey) else self.verb(action)


Exchange, ShadowRound, AnnounceBoot, StreamRange, AnnounceNormal, *_rest = GossipJoin.acts
BeginRemoval, RestoreReplica, AnnounceRemoved, RestartDriver, WriteKey, *_rest = _rest
ForgetJoiner, CrashDriver, CutNodeOff, HealCut = _rest


_HEARD = ("gossip A X", "gossip A B", "gossip A C")
SCENARIOS = (
    Scenario(
        "one-join", ("A node joins by gossip. Shadow round, BOOT, RING_DELAY, streaming, NORMAL")
    ),
    Scenario(
        "death-of-the-joiner",
        "The joining node dies. X starts from scratch after streaming and streams again",
        {"crashes": 1},
        script=("shadow X A", "boot X", *_HEARD, "stream X", "crash X"),
    ),
    Scenario(
        "cut-off-meanwhile",
        "C does not hear of X. It is cut off, but RING_DELAY passes anyway",
        {"cuts": 1},
        script=("shadow X A", "boot X", "gossip A X", "gossip A B", "cut-off C", "stream X"),
    ),
    Scenario(
        "two-shadow-rounds",
        (
            "Two nodes join without seeing each other. X and Y begin at the same time, "
            "and neither hears of the other before both join"
        ),
        {"joiners": 2, "rf": 3},
        off=("one-at-a-time",),
        script=("shadow X A", "shadow Y A", "boot X", "boot Y"),
    ),
    Scenario(
        "death-of-a-neighbour",
        (
            "A removal has to start again. A dies while driving the removal of Z, and "
            "the operator starts from scratch on B"
        ),
        {"operation": "removenode", "rf": 3, "crashes": 1},
        script=("removenode A Z", *_HEARD[1:], "restore A", "crash A", "removenode B Z"),
    ),
)


ENTRY = declared.entry(
    GossipJoin,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        {"joiners": 2, "rf": 2, "writes": 3, "crashes": 2, "cuts": 0}, {"crash": 0.2, "write": 0.3}
    ),
)
