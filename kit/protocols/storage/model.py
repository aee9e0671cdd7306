"""Requests on one data range: plan, send, answer, validate the plan again, answer the client.

Grain: a message reaches a replica and its answer the coordinator in one step; what was sent stays
on its way until it arrives, also after the client has its answer. A coordinator may know any epoch
that is committed. Source: CEP-21, "Read/Write Path Integration".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.storage.actions import (
    NOT_COPIED,
    Cleanup,
    CollectTombstones,
    Commit,
    Fetch,
    Finish,
    Land,
    Learn,
    ReplicaCrash,
    RequestOptions,
    Serve,
    Start,
    StorageState,
    Tick,
    TimeOut,
)
from kit.protocols.storage.range_model import RangeModel, down, put
from kit.protocols.storage.rules.admission import admits
from kit.protocols.storage.rules.cells import NOTHING, newest, tombstone, written
from kit.protocols.storage.rules.exchange import Answer, counted, heard, invalidates, receive, sent
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.levels import AnswerQuota, enough, read_quotas, write_quotas
from kit.protocols.storage.rules.requests import DONE, FAILED, OPEN, WAITING, ClientRequest, Request
from kit.protocols.storage.rules.view import View


class Storage(RangeModel):
    """Requests on one data range."""

    name = "storage"
    title = "Reads and writes of one data range"
    Action = (
        Commit
        | Learn
        | Fetch
        | Land
        | Start
        | Serve
        | Finish
        | TimeOut
        | Tick
        | ReplicaCrash
        | Cleanup
        | CollectTombstones
    )

    def __init__(
        self, history: RangeHistory, workload: tuple[ClientRequest, ...], options: RequestOptions
    ) -> None:
        """The requests of ``workload`` on the range of ``history``, served with these options.

        Raises:
            BadInput: when the history has too many ways.
        """
        super().__init__(history, workload, options)
        self.datacenters = tuple(dict.fromkeys(history.dcs))
        self.dcs = tuple(
            sum(1 << i for i, dc in enumerate(history.dcs) if dc == name)
            for name in self.datacenters
        )
        revalidates = options.switches.safeguards.plan_revalidation
        self._revalidates = revalidates and history.admission == "epoch-exchange"
        first = history.epochs[0].view.reads
        self.factors = tuple((first & dc).bit_count() for dc in self.dcs if first & dc)
        self._wanted = lru_cache(None)(self._quotas)
        self._short = lru_cache(None)(self._too_few)
        self.rules = (
            Rule(Start, "request", self._startable, self._may_start, self._start),
            Rule(Serve, "message", self._messages, self._may_serve, self._serve),
            Rule(Finish, "request", self._finishing, self._may_finish, self._finish),
            Rule(TimeOut, "request", self._failing, self._may_time_out, self._time_out),
            Rule(Commit, "commit", self._events, self._may_commit, self._commit),
            Rule(Learn, "apply", self._laggards, self._may_learn, self._learn),
            Rule(Fetch, "stream", self._unread, self._may_fetch, self._fetch),
            Rule(Land, "stream", self._on_the_way, self._may_land, self._land),
            *(rule for rule, there in self._rare() if there),
        )

    def _rare(self) -> Iterator[tuple[Rule[StorageState, Any], bool]]:
        """What happens only where the options have it."""
        options = self.request_options
        crash = Rule(ReplicaCrash, "crash", self._upright, self._may_crash, self._crash)
        clean = Rule(Cleanup, "clean", self._left_over, self._may_clean, self._clean)
        marks = Rule(CollectTombstones, "clean", self._marks, self._may_collect, self._collect)
        yield Rule(Tick, "time", self._ticks, self._may_tick, self._tick), options.ring_delay > 0
        yield crash, options.crashes > 0
        yield clean, options.cleaning
        yield marks, options.collecting

    def start(self) -> StorageState:
        """The range at rest, nothing stored, nothing asked."""
        first = self.history.epochs[0]
        return StorageState(
            0,
            (0,) * len(self.nodes),
            (NOTHING,) * self.replicas,
            (NOT_COPIED,) * len(first.copies),
            (Request(),) * len(self.workload),
            first.dead,
            ~first.view.writes & ((1 << self.replicas) - 1) if self.request_options.cleaning else 0,
        )

    # -- what a request needs ---------------------------------------------------------------------

    def _quotas(self, number: int, view: View) -> tuple[AnswerQuota, ...]:
        ask = self.workload[number]
        home = self.home(number)
        if ask.writes:
            return write_quotas(ask.level, view, self.dcs, home, self.history.acknowledgement)
        return read_quotas(ask.level, view, self.dcs, home)

    def home(self, number: int) -> int:
        """The datacenter of a request's coordinator, by number."""
        dc = self.workload[number].dc
        return 0 if dc is None else self.datacenters.index(dc)

    def title_of(self, number: int) -> str:
        """A request as people speak of it: ``write 1``, the second of all ``read 2``."""
        return f"{self.workload[number].kind} {number + 1}"

    def wanted(self, s: StorageState, number: int, index: int) -> tuple[AnswerQuota, ...]:
        """What a request's level needs by the metadata at ``index``."""
        return self._wanted(number, self._views[s.at][index])

    def _knows(self, s: StorageState, number: int) -> int:
        return s.known[self.code[self.workload[number].coordinator]]

    # -- requests ---------------------------------------------------------------------------------

    def _startable(self, s: StorageState) -> Iterator[Start]:
        for number, request in enumerate(s.requests):
            if request.phase == WAITING:
                if self._turn(s, number):
                    for index in range(self._least(s, number), len(self._views[s.at])):
                        yield Start(number, self.epoch(s, index))
                if not self.request_options.together:
                    return

    def _least(self, s: StorageState, number: int) -> int:
        """The oldest epoch, by its index, that a request may be planned by."""
        known, lag = self._knows(s, number), self.history.lag
        return known if lag is None else max(known, len(self._views[s.at]) - 1 - lag)

    def _turn(self, s: StorageState, number: int) -> bool:
        """Whether everything that this request waits for is answered."""
        own = self.workload[number].coordinator
        return all(
            request.phase in (DONE, FAILED)
            for earlier, request in enumerate(s.requests[:number])
            if not self.request_options.together or self.workload[earlier].coordinator == own
        )

    def _may_start(self, s: StorageState, action: Start) -> Refusal | None:
        return None

    def _start(self, s: StorageState, action: Start) -> StorageState:
        index = self.index(s, action.epoch)
        write = self.workload[action.request].writes
        group = self._views[s.at][index].group(write)
        mark = 1 + sum(request.timestamp > 0 for request in s.requests) if write else 0
        return self._with(s, action.request, Request(OPEN, index, index, group, timestamp=mark))

    def _messages(self, s: StorageState) -> Iterator[Serve]:
        names = self.history.replicas
        for number, request in enumerate(s.requests):
            if request.in_flight:
                for i in range(self.replicas):
                    if request.in_flight >> i & 1:
                        yield Serve(number, names[i])

    def _may_serve(self, s: StorageState, action: Serve) -> Refusal | None:
        if s.down >> self.code[action.replica] & 1:
            return down(action.replica)
        return None

    def answer(self, s: StorageState, action: Serve) -> Answer:
        """What the replica makes of the message."""
        i, number = self.code[action.replica], action.request
        views, request = self._views[s.at], s.requests[number]
        if self.history.admission != "epoch-exchange":
            ok = admits(self.history.admission, views, s.known[i], request.epoch)
            return Answer("ok" if ok else "stale", s.known[i])
        epoch = sent(views, request.epoch, self.request_options.switches)
        write = self.workload[number].writes
        return receive(views, i, s.known[i], epoch, write, self.request_options.switches)

    def _serve(self, s: StorageState, action: Serve) -> StorageState:
        i, number = self.code[action.replica], action.request
        answer = self.answer(s, action)
        request, cells = s.requests[number], s.cells
        ok = answer.verdict == "ok"
        if ok and self.workload[number].writes:
            cells = put(cells, i, newest(cells[i], self.mutation(s, number)))
        seen = cells[i] if ok and not self.workload[number].writes else NOTHING
        request = self.answered(s, number, i, answer, seen)
        s = replace(s, cells=cells, requests=put(s.requests, number, request))
        return s if answer.known == s.known[i] else self.learned(s, i, answer.known)

    def answered(self, s: StorageState, number: int, i: int, answer: Answer, seen: int) -> Request:
        """The request after an answer of replica ``i``, which returned the cell ``seen``.

        When the client has its answer already, nobody listens any more.
        """
        request = s.requests[number]
        in_flight = request.in_flight & ~(1 << i)
        if request.phase != OPEN:
            return replace(request, in_flight=in_flight)
        now = heard(request.coordinator_epoch, answer, self.request_options.switches)
        request = self.informed(s, number, now)
        own, gone = (answer.verdict == "ok") << i, request.invalidated
        if own and now > answer.known:
            since = range(answer.known, now + 1)
            gone |= invalidates(self._views[s.at], since, own, self.workload[number].writes)
        return replace(
            request,
            in_flight=in_flight,
            acked=request.acked | own,
            newest_seen=newest(request.newest_seen, seen),
            invalidated=gone,
        )

    def mutation(self, s: StorageState, number: int) -> int:
        """The cell that a write or deletion leaves."""
        mark = s.requests[number].timestamp
        return tombstone(mark) if self.workload[number].kind == "delete" else written(mark)

    def _open(self, s: StorageState) -> Iterator[int]:
        return (n for n, request in enumerate(s.requests) if request.phase == OPEN)

    def valid(self, s: StorageState, number: int) -> int:
        """The answers that count when the plan is validated again (a mask)."""
        request = s.requests[number]
        if not self._revalidates:
            return request.acked
        write = self.workload[number].writes
        return (
            counted(self._views[s.at], request.coordinator_epoch, request.acked, write)
            & ~request.invalidated
        )

    def judged_by(self, s: StorageState, number: int) -> int:
        """The index of the epoch by which a request's answers are judged."""
        request = s.requests[number]
        return request.coordinator_epoch if self._revalidates else request.epoch

    def satisfied(self, s: StorageState, number: int) -> bool:
        """Whether the plan, as it was sent, has its answers."""
        request = s.requests[number]
        return enough(self.wanted(s, number, request.epoch), request.acked)

    def _finishing(self, s: StorageState) -> Iterator[Finish]:
        return (Finish(number) for number in self._open(s))

    def _may_finish(self, s: StorageState, action: Finish) -> Refusal | None:
        if self.satisfied(s, action.request):
            return None
        request = s.requests[action.request]
        wanted = self.wanted(s, action.request, request.epoch)
        return self._short(action.request, wanted, request.acked, request.in_flight)

    def _too_few(
        self, number: int, wanted: tuple[AnswerQuota, ...], acked: int, in_flight: int
    ) -> Refusal:
        return Refusal(
            f"too few answers for {self.workload[number].level}",
            tuple(self._quota_text(quota, acked) for quota in wanted),
            self.history.names(in_flight),
        )

    def _quota_text(self, quota: AnswerQuota, acked: int) -> str:
        group = ", ".join(self.history.names(quota.replicas))
        has = ", ".join(self.history.names(quota.replicas & acked)) or "nobody"
        return f"{quota.needed} of {group}; answered: {has}"

    def success(self, s: StorageState, number: int) -> bool:
        """Whether the plan still holds by the metadata that the coordinator knows now."""
        wanted = self.wanted(s, number, self.judged_by(s, number))
        return enough(wanted, self.valid(s, number))

    def _finish(self, s: StorageState, action: Finish) -> StorageState:
        number = action.request
        request = s.requests[number]
        if not self.success(s, number):
            return (
                self._retried(s, number)
                if self.request_options.retry
                else self._closed(s, number, FAILED)
            )
        if self.request_options.repair and not self.workload[number].writes:
            s = replace(s, cells=self._repaired(s, request))
        return self._closed(s, number, DONE)

    def _repaired(self, s: StorageState, request: Request) -> tuple[int, ...]:
        """What was found is written to those that answered, as far as they still take writes."""
        views = self._views[s.at]
        return tuple(
            newest(cell, request.newest_seen)
            if (request.acked & views[s.known[i]].writes & ~s.down) >> i & 1
            else cell
            for i, cell in enumerate(s.cells)
        )

    def _retried(self, s: StorageState, number: int) -> StorageState:
        """The plan is made again, by what is known now, and sent to those who have not done it."""
        request = s.requests[number]
        group = self._views[s.at][request.coordinator_epoch].group(self.workload[number].writes)
        kept = self.valid(s, number) & group
        again = replace(
            request,
            epoch=request.coordinator_epoch,
            in_flight=group & ~kept,
            acked=kept,
            invalidated=0,
        )
        return self._with(s, number, again)

    def _failing(self, s: StorageState) -> Iterator[TimeOut]:
        return (TimeOut(number) for number in self._open(s))

    def _may_time_out(self, s: StorageState, action: TimeOut) -> Refusal | None:
        if self.satisfied(s, action.request):
            return Refusal("it has its answers")
        if self.request_options.timeouts or not s.requests[action.request].in_flight & ~s.down:
            return None
        return Refusal("answers are still on their way")

    def _time_out(self, s: StorageState, action: TimeOut) -> StorageState:
        return self._closed(s, action.request, FAILED)

    def _closed(self, s: StorageState, number: int, phase: int) -> StorageState:
        """The client has its answer; messages of a mutation that are on their way stay so."""
        request, ask = s.requests[number], self.workload[number]
        left = request.in_flight if ask.writes else 0
        seen = request.newest_seen if phase == DONE else NOTHING
        # Whatever nobody will ask for again is forgotten, so that a search need not tell it apart.
        epoch = request.epoch if left else 0
        closed = Request(phase, epoch, 0, left, 0, seen, request.timestamp)
        later = any(other.coordinator == ask.coordinator for other in self.workload[number + 1 :])
        if later:
            code = self.code[ask.coordinator]
            s = replace(s, known=put(s.known, code, request.coordinator_epoch))
        return self._with(s, number, closed)

    def _with(self, s: StorageState, number: int, request: Request) -> StorageState:
        return replace(s, requests=put(s.requests, number, request))
