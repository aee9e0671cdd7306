"""Node state machines on a network: a model of a tuple of actors.

An actor is a pure function from its state and an event to its next state and what it causes. Here
an event is a message that arrives, as an ``kit.engine.network.Envelope``, and what it causes
are messages to send. A protocol with more of its own (a clock that ticks, a node that crashes)
adds a rule whose effect is ``ActorModel.advance`` with an event of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from operator import or_
from typing import Any, Protocol

from msgspec import Struct, structs

from kit.engine.model import Model, Rule
from kit.engine.network import (
    FAULTS,
    MESSAGE_ACTIONS,
    Carrier,
    DeliverMessage,
    DropMessage,
    DuplicateMessage,
    Envelope,
    Heal,
    HoldMessage,
    Network,
    NetworkOptions,
    Partition,
    ReleaseMessage,
    line,
    words,
)
from kit.engine.pairs import paired
from kit.errors import BadInput, Refusal


class Post(Struct, frozen=True):
    """What an actor causes: a message to another node (or itself)."""

    target: str
    message: Any


Turn = tuple[Any, tuple[Post, ...]]
"""What an event makes of a node: its next state, and what it sends, in order."""


class Actor(Protocol):
    """A node: its name, how it begins, and what it does on an event. States are immutable."""

    @property
    def name(self) -> str:
        """What other nodes call it."""

    def begin(self) -> Turn:
        """Its first state, and what it sends at once."""

    def step(self, state: Any, event: Any) -> Turn:
        """Its next state, and what it sends."""


class ActorState(Struct, frozen=True, cache_hash=True):
    """The state of every node, in the order of the actors, and what is on its way between them."""

    nodes: tuple[Any, ...]
    network: Network


class ActorModel(Model[ActorState, Any]):
    """Some actors on a network. ``message`` is the type of their messages, the codec of traces.

    Subclasses add ``properties``, and rules of their own by ``more_rules``.
    """

    State = ActorState

    def __init__(
        self,
        name: str,
        title: str,
        actors: tuple[Actor, ...],
        options: NetworkOptions | None = None,
        *,
        message: Any,
    ) -> None:
        """A model of ``actors`` on a network with these ``options``.

        Raises:
            BadInput: as for ``kit.engine.network.Carrier``; when a node sends to nobody.
        """
        self.name, self.title = name, title
        self.actors = actors
        self.network_options = options or NetworkOptions()
        self.parameters = self.network_options
        self.carrier = Carrier(tuple(actor.name for actor in actors), self.network_options)
        self.index = {actor.name: i for i, actor in enumerate(actors)}
        # Far fewer nodes than states differ, so that most turns of a search were taken before.
        self._turns = lru_cache(None)(self._turn)
        typed = (*(kind[message] for kind in MESSAGE_ACTIONS), Partition, Heal)
        self.rules = (
            paired(DeliverMessage, "deliver", self._deliveries, self.may_deliver, self._deliver),
            *self.more_rules(),
            *self._network_rules(),
        )
        self.Action = reduce(or_, (*typed, *(rule.action for rule in self.more_rules())))

    def more_rules(self) -> tuple[Rule[ActorState, Any], ...]:
        """Rules of a protocol's own, beside those of the network."""
        return ()

    def _network_rules(self) -> tuple[Rule[ActorState, Any], ...]:
        """What the network does by itself, as far as there is a budget for it."""
        do, of = self.carrier, self.network_options
        table: tuple[tuple[Any, str, Any, Any, Any, Any], ...] = (
            (Heal, "heal", do.heals, do.may_heal, do.heal, of.partitions),
            (ReleaseMessage, "release", do.held, lambda n, e: None, do.release, of.holds),
            (DropMessage, "drop", do.in_flight, do.may_drop, do.drop, of.drops),
            (
                DuplicateMessage,
                "duplicate",
                do.in_flight,
                do.may_duplicate,
                do.duplicate,
                of.duplicates or 0,
            ),
            (HoldMessage, "hold", do.in_flight, do.may_hold, do.hold, of.holds),
            (Partition, "partition", do.partitions, do.may_split, do.split, of.partitions),
        )
        return tuple(_network_rule(*row[:5]) for row in table if row[5] != 0)

    def start(self) -> ActorState:
        """Every actor at its beginning, its first messages in flight."""
        nodes, network = [], self.carrier.empty()
        for actor in self.actors:
            state, posts = actor.begin()
            nodes.append(state)
            network = self.carrier.post(network, self._sent(actor.name, posts))
        return ActorState(tuple(nodes), network)

    # -- one turn of a node ------------------------------------------------------------------------

    def advance(self, s: ActorState, node: str, event: Any) -> ActorState:
        """The state after a node has dealt with an event of the protocol's own."""
        i = self.index[node]
        state, sent = self._turns(i, s.nodes[i], event)
        network = self.carrier.post(s.network, sent) if sent else s.network
        return ActorState((*s.nodes[:i], state, *s.nodes[i + 1 :]), network)

    def _turn(self, i: int, state: Any, event: Any) -> tuple[Any, tuple[Envelope[Any], ...]]:
        actor = self.actors[i]
        after, posts = actor.step(state, event)
        return after, self._sent(actor.name, posts)

    def _sent(self, source: str, posts: tuple[Post, ...]) -> tuple[Envelope[Any], ...]:
        for post in posts:
            if post.target not in self.index:
                raise BadInput(f"{source} sends to", post.target, "one of " + ", ".join(self.index))
        return tuple(Envelope(source, post.target, post.message) for post in posts)

    # -- messages ----------------------------------------------------------------------------------

    def _deliveries(self, s: ActorState) -> list[DeliverMessage[Any]]:
        return [DeliverMessage(envelope) for envelope in self.carrier.messages(s.network)]

    def may_deliver(self, s: ActorState, action: DeliverMessage[Any]) -> Refusal | None:
        """Why a message cannot be received now; a protocol may add reasons of its own."""
        return self.carrier.may_deliver(s.network, action.envelope)

    def _deliver(self, s: ActorState, action: DeliverMessage[Any]) -> ActorState:
        envelope, nodes = action.envelope, s.nodes
        i = self.index[envelope.target]
        state, sent = self._turns(i, nodes[i], envelope)
        network = self.carrier.receive(s.network, envelope, sent)
        return ActorState((*nodes[:i], state, *nodes[i + 1 :]), network)

    # -- words -------------------------------------------------------------------------------------

    def called(self, message: Any) -> str:
        """A message in the protocol's own words, short enough for a picture."""
        return words(message)

    def in_full(self, message: Any) -> str:
        """A message with all that it says, for sentences and texts."""
        return self.called(message)

    def actor_of(self, s: ActorState, action: Any) -> str:
        """The node that does something of the protocol's own; empty: it concerns all of them."""
        node = getattr(action, "node", "")
        return node if node in self.index else ""

    def label(self, s: ActorState, action: Any) -> str:
        """The text of a button: of a message what it is called."""
        if isinstance(action, MESSAGE_ACTIONS):
            envelope = action.envelope
            way = f"{envelope.source}>{envelope.target}"
            return f"{self.kind(action)} {way} {self.called(envelope.message)}"
        return super().label(s, action)

    def verb(self, action: Any) -> str:
        """``deliver A>B ping 1``, ``partition A | B C``, ``heal``."""
        match action:
            case Partition(apart):
                return f"partition {self.carrier.sides(apart)}"
            case Heal():
                return "heal"
            case _ if isinstance(action, MESSAGE_ACTIONS):
                return f"{self.kind(action)} {line(action.envelope)}"
        return super().verb(action)

    def describe(self, before: ActorState, action: Any, after: ActorState) -> str:
        """What the step did, in a sentence."""
        match action:
            case Partition(apart):
                return f"The network splits: {self.carrier.sides(apart)}."
            case Heal():
                return "The network is whole again."
            case DeliverMessage(envelope):
                return self._received(before, envelope)
            case _ if isinstance(action, MESSAGE_ACTIONS):
                sent = action.envelope
                what = f"{self.in_full(sent.message)} from {sent.source} to {sent.target}"
                return _FATES[type(action)].format(what)
        return super().describe(before, action, after)

    def _received(self, before: ActorState, envelope: Envelope[Any]) -> str:
        i = self.index[envelope.target]
        state, sent = self._turns(i, before.nodes[i], envelope)
        targets_by_words: dict[str, list[str]] = {}
        for answer in sent:
            targets_by_words.setdefault(self.in_full(answer.message), []).append(answer.target)
        done = [
            f"sends {what} to {', '.join(targets)}" for what, targets in targets_by_words.items()
        ]
        if not done and state == before.nodes[i]:
            done = ["has nothing to do"]
        what = f"{envelope.target} receives {self.in_full(envelope.message)} from {envelope.source}"
        return f"{what}{_list(done)}."

    def readable(self, s: ActorState) -> dict[str, Any]:
        """Each node's state by its name, then the network."""
        n = s.network
        names = (actor.name for actor in self.actors)
        whole: dict[str, Any] = dict(zip(names, s.nodes, strict=True))
        whole["in flight"] = ", ".join(map(line, n.in_flight)) or "nothing"
        if self.network_options.holds != 0:
            whole["held"] = ", ".join(map(line, n.held)) or "nothing"
        if self.network_options.partitions != 0:
            apart = self.carrier.apart(n)
            whole["split"] = self.carrier.sides(apart) if apart else "whole"
        for fault, number in structs.asdict(n.left).items():
            if getattr(self.network_options, fault):
                whole[f"{fault} left"] = number
        return whole

    # -- schedule ----------------------------------------------------------------------------------

    def suggest(self, s: ActorState) -> Any | None:
        """What can be received, then what the protocol adds; to heal and to release come last.

        Where messages stay in flight for good, those that would change nothing are left alone.
        """
        enabled = (action for action in self.actions(s) if self.kind(action) not in FAULTS)
        if self.carrier.lasting:
            enabled = (action for action in enabled if self.apply(s, action) != s)
        return next(enabled, None)

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """The network splits, heals, or has delivered all."""
        if isinstance(action, Partition):
            return "split"
        if isinstance(action, Heal):
            return "healed"
        quiet = not after.network.in_flight and not after.network.held
        return "nothing in flight" if quiet and before.network.in_flight else None


_FATES = {
    DropMessage: "The network loses {}.",
    DuplicateMessage: "The network makes one more copy of {}.",
    HoldMessage: "The network holds {} back.",
    ReleaseMessage: "The network lets {} go.",
}


def _list(done: list[str]) -> str:
    if len(done) < 2:
        return "".join(f" and {part}" for part in done)
    return f", {', '.join(done[:-1])} and {done[-1]}"


def _network_rule(
    kind: Any,
    name: str,
    candidates: Callable[[Network], Any],
    condition: Callable[[Network, Any], Refusal | None],
    effect: Callable[[Network, Any], Network],
) -> Rule[ActorState, Any]:
    """A rule on the network of a state; one on messages takes them out of their actions."""
    if kind not in MESSAGE_ACTIONS:
        return paired(
            kind,
            name,
            lambda s: candidates(s.network),
            lambda s, a: condition(s.network, a),
            lambda s, a: ActorState(s.nodes, effect(s.network, a)),
        )
    return paired(
        kind,
        name,
        lambda s: [kind(envelope) for envelope in candidates(s.network)],
        lambda s, a: condition(s.network, a.envelope),
        lambda s, a: ActorState(s.nodes, effect(s.network, a.envelope)),
    )
