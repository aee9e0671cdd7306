"""Who keeps the log of metadata: how many members there are, which ones, and how that changes.

Nodes are numbers from 0; sets of them are bit masks. Every member owns the whole range of the
metadata keyspace, so a change of the members never splits a range. A change is a row of events,
each of which adds or removes one node, in the write set or in the read set.
Sources: CEP-21, "CMS Reconfiguration Protocol"; published code, ``ReconfigureCMS``,
``PrepareCMSReconfiguration``, ``AdvanceCMSReconfiguration`` and ``CMSPlacementStrategy``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Any, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from kit.masks import is_majority, majority, nodes_in
from kit.protocols.cms.rules.log import Entry
from kit.ring.columns import np
from kit.ring.natural import replicas_from
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.topology import Node, Ring

Edition = Literal["documents", "server"]
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
UP_TO, SIZES = (2, 5, 100), (1, 3, 5, 10)
"""CMS sizes, and up to how many nodes of the cluster each holds; the last one has no limit."""

START_ADD, FINISH_ADD = "start add", "finish add"
START_REMOVE, FINISH_REMOVE, REMOVE = "start removal of", "finish removal of", "removal of"
REPLACE, RECONFIGURE, CHOOSE, CANCEL = "replace members", "reconfigure", "choose", "cancel"
INITIALIZE, FORCE, CHANGE = "initialize", "force members", "change"
JOIN, LEAVE, LEFT, ASSASSINATE = "bootstrap", "decommission", "left", "assassinate"
STARTUP, UNREGISTER = "startup", "unregister"
REMOVE_NODE, WITHOUT = "removenode", "members without"
GOES = LEAVE, REMOVE_NODE, WITHOUT
"""With these a node begins to go. Behind a colon may be whom the CMS then has."""
REPAIRED_FIRST = START_ADD, START_REMOVE, REMOVE
"""Before one of these comes a Paxos repair."""
PREPARE, END = "prepare reconfiguration", "end of reconfiguration"


class Members(Struct, frozen=True, cache_hash=True):
    """The members at an epoch: whose answers count for reads, and for writes of the log."""

    cluster: int = 0  # all nodes
    readers: int = 0
    writers: int = 0
    leaving: int = 0  # the nodes that are to leave the cluster
    given_up: int = 0  # those that are down, and that the others take out of it
    size: int = 0  # what an operator asked for in the first datacenter
    by_dc: str = ""  # the same in any of them
    chosen: int = 0  # whom an operator asked for by hand; 0: nobody did
    moved: int = 0  # the nodes of which the log has a new address

    @property
    def pending(self) -> int:
        """The nodes that are written to, and not read from: one that comes or one that goes."""
        return self.writers & ~self.readers

    @property
    def sizes(self) -> str:
        """The sizes that an operator asked for last."""
        return self.by_dc or str(self.size)

    @property
    def is_sized(self) -> bool:
        """Whether operators alone say how many members there are, as in the published server."""
        return bool(self.size or self.by_dc)

    @property
    def staying(self) -> int:
        """The nodes of the cluster that are not to leave it."""
        return self.cluster & ~self.leaving & ~self.given_up

    def but(self, **fields: Any) -> Self:
        """The same but for these fields."""
        return replace(self, **fields)


def letters(mask: int) -> str:
    """The names of the nodes in a set, as an event has them."""
    return " ".join(NAMES[node] for node in nodes_in(mask))


def parsed(event: str) -> tuple[str, int]:
    """The kind of an event, and the nodes that it names before any colon."""
    words = event.partition(": ")[0].split()
    names = [word for word in words if word in NAMES]  # others are not in capitals
    kind = " ".join(each for each in words if each not in names and not re.search("[0-9]", each))
    return kind, sum(1 << NAMES.index(name) for name in names)


def sizes_in(event: str) -> tuple[int, str]:
    """The sizes in ``reconfigure 3`` or ``reconfigure dc1:3,dc2:1``: one, or several."""
    sizes = next((word for word in event.split() if re.search("[0-9]", word)), "0")
    return (int(sizes), "") if sizes.isdigit() else (0, sizes)


def enact(members: Members, entry: Entry) -> Members:
    """The members after one more entry."""
    (kind, named), (size, by_dc), m = parsed(entry.event), sizes_in(entry.event), members
    readers, writers = m.readers & ~named, m.writers & ~named
    these, out = {"readers": named, "writers": named}, {"readers": readers, "writers": writers}
    rest = {"leaving": m.leaving & ~named, "given_up": m.given_up & ~named}
    by_hand = m.chosen & ~named if m.is_sized else 0  # else the CMS sizes itself again
    gone = {"cluster": m.cluster & ~named, "chosen": by_hand, **rest}
    stays = {"leaving": m.leaving & ~m.readers, "given_up": m.given_up & ~m.readers}
    chosen = parsed(entry.event.partition(": ")[2])[1] or m.chosen
    leaves, others = {"leaving": m.leaving | named}, {"given_up": m.given_up | named}
    made: dict[str, dict[str, Any]] = {
        INITIALIZE: these,
        FORCE: these | {"chosen": named if m.is_sized else m.chosen},
        REPLACE: these,
        START_ADD: {"writers": m.writers | named},
        FINISH_ADD: {"readers": m.readers | named},
        START_REMOVE: {"readers": readers},
        FINISH_REMOVE: {"writers": writers},
        REMOVE: out,
        ASSASSINATE: out | gone,
        JOIN: {"cluster": m.cluster | named, "chosen": 0},
        LEAVE: leaves | {"chosen": chosen},
        REMOVE_NODE: leaves | others | {"chosen": chosen},
        WITHOUT: others | {"chosen": chosen},
        LEFT: gone,
        RECONFIGURE: {"size": size, "by_dc": by_dc, "chosen": named},
        CHOOSE: {"chosen": named},
        STARTUP: {"moved": m.moved | named},
        CANCEL: {"writers": m.readers, "chosen": m.readers, **stays},
    }
    return m.but(**made.get(kind, {}))


def sizes_of(text: str, dcs: Collection[str]) -> dict[str, int]:
    """The sizes of datacenters that an operator asks for: ``dc1:3,dc2:1``; those not named have no
    member. A number alone is that of the datacenter whose name comes first.
    """
    if ":" not in text:
        return {min(dcs): int(text)}
    pairs = (each.split(":") for each in text.split(","))
    return {dc: int(size) for dc, size in pairs}


def sizes_elsewhere(nodes: int, dcs: int) -> Iterator[str]:
    """What an operator may ask for where other datacenters than the first one have members."""
    for counts in product(range(nodes + 1), repeat=dcs):
        if any(counts[1:]):
            yield ",".join(f"dc{at}:{count}" for at, count in enumerate(counts, 1) if count)


def every_event(nodes: int, dcs: int = 1) -> Iterator[str]:
    """All that may be committed in a cluster of so many nodes, in so many datacenters."""
    yield from (CHANGE, CANCEL)
    of_one: tuple[str, ...] = (JOIN, *GOES, LEFT, ASSASSINATE, STARTUP, UNREGISTER)
    of_one = (*of_one, *REPAIRED_FIRST, FINISH_ADD, FINISH_REMOVE)
    every = (*range(1, nodes + 1), *sizes_elsewhere(nodes, dcs))
    sizes = [f"{RECONFIGURE} {size}" for size in every]
    yield from (*sizes, *(f"{kind} {name}" for kind in of_one for name in NAMES[:nodes]))
    for kind, chosen in product((CHOOSE, *sizes), range(1, 1 << nodes)):
        yield f"{kind} {letters(chosen)}"
    for kind, name, chosen in product(GOES, NAMES[:nodes], range(1, 1 << nodes)):
        yield f"{kind} {name}: {letters(chosen)}"


# -- how many, and which ones ----------------------------------------------------------------------


def size_for(nodes: int, up_to: Sequence[int] = UP_TO, sizes: Sequence[int] = SIZES) -> int:
    """How many members a cluster of so many nodes wants, of which it may not have enough."""
    size = next((size for top, size in zip(up_to, sizes, strict=False) if nodes <= top), sizes[-1])
    return min(size, nodes)


def placed(candidates: int, members: int, size: int) -> int:
    """The members by the documents: who is one stays one, then come the first of the ring."""
    order = sorted(nodes_in(candidates), key=lambda node: (not members >> node & 1, node))
    return sum(1 << node for node in order[:size])


def walked(
    nodes: Iterable[Node], sizes: Mapping[str, int], without: Collection[str] = ()
) -> tuple[str, ...]:
    """The members by the published code: the replicas of the first range, from MIN on.

    ``sizes`` are those of the datacenters. ``without`` are nodes that may be none: they are down,
    leave, or have an operation of their own. Where too few are left the CMS is smaller.
    """
    ring = Ring.of(each for each in nodes if each.name not in without)
    strategy = NetworkTopologyStrategy(tuple(sizes.items()))
    first = replicas_from(ring, strategy, np.zeros(min(1, len(ring.tokens)), np.intp))
    return tuple(ring.names[code] for code in first.flat)


def too_many(nodes: Iterable[Node], sizes: Mapping[str, int], without: Collection[str] = ()) -> str:
    """Why the published code refuses these sizes of datacenters; empty where it does not."""
    joined = Counter(each.dc for each in nodes)
    if not any(sizes.values()):
        return "a CMS needs at least one member"
    for dc, size in sizes.items():
        if not joined[dc]:
            return f"there is no datacenter {dc}"
        if joined[dc] < size:
            return f"{dc} has fewer than {size} nodes"
    if len(walked(nodes, sizes, without)) < majority(sum(sizes.values())):
        return "too few nodes are up and free for a majority of that size"
    return ""


def next_step(members: Members, wanted: int, *, at_once: bool) -> str:
    """The next event on the way to the members that are wanted; empty: these are the members.

    Who is half added is finished, or dropped if it is no longer wanted; then additions one by one,
    then removals one by one. ``at_once``: a removal takes one event, as in the published code.
    There the order is that of a hash set of node ids, whose hash is 31 and the id: the smallest
    goes first, as long as ids are at most 16. Who is down plays no part in it.
    """
    if half := members.pending:
        kind = FINISH_ADD if half & wanted else FINISH_REMOVE
        return f"{kind} {letters(half)}"
    removal = REMOVE if at_once else START_REMOVE
    steps = {START_ADD: wanted & ~members.writers, removal: members.readers & ~wanted}
    for kind, nodes in steps.items():
        if nodes:
            return f"{kind} {letters(nodes & -nodes)}"
    return ""


def reconfiguration(now: Members, wanted: int) -> tuple[str, ...]:
    """All events of a change of the members in the published code, each of them an epoch.

    The first one keeps the plan and locks the range of the log, the last one takes both away.
    """
    at, events = now, [PREPARE]
    while event := next_step(at, wanted, at_once=True):
        at = enact(at, Entry(0, event, ""))
        events.append(event)
    return (*events, END) if at != now else (PREPARE,)


# -- quorums ---------------------------------------------------------------------------------------


def decides(members: Members, nodes: int) -> bool:
    """Whether these nodes may decide an epoch: most of the read set, and most of the write set."""
    return all(is_majority(nodes, group) for group in (members.readers, members.writers))


@lru_cache(1 << 14)
def quorums(readers: int, writers: int, able: int) -> tuple[int, ...]:
    """The smallest sets of the nodes that are able that may decide an epoch."""
    members, smallest = Members(readers=readers, writers=writers), list[int]()
    nodes = [1 << node for node in nodes_in(able & (readers | writers))]
    for count, _ in enumerate(nodes, 1):
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
