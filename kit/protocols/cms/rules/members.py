"""Who keeps the log of metadata: how many members there are, which ones, and how that changes.

Nodes are numbers from 0; sets of them are bit masks. Every member owns the whole range of the
metadata keyspace, so a change of the members never splits a range. A change is a row of events,
each of which adds or removes one node, in the write set or in the read set.
Sources: CEP-21, "CMS Reconfiguration Protocol"; published code, ``ReconfigureCMS``,
``PrepareCMSReconfiguration``, ``AdvanceCMSReconfiguration`` and ``CMSPlacementStrategy``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Any, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.cms.rules.log import Entry

Edition = Literal["documents", "server"]
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
UP_TO, SIZES = (2, 5, 100), (1, 3, 5, 10)
"""CMS sizes, and up to how many nodes of the cluster each holds; the last one has no limit."""

START_ADD, FINISH_ADD = "start add", "finish add"
START_REMOVE, FINISH_REMOVE, REMOVE = "start removal of", "finish removal of", "removal of"
REPLACE, RECONFIGURE, CHOOSE, CANCEL = "replace members", "reconfigure", "choose", "cancel"
INITIALIZE, JOIN, LEAVE, LEFT, ASSASSINATE = (
    "initialize",
    "bootstrap",
    "decommission",
    "left",
    "assassinate",
)
CHANGE, FORCE, STARTUP = "change", "force members", "startup"
REPAIRED_FIRST = START_ADD, START_REMOVE, REMOVE
"""Before one of these comes a Paxos repair."""


class Members(Struct, frozen=True, cache_hash=True):
    """The members at an epoch: whose answers count for reads, and for writes of the log.

    ``cluster`` are all nodes, ``leaving`` those that are to leave it. ``size`` is what an operator
    asked for in each datacenter, ``chosen`` whom one asked for by hand (0: nobody asked). ``moved``
    are those of which the log has a new address.
    """

    cluster: int = 0
    readers: int = 0
    writers: int = 0
    leaving: int = 0
    size: int = 0
    chosen: int = 0
    moved: int = 0

    @property
    def pending(self) -> int:
        """The nodes that are written to, and not read from: one that comes or one that goes."""
        return self.writers & ~self.readers

    def but(self, **fields: Any) -> Self:
        """The same but for these fields."""
        return replace(self, **fields)


def nodes_in(mask: int) -> Iterator[int]:
    """The numbers of the nodes in a set, in order."""
    return (place for place in range(mask.bit_length()) if mask >> place & 1)


def letters(mask: int) -> str:
    """The names of the nodes in a set, as an event has them."""
    return " ".join(NAMES[node] for node in nodes_in(mask))


def parsed(event: str) -> tuple[str, int]:
    """The kind of an event, and the nodes that it names."""
    words = event.split()
    names = [word for word in words if len(word) == 1 and word in NAMES]
    kind = " ".join(word for word in words if word not in names and not word.isdigit())
    return kind, sum(1 << NAMES.index(name) for name in names)


def size_in(event: str) -> int:
    """The size that ``reconfigure 3`` asks for."""
    return next((int(word) for word in event.split() if word.isdigit()), 0)


def enact(members: Members, entry: Entry) -> Members:
    """The members after one more entry."""
    (kind, named), m = parsed(entry.event), members
    readers, writers = m.readers & ~named, m.writers & ~named
    these, out = {"readers": named, "writers": named}, {"readers": readers, "writers": writers}
    gone = {"cluster": m.cluster & ~named, "leaving": m.leaving & ~named, "chosen": 0}
    made: dict[str, dict[str, int]] = {
        INITIALIZE: these,
        FORCE: these,
        REPLACE: these,
        START_ADD: {"writers": m.writers | named},
        FINISH_ADD: {"readers": m.readers | named},
        START_REMOVE: {"readers": readers},
        FINISH_REMOVE: {"writers": writers},
        REMOVE: out,
        ASSASSINATE: out | gone,
        JOIN: {"cluster": m.cluster | named, "chosen": 0},
        LEAVE: {"leaving": m.leaving | named},
        LEFT: gone,
        RECONFIGURE: {"size": size_in(entry.event), "chosen": named},
        CHOOSE: {"chosen": named},
        STARTUP: {"moved": m.moved | named},
        CANCEL: {"writers": m.readers, "chosen": m.readers},
    }
    return m.but(**made.get(kind, {}))


def every_event(nodes: int) -> Iterator[str]:
    """All that may be committed in a cluster of so many nodes."""
    yield from (CHANGE, CANCEL)
    of_one = (JOIN, LEAVE, LEFT, ASSASSINATE, STARTUP, *REPAIRED_FIRST, FINISH_ADD, FINISH_REMOVE)
    sizes = [f"{RECONFIGURE} {size}" for size in range(1, nodes + 1)]
    yield from (*sizes, *(f"{kind} {name}" for kind in of_one for name in NAMES[:nodes]))
    for kind, chosen in product((CHOOSE, *sizes), range(1, 1 << nodes)):
        yield f"{kind} {letters(chosen)}"


# -- how many, and which ones ----------------------------------------------------------------------


def size_for(nodes: int, up_to: Sequence[int] = UP_TO, sizes: Sequence[int] = SIZES) -> int:
    """How many members a cluster of so many nodes wants, of which it may not have enough."""
    size = next(
        (size for most, size in zip(up_to, sizes, strict=False) if nodes <= most), sizes[-1]
    )
    return min(size, nodes)


def placed(candidates: int, members: int, racks: Sequence[int], size: int) -> int:
    """Which of the candidates are to be the members.

    A place goes to the rack that has fewest, within it to who is a member already, then to the
    first node of the ring: so replicas of a range are chosen, from MIN on.
    """
    chosen = 0
    for _ in range(min(size, candidates.bit_count())):
        held = [racks[node] for node in nodes_in(chosen)]
        rest = nodes_in(candidates & ~chosen)
        chosen |= 1 << min(rest, key=lambda n: (held.count(racks[n]), not members >> n & 1, n))
    return chosen


def placed_by_datacenter(
    candidates: int, members: int, dcs: Sequence[int], racks: Sequence[int], size: int
) -> int:
    """The same in each datacenter, with as many members in each."""
    every = (sum(1 << i for i, dc in enumerate(dcs) if dc == each) for each in {*dcs})
    return sum(placed(candidates & dc, members, racks, size) for dc in every)


def next_step(members: Members, wanted: int, *, at_once: bool) -> str:
    """The next event on the way to the members that are wanted; empty: these are the members.

    Who is half added is finished, or dropped if it is no longer wanted; then additions one by one,
    then removals one by one. ``at_once``: a removal takes one event, as in the published code.
    """
    if half := members.pending:
        kind = FINISH_ADD if half & wanted else FINISH_REMOVE
        return f"{kind} {letters(half)}"
    for kind, nodes in (
        (START_ADD, wanted & ~members.writers),
        (REMOVE if at_once else START_REMOVE, members.readers & ~wanted),
    ):
        if nodes:
            return f"{kind} {letters(nodes & -nodes)}"
    return ""


# -- quorums ---------------------------------------------------------------------------------------


def majority(count: int) -> int:
    """More than half of ``count``."""
    return count // 2 + 1


def decides(members: Members, nodes: int) -> bool:
    """Whether these nodes may decide an epoch: most of the read set, and most of the write set."""
    return members.readers > 0 and all(
        (nodes & group).bit_count() >= majority(group.bit_count())
        for group in (members.readers, members.writers)
    )


@lru_cache(1 << 14)
def quorums(readers: int, writers: int, able: int) -> tuple[int, ...]:
    """The smallest sets of the nodes that are able that may decide an epoch."""
    members, smallest = Members(readers=readers, writers=writers), list[int]()
    nodes = [1 << node for node in nodes_in(able & (readers | writers))]
    for count in range(1, len(nodes) + 1):
        for some in combinations(nodes, count):
            mask = sum(some)
            if decides(members, mask) and not any(mask & least == least for least in smallest):
                smallest.append(mask)
    return tuple(smallest)


def majorities(group: int) -> Iterable[int]:
    """The smallest majorities of a group."""
    nodes = [1 << node for node in nodes_in(group)]
    return map(sum, combinations(nodes, majority(len(nodes))))


@lru_cache(1 << 12)
def apart(reads: int, writes: int) -> tuple[int, int] | None:
    """A majority of one group and one of the other that share no node; None: all of them meet."""
    return next(((a, b) for a in majorities(reads) for b in majorities(writes) if not a & b), None)


def strangers(before: Members, after: Members) -> tuple[int, int] | None:
    """Quorums of neighbouring memberships that do not meet: reads of one, writes of the other."""
    return apart(before.readers, after.writers) or apart(after.readers, before.writers)
