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
from kit.errors import Refusal
from kit.protocols.storage.actions import (
    COPIED,
    NOT_COPIED,
    Clean,
    Collect,
    Commit,
    Crash,
    Fetch,
    Land,
    Learn,
    StorageState,
    Terms,
    Tick,
)
from kit.protocols.storage.rules.cells import NOTHING, is_tombstone, newest, timestamp
from kit.protocols.storage.rules.exchange import counted, lapses
from kit.protocols.storage.rules.history import Copy, Course, Gate, Moment, Step, View, members
from kit.protocols.storage.rules.requests import OPEN, Ask, Request


class Stage(Model[StorageState, Any]):
    """A data range on its way through a course, and the nodes that take part."""

    State = StorageState

    def __init__(self, course: Course, asks: tuple[Ask, ...], terms: Terms) -> None:
        """The range of ``course``, with the coordinators of ``asks``."""
        self.course, self.asks, self.terms = course, asks, terms
        self.coordinators = tuple(dict.fromkeys(ask.coordinator for ask in asks))
        self.nodes = (*course.replicas, *self.coordinators)
        self.code = {name: i for i, name in enumerate(self.nodes)}
        self.replicas = len(course.replicas)
        self._blocked = lru_cache(None)(self._at_the_barrier)
        self._views = tuple(course.views(at) for at in range(len(course.moments)))

    def moment(self, s: StorageState) -> Moment:
        """The committed metadata."""
        return self.course.moments[s.at]

    def views(self, s: StorageState) -> tuple[View, ...]:
        """The range's view at each committed epoch, by depth."""
        return self._views[s.at]

    def epoch(self, depth: int) -> int:
        """The epoch at a depth."""
        return self.course.moments[0].epoch + depth

    def learned(self, s: StorageState, i: int, depth: int) -> StorageState:
        """Replica ``i`` has applied the epoch at ``depth``; a member again has cleaning to do."""
        again = s.cleaned >> i & 1 and self._views[s.at][depth].writes >> i & 1
        cleaned = s.cleaned & ~(1 << i) if again else s.cleaned
        return replace(s, known=put(s.known, i, depth), cleaned=cleaned)

    # -- metadata ---------------------------------------------------------------------------------

    def _steps(self, s: StorageState) -> Iterator[Commit]:
        return (Commit(step.verb) for step in self.moment(s).steps)

    def step(self, s: StorageState, action: Commit) -> Step:
        """The event that a commit stands for."""
        return next(step for step in self.moment(s).steps if step.verb == action.verb)

    def _may_commit(self, s: StorageState, action: Commit) -> Refusal | None:
        step = self.step(s, action)
        if s.at and s.waited < self.terms.ring_delay:
            return Refusal(f"RING_DELAY: {s.waited} of {self.terms.ring_delay} ticks have passed")
        unmet = self._unmet(s, step.gates)
        if unmet is not None:
            return unmet
        if step.streamed and any(copied != COPIED for copied in s.copies):
            return Refusal(
                f"streaming is not complete: {s.copies.count(COPIED)} of {len(s.copies)} done",
                missing=tuple(
                    self.course.replicas[copy.target]
                    for copy, done in zip(self.moment(s).copies, s.copies, strict=True)
                    if done != COPIED
                ),
            )
        uncleaned = step.regains & ~s.cleaned if self.terms.cleaning else 0
        if uncleaned:
            names = self.course.names(uncleaned)
            return Refusal(f"{', '.join(names)} may hold leftovers of the range", missing=names)
        return None

    def _unmet(self, s: StorageState, gates: tuple[Gate, ...]) -> Refusal | None:
        unmet = next((gate for gate in gates if not gate.met(s.known)), None)
        return None if unmet is None else self._blocked(unmet, unmet.missing(s.known))

    def _at_the_barrier(self, gate: Gate, lacking: tuple[int, ...]) -> Refusal:
        group = gate.replicas.bit_count()
        return Refusal(
            f"waiting at the barrier: epoch {self.epoch(gate.depth)} is applied by "
            f"{group - len(lacking)} of {group} replicas, {gate.needed} are needed",
            missing=tuple(self.course.replicas[i] for i in lacking),
        )

    def _commit(self, s: StorageState, action: Commit) -> StorageState:
        before, to = self.moment(s), self.step(s, action).to
        after = self.course.moments[to]
        copies = s.copies if after.copies == before.copies else (NOT_COPIED,) * len(after.copies)
        return replace(s, at=to, copies=copies, down=s.down | after.down, waited=0)

    def _laggards(self, s: StorageState) -> Iterator[Learn]:
        newest_depth = len(self._views[s.at]) - 1
        for i in range(self.replicas):
            if s.known[i] < newest_depth:
                yield Learn(self.nodes[i])
        for number, request in enumerate(s.requests):
            if request.phase == OPEN and request.now < newest_depth:
                yield Learn(self.asks[number].coordinator)

    def _may_learn(self, s: StorageState, action: Learn) -> Refusal | None:
        i = self.code[action.node]
        if i < self.replicas and s.down >> i & 1:
            return down(action.node)
        return None

    def _learn(self, s: StorageState, action: Learn) -> StorageState:
        i = self.code[action.node]
        if i < self.replicas:
            return self.learned(s, i, s.known[i] + 1)
        number = self.serving(s, action.node)
        request = self.informed(s, number, s.requests[number].now + 1)
        return replace(s, requests=put(s.requests, number, request))

    def informed(self, s: StorageState, number: int, now: int) -> Request:
        """A request whose coordinator knows the epoch at ``now``; some answers may have lapsed."""
        request = s.requests[number]
        if now == request.now:
            return request
        views, write = self._views[s.at], self.asks[number].writes
        lapsed = lapses(views, range(request.now, now + 1), request.acked, write)
        lapsed |= counted(views, now, request.lapsed, write)
        return replace(request, now=now, lapsed=lapsed)

    def serving(self, s: StorageState, coordinator: str) -> int:
        """The number of the request that a coordinator has open."""
        return next(
            number
            for number, request in enumerate(s.requests)
            if request.phase == OPEN and self.asks[number].coordinator == coordinator
        )

    # -- streaming --------------------------------------------------------------------------------

    def _copies(self, s: StorageState) -> Iterator[tuple[int, Copy]]:
        return zip(s.copies, self.moment(s).copies, strict=True)

    def _pair(self, copy: Copy) -> tuple[str, str]:
        return self.course.replicas[copy.source], self.course.replicas[copy.target]

    def _unread(self, s: StorageState) -> Iterator[Fetch]:
        return (Fetch(*self._pair(c)) for done, c in self._copies(s) if done == NOT_COPIED)

    def _on_the_way(self, s: StorageState) -> Iterator[Land]:
        return (Land(*self._pair(c)) for done, c in self._copies(s) if done >= NOTHING)

    def _index(self, s: StorageState, action: Fetch | Land) -> int:
        wanted = (action.source, action.target)
        return next(i for i, (_, c) in enumerate(self._copies(s)) if self._pair(c) == wanted)

    def _may_fetch(self, s: StorageState, action: Fetch) -> Refusal | None:
        for name in (action.source, action.target):
            if s.down >> self.code[name] & 1:
                return down(name)
        return self._unmet(s, self.moment(s).copies[self._index(s, action)].gates)

    def _fetch(self, s: StorageState, action: Fetch) -> StorageState:
        cell = s.cells[self.code[action.source]]
        return replace(s, copies=put(s.copies, self._index(s, action), cell))

    def _may_land(self, s: StorageState, action: Land) -> Refusal | None:
        return down(action.target) if s.down >> self.code[action.target] & 1 else None

    def _land(self, s: StorageState, action: Land) -> StorageState:
        i, target = self._index(s, action), self.code[action.target]
        cell = newest(s.cells[target], s.copies[i])
        return replace(s, copies=put(s.copies, i, COPIED), cells=put(s.cells, target, cell))

    # -- failures, cleaning and collection --------------------------------------------------------

    def _ticks(self, s: StorageState) -> Iterator[Tick]:
        return iter((Tick(),) * (s.at > 0 and s.waited < self.terms.ring_delay))

    def _may_tick(self, s: StorageState, action: Tick) -> Refusal | None:
        return None

    def _tick(self, s: StorageState, action: Tick) -> StorageState:
        return replace(s, waited=s.waited + 1)

    def _upright(self, s: StorageState) -> Iterator[Crash]:
        names = self.course.replicas
        return (Crash(names[i]) for i in range(self.replicas) if not s.down >> i & 1)

    def _may_crash(self, s: StorageState, action: Crash) -> Refusal | None:
        if s.crashes < self.terms.crashes:
            return None
        return Refusal("the run's budget of crashes is used up")

    def _crash(self, s: StorageState, action: Crash) -> StorageState:
        return replace(s, down=s.down | 1 << self.code[action.replica], crashes=s.crashes + 1)

    def _left_over(self, s: StorageState) -> Iterator[Clean]:
        """Those that know that the range is no longer theirs, and have not cleaned up since."""
        for i, name in enumerate(self.course.replicas):
            if not (self._views[s.at][s.known[i]].writes | s.cleaned | s.down) >> i & 1:
                yield Clean(name)

    def _may_clean(self, s: StorageState, action: Clean) -> Refusal | None:
        if self.views(s)[-1].writes >> self.code[action.replica] & 1:
            return Refusal(f"{action.replica} is about to get the range")
        return None

    def _clean(self, s: StorageState, action: Clean) -> StorageState:
        i = self.code[action.replica]
        return replace(s, cells=put(s.cells, i, NOTHING), cleaned=s.cleaned | 1 << i)

    def _marks(self, s: StorageState) -> Iterator[Collect]:
        return (
            Collect(name)
            for name, cell in zip(self.course.replicas, s.cells, strict=True)
            if is_tombstone(cell)
        )

    def _may_collect(self, s: StorageState, action: Collect) -> Refusal | None:
        """A tombstone outlives every message, and the repair that brings it to all replicas."""
        if any(request.phase == OPEN or request.asked for request in s.requests):
            return Refusal("messages are still on their way: a tombstone outlives them")
        if any(copied >= NOTHING for copied in s.copies):
            return Refusal("a copy is still on its way: a tombstone outlives it")
        mark = timestamp(s.cells[self.code[action.replica]])
        owners = members(self.views(s)[-1].writes)
        older = tuple(i for i in owners if NOTHING < timestamp(s.cells[i]) < mark)
        if older:
            lacking = tuple(self.course.replicas[i] for i in older)
            return Refusal("no repair has brought the tombstone to every replica", missing=lacking)
        return None

    def _collect(self, s: StorageState, action: Collect) -> StorageState:
        return replace(s, cells=put(s.cells, self.code[action.replica], NOTHING))


def down(name: str) -> Refusal:
    """The refusal of whatever a node that is down would have to do."""
    return Refusal(f"{name} is down", missing=(name,))


def put(values: tuple[Any, ...], i: int, value: Any) -> tuple[Any, ...]:
    """The tuple with another value at ``i``."""
    return (*values[:i], value, *values[i + 1 :])
