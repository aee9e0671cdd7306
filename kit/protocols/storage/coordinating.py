"""The coordinator's side of a request: plan it, send it, count answers, answer the client.

A coordinator may know any epoch that is committed. With enough answers it validates its plan again.
A read that is repaired by ``mismatch`` or ``blocking`` then writes back what it found in messages
of their own, and is answered after them; by ``answered`` that is part of its answer. Source:
CEP-21, "Read/Write Path Integration"; ``kit.protocols.storage.rules.levels``.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from kit.errors import Awaited, Refusal
from kit.masks import mask_of
from kit.model.declared import action, purpose, refused, step
from kit.protocols.storage.events import Completed, Happenings, QuotaRow, Sent
from kit.protocols.storage.ranges import Next, Number, Range, StorageState, put, travels
from kit.protocols.storage.rules import levels
from kit.protocols.storage.rules import requests as rules
from kit.protocols.storage.rules.exchange import Answer, heard, invalidates, still_counted
from kit.protocols.storage.rules.requests import AT_WORK, DONE, FAILED, REPAIRING, Request
from kit.protocols.storage.rules.view import View


class Start(Struct, frozen=True, tag="start"):
    """A coordinator plans a request at an epoch that it knows, and sends the request."""

    request: int
    epoch: int


class Coordinating(Range):
    """A data range, and the coordinators of requests on it.

    ``together``: clients do not wait for one another, only each coordinator for itself.
    ``timeouts``: a request may time out at any moment, not only when it is stuck. ``retry``: a
    request whose plan went stale is sent again. ``slow``: a replica begins what a message asks in
    one step and ends it in another, and is asked both times whether it admits it. ``repair`` is
    what a read writes back before it is answered.
    """

    together: bool = False
    timeouts: bool = False
    retry: bool = False
    slow: bool = False
    repair: levels.ReadRepair = "none"

    def set_up(self) -> None:
        """Datacenters as masks; what a level needs is asked for again and again."""
        super().set_up()
        history = self.history
        self.datacenters, self.dcs = zip(*history.datacenters.items(), strict=True)
        # Where replicas do not exchange epochs, a plan holds as long as they admit it.
        self.exchanged = history.admission == "epoch-exchange"
        self._revalidates = self.switches.safeguards.plan_revalidation and self.exchanged
        first = history.epochs[0].view.reads
        self.factors = tuple((first & dc).bit_count() for dc in self.dcs if first & dc)
        self._wanted = lru_cache(None)(self._quotas)
        self.short = lru_cache(None)(self._too_few)
        self.waits_for_repair = self.repair in levels.WAITING_KINDS
        self._plans = tuple(trail.plans for trail in self.trails)

    def happened(self, before: StorageState, action: Any, after: StorageState) -> Happenings:
        """The messages of coordinators, and the answers."""
        if isinstance(action, Start):
            return (self._sent(after, action.request),)
        if not isinstance(action, Finish | TimeOut):
            return super().happened(before, action, after)
        if after.requests[action.request].phase in AT_WORK:
            return (self._sent(after, action.request),)
        return (self._ended(before, action.request, after),)

    def _sent(self, after: StorageState, number: int) -> Sent:
        request, who = after.requests[number], self.workload[number].coordinator
        message = self.carried(after, number), self.history.names(request.in_flight)
        back = self.cell_text(after, request.newest_seen) if request.phase == REPAIRING else ""
        return Sent(number, self.title_of(number), who, *message, back)

    def _ended(self, before: StorageState, number: int, after: StorageState) -> Completed:
        was, request, ask = before.requests[number], after.requests[number], self.workload[number]
        result = "done" if ask.writes else f"returned {self.cell_text(after, request.newest_seen)}"
        cells = zip(before.cells, after.cells, strict=True)
        repaired = mask_of(i for i, (had, has) in enumerate(cells) if had != has)
        wanted = self.wanted(before, number, self.judged_by(before, number))
        plan, ok = self.quota_rows(wanted, self.valid(before, number)), request.phase == DONE
        back = self.cell_text(before, was.newest_seen) if repaired else ""
        who = number, self.title_of(number), ask.coordinator
        end = self.epoch(before, was.coordinator_epoch), ok, result if ok else "failed"
        return Completed(*who, *end, plan, back, self.history.names(repaired))

    def quota_rows(self, quotas: levels.Quotas, answered: int) -> tuple[QuotaRow, ...]:
        """The needs of a level, with those of the answers (a mask) that count."""
        names = self.history.names
        return tuple(
            QuotaRow(names(q.replicas), q.needed, names(q.replicas & answered)) for q in quotas
        )

    # -- what a plan needs, and whether its answers are enough -------------------------------------

    def promises(self, write: int, read: int) -> bool:
        """Whether of two requests the one changes a cell that the other, once later, must see."""
        if not self.mutations[write] or self.mutations[read]:
            return False
        ours, theirs = self.workload[write].level, self.workload[read].level
        return levels.promised(ours, theirs, self.home(write) == self.home(read), self.factors)

    def _quotas(self, number: int, view: View, writing: bool) -> levels.Quotas:
        level, home = self.workload[number].level, self.home(number)
        if writing:
            return levels.write_quotas(level, view, self.dcs, home, self.history.acknowledgement)
        return levels.read_quotas(level, view, self.dcs, home)

    def home(self, number: int) -> int:
        """The datacenter of a request's coordinator, by number."""
        dc = self.workload[number].dc
        return 0 if dc is None else self.datacenters.index(dc)

    def wanted(self, s: StorageState, number: int, index: int) -> levels.Quotas:
        """The needs of a request's level by the metadata at ``index``."""
        return self._wanted(number, self._views[s.trail][index], self.writing(s, number))

    def mutation(self, s: StorageState, number: int) -> int:
        """The cell that a request brings: that of its write or deletion, or what a read found."""
        if not self.mutations[number]:
            return s.requests[number].newest_seen
        mark = s.requests[number].timestamp
        return (
            rules.tombstone(mark) if self.workload[number].kind == "delete" else rules.written(mark)
        )

    def valid(self, s: StorageState, number: int) -> int:
        """The answers that count when the plan is validated again (a mask)."""
        request = s.requests[number]
        if not self._revalidates:
            return request.acked
        write = self.writing(s, number)
        return (
            still_counted(self._views[s.trail], request.coordinator_epoch, request.acked, write)
            & ~request.invalidated
        )

    def judged_by(self, s: StorageState, number: int) -> int:
        """The index of the epoch by which a request's answers are judged."""
        request = s.requests[number]
        return request.coordinator_epoch if self._revalidates else request.epoch

    def satisfied(self, s: StorageState, number: int) -> bool:
        """Whether the plan, as it was sent, has its answers."""
        request = s.requests[number]
        return levels.enough(self.wanted(s, number, request.epoch), request.acked)

    def success(self, s: StorageState, number: int) -> bool:
        """Whether the plan still holds by the metadata that the coordinator knows now."""
        wanted = self.wanted(s, number, self.judged_by(s, number))
        return levels.enough(wanted, self.valid(s, number))

    def writes_back(self, s: StorageState, number: int) -> Request | None:
        """A read with its answers as it writes back what it found; None where nothing waits."""
        request, now = s.requests[number], s.requests[number].coordinator_epoch
        holders = request.holders
        if holders is UNSET or request.newest_seen == rules.NOTHING:
            return None
        wanted = self._wanted(number, self._views[s.trail][now], True)
        group = levels.targets(wanted)
        kept = holders & self.valid(s, number) & group
        if not levels.waits(self.repair, wanted, holders, kept, request.acked):
            return None
        back = Request(REPAIRING, now, now, group & ~kept, kept, request.newest_seen)
        return back if request.begun is UNSET else replace(back, begun=0)

    def needs(self, s: StorageState, number: int) -> str:
        """The needs of a request's level by what its coordinator knows: ``2 of A, B, X``."""
        wanted = self.wanted(s, number, self.judged_by(s, number))
        return "; ".join(f"{quota.needed} of {self.listing(quota.replicas)}" for quota in wanted)

    def _too_few(self, number: int, wanted: levels.Quotas, acked: int, in_flight: int) -> Refusal:
        evidence = (
            f"{quota.needed} of {', '.join(self.history.names(quota.replicas))}; "
            f"answered: {self.listing(quota.replicas & acked)}"
            for quota in wanted
        )
        level, names = self.workload[number].level, self.history.names
        counts = (
            Awaited(
                level,
                quota.needed,
                (quota.replicas & acked).bit_count(),
                names(quota.replicas & (acked | in_flight)),
            )
            for quota in wanted
            if (quota.replicas & acked).bit_count() < quota.needed
        )
        reason = f"too few answers for {level}"
        return Refusal(reason, tuple(evidence), names(in_flight), tuple(counts))

    # -- plan and send ----------------------------------------------------------------------------

    def _startable(self, s: StorageState) -> Iterator[tuple[int, int]]:
        for number, request in enumerate(s.requests):
            if request.phase == rules.WAITING:
                own = self.workload[number].coordinator  # it waits for those before it
                if all(
                    earlier.phase in (DONE, FAILED)
                    for earlier, client in zip(s.requests[:number], self.workload, strict=False)
                    if not self.together or client.coordinator == own
                ):
                    least, lag = s.known[self.planners[number]], self.history.lag
                    if lag is not None:
                        least = max(least, len(self._views[s.trail]) - 1 - lag)
                    for index in self._plans[s.trail]:
                        if index >= least:
                            yield number, self.epoch(s, index)

    def _started(self, before: StorageState, action: Any, after: StorageState) -> str:
        number, unit, latest = action.request, self.history.unit, self.newest(after).epoch
        ask, sent_to = self.workload[number], self.listing(after.requests[number].in_flight)
        sends = f"sends {self.title_of(number)} to {sent_to} at level {ask.level}."
        if action.epoch == latest:
            return f"{ask.coordinator}, at {unit} {latest}, {sends}"
        behind = f"It is at {unit} {action.epoch} and has not heard of {unit} {latest}."
        return f"{ask.coordinator} {sends} {behind}"

    @action(
        struct=Start,
        each=_startable,
        kind="request",
        verb=lambda m, a: f"{m.title_of(a.request)} at {m.history.unit} {a.epoch}",
        label=lambda m, s, a: f"{m.workload[a.request].coordinator} sends {m.verb(a)}",
        says=_started,
        travels=travels,
    )
    @purpose("A request goes to the replicas that its coordinator knows of.")
    def begin(self, s: StorageState, request: Number, epoch: int) -> Next:
        """A coordinator plans a request at an epoch that it knows, and sends the request."""
        index, write = self.trails[s.trail].index(epoch), self.mutations[request]
        group = self._views[s.trail][index].group(write)
        mark = 1 + sum(each.timestamp > 0 for each in s.requests) if write else 0
        planned = Request(rules.OPEN, index, index, group, timestamp=mark)
        if self.waits_for_repair and not write:
            planned = replace(planned, holders=0)
        if self.slow:
            planned = replace(planned, begun=0)
        return self.with_request(s, request, planned)

    # -- count answers ----------------------------------------------------------------------------

    def answered(self, s: StorageState, number: int, i: int, answer: Answer, seen: int) -> Request:
        """The request after an answer of replica ``i`` with the cell ``seen``, if it is open."""
        request, begun = s.requests[number], s.requests[number].begun
        in_flight, shards = request.in_flight & ~(1 << i), self.with_shards[i] & self.all_shards
        if request.phase not in AT_WORK:
            request = replace(request, in_flight=in_flight)
            return request if begun is UNSET else replace(request, begun=begun & ~(shards | 1 << i))
        now = heard(request.coordinator_epoch, answer, self.switches)
        request = self.informed(s, number, now)
        if begun is not UNSET:  # the shards are done with it when their node is
            request = replace(request, begun=begun & ~shards)
        own, invalidated = (answer.verdict == "ok") << i, request.invalidated
        if now > answer.known:
            since = range(answer.known, now + 1)
            writing = self.writing(s, number)
            invalidated |= invalidates(self._views[s.trail], since, own, writing)
        if request.holders is not UNSET:
            held = levels.holding(request.holders, request.newest_seen, seen, own)
            request = replace(request, holders=held)
        return replace(
            request,
            in_flight=in_flight,
            acked=request.acked | own,
            newest_seen=max(request.newest_seen, seen),
            invalidated=invalidated,
        )

    # -- answer the client ------------------------------------------------------------------------

    def _at_work(self, s: StorageState) -> int:
        return mask_of(i for i, request in enumerate(s.requests) if request.phase in AT_WORK)

    def _finish_label(self, s: StorageState, action: Any) -> str:
        number = action.request
        if self.success(s, number) and self.writes_back(s, number):
            return f"write back what {self.title_of(number)} found"
        return self.verb(action)

    def _finished(self, before: StorageState, action: Any, after: StorageState) -> str:
        number = action.request
        ask, request, done = self.workload[number], before.requests[number], after.requests[number]
        title, answered = self.title_of(number), self.listing(request.acked)
        who = f"{ask.coordinator}, at {self.epoch_text(before, request.coordinator_epoch)},"
        cell = self.cell_text(before, request.newest_seen)
        if done.phase == DONE and ask.writes:
            return f"{who} has answers from {answered} and tells its client: {title} is done."
        if done.phase == DONE:
            result = f"returns {cell}{' (deleted)' * rules.is_tombstone(request.newest_seen)}"
            if request.phase == REPAIRING:
                return f"{who} knows that {answered} hold {cell} and {result}."
            repaired = ", ".join(self._ended(before, number, after).repaired)
            writes = f", writes {cell} back to {repaired}" * bool(repaired)
            return f"{who} has answers from {answered}{writes} and {result}."
        if done.phase == REPAIRING != request.phase:
            return (
                f"{who} has answers from {answered} and finds {cell}. Before it answers, it writes "
                f"that back to {self.listing(done.in_flight)} and waits: "
                f"{self.needs(after, number)} must hold it."
            )
        valid, needs = self.listing(self.valid(before, number)), self.needs(before, number)
        judged = (
            f"{who} validates its plan again: {ask.level} is {needs}, and it counts the "
            f"answers from {valid}."
        )
        if done.phase in AT_WORK:
            does = f"writes {cell} back again" if done.phase == REPAIRING else f"sends {title}"
            return f"{judged} It {does} to the replicas that have not answered."
        return f"{judged} The request fails."

    @action(
        each=_at_work,
        kind="request",
        verb=lambda m, a: f"answer {m.title_of(a.request)}",
        label=_finish_label,
        says=_finished,
        travels=travels,
    )
    @purpose("The client gets its answer once enough replicas have answered.")
    def finish(self, s: StorageState, request: Number) -> Next:
        """The coordinator has enough answers, validates its plan again, and answers the client.

        A read that is repaired first writes back what it found, and is answered by a second such
        step.
        """
        sent = s.requests[request]
        if not self.satisfied(s, request):
            wanted = self.wanted(s, request, sent.epoch)
            return self.short(request, wanted, sent.acked, sent.in_flight)
        if not self.success(s, request):
            return self._retried(s, request) if self.retry else self._closed(s, request, FAILED)
        written_back = self.writes_back(s, request)
        if written_back is not None:
            return self.with_request(s, request, written_back)
        if self.repair == "answered":  # what a mutation has seen is nothing
            s = s.but(cells=self.repaired_at_once(s, sent))
        return self._closed(s, request, DONE)

    def _retried(self, s: StorageState, number: int) -> StorageState:
        request = s.requests[number]
        if request.phase == REPAIRING:
            group = levels.targets(self.wanted(s, number, request.coordinator_epoch))
        else:
            group = self._views[s.trail][request.coordinator_epoch].group(self.mutations[number])
        kept = self.valid(s, number) & group
        left, now = group & ~kept, request.coordinator_epoch
        again = replace(request, epoch=now, in_flight=left, acked=kept, invalidated=0)
        return self.with_request(s, number, again)

    @action(
        each=_at_work,
        kind="request",
        verb=lambda m, a: f"time out {m.title_of(a.request)}",
        says=lambda m, s, a, _: (
            f"{m.workload[a.request].coordinator} gives up on {m.title_of(a.request)}."
        ),
        travels=travels,
    )
    @purpose("No client can wait forever. A write that timed out can still be there.")
    def time_out(self, s: StorageState, request: Number) -> Next:
        """The coordinator gives up: too few answers can still arrive, or the time is over."""
        if self.satisfied(s, request):
            return refused("the coordinator already has enough answers")
        if not self.timeouts and s.requests[request].in_flight & ~s.down:
            return refused("answers are still on their way")
        return self._closed(s, request, FAILED)

    def _closed(self, s: StorageState, number: int, phase: int) -> StorageState:
        request, ask = s.requests[number], self.workload[number]
        left = request.in_flight if self.writing(s, number) else 0
        seen = request.newest_seen if phase == DONE or left else rules.NOTHING
        # Whatever nobody will ask for again is forgotten, so that a search need not tell it apart.
        epoch = request.epoch if left else 0
        closed = Request(phase, epoch, 0, left, 0, seen, request.timestamp)
        if left and request.begun is not UNSET:
            closed = replace(closed, begun=request.begun)
        later = any(other.coordinator == ask.coordinator for other in self.workload[number + 1 :])
        if later:
            s = s.but(known=put(s.known, self.planners[number], request.coordinator_epoch))
        return self.with_request(s, number, closed)

    @step("INV-CL", on=(finish,))
    def consistency_level(
        self, before: StorageState, action: Any, after: StorageState
    ) -> str | None:
        """Every success is backed by enough replicas of the plan that is valid now.

        A read that writes back is judged twice: first as a read, then, when its client gets the
        answer, as a write.
        """
        number = action.request
        request, now = before.requests[number], after.requests[number].phase
        if not (now == DONE or now == REPAIRING != request.phase):
            return None
        index = request.coordinator_epoch if self.exchanged else request.epoch
        write = self.writing(before, number)
        valid = still_counted(self.views(before), index, request.acked, write)
        if levels.enough(self.wanted(before, number, index), valid):
            return None
        ask, acked = self.workload[number], ", ".join(self.history.names(request.acked))
        known = self.epoch_text(before, request.coordinator_epoch)
        return (
            f"{self.title_of(number)} succeeds with {acked}, but {ask.coordinator} knows {known}, "
            f"at which {ask.level} needs more than {self.listing(valid)}"
        )


Finish, TimeOut = Coordinating.finish.struct, Coordinating.time_out.struct
