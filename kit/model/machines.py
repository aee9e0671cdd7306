"""Nodes on a network that have a disk, timers and clients, and that crash.

Five effects make a turn of a node. Two are listed in it: it sends a message (``Post``), or answers
a client (``Answer``). Three are read off its next state: what is now on its ``disk`` is persisted,
what its ``timers`` are is set, and what else it holds is applied. A ``MachineModel`` declares which
part of a node's state is on disk; all else is lost in a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, TypeAlias

from msgspec import Struct, structs

from kit.errors import BadInput, KitError, Refusal, shorten
from kit.model.actors import ActorState, NetworkModel, Post, Sent
from kit.model.declared import Each, Node, Words, action, off_stage, purpose, refused
from kit.model.network import Heal, NetworkOptions, less, spent


class Answer(Struct, frozen=True, cache_hash=True):
    """The answer to a client's request."""

    request: Any
    outcome: Any


Turn = tuple[Any, tuple[Post | Answer, ...]]
"""What an event makes of a node: its next state, and what it sends and answers, in order."""


class MachineBudget(Struct, frozen=True, cache_hash=True):
    """How often each may happen (still); None: as often as one likes."""

    crashes: int | None = 0
    cuts: int | None = 0
    ticks: int | None = 0
    requests: int | None = 0


class MachineOptions(NetworkOptions, frozen=True, forbid_unknown_fields=True):
    """The options of the network, and the faults of its nodes: a budget each.

    ``cuts`` are of single links, one way or both. Where ``writes_apart``, what a turn changes on
    the disk is written in a step of its own, so that a node may crash before it, or after it and
    before its messages leave.
    """

    crashes: int | None = 0
    cuts: int | None = 0
    ticks: int | None = 0
    requests: int | None = 0
    writes_apart: bool = False


class Unsaved(Struct, frozen=True, cache_hash=True):
    """A node that has still to write: what is on its disk until then, and what leaves after it."""

    node: int
    disk: Any
    effects: tuple[Post | Answer, ...]


class MachineState(ActorState, frozen=True, cache_hash=True):
    """Nodes and network; ``down`` is a mask of crashed nodes, ``cut`` one of links that are cut.

    A crashed node stands there as it will start again. The bit of a link from node ``i`` to node
    ``j`` of ``n`` is ``i * n + j``. ``answers`` are what clients were told, in order.
    """

    down: int = 0
    cut: int = 0
    unsaved: tuple[Unsaved, ...] = ()
    answers: tuple[Answer, ...] = ()
    left: MachineBudget = MachineBudget()


WAITS = "waits: its message is already on its way"
Next: TypeAlias = MachineState | Refusal | None
Link: TypeAlias = Annotated[str, Each(lambda m: m.links)]


def _unsaved(m: MachineModel, s: MachineState) -> int:
    return sum(1 << each.node for each in s.unsaved)


def _ringing(m: MachineModel, s: MachineState) -> Iterable[tuple[int, str]]:
    return ((place, timer) for place, node in enumerate(s.nodes) for timer in m.timers(node))


def _asking(m: MachineModel, s: MachineState) -> Iterable[tuple[int, str]]:
    return ((node, what) for what in m.asks(s) for node in range(len(m.names)))


class MachineModel(NetworkModel):
    """A model of nodes that crash, and start again from what is on their disks.

    It declares ``disk`` and ``restarted``, and as it needs them ``timers`` and ``fires``, ``asks``
    and ``requested``. ``idle`` has the timers that may not run out in vain, and what to say then.
    While ``persist_first`` (declare it as a safeguard to switch it off), what a turn sends leaves
    only once the disk has what the turn changed, and until then the node does nothing else.
    """

    State: Any = MachineState
    first: tuple[str, ...] = ("persist", "deliver")
    persist_first: bool = True
    idle: Mapping[str, str] = {}

    def befallen(self, **more: Any) -> MachineOptions:
        """The parameters that go by the names of options, and ``more``."""
        own = {*MachineOptions.__struct_fields__} & {*self.Parameters.__struct_fields__} - {*more}
        return MachineOptions(**{name: getattr(self, name) for name in own}, **more)

    def connect(self, names: tuple[str, ...], options: NetworkOptions | None = None) -> None:
        """Put nodes on a network; a ``MachineOptions`` says what befalls them.

        Raises BadInput as ``Carrier`` does, and for a budget below 0.
        """
        super().connect(names, options)
        given = structs.asdict(self.network_options)
        fields = MachineBudget.__struct_fields__
        self.budget = MachineBudget(**{name: given[name] for name in fields if name in given})
        for name, number in structs.asdict(self.budget).items():
            if number is not None and number < 0:
                raise BadInput(name, number, "a number from 0 up, or None for no bound")
        self.writes_apart = given.get("writes_apart", False)
        pairs = [(a, b) for a in names for b in names if a != b]
        bits = {f"{a}>{b}": self._link(a, b) for a, b in pairs}
        both = {f"{a}<>{b}": self._link(a, b) | self._link(b, a) for a, b in pairs if a < b}
        self.links = {**bits, **both}
        self._ends = {f"{a}{sign}{b}": ((a,), (b,)) for a, b in pairs for sign in (">", "<>")}
        self._turns = lru_cache(None)(self.receive)

    def _link(self, source: str, target: str) -> int:
        return 1 << self.index[source] * len(self.names) + self.index[target]

    def start(self) -> MachineState:
        """Each node at its beginning, its first state on disk, first messages sent."""
        s = super().start()
        return MachineState(s.nodes, s.network, left=self.budget)

    # -- what a model declares ---------------------------------------------------------------------

    def disk(self, state: Any) -> Any:
        """The part of a node's state that is on disk; all of it, unless a model says less."""
        return state

    def is_down(self, s: Any, node: str) -> bool:
        """Whether a node has crashed and was not restarted."""
        return bool(s.down >> self.index[node] & 1)

    def restarted(self, node: str, disk: Any) -> Any:
        """The state of a node that has this on its disk and knows nothing else."""
        return disk

    def wakes(self, node: str, state: Any) -> Turn:
        """The first turn of a restarted node."""
        return state, ()

    def timers(self, state: Any) -> tuple[str, ...]:
        """The timers that are set at a node in this state."""
        return ()

    def fires(self, node: str, state: Any, timer: str) -> Turn:
        """The turn of a node when one of its timers runs out."""
        raise NotImplementedError

    def rings(self, s: MachineState, node: int, timer: str) -> Turn:
        """The same, of a node at this place; it may look at what the node hears."""
        return self.fires(self.names[node], s.nodes[node], timer)

    def recurring(self, s: Any) -> Any:
        """All but the messages that cannot arrive: they pile up, and change nothing."""
        if not (s.down or s.cut or s.network.apart):
            return s
        bag = s.network.in_flight
        arrive = tuple(
            e
            for e in bag
            if not self.is_down(s, e.target) and not self.cut_off(s, e.source, e.target)
        )
        same = len(arrive) == len(bag)
        return s if same else s.but(network=structs.replace(s.network, in_flight=arrive))

    def asks(self, s: MachineState) -> Iterable[str]:
        """The requests that clients may make now."""
        return ()

    def requested(self, node: str, state: Any, what: str) -> Turn | Refusal:
        """The turn of a node when a client asks it."""
        raise NotImplementedError

    def wish(self, what: Any) -> str:
        """A request as the rest of a sentence: a client asks A *for x*."""
        return f"for {what}"

    # -- one turn of a node ------------------------------------------------------------------------

    def unsaved(self, s: MachineState, node: int) -> Unsaved | None:
        """The part that the node at this place has still to write."""
        return next((each for each in s.unsaved if each.node == node), None)

    def on_disk(self, s: MachineState, node: int) -> Any:
        """The disk of the node at this place."""
        waiting = self.unsaved(s, node)
        return waiting.disk if waiting else self.disk(s.nodes[node])

    def turned(self, s: Any, node: int, turn: Turn) -> Any:
        """The state after a turn: what it sends waits for the disk, if that has to be written."""
        state, effects = turn
        if self.writes_apart:
            disk = self.on_disk(s, node)
            unsaved = [each for each in s.unsaved if each.node != node]
            if self.disk(state) != disk:
                unsaved.append(Unsaved(node, disk, effects if self.persist_first else ()))
                effects = () if self.persist_first else effects
            s = s.but(unsaved=tuple(sorted(unsaved, key=lambda each: each.node)))
        nodes = (*s.nodes[:node], state, *s.nodes[node + 1 :])
        return self._leave(s.but(nodes=nodes), node, effects)

    def _leave(self, s: Any, node: int, effects: tuple[Post | Answer, ...]) -> Any:
        if not effects:
            return s
        replies = tuple(each for each in effects if isinstance(each, Answer))
        network = self.carrier.post(s.network, self._sent(self.names[node], effects))
        answers = (*s.answers, *replies) if replies else s.answers  # a long run shares them
        return s.but(network=network, answers=answers)

    def _answer(self, state: Any, envelope: Sent) -> tuple[Any, tuple[Sent, ...]]:
        after, effects = self._turns(state, envelope)
        return after, self._sent(envelope.target, effects)

    def _sent(self, source: str, posts: tuple[Any, ...]) -> tuple[Sent, ...]:
        return super()._sent(source, tuple(x for x in posts if not isinstance(x, Answer)))

    def _busy(self, s: MachineState, node: int) -> Refusal | None:
        if s.down >> node & 1:
            return refused(f"{self.names[node]} is down")
        if self.persist_first and self.unsaved(s, node):
            return refused(f"{self.names[node]} has to write to its disk first")
        return None

    def _paid(self, s: MachineState, node: int | None, name: str) -> Any:
        busy = None if node is None else self._busy(s, node)
        spent_up = spent(name) if getattr(s.left, name) == 0 else None
        return busy or spent_up or s.but(left=less(s.left, name))

    def deliver(self, s: Any, envelope: Sent) -> Any:
        """A node receives a message, if it is up, and no cut is in the way."""
        place = self.index[envelope.target]
        if s.cut & self._link(envelope.source, envelope.target):
            return refused(f"the link {envelope.source}→{envelope.target} is cut")
        why = self._busy(s, place) or self.carrier.may_deliver(s.network, envelope)
        if why is not None:
            return why
        turn = self._turns(s.nodes[place], envelope)
        return self.turned(
            s.but(network=self.carrier.receive(s.network, envelope, ())), place, turn
        )

    # -- what befalls nodes ------------------------------------------------------------------------

    @action(each=_unsaved, when=lambda m: m.writes_apart, pace="prompt")
    @purpose("A node's promise has to be on its disk before others hear of it.")
    def persist(self, s: MachineState, node: Node) -> Next:
        """{node} writes to its disk, and then its messages leave."""
        waiting = self.unsaved(s, node)
        if waiting is None:
            return refused(f"{self.names[node]} has nothing to write")
        others = tuple(each for each in s.unsaved if each is not waiting)
        written: MachineState = self._leave(s.but(unsaved=others), node, waiting.effects)
        return written

    @action(each=_ringing, when=lambda m: m.budget.ticks != 0, unasked=True, pace="slow")
    @purpose("When no message makes a node act, its timer does.")
    def tick(self, s: MachineState, node: Node, timer: str) -> Next:
        """{node}'s {timer} timer runs out."""
        if timer not in self.timers(s.nodes[node]):
            return refused(f"{self.names[node]} has set no {timer} timer")
        name = self.names[node]
        paid = self._paid(s, node, "ticks")
        if isinstance(paid, Refusal):
            return paid
        turn = self.rings(s, node, timer)
        end: MachineState = self.turned(paid, node, turn)
        sent = {*end.network.in_flight} - {*s.network.in_flight, *s.network.held}
        if timer in self.idle and end.nodes == s.nodes and not sent:
            return refused(f"{name} {WAITS if turn[1] else self.idle[timer]}")
        return end

    @action(each=_asking, when=lambda m: m.budget.requests != 0)
    @purpose("A client knows only what a node answers.")
    def request(self, s: MachineState, node: Node, what: str) -> Next:
        """A client asks {node} {wish}."""
        if what not in self.asks(s):
            return refused(f"no client asks for {what} now")
        paid = self._paid(s, node, "requests")
        if isinstance(paid, Refusal):
            return paid
        turn = self.requested(self.names[node], s.nodes[node], what)
        done: Next = turn if isinstance(turn, Refusal) else self.turned(paid, node, turn)
        return done

    @action(each=lambda m, s: s.down, when=lambda m: m.budget.crashes != 0, relied=False)
    @purpose("A restarted node knows what is on its disk, and nothing else.")
    def restart(self, s: MachineState, node: Node) -> Next:
        """{node} restarts with what is on its disk."""
        if not s.down >> node & 1:
            return refused(f"{self.names[node]} is not down")
        woken: MachineState = s.but(down=s.down & ~(1 << node))
        done: Next = self.turned(woken, node, self.wakes(self.names[node], s.nodes[node]))
        return done

    @action(when=lambda m: m.budget.crashes != 0, fault=True, hand=off_stage)
    @purpose("A crash takes everything that is not on disk.")
    def crash(self, s: MachineState, node: Node) -> Next:
        """{node} crashes: only what is on its disk is left."""
        return self._crashed(s, node, self.on_disk(s, node))

    @action(
        each=_unsaved, when=lambda m: m.budget.crashes != 0 and m.writes_apart, fault=True,
        hand=off_stage,
    )  # fmt: skip
    @purpose("A node might have written a promise that no other node ever hears of.")
    def crash_written(self, s: MachineState, node: Node) -> Next:
        """{node} writes to its disk and crashes before its messages leave."""
        if self.unsaved(s, node) is None:
            return refused(f"{self.names[node]} has nothing to write")
        return self._crashed(s, node, self.disk(s.nodes[node]))

    def _crashed(self, s: MachineState, node: int, disk: Any) -> Next:
        if s.down >> node & 1:
            return refused(f"{self.names[node]} is down")
        paid = self._paid(s, None, "crashes")
        if isinstance(paid, Refusal):
            return paid
        state = self.restarted(self.names[node], disk)
        if self.disk(state) != disk:
            raise KitError(
                f"{self.name}: restarted gives {self.names[node]} another disk, "
                f"{shorten(self.disk(state))}, than it had, {shorten(disk)}"
            )
        nodes = (*s.nodes[:node], state, *s.nodes[node + 1 :])
        unsaved = tuple(each for each in s.unsaved if each.node != node)
        down: MachineState = paid.but(nodes=nodes, unsaved=unsaved, down=s.down | 1 << node)
        return down

    @action(when=lambda m: m.budget.cuts != 0, fault=True, hand=lambda m, s, a: m._ends.get(a.link))
    @purpose("A link can fail in one direction only: then one side hears but is not heard.")
    def cut(self, s: MachineState, link: Link) -> Next:
        """From now on, no message gets through on {link}."""
        bits = self.links.get(link)
        if bits is None:
            return refused("a link is between two different nodes of the network")
        if s.cut & bits == bits:
            return refused(f"{link} is already cut")
        paid = self._paid(s, None, "cuts")
        return paid if isinstance(paid, Refusal) else paid.but(cut=s.cut | bits)

    @action(struct=Heal, when=lambda m: m.network_options.partitions != 0 or m.budget.cuts != 0)
    @purpose("A cut does not have to last: messages can get through again.")
    def heal(self, s: Any) -> Any:
        """The network is whole again."""
        if not s.cut:
            return super().heal(s)
        whole = self.carrier.heal(s.network) if s.network.apart else s.network
        return s.but(cut=0, network=whole)

    # -- words -------------------------------------------------------------------------------------

    def not_gone(self, s: MachineState) -> Iterable[Any]:
        """The messages that wait until their senders have written to their disks."""
        for each in s.unsaved:
            yield from self._sent(self.names[each.node], each.effects)

    def cut_off(self, s: MachineState, source: str, target: str) -> bool:
        """Whether nothing passes from one node to another."""
        apart = self.carrier.cut(s.network, source, target)
        return bool(s.cut & self._link(source, target)) or apart

    def heard(self, s: MachineState, node: int) -> tuple[str, ...]:
        """The nodes that are up and whose messages pass to a node that is, too; and itself."""
        me, down = self.names[node], self.names if s.down >> node & 1 else self.named(s.down)
        passing = (n for n in self.names if n not in down and not self.cut_off(s, n, me))
        return (me, *(n for n in passing if n != me))

    def describe(self, before: Any, action: Any, after: Any) -> str:
        """The effect of the step, and what clients are told in it."""
        answered = after.answers[len(before.answers) :]
        said = super().describe(before, action, after)
        return said + "".join(
            f" The client that asked {self.wish(a.request)} gets its answer: {a.outcome}."
            for a in answered
        )

    def words(self, before: Any, action: Any, after: Any) -> Words:
        """Of a request also what the client wants."""
        wish = {"wish": self.wish(action.what)} if isinstance(action, MachineModel.request) else {}
        return {**super().words(before, action, after), **wish}

    def sends(self, after: Any, node: str) -> str:
        """Whether what a turn sends has left yet."""
        waits = any(each.effects and self.names[each.node] == node for each in after.unsaved)
        return "has to write before it sends" if waits else "sends"

    def suggest(self, s: Any) -> Any | None:
        """As on any network; a timer runs out only when nothing else happens."""
        ringing = (each for each in self.actions(s) if isinstance(each, MachineModel.tick))
        return super().suggest(s) or next(ringing, None)

    def readable(self, s: Any) -> dict[str, Any]:
        """Each node and the network; then who is down, has to write, what is cut and answered."""
        whole = super().readable(s)
        if self.budget.crashes != 0:
            whole["down"] = " ".join(self.named(s.down)) or "nobody"
        if self.writes_apart:
            whole["to be written"] = " ".join(self.named(_unsaved(self, s))) or "nothing"
        if self.budget.cuts != 0:
            single = (link for link, bit in self.links.items() if bit & s.cut == bit)
            whole["cut"] = ", ".join(link for link in single if "<>" not in link) or "nothing"
        if s.answers:
            whole["answered"] = ", ".join(f"{a.request}: {a.outcome}" for a in s.answers)
        for name, number in structs.asdict(s.left).items():
            if getattr(self.budget, name):
                whole[f"{name} left"] = number
        return whole

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """A node crashes or starts again, a link is cut; or what any network has."""
        if after.down != before.down:
            return "crashed" if after.down > before.down else "restarted"
        return "cut" if after.cut > before.cut else super().milestone(before, action, after)
