"""What a request's replica plan needs, and whether its answers still are enough.

A plan is made by the epoch that the coordinator knows, and validated again by what it knows when
the answers are there. A read that is repaired has two: that of the read, then that of the write by
which it writes back. Source: CEP-21, "Read/Write Path Integration".
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import UNSET
from msgspec.structs import replace

from kit.engine.declared import refused
from kit.errors import Refusal
from kit.protocols.storage.ranges import Range, StorageState
from kit.protocols.storage.rules.exchange import still_counted
from kit.protocols.storage.rules.levels import (
    AnswerQuota,
    ReadRepair,
    enough,
    read_quotas,
    targets,
    waits,
    write_quotas,
)
from kit.protocols.storage.rules.requests import NOTHING, REPAIRING, Request, tombstone, written
from kit.protocols.storage.rules.view import View


class Plans(Range):
    """A data range, and the plans of the requests on it.

    ``repair`` is what a read writes back before it is answered.
    """

    repair: ReadRepair = "none"

    def set_up(self) -> None:
        """Datacenters as masks; what a level needs is asked for again and again."""
        super().set_up()
        history = self.history
        self.datacenters = tuple(dict.fromkeys(history.dcs))
        self.dcs = tuple(
            sum(1 << i for i, dc in enumerate(history.dcs) if dc == name)
            for name in self.datacenters
        )
        # Where replicas do not exchange epochs, a plan holds as long as they admit it.
        self.exchanged = history.admission == "epoch-exchange"
        self._revalidates = self.switches.safeguards.plan_revalidation and self.exchanged
        first = history.epochs[0].view.reads
        self.factors = tuple((first & dc).bit_count() for dc in self.dcs if first & dc)
        self._wanted = lru_cache(None)(self._quotas)
        self.short = lru_cache(None)(self._too_few)

    def _quotas(self, number: int, view: View, writing: bool) -> tuple[AnswerQuota, ...]:
        level, home = self.workload[number].level, self.home(number)
        if writing:
            return write_quotas(level, view, self.dcs, home, self.history.acknowledgement)
        return read_quotas(level, view, self.dcs, home)

    def home(self, number: int) -> int:
        """The datacenter of a request's coordinator, by number."""
        dc = self.workload[number].dc
        return 0 if dc is None else self.datacenters.index(dc)

    def wanted(self, s: StorageState, number: int, index: int) -> tuple[AnswerQuota, ...]:
        """What a request's level needs by the metadata at ``index``."""
        return self._wanted(number, self._views[s.trail][index], self.writing(s, number))

    def mutation(self, s: StorageState, number: int) -> int:
        """The cell that a request brings: that of its write or deletion, or what a read found."""
        if not self.mutations[number]:
            return s.requests[number].newest_seen
        mark = s.requests[number].timestamp
        return tombstone(mark) if self.workload[number].kind == "delete" else written(mark)

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
        return enough(self.wanted(s, number, request.epoch), request.acked)

    def success(self, s: StorageState, number: int) -> bool:
        """Whether the plan still holds by the metadata that the coordinator knows now."""
        wanted = self.wanted(s, number, self.judged_by(s, number))
        return enough(wanted, self.valid(s, number))

    def writes_back(self, s: StorageState, number: int) -> Request | None:
        """A read with its answers as it writes back what it found; None where nothing waits."""
        request, now = s.requests[number], s.requests[number].coordinator_epoch
        holders = request.holders
        if holders is UNSET or request.newest_seen == NOTHING:
            return None
        wanted = self._wanted(number, self._views[s.trail][now], True)
        group = targets(wanted)
        kept = holders & self.valid(s, number) & group
        if not waits(self.repair, wanted, holders, kept, request.acked):
            return None
        back = Request(REPAIRING, now, now, group & ~kept, kept, request.newest_seen)
        return back if request.begun is UNSET else replace(back, begun=0)

    def needs(self, s: StorageState, number: int) -> str:
        """What a request's level needs by what its coordinator knows: ``2 of A, B, X``."""
        wanted = self.wanted(s, number, self.judged_by(s, number))
        return "; ".join(f"{quota.needed} of {self.names(quota.replicas)}" for quota in wanted)

    def _too_few(
        self, number: int, wanted: tuple[AnswerQuota, ...], acked: int, in_flight: int
    ) -> Refusal:
        evidence = (
            f"{quota.needed} of {', '.join(self.history.names(quota.replicas))}; "
            f"answered: {self.names(quota.replicas & acked)}"
            for quota in wanted
        )
        reason = f"too few answers for {self.workload[number].level}"
        return refused(reason, self.history.names(in_flight), tuple(evidence))
