"""The range without its requests: commits, who learns of them, streaming, failures, cleaning.

Any node may learn any committed epoch at any time. A copy reads at its source in one step and lands
in another, so that writes race with it. Source: CEP-21, "Consistency Guarantees" and "Bootstrap".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model
from kit.errors import Refusal, are, counted
from kit.protocols.storage.actions import (
    COPIED,
    NOT_COPIED,
    ApplyEpoch,
    Cleanup,
    CollectTombstones,
    Commit,
    Fetch,
    Land,
    ReplicaCrash,
    RequestOptions,
    StorageState,
    Tick,
    is_under_way,
)
from kit.protocols.storage.rules.cells import NOTHING, is_tombstone, newest, timestamp
from kit.protocols.storage.rules.conditions import (
    AllKnow,
    Condition,
    HaveCleaned,
    MajorityKnows,
    MoreLost,
    NothingBelow,
    NothingElsewhere,
    NoWriteBegun,
    SessionClosed,
)
from kit.protocols.storage.rules.exchange import invalidates, still_counted
from kit.protocols.storage.rules.history import CopyTask, Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.masks import holds, mask_of, members
from kit.protocols.storage.rules.requests import AT_WORK, OPEN, ClientRequest, Request
from kit.protocols.storage.rules.trails import trails
from kit.protocols.storage.rules.view import View


class RangeModel(Model[StorageState, Any]):
    """A data range on its way through a history, and the nodes that take part."""

    State = StorageState
    faults = ("crash",)

    def __init__(
        self, history: RangeHistory, workload: tuple[ClientRequest, ...], options: RequestOptions
    ) -> None:
        """The range of ``history``, with the coordinators of ``workload``.

        Raises:
            BadInput: when the history has too many ways.
        """
        self.history, self.workload, self.request_options = history, workload, options
        self.mutations = tuple(client.writes for client in workload)
        self.coordinators = tuple(dict.fromkeys(client.coordinator for client in workload))
        self.nodes = (*history.replicas, *self.coordinators)
        self.code = {name: i for i, name in enumerate(self.nodes)}
        self.replicas = len(history.replicas)
        self._blocked = lru_cache(None)(self._waits_for)
        self.trails = trails(history)
        self._views = tuple(trail.views for trail in self.trails)
        self._plans = tuple(trail.plans for trail in self.trails)

    def newest(self, s: StorageState) -> RangeEpoch:
        """The committed metadata."""
        return self.trails[s.at].newest

    def views(self, s: StorageState) -> tuple[View, ...]:
        """The range's view at each epoch that somebody may still know, by index."""
        return self._views[s.at]

    def epoch(self, s: StorageState, index: int) -> int:
        """The number of the epoch at an index."""
        return self.trails[s.at].numbers[index]

    def called(self, s: StorageState, index: int) -> str:
        """The epoch at an index as people call it: ``epoch 101``, ``version 12``."""
        return f"{self.history.unit} {self.epoch(s, index)}"

    def index(self, s: StorageState, epoch: int) -> int:
        """The index of the epoch of that number; of a few such, the last."""
        return self.trails[s.at].index(epoch)

    def applied(self, s: StorageState, i: int, index: int) -> StorageState:
        """Replica ``i`` has applied the epoch ``index``; a member again has cleaning to do."""
        again = s.cleaned & self._views[s.at][index].writes & 1 << i
        cleaned = s.cleaned & ~(1 << i) if again else s.cleaned
        return replace(s, known=put(s.known, i, index), cleaned=cleaned)

    # -- metadata ---------------------------------------------------------------------------------

    def _events(self, s: StorageState) -> Iterator[Commit]:
        return (Commit(edge.verb) for edge in self.newest(s).edges)

    def edge(self, s: StorageState, action: Commit) -> Edge:
        """The event that a commit stands for."""
        return self.trails[s.at].edge(action.verb)[0]

    def _may_commit(self, s: StorageState, action: Commit) -> Refusal | None:
        edge, delay = self.edge(s, action), self.request_options.ring_delay
        if s.at and s.waited < delay:
            return Refusal(f"RING_DELAY: {s.waited} of {counted(delay, 'tick')} passed")
        unmet = self._unmet(s, edge.conditions)
        if unmet is not None:
            return unmet
        if edge.streamed and any(copied != COPIED for copied in s.copies):
            return Refusal(
                f"streaming is not complete: {s.copies.count(COPIED)} of {len(s.copies)} done",
                missing=tuple(
                    self.history.replicas[copy.target]
                    for copy, done in zip(self.newest(s).copies, s.copies, strict=True)
                    if done != COPIED
                ),
            )
        uncleaned = edge.regains & ~s.cleaned if self.request_options.cleaning else 0
        if uncleaned:
            names = self.history.names(uncleaned)
            return Refusal(f"{', '.join(names)} may hold data not owned", missing=names)
        return self._too_far_behind(s) if self.trails[s.at].full else None

    def _unmet(self, s: StorageState, conditions: tuple[Condition, ...]) -> Refusal | None:
        newest = len(self._views[s.at]) - 1
        for condition in conditions:
            if not condition.holds(s, newest):
                epoch = self.epoch(s, newest) - getattr(condition, "age", 0)
                return self._blocked(condition, epoch, condition.missing(s, newest))
        return None

    def _waits_for(self, condition: Condition, epoch: int, lacking: tuple[int, ...]) -> Refusal:
        missing = tuple(self.history.replicas[i] for i in lacking)
        match condition:
            case NothingBelow():
                return Refusal(
                    f"requests planned before {self.history.unit} {epoch} are still in flight"
                )
            case NothingElsewhere() | NoWriteBegun():
                return Refusal(f"a write begun before {self.history.unit} {epoch} is at work")
            case SessionClosed():
                return Refusal("the session is open: a copy is on its way")
            case HaveCleaned():
                return Refusal(f"{', '.join(missing)} must clean up first", missing=missing)
            case MoreLost():
                lost = mask_of(lacking)
                counts = (
                    f"{(group & lost).bit_count()} of {', '.join(self.history.names(group))}"
                    for group in (condition.these, condition.those)
                    if group
                )
                return Refusal(f"too few are down or excluded: {', '.join(counts)}")
            case AllKnow() if not lacking:
                return Refusal(f"a coordinator at work does not know {self.history.unit} {epoch}")
            case AllKnow(replicas):
                needed = replicas.bit_count()
            case MajorityKnows():
                needed = condition.needed
        group = condition.replicas.bit_count()
        return Refusal(
            f"waiting at the barrier: {self.history.unit} {epoch} is applied by "
            f"{group - len(lacking)} of {counted(group, 'replica')}, {needed} {are(needed)} needed",
            missing=missing,
        )

    def _too_far_behind(self, s: StorageState) -> Refusal | None:
        """The oldest epoch of the trail is about to drop out: nobody may still work by it."""
        late = any(
            request.epoch == 0 or (request.phase in AT_WORK and request.coordinator_epoch == 0)
            for request in s.requests
            if request.phase in AT_WORK or request.in_flight & ~s.down
        )
        behind = tuple(i for i in range(self.replicas) if s.known[i] == 0 and not holds(s.down, i))
        if not (late or behind):
            return None
        missing = tuple(self.history.replicas[i] for i in behind)
        return Refusal(
            f"nobody may be more than {self.history.kept} {self.history.unit}s behind",
            missing=missing,
        )

    def _commit(self, s: StorageState, action: Commit) -> StorageState:
        trail = self.trails[s.at]
        edge, to = trail.edge(action.verb)
        before, after = trail.newest.copies, self.trails[to].newest
        copies = s.copies if goes_on(before, after.copies) else ()
        s = replace(
            s,
            cleaned=s.cleaned & ~(after.cleans or 0),
            at=to,
            known=self._informed(s, edge.conditions),
            copies=copies or (NOT_COPIED,) * len(after.copies),
            down=s.down | after.dead,
            waited=0,
        )
        return _one_epoch_less(s) if trail.full else s

    def _informed(self, s: StorageState, conditions: tuple[Condition, ...]) -> tuple[int, ...]:
        """Where all had to know an epoch, coordinators plan by no earlier one any more."""
        known = s.known
        for condition in conditions:
            if isinstance(condition, AllKnow):
                least = len(self._views[s.at]) - 1 - condition.age
                ignored = {
                    client.coordinator
                    for number, client in enumerate(self.workload)
                    if condition.ignored >> number & 1
                }
                planners = tuple(
                    index if name in ignored else max(index, least)
                    for name, index in zip(self.coordinators, known[self.replicas :], strict=True)
                )
                known = (*known[: self.replicas], *planners)
        return known

    def _laggards(self, s: StorageState) -> Iterator[ApplyEpoch]:
        latest = len(self._views[s.at]) - 1
        for i in range(self.replicas):
            if s.known[i] < latest:
                yield ApplyEpoch(self.nodes[i])
        for number, request in enumerate(s.requests):
            if request.phase in AT_WORK and request.coordinator_epoch < latest:
                yield ApplyEpoch(self.workload[number].coordinator)

    def _may_apply(self, s: StorageState, action: ApplyEpoch) -> Refusal | None:
        i = self.code[action.node]
        if i < self.replicas and s.down >> i & 1:
            return down(action.node)
        return None

    def _apply(self, s: StorageState, action: ApplyEpoch) -> StorageState:
        i = self.code[action.node]
        if i < self.replicas:
            return self.applied(s, i, s.known[i] + 1)
        number = self.serving(s, action.node)
        request = self.informed(s, number, s.requests[number].coordinator_epoch + 1)
        return replace(s, requests=put(s.requests, number, request))

    def informed(self, s: StorageState, number: int, now: int) -> Request:
        """A request whose coordinator knows the epoch ``now``; some answers may count no more."""
        request = s.requests[number]
        if now == request.coordinator_epoch:
            return request
        views, write = self._views[s.at], self.writing(s, number)
        since = range(request.coordinator_epoch, now + 1)
        invalidated = invalidates(views, since, request.acked, write)
        invalidated |= still_counted(views, now, request.invalidated, write)
        return replace(request, coordinator_epoch=now, invalidated=invalidated)

    def writing(self, s: StorageState, number: int) -> bool:
        """Whether a request's messages bring a cell: a mutation's do, and those of a repair."""
        return self.mutations[number] or s.requests[number].phase > OPEN

    def serving(self, s: StorageState, coordinator: str) -> int:
        """The number of the request that a coordinator has open."""
        return next(
            number
            for number, request in enumerate(s.requests)
            if request.phase in AT_WORK and self.workload[number].coordinator == coordinator
        )

    # -- streaming --------------------------------------------------------------------------------

    def _copies(self, s: StorageState) -> Iterator[tuple[int, CopyTask]]:
        return zip(s.copies, self.newest(s).copies, strict=True)

    def _pair(self, copy: CopyTask) -> tuple[str, str]:
        return self.history.replicas[copy.source], self.history.replicas[copy.target]

    def _unread(self, s: StorageState) -> Iterator[Fetch]:
        return (Fetch(*self._pair(c)) for done, c in self._copies(s) if done == NOT_COPIED)

    def _on_the_way(self, s: StorageState) -> Iterator[Land]:
        return (Land(*self._pair(c)) for done, c in self._copies(s) if is_under_way(done))

    def _place(self, s: StorageState, action: Fetch | Land) -> int:
        wanted = (action.source, action.target)
        return next(i for i, (_, c) in enumerate(self._copies(s)) if self._pair(c) == wanted)

    def _may_fetch(self, s: StorageState, action: Fetch) -> Refusal | None:
        for name in (action.source, action.target):
            if holds(s.down, self.code[name]):
                return down(name)
        return self._unmet(s, self.newest(s).copies[self._place(s, action)].conditions)

    def _fetch(self, s: StorageState, action: Fetch) -> StorageState:
        cell, place = s.cells[self.code[action.source]], self._place(s, action)
        known = self._informed(s, self.newest(s).copies[place].conditions)
        return replace(s, known=known, copies=put(s.copies, place, cell))

    def _may_land(self, s: StorageState, action: Land) -> Refusal | None:
        return down(action.target) if holds(s.down, self.code[action.target]) else None

    def _land(self, s: StorageState, action: Land) -> StorageState:
        i, target = self._place(s, action), self.code[action.target]
        cell = newest(s.cells[target], s.copies[i])
        return replace(s, copies=put(s.copies, i, COPIED), cells=put(s.cells, target, cell))

    # -- failures, cleaning and collection --------------------------------------------------------

    def _ticks(self, s: StorageState) -> Iterator[Tick]:
        return iter((Tick(),) * (s.at > 0 and s.waited < self.request_options.ring_delay))

    def _may_tick(self, s: StorageState, action: Tick) -> Refusal | None:
        return None

    def _tick(self, s: StorageState, action: Tick) -> StorageState:
        return replace(s, waited=s.waited + 1)

    def _upright(self, s: StorageState) -> Iterator[ReplicaCrash]:
        names = self.history.replicas
        return (ReplicaCrash(names[i]) for i in range(self.replicas) if not holds(s.down, i))

    def _may_crash(self, s: StorageState, action: ReplicaCrash) -> Refusal | None:
        if s.crashes < self.request_options.crashes:
            return None
        return Refusal("the run's budget of crashes is used up")

    def _crash(self, s: StorageState, action: ReplicaCrash) -> StorageState:
        return replace(s, down=s.down | 1 << self.code[action.replica], crashes=s.crashes + 1)

    def _left_over(self, s: StorageState) -> Iterator[Cleanup]:
        """Those that are told to, or know that the range is no longer theirs; each once."""
        cleaners = self.newest(s).cleans
        for i, name in enumerate(self.history.replicas):
            kept = self._views[s.at][s.known[i]].writes if cleaners is None else ~cleaners
            if not holds(kept | s.cleaned | s.down, i):
                yield Cleanup(name)

    def _may_clean(self, s: StorageState, action: Cleanup) -> Refusal | None:
        """Before it may get the range back (``_may_commit``), and no write may come afterwards."""
        return self._unmet(s, self.newest(s).cleans_after)

    def _clean(self, s: StorageState, action: Cleanup) -> StorageState:
        i, known = self.code[action.replica], self._informed(s, self.newest(s).cleans_after)
        cells = put(s.cells, i, NOTHING)
        return replace(s, known=known, cells=cells, cleaned=s.cleaned | 1 << i)

    def _marks(self, s: StorageState) -> Iterator[CollectTombstones]:
        return (
            CollectTombstones(name)
            for name, cell in zip(self.history.replicas, s.cells, strict=True)
            if is_tombstone(cell)
        )

    def _may_collect(self, s: StorageState, action: CollectTombstones) -> Refusal | None:
        """A tombstone outlives every message, and the repair that brings it to all replicas."""
        if any(request.phase in AT_WORK or request.in_flight for request in s.requests):
            return Refusal("messages are still on their way: a tombstone outlives them")
        if any(map(is_under_way, s.copies)):
            return Refusal("a copy is still on its way: a tombstone outlives it")
        mark = timestamp(s.cells[self.code[action.replica]])
        owners = members(self.views(s)[-1].written_at)
        older = tuple(i for i in owners if NOTHING < timestamp(s.cells[i]) < mark)
        if older:
            lacking = tuple(self.history.replicas[i] for i in older)
            return Refusal("no repair has brought the tombstone to every replica", missing=lacking)
        return None

    def _collect(self, s: StorageState, action: CollectTombstones) -> StorageState:
        return replace(s, cells=put(s.cells, self.code[action.replica], NOTHING))


def down(name: str) -> Refusal:
    """The refusal of whatever a node that is down would have to do."""
    return Refusal(f"{name} is down", missing=(name,))


def goes_on(before: tuple[CopyTask, ...], after: tuple[CopyTask, ...]) -> bool:
    """Whether the copies of one epoch are those of the next, so that they go on."""
    ends = ([(copy.source, copy.target) for copy in copies] for copies in (before, after))
    return next(ends) == next(ends)


def _one_epoch_less(s: StorageState) -> StorageState:
    """The state after the oldest epoch dropped out: every index goes down by one."""
    requests = tuple(
        replace(
            request,
            epoch=max(request.epoch - 1, 0),
            coordinator_epoch=max(request.coordinator_epoch - 1, 0),
        )
        for request in s.requests
    )
    return replace(s, known=tuple(max(index - 1, 0) for index in s.known), requests=requests)


def put(values: tuple[Any, ...], i: int, value: Any) -> tuple[Any, ...]:
    """The tuple with another value at ``i``."""
    return (*values[:i], value, *values[i + 1 :])
