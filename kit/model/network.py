"""One message bag: what is on its way between nodes, and what a network may do to it.

A message is *in flight* from its sending until it is received. A fault may lose it, copy it or hold
it back, or split the nodes in two, so that nothing passes between the sides. Each fault has a
budget. Whatever the order of messages does not mean, the bag does not keep: a link that keeps no
order has its messages sorted, so that a search meets equal bags as one.

The kinds of network are those of stateright's actors (in order; each message once; each any number
of times), with budgets, holding and partitions added.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs

from kit.errors import BadInput, Refusal
from kit.masks import chosen
from kit.model.model import content

M = TypeVar("M")
B = TypeVar("B", bound=Struct)

MOST_SPLIT = 8
"""Nodes; of more there are too many ways to split them for a list of buttons."""


class Envelope(Struct, Generic[M], frozen=True, cache_hash=True):
    """A message with the node that sends it and the one that it is for."""

    source: str
    target: str
    message: M


class Budget(Struct, frozen=True, cache_hash=True):
    """How often each fault may happen (still); None: as often as one likes."""

    drops: int | None = 0
    duplicates: int | None = 0
    holds: int | None = 0
    partitions: int | None = 0


class NetworkOptions(Budget, frozen=True, forbid_unknown_fields=True):
    """The options of a network: whether a link keeps its order (``fifo``), and a budget of each
    fault.

    Two make a search smaller: ``most_in_flight`` bounds it, no step makes more messages be on their
    way (0: any number); a ``tidy`` one takes away what can change nothing any more.
    Where ``duplicates`` is None a message stays in flight for good: it may be received any number
    of times, and sending it once more changes nothing.
    """

    fifo: bool = False
    most_in_flight: int = 0
    tidy: bool = False

    @property
    def budget(self) -> Budget:
        """The faults that may happen in a whole run."""
        return Budget(self.drops, self.duplicates, self.holds, self.partitions)


class Network(Struct, frozen=True, cache_hash=True):
    """The bag: what is in flight and what is held, who is apart, and which faults are left.

    Both tuples are sorted by link; on a link that keeps its order messages stand as they were sent,
    on others by content. ``apart`` is a bit mask of the nodes on the side of the split without the
    first node (0: the network is whole).
    """

    in_flight: tuple[Envelope[Any], ...]
    held: tuple[Envelope[Any], ...]
    apart: int
    left: Budget


class OfMessage(Struct, Generic[M], frozen=True):
    """What happens to a message."""

    envelope: Envelope[M]


class DeliverMessage(OfMessage[M], frozen=True, tag="deliver"):
    """A node receives a message."""


class DropMessage(OfMessage[M], frozen=True, tag="drop"):
    """The network loses a message."""


class DuplicateMessage(OfMessage[M], frozen=True, tag="duplicate"):
    """The network makes one more copy of a message."""


class HoldMessage(OfMessage[M], frozen=True, tag="hold"):
    """The network holds a message back until it is released."""


class ReleaseMessage(OfMessage[M], frozen=True, tag="release"):
    """A message that was held back is in flight again."""


class Partition(Struct, frozen=True, tag="partition"):
    """The network splits: these nodes (without the first of all) on one side, the others on one."""

    nodes: tuple[str, ...]


class Heal(Struct, frozen=True, tag="heal"):
    """The network is whole again."""


MESSAGE_ACTIONS: tuple[Any, ...] = (
    DeliverMessage,
    DropMessage,
    DuplicateMessage,
    HoldMessage,
    ReleaseMessage,
)

_NOT_SPLIT = Refusal("the network is not cut")
_SPLIT = Refusal("the network is already cut: it has to heal first")


def words(message: Any) -> str:
    """A message as people write it: ``ping 1``, from its tag (or class) and its fields."""
    if type(message) is int:  # most are, and to ask whether they are structs takes long
        return str(message)
    if isinstance(message, Struct):
        tag = message.__struct_config__.tag or type(message).__name__.lower()
        return " ".join([str(tag), *(words(value) for value in structs.astuple(message))])
    if isinstance(message, tuple):
        return ",".join(map(words, message)) or "-"
    return " ".join(str(message).split())


def line(envelope: Envelope[Any]) -> str:
    """``A>B ping 1``, as in a scenario file."""
    return f"{envelope.source}>{envelope.target} {words(envelope.message)}"


# -- refusals, each made once ----------------------------------------------------------------------


@lru_cache(1 << 12)
def _cut(source: str, target: str) -> Refusal:
    return Refusal(f"the link {source}→{target} is cut")


@lru_cache(1 << 12)
def _held_back(envelope: Envelope[Any]) -> Refusal:
    return Refusal(f"{words(envelope.message)} is held back")


@lru_cache(1 << 12)
def _behind(first: Envelope[Any], why: str) -> Refusal:
    link = f"{first.source}→{first.target}"
    return Refusal(f"the link {link} keeps its order: {words(first.message)} {why}")


@lru_cache
def spent(name: str) -> Refusal:
    """Why a fault may happen no more."""
    return Refusal(f"the budget of {name} is used up")


# -- order -----------------------------------------------------------------------------------------


def _by_link(envelope: Envelope[Any]) -> tuple[str, str]:
    return envelope.source, envelope.target


@lru_cache(1 << 16)
def by_content(envelope: Envelope[Any]) -> tuple[str, str, bytes]:
    """The place of a message in a bag without order: by link, then by content."""
    return envelope.source, envelope.target, content(envelope.message)


@lru_cache(1 << 10)
def less(left: B, fault: str) -> B:
    """The budget after one more fault."""
    number = getattr(left, fault)
    return left if number is None else structs.replace(left, **{fault: number - 1})


class Carrier:
    """The network between some nodes: every change of a bag, and why it may not be."""

    def __init__(self, nodes: tuple[str, ...], options: NetworkOptions) -> None:
        """A network of ``nodes`` with these ``options``; ``splits`` are the ways to part them.

        Raises BadInput for a node that is there twice, a budget below 0, links that keep their
        order and deliver again and again, or more than 8 nodes to split.
        """
        if len(set(nodes)) < len(nodes):
            raise BadInput("nodes", nodes, "each name once")
        for field, number in structs.asdict(options.budget).items():
            if number is not None and number < 0:
                raise BadInput(field, number, "a number from 0 up, or None for no bound")
        if options.fifo and options.duplicates is None:
            raise BadInput("duplicates", None, "a number, because links keep their order")
        if options.partitions != 0 and len(nodes) > MOST_SPLIT:
            raise BadInput("partitions", options.partitions, f"0 for more than {MOST_SPLIT} nodes")
        self.nodes, self.options = nodes, options
        self.lasting = options.duplicates is None
        self._fifo = options.fifo
        self._bits = {name: 1 << i for i, name in enumerate(nodes)}
        self._key: Callable[[Envelope[Any]], Any] = _by_link if options.fifo else by_content
        self.splits = tuple(self._sides()) if options.partitions != 0 else ()

    def empty(self) -> Network:
        """Nothing is in flight, nothing has gone wrong."""
        return Network((), (), 0, self.options.budget)

    # -- what may be done --------------------------------------------------------------------------

    def messages(self, n: Network) -> Iterable[Envelope[Any]]:
        """Every message in flight or held, equal ones once."""
        return dict.fromkeys((*n.in_flight, *n.held)) if n.held else self.in_flight(n)

    def in_flight(self, n: Network) -> Iterable[Envelope[Any]]:
        """Every message in flight, equal ones once."""
        return dict.fromkeys(n.in_flight) if len(n.in_flight) > 1 else n.in_flight

    def held(self, n: Network) -> Iterable[Envelope[Any]]:
        """Every message that is held, equal ones once."""
        return dict.fromkeys(n.held)

    def may_deliver(self, n: Network, envelope: Envelope[Any]) -> Refusal | None:
        """Only over a link that is not cut, and in its turn."""
        if n.apart and self.cut(n, envelope.source, envelope.target):
            return _cut(envelope.source, envelope.target)
        return self._in_turn(n, envelope) if n.held or self._fifo else None

    def cut(self, n: Network, source: str, target: str) -> bool:
        """Whether a partition parts these two nodes."""
        apart, bits = n.apart, self._bits
        return (apart & bits[source] == 0) is not (apart & bits[target] == 0)

    def _in_turn(self, n: Network, envelope: Envelope[Any]) -> Refusal | None:
        if not self._fifo:
            return _held_back(envelope) if envelope not in n.in_flight else None
        link = _by_link(envelope)
        for other in n.held:
            if _by_link(other) == link:
                return _held_back(other) if other == envelope else _behind(other, "is held back")
        first = next(other for other in n.in_flight if _by_link(other) == link)
        return None if first == envelope else _behind(first, "comes first")

    # -- what it does ------------------------------------------------------------------------------

    def post(self, n: Network, sent: Iterable[Envelope[Any]]) -> Network:
        """The bag with these messages in flight, too."""
        return Network(self._added(n.in_flight, sent), n.held, n.apart, n.left)

    def receive(
        self, n: Network, envelope: Envelope[Any], sent: tuple[Envelope[Any], ...]
    ) -> Network:
        """The bag after a message was received and ``sent`` in answer."""
        bag = n.in_flight if self.lasting else without(n.in_flight, envelope)
        return Network(self._added(bag, sent) if sent else bag, n.held, n.apart, n.left)

    def drop(self, n: Network, envelope: Envelope[Any]) -> Network | Refusal:
        """The bag without a message. On a link that keeps its order only the first one is lost:
        until it would be received nobody can tell that a message is.
        """
        if why := self._may_not(n, envelope, "drops"):
            return why
        return Network(without(n.in_flight, envelope), n.held, n.apart, less(n.left, "drops"))

    def duplicate(self, n: Network, envelope: Envelope[Any]) -> Network | Refusal:
        """The bag with one more copy of a message, right behind it; in order, as for losses."""
        if why := self._may_not(n, envelope, "duplicates"):
            return why
        i = n.in_flight.index(envelope)
        in_flight = (*n.in_flight[:i], envelope, *n.in_flight[i:])
        return Network(in_flight, n.held, n.apart, less(n.left, "duplicates"))

    def hold(self, n: Network, envelope: Envelope[Any]) -> Network | Refusal:
        """The bag with a message set aside; in order, as for losses."""
        if why := self._may_not(n, envelope, "holds"):
            return why
        in_flight, held = without(n.in_flight, envelope), self._added(n.held, (envelope,))
        return Network(in_flight, held, n.apart, less(n.left, "holds"))

    def _may_not(self, n: Network, envelope: Envelope[Any], fault: str) -> Refusal | None:
        return spent(fault) if getattr(n.left, fault) == 0 else self._in_turn(n, envelope)

    def release(self, n: Network, envelope: Envelope[Any]) -> Network:
        """The bag with a held message back in flight: before those that wait behind it."""
        i = bisect_left(n.in_flight, self._key(envelope), key=self._key)
        in_flight = (*n.in_flight[:i], envelope, *n.in_flight[i:])
        return Network(in_flight, without(n.held, envelope), n.apart, n.left)

    def split(self, n: Network, apart: Iterable[str]) -> Network | Refusal:
        """The network in two: what is in flight between the sides waits there."""
        if n.apart:
            return _SPLIT
        if n.left.partitions == 0:
            return spent("partitions")
        bits = sum(self._bits[name] for name in apart)
        return Network(n.in_flight, n.held, bits, less(n.left, "partitions"))

    def heal(self, n: Network) -> Network | Refusal:
        """The network is whole again."""
        return Network(n.in_flight, n.held, 0, n.left) if n.apart else _NOT_SPLIT

    def sides(self, apart: Iterable[str]) -> str:
        """The two sides of a split as people write them: ``A B | C``."""
        other = set(apart)
        sides = ([n for n in self.nodes if (n in other) is there] for there in (False, True))
        return " | ".join(map(" ".join, sides))

    def apart(self, n: Network) -> tuple[str, ...]:
        """The names of the nodes apart from the first."""
        return tuple(name for name in self.nodes if n.apart & self._bits[name])

    def _sides(self) -> Iterable[tuple[str, ...]]:
        """Every set of nodes that does not hold the first one, smaller ones first."""
        rest = self.nodes[1:]
        masks = sorted(range(1, 1 << len(rest)), key=lambda mask: (mask.bit_count(), mask))
        return (chosen(rest, mask) for mask in masks)

    def _added(
        self, bag: tuple[Envelope[Any], ...], sent: Iterable[Envelope[Any]]
    ) -> tuple[Envelope[Any], ...]:
        key, lasting = self._key, self.lasting
        for envelope in sent:
            if not lasting or envelope not in bag:
                i = bisect_right(bag, key(envelope), key=key)
                bag = (*bag[:i], envelope, *bag[i:])
        return bag


def without(bag: tuple[Envelope[Any], ...], envelope: Envelope[Any]) -> tuple[Envelope[Any], ...]:
    """The bag without one copy of a message, the first."""
    i = bag.index(envelope)
    return bag[:i] + bag[i + 1 :]


def posted(before: Network, action: Any, after: Network) -> tuple[Envelope[Any], ...]:
    """The messages that nodes sent in a step, on each link in the order in which they stand."""
    there, sent = expected_bag(before, action), []
    there.subtract(after.held)
    for envelope in after.in_flight:
        # A message that was sent once more stands behind the one that was there.
        if there[envelope] > 0:
            there[envelope] -= 1
        else:
            sent.append(envelope)
    return tuple(sent)


def expected_bag(before: Network, action: Any) -> Counter[Envelope[Any]]:
    """The bag after an action of the network itself.

    A message that stays in flight for good (no bound on copies) is there after it was received.
    """
    bag = Counter((*before.in_flight, *before.held))
    lasting = before.left.duplicates is None
    if isinstance(action, DropMessage) or (isinstance(action, DeliverMessage) and not lasting):
        bag[action.envelope] -= 1
    elif isinstance(action, DuplicateMessage):
        bag[action.envelope] += 1
    return bag
