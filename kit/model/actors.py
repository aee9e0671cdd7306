"""Nodes that send one another messages, as models.

A ``NetworkModel`` declares its actions as any model does (``kit.model.declared``). Those of the
network it has already: a message is delivered, lost, copied, held back and let go, the network
splits and heals. What a node makes of a message is a method under ``receives``, one for each type;
what a node does on its own accord is an action that ends in ``NetworkModel.turned``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

from msgspec import Struct, structs

from kit.errors import BadInput, BadType, Refusal, check_among
from kit.model.declared import Each, NodeModel, State, Travel, Words, action, purpose
from kit.model.flows import FlowKind
from kit.model.network import (
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
from kit.model.source import place
from kit.model.vet import LASTING, check_call

T = TypeVar("T")
STILL = "no news in flight"
"""The milestone of a network that has delivered all that changes anything."""


NO_NEWS = "The message changes nothing here: its content is already known or no longer needed."
"""What is said of a message that has no effect."""
ARTICLES = ("a", "an", "the")


class Post(Struct, frozen=True):
    """A message from a node to another one (or to itself)."""

    target: str
    message: Any


TURN = "the node's next state and what it sends: state, (Post(target, message),)"
Turn = tuple[Any, tuple[Post, ...]]
"""What an event makes of a node: its next state, and what it sends, in order."""


class ActorState(State, frozen=True, cache_hash=True):
    """The state of every node, in the order of their names, and what is on its way between them."""

    nodes: tuple[Any, ...]
    network: Network


Next: TypeAlias = ActorState | Refusal | None
Sent: TypeAlias = Annotated[Envelope[Any], Each((), line)]
Apart: TypeAlias = Annotated[tuple[str, ...], Each(lambda m: m.carrier.splits)]


def receives(*kinds: Any) -> Callable[[T], T]:
    """Declare that a method says what messages of these types make of a node.

    It takes the node's state and the ``Envelope``, and returns its next state and what it sends
    (a ``Turn``).
    """
    strange = next((kind for kind in kinds if not isinstance(kind, type)), None)
    if strange is not None or not kinds:
        named = getattr(strange, "__name__", strange)
        raise BadType("@receives", named, "types of messages: @receives(Message)")

    def mark(method: T) -> T:
        vars(method)["receives"] = kinds
        return method

    return mark


def _in_flight(m: NetworkModel, s: ActorState) -> Iterable[Envelope[Any]]:
    return m.carrier.in_flight(s.network)


def _travels(m: NetworkModel, before: Any, action: Any, after: Any) -> Iterable[Travel]:
    sent = action.envelope
    ends = m.spot(sent.source), m.spot(sent.target)
    yield Travel(m.travels_as(sent.message), *ends, "{short}", "{source} → {target}: {full}")


class NetworkModel(NodeModel[ActorState]):
    """A model of nodes on a network.

    Its ``set_up`` calls ``connect``; ``begin`` says how a node begins; methods under ``receives``
    what it makes of messages, all of whose types they name. ``shared`` are names that are no nodes:
    what several of them write.
    """

    State = ActorState
    first: tuple[str, ...] = ("deliver",)
    shared: ClassVar[tuple[str, ...]] = ()
    _receivers: ClassVar[dict[Any, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own: dict[Any, str] = {}
        for name, each in vars(cls).items():
            for kind in getattr(each, "receives", ()):
                if kind in own:
                    where = f"{own[kind]} and {name} of {cls.__name__}"
                    raise BadInput(where, kind.__name__, "one method that receives it")
                own[kind] = name
        cls._receivers = {**cls._receivers, **own}

    def connect(self, names: tuple[str, ...], options: NetworkOptions | None = None) -> None:
        """Put nodes of these names on a network. Raises BadInput as ``Carrier`` does."""
        given: Any = names
        if not (given and isinstance(given, tuple) and all(isinstance(n, str) for n in given)):
            raise BadType(f"nodes of {self.name}", names, 'a tuple of names, such as ("A", "B")')
        if not self._receivers:
            allowed = "methods under @receives(Message)"
            raise BadInput(f"message of {self.name}", "nothing", allowed)
        for method in self.receiving:
            check_call(f"{method.__name__} of {self.name}", method, "state", "envelope")
        self.names, self.network_options = names, options or NetworkOptions()
        self.carrier = Carrier(names, self.network_options)
        message = reduce(or_, self._receivers)
        typed = (kind[message] if kind in MESSAGE_ACTIONS else kind for kind in self.acts)
        self.Action = reduce(or_, typed)
        tidy, most = self.network_options.tidy, self.network_options.most_in_flight
        if most:
            why = f"most_in_flight={most}: no more messages can be on their way"
            self.bounds = (Refusal(why),)
        if tidy or most:
            self.settled, self._idle = self._settled, lru_cache(None)(self.is_idle)
        # Far fewer nodes than states differ, so that most turns of a search were taken before.
        self._answers = lru_cache(None)(self._answer)

    @cached_property
    def network_options(self) -> NetworkOptions:
        """The options of the network, as ``connect`` was told. Raises BadInput before that."""
        allowed = "self.connect(names), which puts the nodes on a network"
        raise BadInput(f"set_up of {self.name}", "no network", allowed)

    def why(self, action: Any) -> str:
        """Of a message that arrives, what such messages are for; else as its action says."""
        said = self.purpose_of(action.envelope.message) if type(action) is DeliverMessage else ""
        return said or super().why(action)

    def why_here(self, before: Any, action: Any, after: Any) -> str:
        """Of a message that changes nothing at a node and has no answer, just that."""
        if type(action) is DeliverMessage:
            was = before.nodes[self.index[action.envelope.target]]
            state, sent = self._answers(was, action.envelope)
            if state == was and not sent:
                return NO_NEWS
        return super().why_here(before, action, after)

    def purpose_of(self, message: Any) -> str:
        """The purpose of such a message: the ``why`` of its type; empty where that has none."""
        return getattr(type(message), "why", "")

    def begin(self, node: str) -> Turn:
        """The first state of a node, and what it sends at once.

        Raises BadInput where a model has no such method.
        """
        raise BadInput(f"begin of {self.name}", "nothing", f"a method that returns {TURN}")

    def start(self) -> ActorState:
        """Each node at its beginning, first messages sent. Raises BadInput for one to nobody."""
        nodes, network = [], self.carrier.empty()
        for name in self.names:
            state, posts = self._turn("begin", self.begin(name))
            nodes.append(state)
            network = self.carrier.post(network, self._sent(name, posts))
        return ActorState(tuple(nodes), network)

    # -- one turn of a node ------------------------------------------------------------------------

    @property
    def receiving(self) -> tuple[Any, ...]:
        """The methods that say what messages make of a node."""
        return tuple(getattr(self, name) for name in self._receivers.values())

    def _turn(self, method: str, turn: Any) -> Turn:
        if type(turn) is tuple and len(turn) == 2 and isinstance(turn[1], tuple | list):
            return turn
        raise BadInput(place(f"{method} of {self.name}", getattr(self, method)), turn, TURN)

    def turned(self, s: ActorState, node: int, turn: Turn) -> ActorState:
        """The state after the node at this place has taken a turn."""
        state, posts = self._turn("turned", turn)
        network = s.network
        if posts:
            network = self.carrier.post(network, self._sent(self.names[node], posts))
        return ActorState((*s.nodes[:node], state, *s.nodes[node + 1 :]), network)

    def receive(self, state: Any, envelope: Envelope[Any]) -> Turn:
        """The turn of a node after a message, as the method says that receives its type."""
        name = self._receivers.get(type(envelope.message), "")
        return self._turn(name, getattr(self, name)(state, envelope)) if name else (state, ())

    def _answer(self, state: Any, envelope: Envelope[Any]) -> tuple[Any, tuple[Envelope[Any], ...]]:
        after, posts = self.receive(state, envelope)
        return after, self._sent(envelope.target, posts)

    def _sent(self, source: str, posts: tuple[Any, ...]) -> tuple[Envelope[Any], ...]:
        sends = f"{source} sends"
        for post in posts:
            if not isinstance(post, Post):
                raise BadInput(sends, post, "Post(target, message)")
            check_among(f"{sends} to", post.target, self.index)
            kind = type(post.message)
            if kind not in self._receivers and type(self).receive is NetworkModel.receive:
                known = ", ".join(each.__name__ for each in self._receivers)
                allowed = f"a message that a method receives: {known or 'there is none'}"
                raise BadInput(sends, post.message, allowed)
            try:
                hash(post.message)
            except TypeError as error:
                raise BadType(sends, post.message, f"{LASTING} ({error})") from None
        return tuple(Envelope(source, post.target, post.message) for post in posts)

    # -- what the network does ---------------------------------------------------------------------

    def is_idle(self, state: Any, envelope: Envelope[Any]) -> bool:
        """Whether a message changes nothing at a node in this state, now and later."""
        return False

    def _settled(self, before: Any, after: Any) -> Any:
        """The state, tidied as the options ask; no more messages than there may be, or were."""
        most = self.network_options.most_in_flight
        end = self._tidied(after) if self.network_options.tidy else after
        count = len(end.network.in_flight)
        return self.bounds[0] if most and count > max(most, len(before.network.in_flight)) else end

    def _tidied(self, after: Any) -> Any:
        nodes, index, bag = after.nodes, self.index, after.network.in_flight
        kept = tuple(each for each in bag if not self._idle(nodes[index[each.target]], each))
        if len(kept) == len(bag):
            return after
        return after.but(network=structs.replace(after.network, in_flight=kept))

    def _through(self, s: ActorState, network: Network | Refusal) -> Next:
        return network if isinstance(network, Refusal) else s.but(network=network)

    @action(
        struct=DeliverMessage,
        each=lambda m, s: m.carrier.messages(s.network),
        pace="prompt",
        says="{received}",
        travels=_travels,
    )
    @purpose("A node knows only what messages have told it.")
    def deliver(self, s: ActorState, envelope: Sent) -> Next:
        """A node receives a message."""
        why = self.carrier.may_deliver(s.network, envelope)
        if why is not None:
            return why
        nodes, place = s.nodes, self.index[envelope.target]
        state, sent = self._answers(nodes[place], envelope)
        network = self.carrier.receive(s.network, envelope, sent)
        return ActorState((*nodes[:place], state, *nodes[place + 1 :]), network)

    @action(struct=Heal, when=lambda m: m.network_options.partitions != 0)
    @purpose("A cut does not have to last: messages can get through again.")
    def heal(self, s: ActorState) -> Next:
        """The network is whole again."""
        return self._through(s, self.carrier.heal(s.network))

    @action(
        struct=ReleaseMessage,
        each=lambda m, s: m.carrier.held(s.network),
        when=lambda m: m.network_options.holds != 0,
    )
    @purpose("A late message is not lost: it can still arrive.")
    def release(self, s: ActorState, envelope: Sent) -> Next:
        """The network releases {sent}."""
        return s.but(network=self.carrier.release(s.network, envelope))

    @action(
        struct=DropMessage, each=_in_flight, when=lambda m: m.network_options.drops != 0, fault=True
    )
    @purpose("Networks lose messages, and a protocol has to cope with that.")
    def drop(self, s: ActorState, envelope: Sent) -> Next:
        """The network loses {sent}."""
        return self._through(s, self.carrier.drop(s.network, envelope))

    @action(
        struct=DuplicateMessage,
        each=_in_flight,
        when=lambda m: m.network_options.duplicates not in (0, None),
        fault=True,
    )
    @purpose("A message can arrive twice, which must do no harm.")
    def duplicate(self, s: ActorState, envelope: Sent) -> Next:
        """The network duplicates {sent}."""
        return self._through(s, self.carrier.duplicate(s.network, envelope))

    @action(
        struct=HoldMessage, each=_in_flight, when=lambda m: m.network_options.holds != 0, fault=True
    )
    @purpose(
        "A message can take any amount of time, so no node can tell a late one from a lost one."
    )
    def hold(self, s: ActorState, envelope: Sent) -> Next:
        """The network holds back {sent}."""
        return self._through(s, self.carrier.hold(s.network, envelope))

    @action(
        struct=Partition,
        when=lambda m: m.network_options.partitions != 0,
        fault=True,
        hand=lambda m, s, a: (a.nodes, tuple(n for n in m.carrier.nodes if n not in a.nodes)),
    )
    @purpose("Neither side can tell whether the other is dead.")
    def partition(self, s: ActorState, nodes: Apart) -> Next:
        """The network is cut: {sides}."""
        return self._through(s, self.carrier.split(s.network, nodes))

    def is_down(self, s: ActorState, node: str) -> bool:
        """Whether a node has crashed or stopped: it takes no turn until it starts again."""
        return False

    # -- words -------------------------------------------------------------------------------------

    def in_short(self, message: Any) -> str:
        """A message in the protocol's own words, short enough for a picture."""
        return words(message)

    def in_full(self, message: Any) -> str:
        """A message with all that it says, for sentences and texts."""
        return self.in_short(message)

    def in_verbs(self, message: Any) -> str:
        """A message as verbs write it."""
        return words(message)

    def travels_as(self, message: Any) -> FlowKind:
        """How a message is drawn on its way."""
        return "message"

    def actor_of(self, s: ActorState, action: Any) -> str:
        """The node that takes a step, or receives; empty: the network does, or all of them."""
        if isinstance(action, MESSAGE_ACTIONS):
            return action.envelope.target if isinstance(action, DeliverMessage) else ""
        name = super().actor_of(s, action)
        return name if name in self.index else ""

    def things(self, action: Any) -> tuple[str, ...]:
        """The message on its way that an action is about."""
        return (line(action.envelope),) if isinstance(action, MESSAGE_ACTIONS) else ()

    def label(self, s: ActorState, action: Any) -> str:
        """The text of a button: of a message what it is called."""
        if isinstance(action, MESSAGE_ACTIONS):
            return self._on_its_way(action, self.in_short)
        return super().label(s, action)

    def verb(self, action: Any) -> str:
        """``deliver A>B ping 1``, ``partition A | B C``, ``heal``."""
        if isinstance(action, MESSAGE_ACTIONS):
            return self._on_its_way(action, self.in_verbs)
        if isinstance(action, Partition):
            return f"partition {self.carrier.sides(action.nodes)}"
        return super().verb(action)

    def find(self, s: Any, verb: str) -> Any:
        """The option that goes by a verb, or the only one whose verb begins with these words."""
        exact = super().find(s, verb)
        if exact is not None:
            return exact
        near = [each for each in self.options(s) if self.verb(each[0]).startswith(f"{verb} ")]
        return near[0] if len(near) == 1 else None

    def _on_its_way(self, action: Any, said: Callable[[Any], str]) -> str:
        sent = action.envelope
        return f"{self.kind(action)} {sent.source}>{sent.target} {said(sent.message)}"

    def words(self, before: Any, action: Any, after: Any) -> Words:
        """Of a message its ends, what it says ``short`` and in ``full``; the sides of a split."""
        if isinstance(action, Partition):
            return {"sides": self.carrier.sides(action.nodes)}
        if not isinstance(action, MESSAGE_ACTIONS):
            return {}
        source, target, message = structs.astuple(action.envelope)
        full = self.in_full(message)
        texts = {"source": source, "target": target, "short": self.in_short(message), "full": full}
        texts["sent"] = f"{source}'s message to {target}: {full}"
        if isinstance(action, DeliverMessage):
            texts["received"] = self._received(before, action.envelope, after)
        return texts

    def sends(self, after: ActorState, node: str) -> str:
        """How a sentence says that a node has sent something in a turn."""
        return "sends"

    def _received(self, before: ActorState, envelope: Envelope[Any], after: ActorState) -> str:
        was = before.nodes[self.index[envelope.target]]
        state, sent = self._answers(was, envelope)
        targets_by_words: dict[str, list[str]] = {}
        for answer in sent:
            targets_by_words.setdefault(self.in_full(answer.message), []).append(answer.target)
        sends = self.sends(after, envelope.target)
        done = [_to(targets, what, sends) for what, targets in targets_by_words.items()]
        if not done and state == was:
            done = ["does nothing"]
        came = _from(envelope.source, self.in_full(envelope.message))
        what = f"{envelope.target} receives {came}"
        if done and " that " in came:  # else the clause could continue
            what = f"{what}. {envelope.target}"
            return f"{what} {' and '.join(done)}."
        return f"{what}{_list(done)}."

    def readable(self, s: ActorState) -> dict[str, Any]:
        """Each node's state by its name, then the network."""
        n = s.network
        whole: dict[str, Any] = dict(zip(self.names, s.nodes, strict=True))
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

    def gist(self, node: Any) -> Any:
        """The part of a node whose change counts as news: all of it, unless a model says."""
        return node

    def is_settled(self, s: ActorState) -> bool:
        """Whether all that is on its way, received in turn, can only repeat what nodes know."""
        for envelope in s.network.held:
            s = s.but(network=self.carrier.release(s.network, envelope))
        known, seen = self._known(s), set[ActorState]()
        while s not in seen and self._known(s) == known:
            seen.add(s)
            ends = (self.comes_to(s, DeliverMessage(e)) for e in self.carrier.in_flight(s.network))
            after = (end for end in ends if isinstance(end, ActorState) and end != s)
            if (end := next(after, None)) is None:
                return self.carrier.lasting or not s.network.in_flight
            s = end
        return s in seen

    def _known(self, s: ActorState) -> ActorState:
        return s.but(nodes=tuple(map(self.gist, s.nodes)), network=self.carrier.empty())

    def suggestible(self, s: ActorState) -> Iterator[Any]:
        """What may be suggested: no fault, nothing unasked; nothing on its way once settled."""
        acts = self.acts.items()
        out = [kind for kind, act in acts if act.said.unasked or act.said.fault]
        if self.is_settled(s):
            out += [DeliverMessage, ReleaseMessage]
        enabled = (action for action in self.actions(s) if not isinstance(action, tuple(out)))
        if self.carrier.lasting:
            enabled = (action for action in enabled if self.apply(s, action) != s)
        return enabled

    def suggest(self, s: ActorState) -> Any | None:
        """The first message to be received, then the protocol's own; to heal and to release come
        last.

        A story ends where all is settled: what only repeats what nodes know is left alone.
        """
        return next(self.suggestible(s), None)

    def is_busy(self, s: ActorState) -> bool:
        """Whether something that brings news is in flight or held."""
        return bool(s.network.in_flight or s.network.held) and not self.is_settled(s)

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """The network splits or heals, or nothing on its way brings news any longer."""
        if isinstance(action, Partition):
            return "split"
        if isinstance(action, Heal):
            return "healed"
        return STILL if self.is_busy(before) and not self.is_busy(after) else None


def _from(source: str, what: str) -> str:
    article, _, rest = what.partition(" ")
    return f"{source}'s {rest}" if article in ARTICLES else f"{what} from {source}"


def _to(targets: list[str], what: str, sends: str) -> str:
    names = " and ".join(filter(None, (", ".join(targets[:-1]), targets[-1])))
    has_article = what.partition(" ")[0] in ARTICLES
    return f"{sends} {names} {what}" if has_article else f"{sends} {what} to {names}"


def _list(done: list[str]) -> str:
    if len(done) < 2:
        return "".join(f" and {part}" for part in done)
    return f", {', '.join(done[:-1])}, and {done[-1]}"
