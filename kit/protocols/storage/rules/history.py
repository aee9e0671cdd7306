"""What the metadata says of one data range, epoch by epoch: what the storage model knows of it.

A history is plain data, a graph: its nodes are epochs of the range (who reads and writes it, which
copies stream meanwhile), its edges the events that may be committed next, each with the conditions
that it waits for. Ways may part (another operation, a cancel), meet again and lead back (a
rollback, a node that leaves after it joined). Two rules belong to it: which replica *admits* a
request of which epoch, and what *acknowledges* a write while replicas are pending.

It knows nothing of where it comes from: ``kit.protocols.dataplane.projection`` makes one of a
real plan, tests make some by hand. Replicas are numbered; sets of them are bit masks.

Whoever lags, and every message on its way, works by an earlier epoch, so the way to the newest one
matters, not the newest one alone. A *trail* is such a way: the epochs from the oldest that may
still be in use to the newest. An *epoch index* is a place on it, 0 the oldest. Where nobody's lag
is bounded a trail begins at the start, so that its index counts the events so far. With a bound on
the lag the oldest epoch drops out at a commit, all indices go down by one, and a history that leads
back has finitely many trails.

Source: CEP-21, "Consistency Guarantees"; for stages, versions and fences the documents of topology
changes and of tablets over Raft.
"""

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.masks import chosen, mask_of
from kit.protocols.storage.rules.conditions import Condition
from kit.protocols.storage.rules.exchange import Admission
from kit.protocols.storage.rules.view import AnyAcknowledgement, View


class CopyTask(Struct, frozen=True):
    """``target`` receives the range's data from ``source``, once the conditions hold.

    It goes on through a commit when the next epoch has the same copies.
    """

    source: int
    target: int
    conditions: tuple[Condition, ...] = ()


class Edge(Struct, frozen=True):
    """An event that may be committed next; it leads to the node ``to``.

    ``verb`` is how a scenario file names it, ``title`` what it does. ``streamed`` says that all
    copies of the present epoch must have arrived before, ``switches`` that reads move;
    ``regains`` are the replicas that get the range again or for the first time, of those that may
    hold data not owned. ``aside``: it leads away from the operation's end (a cancel, a rollback).
    """

    verb: str
    title: str
    to: int
    conditions: tuple[Condition, ...] = ()
    streamed: bool = False
    switches: bool = False
    regains: int = 0
    aside: bool = False


class RangeEpoch(Struct, frozen=True):
    """The metadata of the range after some events, and what can come next.

    ``epoch`` is the number by which people know it (where ways lead back: that of the first
    visit); ``dead`` are replicas that are gone for good by now. ``quiet``: the event before it gave
    it no number of its own (a fence, a node that is shut down), so that plans are as before.
    ``session`` is the one that is open: its number, 0 for none. ``cleans_after`` is what a cleanup
    waits for; ``cleans`` are the replicas that are told to (None: whoever lost the range may).
    ``ignored`` are requests (a mask) that barriers pass over from here on, since nobody waits for
    their coordinator.
    """

    epoch: int
    title: str
    view: View
    edges: tuple[Edge, ...] = ()
    copies: tuple[CopyTask, ...] = ()
    dead: int = 0
    quiet: bool = False
    session: int = 0
    cleans_after: tuple[Condition, ...] = ()
    cleans: int | None = None
    ignored: int = 0


class ShardedReplica(Struct, frozen=True):
    """A replica (its number) that has the range on more than one shard of its own.

    ``shards`` are these (a mask). They are no nodes: the replica is asked, learns of epochs and
    dies, and which shards do what it is asked it says by the epoch that it knows.
    """

    node: int
    shards: int


class RangeHistory(Struct, frozen=True):
    """One data range through all its futures; node 0 is the start.

    ``replicas`` are the names of all nodes that ever replicate the range, ``dcs`` the datacenter
    of each; ``label`` is the range's, ``left`` (not in it) and ``right`` its bounds. ``lag`` says
    how many epochs a node, a message or a new request may be behind the newest one (None: any
    number, so that the whole past counts); only with it a history that leads back has finitely many
    states. A commit is news to everybody: where ``lag`` is 0 nodes and messages may be one behind.
    ``unit`` is what people call an epoch. ``sessions``: a replica does what a copy asks only while
    the session of the copy is the one that it knows to be open. ``sharded`` is the replica
    that has shards; they are listed among ``replicas``, too.
    """

    label: str
    left: int
    right: int
    replicas: tuple[str, ...]
    dcs: tuple[str, ...]
    epochs: tuple[RangeEpoch, ...]
    admission: Admission = "epoch-exchange"
    acknowledgement: AnyAcknowledgement = "union"
    lag: int | None = None
    unit: str = "epoch"
    sessions: bool = False
    sharded: ShardedReplica | None = None

    @property
    def kept(self) -> int | None:
        """How many epochs below the newest somebody may still work by; None: all."""
        return None if self.lag is None else max(self.lag, 1)

    @property
    def datacenters(self) -> dict[str, int]:
        """The replicas of each datacenter (masks)."""
        return {
            name: mask_of(i for i, dc in enumerate(self.dcs) if dc == name) for name in self.dcs
        }

    def names(self, mask: int) -> tuple[str, ...]:
        """The replicas in a mask, by name."""
        return chosen(self.replicas, mask)


MOST_TRAILS = 4000


class Trail(Struct, frozen=True):
    """A way to a node: the range at each of its epochs, oldest first, and what can come next.

    ``nodes`` are numbers of the history's epochs; ``leads`` gives the number of the trail behind
    each edge of ``newest``. ``numbers`` are those by which people know its epochs: a quiet one has
    that of the epoch before it. ``full``: at the next commit the oldest epoch drops out.
    """

    nodes: tuple[int, ...]
    views: tuple[View, ...]
    newest: RangeEpoch
    leads: tuple[int, ...]
    numbers: tuple[int, ...]
    full: bool = False

    def edge(self, verb: str) -> tuple[Edge, int]:
        """The edge of that name, and the trail behind it."""
        for edge, to in zip(self.newest.edges, self.leads, strict=True):
            if edge.verb == verb:
                return edge, to
        raise KeyError(verb)

    def index(self, number: int) -> int:
        """The index of the last epoch of that number."""
        return len(self.numbers) - 1 - self.numbers[::-1].index(number)

    @property
    def plans(self) -> tuple[int, ...]:
        """The indices that plans are made by: of equal numbers the last."""
        return tuple(self.index(number) for number in dict.fromkeys(self.numbers))


def trails(history: RangeHistory) -> tuple[Trail, ...]:
    """Every trail of a history; number 0 is the start. BadInput when there are too many."""
    ways: list[tuple[int, ...]] = [(0,)]
    numbers: dict[tuple[int, ...], int] = {}  # no way leads back to one node alone
    leads: list[tuple[int, ...]] = []
    for way in ways:  # grows while it is walked along
        oldest = 0 if history.kept is None else max(0, len(way) - history.kept)
        behind = [(*way[oldest:], edge.to) for edge in history.epochs[way[-1]].edges]
        for longer in behind:
            if longer not in numbers:
                if len(ways) == MOST_TRAILS:
                    allowed = "a smaller lag, or fewer operations and cancels"
                    raise BadInput("lag", history.lag, f"{allowed}: more than {MOST_TRAILS} ways")
                numbers[longer] = len(ways)
                ways.append(longer)
        leads.append(tuple(numbers[longer] for longer in behind))
    return tuple(_trail(history, *pair) for pair in zip(ways, leads, strict=True))


def _trail(history: RangeHistory, way: tuple[int, ...], leads: tuple[int, ...]) -> Trail:
    newest = history.epochs[way[-1]]
    full = history.kept is not None and len(way) > history.kept
    views = _views([history.epochs[node].view for node in way])
    return Trail(way, views, newest, leads, _numbers(history, way), full)


def _numbers(history: RangeHistory, way: tuple[int, ...]) -> tuple[int, ...]:
    numbers = [history.epochs[way[-1]].epoch]
    for node in reversed(way[1:]):
        numbers.append(numbers[-1] - (not history.epochs[node].quiet))
    return tuple(reversed(numbers))


def _views(views: list[View]) -> tuple[View, ...]:
    along, row = [], None
    for index, view in enumerate(views):
        if (now := (view.reads, view.writes)) != row:
            last, row = index, now
        along.append(replace(view, last_modified=last))
    return tuple(along)


def to_the_end(ways: tuple[Trail, ...]) -> int:
    """The trail on which the first operation is done: every step taken, nothing cancelled."""
    at = 0
    while ways[at].leads:
        at = ways[at].leads[0]
    return at
