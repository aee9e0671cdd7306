"""Requests on one data range: plan, send, answer, validate the plan again, answer the client.

Grain: a message reaches a replica and its answer the coordinator in one step; what was sent stays
on its way until it arrives, also after the client has its answer. A coordinator may know any epoch
that is committed. A read that is repaired by ``mismatch`` or ``blocking`` writes back what it found
in messages of their own, and is answered after them; by ``answered`` that is part of its answer.
Source: CEP-21, "Read/Write Path Integration"; ``kit.protocols.storage.rules.read_repair``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from kit.engine.model import Rule
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.storage.actions import (
    NOT_COPIED,
    Admit,
    ApplyEpoch,
    Cleanup,
    CollectTombstones,
    Commit,
    Fetch,
    Finish,
    Land,
    LandLate,
    Lose,
    ReplicaCrash,
    RequestOptions,
    Serve,
    Start,
    StorageState,
    Tick,
    TimeOut,
    WriteBack,
)
from kit.protocols.storage.disk_model import DiskModel
from kit.protocols.storage.range_model import down, put
from kit.protocols.storage.rules.admission import admits
from kit.protocols.storage.rules.cells import NOTHING, newest
from kit.protocols.storage.rules.exchange import Answer, heard, invalidates, receive, sent
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.masks import holds
from kit.protocols.storage.rules.read_repair import WAITING_KINDS, holding, targets
from kit.protocols.storage.rules.requests import (
    AT_WORK,
    DONE,
    FAILED,
    OPEN,
    REPAIRING,
    WAITING,
    ClientRequest,
    Request,
)


class Storage(DiskModel):
    """Requests on one data range.

    With every safeguard on a quorum read sees every quorum write that was acknowledged before it
    began, whatever the kind of read repair. That no read misses what an earlier read saw, also of a
    write that nobody acknowledged, holds with ``blocking`` repair only.
    """

    name = "storage"
    title = "Reads and writes of one data range"
    Action = (
        Commit
        | ApplyEpoch
        | Fetch
        | Land
        | LandLate
        | Start
        | Admit
        | Serve
        | WriteBack
        | Lose
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
        self._repairs, self._slow = options.repair in WAITING_KINDS, options.slow
        self.rules = (
            paired(Start, "request", self._startable, self._may_start, self._start),
            paired(Serve, "message", self._messages, self._may_serve, self._serve),
            paired(Finish, "request", self._finishing, self._may_finish, self._finish),
            paired(TimeOut, "request", self._failing, self._may_time_out, self._time_out),
            paired(Commit, "commit", self._events, self._may_commit, self._commit),
            paired(ApplyEpoch, "apply", self._laggards, self._may_apply, self._apply),
            paired(Fetch, "stream", self._unread, self._may_fetch, self._fetch),
            paired(Land, "stream", self._on_the_way, self._may_land, self._land),
            *(rule for rule, there in self._rare() if there),
        )

    def _rare(self) -> Iterator[tuple[Rule[StorageState, Any], bool]]:
        """What happens only where the options have it."""
        options = self.request_options
        back = paired(WriteBack, "message", self._written_back, self._may_serve, self._serve)
        crash = paired(ReplicaCrash, "crash", self._upright, self._may_crash, self._crash)
        late = paired(LandLate, "stream", self._late, self._may_land_late, self._land_late)
        clean = paired(Cleanup, "clean", self._left_over, self._may_clean, self._clean)
        marks = paired(CollectTombstones, "clean", self._marks, self._may_collect, self._collect)
        yield (
            paired(Admit, "message", self._admissible, self._may_serve, self._admit),
            options.slow,
        )
        yield back, self._repairs
        yield paired(Lose, "lose", self._losable, self._may_lose, self._lose), options.losses > 0
        yield paired(Tick, "time", self._ticks, self._may_tick, self._tick), options.ring_delay > 0
        yield crash, options.crashes > 0
        yield late, options.late > 0
        yield clean, options.cleaning
        yield marks, options.collecting

    def start(self) -> StorageState:
        """The range stable, nothing stored, nothing asked."""
        first = self.history.epochs[0]
        return StorageState(
            0,
            (0,) * len(self.nodes),
            (NOTHING,) * self.replicas,
            (NOT_COPIED,) * len(first.copies),
            (Request(),) * len(self.workload),
            first.dead,
            ~first.view.writes & ((1 << self.replicas) - 1) if self.request_options.cleaning else 0,
            lost=0 if self.request_options.losses else UNSET,
            late_copies=() if self.request_options.late else UNSET,
            late_left=self.request_options.late or UNSET,
        )

    # -- requests ---------------------------------------------------------------------------------

    def _knows(self, s: StorageState, number: int) -> int:
        return s.known[self.code[self.workload[number].coordinator]]

    def _startable(self, s: StorageState) -> Iterator[Start]:
        for number, request in enumerate(s.requests):
            if request.phase == WAITING:
                if self._turn(s, number):
                    least = self._least(s, number)
                    for index in self._plans[s.at]:
                        if index >= least:
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
        request = Request(OPEN, index, index, group, timestamp=mark)
        if self._repairs and not write:
            request = replace(request, holders=0)
        if self.request_options.slow:
            request = replace(request, begun=0)
        return self._with(s, action.request, request)

    def _admissible(self, s: StorageState) -> Iterator[Admit]:
        return (Admit(*at) for at in self._undelivered(s) if not self.begun(s, *at))

    def begun(self, s: StorageState, number: int, replica: str) -> bool:
        """Whether a replica is at work on a message, where that takes time."""
        begun = s.requests[number].begun
        return begun is not UNSET and holds(begun, self.code[replica])

    def _messages(self, s: StorageState) -> Iterator[Serve]:
        for number, name in self._undelivered(s):
            if self._slow and not self.begun(s, number, name):
                continue
            if self.mutations[number] or s.requests[number].phase == OPEN:
                yield Serve(number, name)

    def _written_back(self, s: StorageState) -> Iterator[WriteBack]:
        for number, name in self._undelivered(s):
            repairs = not self.mutations[number] and s.requests[number].phase != OPEN
            if repairs and (self.begun(s, number, name) or not self._slow):
                yield WriteBack(number, name)

    def _undelivered(self, s: StorageState) -> Iterator[tuple[int, str]]:
        names = self.history.replicas
        for number, request in enumerate(s.requests):
            if request.in_flight:
                for i in range(self.replicas):
                    if request.in_flight >> i & 1:
                        yield number, names[i]

    def _losable(self, s: StorageState) -> Iterator[Lose]:
        return (Lose(*at) for at in self._undelivered(s) if not self.begun(s, *at))

    def _may_lose(self, s: StorageState, action: Lose) -> Refusal | None:
        if s.lost is not UNSET and s.lost < self.request_options.losses:
            return None
        return Refusal("the run's budget of lost messages is used up")

    def _lose(self, s: StorageState, action: Lose) -> StorageState:
        assert s.lost is not UNSET
        request = s.requests[action.request]
        left = request.in_flight & ~(1 << self.code[action.replica])
        s = replace(s, lost=s.lost + 1)
        return self._with(s, action.request, replace(request, in_flight=left))

    def _may_serve(self, s: StorageState, action: Admit | Serve | WriteBack) -> Refusal | None:
        if s.down >> self.code[action.replica] & 1:
            return down(action.replica)
        return None

    def _admit(self, s: StorageState, action: Admit) -> StorageState:
        i, number, answer = self.code[action.replica], action.request, self.answer(s, action)
        request = s.requests[number]
        if answer.verdict != "ok":
            return self._with(s, number, self.answered(s, number, i, answer, NOTHING))
        assert request.begun is not UNSET
        return self._with(s, number, replace(request, begun=request.begun | 1 << i))

    def answer(self, s: StorageState, action: Admit | Serve | WriteBack) -> Answer:
        """What the replica makes of the message."""
        i, number = self.code[action.replica], action.request
        views, request = self._views[s.at], s.requests[number]
        if self.history.admission != "epoch-exchange":
            ok = admits(self.history.admission, views, s.known[i], request.epoch)
            if ok and not views[s.known[i]].holds_it(i, self.writing(s, number)):
                return Answer("not-a-member", s.known[i])
            return Answer("ok" if ok else "stale", s.known[i])
        epoch = sent(views, request.epoch, self.request_options.switches)
        write = self.writing(s, number)
        return receive(views, i, s.known[i], epoch, write, self.request_options.switches)

    def _serve(self, s: StorageState, action: Serve | WriteBack) -> StorageState:
        i, number = self.code[action.replica], action.request
        answer = self.answer(s, action)
        cells, writing = s.cells, self.writing(s, number)
        ok = answer.verdict == "ok"
        # What became stale while it ran is on the disk, but its answer is an error.
        if writing and (ok or s.requests[number].begun is not UNSET):
            cells = self.stored(s, i, self.mutation(s, number), number)
        seen = self.returned(s, i, number) if ok and not writing else NOTHING
        request = self.answered(s, number, i, answer, seen)
        s = replace(s, cells=cells, requests=put(s.requests, number, request))
        return s if answer.known == s.known[i] else self.applied(s, i, answer.known)

    def answered(self, s: StorageState, number: int, i: int, answer: Answer, seen: int) -> Request:
        """The request after an answer of replica ``i``, which returned the cell ``seen``.

        When the client has its answer already, nobody listens any more.
        """
        request = s.requests[number]
        in_flight = request.in_flight & ~(1 << i)
        if request.begun is not UNSET:
            request = replace(request, begun=request.begun & ~(1 << i))
        if request.phase not in AT_WORK:
            return replace(request, in_flight=in_flight)
        now = heard(request.coordinator_epoch, answer, self.request_options.switches)
        request = self.informed(s, number, now)
        own, invalidated = (answer.verdict == "ok") << i, request.invalidated
        if own and now > answer.known:
            since = range(answer.known, now + 1)
            invalidated |= invalidates(self._views[s.at], since, own, self.writing(s, number))
        if own and request.holders is not UNSET:
            held = holding(request.holders, request.newest_seen, seen, own)
            request = replace(request, holders=held)
        return replace(
            request,
            in_flight=in_flight,
            acked=request.acked | own,
            newest_seen=newest(request.newest_seen, seen),
            invalidated=invalidated,
        )

    def _open(self, s: StorageState) -> Iterator[int]:
        return (n for n, request in enumerate(s.requests) if request.phase in AT_WORK)

    def _finishing(self, s: StorageState) -> Iterator[Finish]:
        return (Finish(number) for number in self._open(s))

    def _may_finish(self, s: StorageState, action: Finish) -> Refusal | None:
        if self.satisfied(s, action.request):
            return None
        request = s.requests[action.request]
        wanted = self.wanted(s, action.request, request.epoch)
        return self._short(action.request, wanted, request.acked, request.in_flight)

    def _finish(self, s: StorageState, action: Finish) -> StorageState:
        number = action.request
        request = s.requests[number]
        if not self.success(s, number):
            return (
                self._retried(s, number)
                if self.request_options.retry
                else self._closed(s, number, FAILED)
            )
        written_back = self.write_back(s, number)
        if written_back is not None:
            return self._with(s, number, written_back)
        if self.request_options.repair == "answered" and not self.workload[number].writes:
            s = replace(s, cells=self.repaired_at_once(s, request))
        return self._closed(s, number, DONE)

    def _retried(self, s: StorageState, number: int) -> StorageState:
        """The plan is made again, by what is known now, and sent to those who have not done it."""
        request = s.requests[number]
        if request.phase == REPAIRING:
            group = targets(self.wanted(s, number, request.coordinator_epoch))
        else:
            group = self._views[s.at][request.coordinator_epoch].group(self.mutations[number])
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
        left = request.in_flight if self.writing(s, number) else 0
        seen = request.newest_seen if phase == DONE or left else NOTHING
        # Whatever nobody will ask for again is forgotten, so that a search need not tell it apart.
        epoch = request.epoch if left else 0
        closed = Request(phase, epoch, 0, left, 0, seen, request.timestamp)
        if left and request.begun is not UNSET:
            closed = replace(closed, begun=request.begun)
        later = any(other.coordinator == ask.coordinator for other in self.workload[number + 1 :])
        if later:
            code = self.code[ask.coordinator]
            s = replace(s, known=put(s.known, code, request.coordinator_epoch))
        return self._with(s, number, closed)

    def _with(self, s: StorageState, number: int, request: Request) -> StorageState:
        return replace(s, requests=put(s.requests, number, request))
