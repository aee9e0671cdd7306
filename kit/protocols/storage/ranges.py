"""A data range and its history: who knows which epoch, and by which number people know that one.

Where the history comes from is the matter of a family that is built on this one: a plan of CEP-21,
the table of a node operation, the stages of a tablet. Each answers ``placement_history``; nothing
here knows which of them did.

Replicas store and return what they hold, each on its one disk, or on the shards of the one that has
some. Coordinators know the node alone. It reads on one shard and writes on one or on both, by the
epoch that *it* knows; a request that takes time stays with the shards that it began on. Its shards
are listed among the replicas for what they hold; they learn of epochs and die with their node.
Source: Topology over Raft, "Sharding with tablets", "Shard assignment stability".
"""

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from kit.errors import Refusal
from kit.masks import members
from kit.model.declared import Declared, Each, State, Travel, refused
from kit.protocols.storage.events import Happenings, legs
from kit.protocols.storage.rules import requests as rules
from kit.protocols.storage.rules.exchange import ExchangeSwitches, invalidates, sent, still_counted
from kit.protocols.storage.rules.history import Edge, RangeEpoch, RangeHistory, trails
from kit.protocols.storage.rules.view import View

CopyProgress = int
"""How far a copy is: ``NOT_COPIED``, ``COPIED``, or the cell that is on its way (0 or more)."""
NOT_COPIED: CopyProgress = -2
COPIED: CopyProgress = -1


class LateCopy(Struct, frozen=True, order=True):
    """A copy that was read at its source and was not told of the end of its operation's step.

    ``source`` and ``target`` are replicas, ``cell`` is what it brings, ``session`` the permit that
    it was sent with.
    """

    source: int
    target: int
    cell: int
    session: int


class StorageState(State, frozen=True, cache_hash=True):
    """The commits, who knows them, who holds what, and the state of each request.

    ``trail`` is the number of the trail that is committed; ``known`` the index of the epoch that
    each replica has applied, then each coordinator's; ``cells`` a cell per replica, ``copies``
    how far each copy of the present epoch is. ``down`` and ``cleaned`` are masks of replicas;
    ``waited`` counts the ticks since the last event, ``lost`` the messages lost, where some may be;
    ``late_copies`` are the copies of earlier steps that are still on their way, where some may be,
    and ``late_left`` is how many of them may still arrive.
    """

    trail: int = field(name="at")
    known: tuple[int, ...]
    cells: tuple[int, ...]
    copies: tuple[CopyProgress, ...]
    requests: tuple[rules.Request, ...]
    down: int = 0
    cleaned: int = 0
    crashes: int = 0
    waited: int = 0
    lost: int | UnsetType = UNSET  # unset, it is no part of a fingerprint
    late_copies: tuple[LateCopy, ...] | UnsetType = UNSET
    late_left: int | UnsetType = UNSET


Next: TypeAlias = StorageState | Refusal | None
Node: TypeAlias = Annotated[int, Each(lambda m: m.everybody, by_place=True)]
"""A replica or a coordinator."""
Replica: TypeAlias = Annotated[int, Each(lambda m: m.history.replicas, by_place=True)]
Number: TypeAlias = Annotated[int, Each(lambda m: range(len(m.workload)))]
"""A request of the workload."""


class Range(Declared[StorageState]):
    """A data range, the nodes that take part, and the requests of clients on it.

    A model says by ``switches`` how epochs go with messages.
    """

    State = StorageState
    requests: tuple[str, ...] = ()
    switches: ExchangeSwitches = ExchangeSwitches()

    def happened(self, before: StorageState, action: Any, after: StorageState) -> Happenings:
        """The events of a step; one that answers by sending again is two."""
        return ()

    def key(self, place: str) -> str:
        """The key in the picture of what a leg begins or ends at."""
        return place

    def requested(self) -> tuple[rules.ClientRequest, ...]:
        """The requests of clients, in this order."""
        return rules.parse_workload(self.requests)

    def placement_history(self) -> RangeHistory:
        """The readers and writers of the range at each epoch, what may come next, who may lag."""
        raise NotImplementedError

    def set_up(self) -> None:
        """The history, its trails, and all names in it."""
        self.workload = workload = self.requested()
        self.history = history = self.placement_history()
        self.mutations = tuple(client.writes for client in workload)
        self.coordinators = tuple(dict.fromkeys(client.coordinator for client in workload))
        self.names = self.everybody = (*history.replicas, *self.coordinators)
        self.code = {name: i for i, name in enumerate(self.everybody)}
        self.replicas = len(history.replicas)
        self.planners = tuple(self.code[client.coordinator] for client in workload)
        sharded, own = history.sharded, [1 << i for i in range(self.replicas)]
        if sharded:
            own[sharded.node] |= sharded.shards
        self.with_shards = tuple(own)
        self.all_shards = sharded.shards if sharded else 0
        self.split = sharded.node if sharded else -1
        self.is_down = tuple(refused(f"{name} is down", (name,)) for name in history.replicas)
        self.trails = trails(history)
        self._views = tuple(trail.views for trail in self.trails)

    def start(self) -> StorageState:
        """The range stable, nothing stored, nothing asked."""
        first, known = self.history.epochs[0], (0,) * len(self.everybody)
        cells, copies = (rules.NOTHING,) * self.replicas, (NOT_COPIED,) * len(first.copies)
        requests = (rules.Request(),) * len(self.workload)
        return StorageState(0, known, cells, copies, requests, first.dead)

    def newest(self, s: StorageState) -> RangeEpoch:
        """The committed metadata."""
        return self.trails[s.trail].newest

    def newest_epoch(self, s: StorageState) -> int:
        """The newest committed epoch or version."""
        return self.newest(s).epoch

    def views(self, s: StorageState) -> tuple[View, ...]:
        """The range's view at each epoch that somebody may still know, by index."""
        return self._views[s.trail]

    def epoch(self, s: StorageState, index: int) -> int:
        """The number of the epoch at an index."""
        return self.trails[s.trail].numbers[index]

    def epoch_text(self, s: StorageState, index: int) -> str:
        """The epoch at an index as people call it: ``epoch 101``, ``version 12``."""
        return f"{self.history.unit} {self.epoch(s, index)}"

    def carried(self, s: StorageState, number: int) -> int | None:
        """The epoch in a request's messages; None where messages carry none."""
        if not self.switches.safeguards.epoch_exchange:
            return None
        return self.epoch(s, sent(self.views(s), s.requests[number].epoch, self.switches))

    def edge(self, s: StorageState, action: Any) -> Edge:
        """The event that a commit stands for."""
        return self.trails[s.trail].edge(action.verb)[0]

    def title_of(self, number: int) -> str:
        """A request as people speak of it: ``write 1``, the second of all ``read 2``."""
        return f"{self.workload[number].kind} {number + 1}"

    def cell_text(self, s: StorageState, cell: int) -> str:
        """A cell as people speak of it: ``write 1``, ``delete 2``, or ``nothing``."""
        if cell == rules.NOTHING:
            return "nothing"
        stamps = [request.timestamp for request in s.requests]
        return self.title_of(stamps.index(rules.timestamp(cell)))

    def listing(self, mask: int) -> str:
        """The replicas in a mask, as a list to read."""
        return ", ".join(self.history.names(mask)) or "nobody"

    def late_copies(self, s: StorageState) -> tuple[LateCopy, ...]:
        """The copies of earlier steps that are still on their way."""
        return () if s.late_copies is UNSET else s.late_copies

    def applied(self, s: StorageState, i: int, index: int) -> StorageState:
        """Replica ``i`` and its shards have applied an epoch; a member again has to clean."""
        again = s.cleaned & self._views[s.trail][index].writes & 1 << i
        cleaned = s.cleaned & ~(1 << i) if again else s.cleaned
        known = put(s.known, i, index)
        if self.with_shards[i] & self.all_shards:
            for shard in members(self.all_shards):
                known = put(known, shard, index)
        return s.but(known=known, cleaned=cleaned)

    def serving(self, s: StorageState, coordinator: str) -> int:
        """The number of the request that a coordinator has open."""
        return next(
            number
            for number, request in enumerate(s.requests)
            if request.phase in rules.AT_WORK and self.workload[number].coordinator == coordinator
        )

    def writing(self, s: StorageState, number: int) -> bool:
        """Whether a request's messages bring a cell: a mutation's do, and those of a repair."""
        return self.mutations[number] or s.requests[number].phase > rules.OPEN

    def informed(self, s: StorageState, number: int, now: int) -> rules.Request:
        """A request whose coordinator knows the epoch ``now``; some answers may count no more."""
        request = s.requests[number]
        if now == request.coordinator_epoch:
            return request
        views, write = self._views[s.trail], self.writing(s, number)
        since = range(request.coordinator_epoch, now + 1)
        invalidated = invalidates(views, since, request.acked, write)
        invalidated |= still_counted(views, now, request.invalidated, write)
        return replace(request, coordinator_epoch=now, invalidated=invalidated)

    def with_request(self, s: StorageState, number: int, request: rules.Request) -> StorageState:
        """The state in which a request stands so."""
        return s.but(requests=put(s.requests, number, request))

    # -- disks -------------------------------------------------------------------------------------

    def chosen(self, s: StorageState, number: int | None, *, write: bool) -> int:
        """The shards (a mask) of a request of the node that is at work, or of one that begins."""
        begun = s.requests[number].begun if number is not None else UNSET
        if begun is not UNSET and begun & self.all_shards:
            return begun & self.all_shards
        choice = self.views(s)[s.known[self.split]].shards
        assert choice is not None
        return choice.writes if write else choice.reads

    def stored(
        self, s: StorageState, i: int, cell: int, number: int | None = None
    ) -> tuple[int, ...]:
        """The cells once replica ``i`` has stored one, on all of its shards that take it."""
        if i != self.split:
            return put(s.cells, i, max(s.cells[i], cell))
        cells = s.cells
        for shard in members(self.chosen(s, number, write=True)):
            cells = put(cells, shard, max(cells[shard], cell))
        return cells

    def returned(self, s: StorageState, i: int, number: int | None = None) -> int:
        """The cell that replica ``i`` returns to a request or would by now, from its shard."""
        if i != self.split:
            return s.cells[i]
        shards = members(self.chosen(s, number, write=False))
        return max((s.cells[shard] for shard in shards), default=rules.NOTHING)

    def shards_at_work(self, s: StorageState, number: int) -> int:
        """The shards (a mask) on which a node that lives is at work, where that takes time."""
        begun = s.requests[number].begun
        return 0 if begun is UNSET else begun & self.all_shards & ~s.down

    def on_shards(
        self, s: StorageState, i: int, number: int | None = None, *, write: bool
    ) -> tuple[str, ...]:
        """The shards of replica ``i`` that such a request uses, by name, where it has several."""
        return self.history.names(self.chosen(s, number, write=write)) if i == self.split else ()

    def repaired_at_once(self, s: StorageState, request: rules.Request) -> tuple[int, ...]:
        """What was found is written to those that answered, as far as they still take writes."""
        views = self._views[s.trail]
        for i in members(request.acked & ~s.down):
            if views[s.known[i]].writes >> i & 1:
                s = s.but(cells=self.stored(s, i, request.newest_seen))
        return s.cells


def travels(m: Any, before: Any, action: Any, after: Any) -> Iterator[Travel]:
    """The flows of a step, by what happened in it."""
    for event in m.happened(before, action, after):
        for leg in legs(event, m.history.unit):
            yield replace(leg, source=m.key(leg.source), target=m.key(leg.target))


def is_under_way(copied: CopyProgress) -> bool:
    """Whether a copy was read at its source and has not arrived."""
    return copied not in (NOT_COPIED, COPIED)


def put(values: tuple[Any, ...], i: int, value: Any) -> tuple[Any, ...]:
    """The tuple with another value at ``i``."""
    return (*values[:i], value, *values[i + 1 :])


def named_shards(shards: tuple[str, ...]) -> str:
    """The shards that a node uses, as the end of a sentence; nothing where it has no several."""
    return f" on {' and '.join(shards)}" if shards else ""
