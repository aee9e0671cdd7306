"""What a request's replica plan needs, and whether its answers still are enough.

A plan is made by the epoch that the coordinator knows, and validated again by what it knows when
the answers are there. A read that is repaired has two: that of the read, then that of the write by
which it writes back. Source: CEP-21, "Read/Write Path Integration".
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import UNSET
from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.storage.actions import RequestOptions, StorageState
from kit.protocols.storage.late_copy_model import LateCopyModel
from kit.protocols.storage.rules.cells import NOTHING, tombstone, written
from kit.protocols.storage.rules.exchange import still_counted
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.levels import AnswerQuota, enough, read_quotas, write_quotas
from kit.protocols.storage.rules.read_repair import targets, waits
from kit.protocols.storage.rules.requests import REPAIRING, ClientRequest, Request
from kit.protocols.storage.rules.view import View


class PlanModel(LateCopyModel):
    """A data range, and the plans of the requests on it."""

    def __init__(
        self, history: RangeHistory, workload: tuple[ClientRequest, ...], options: RequestOptions
    ) -> None:
        """The plans of ``workload`` on the range of ``history``.

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

    def _quotas(self, number: int, view: View, writing: bool) -> tuple[AnswerQuota, ...]:
        ask = self.workload[number]
        home = self.home(number)
        if writing:
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
        return self._wanted(number, self._views[s.at][index], self.writing(s, number))

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
            still_counted(self._views[s.at], request.coordinator_epoch, request.acked, write)
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

    def write_back(self, s: StorageState, number: int) -> Request | None:
        """A read with its answers as it writes back what it found; None where nothing waits."""
        request, now = s.requests[number], s.requests[number].coordinator_epoch
        holders = request.holders
        if holders is UNSET or request.newest_seen == NOTHING:
            return None
        wanted = self._wanted(number, self._views[s.at][now], True)
        group = targets(wanted)
        kept = holders & self.valid(s, number) & group
        kind = self.request_options.repair
        if not waits(kind, wanted, holders, kept, request.acked):
            return None
        back = Request(REPAIRING, now, now, group & ~kept, kept, request.newest_seen)
        return back if request.begun is UNSET else replace(back, begun=0)

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
