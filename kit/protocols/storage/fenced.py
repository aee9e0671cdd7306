"""What a coordinator of versions and fences adds to the promises: answers while nodes live.

Source: Topology over Raft, ``left_token_ring`` and ``fence_version``; CEP-21, "Goals", on
availability.
"""

from collections.abc import Callable
from typing import Any

from kit.masks import holds
from kit.model.declared import Cost, parameter, step
from kit.model.model import TransitionRows
from kit.protocols.storage.rules.history import RangeEpoch
from kit.protocols.storage.rules.levels import enough, quotas
from kit.protocols.storage.storage import Admit, Commit, Storage, StorageState

FIRST_VERSION = parameter(
    10, "the topology version of the first state", ge=1, le=2**31, hidden=True
)


class Fenced(Storage):
    """Requests on one data range whose replicas refuse what was planned before their fence."""

    costs = (
        Cost(
            "available",
            "Each pending replica makes a write need one more answer than its level.",
            "published coordinator, its issue 26512 (Q-48)",
            when=lambda m: m.edition == "server" and m.crashes > 0,
        ),
    )

    def judges_answers(self) -> bool:
        """Whether every request has to be answered while a quorum lives."""
        return True

    @step(
        "INV-AVAIL",
        on=(Storage.time_out,),
        when=lambda m: m.judges_answers(),
        sign=lambda m: m.is_sign("available"),
    )
    def available(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """A live quorum is enough to get an answer.

        No request fails for lack of answers while a quorum of its plan's replicas is alive, before
        and after the move. If all of today's replicas are alive, no request fails because the
        operation has shut down other nodes since it was planned. A request that a replica refused
        is not judged, because its client asks again with a newer plan.
        """
        number, request = action.request, before.requests[action.request]
        views, live = self.views(before), ~before.down
        view, today = views[request.epoch], views[-1]
        refused = view.group(self.writing(before, number)) & ~(request.acked | request.in_flight)
        if refused or request.in_flight & live:
            return None
        ask, home = self.workload[number], self.home(number)
        own = quotas("QUORUM", view.old_replicas, self.dcs, home)
        own += quotas("QUORUM", view.new_replicas, self.dcs, home)
        dead = self.history.epochs[self.trails[before.trail].nodes[request.epoch]].dead
        shut_down = self.newest(before).dead & ~dead
        left = not today.writes & ~live and not request.in_flight & ~shut_down
        if not (left or (ask.level == "QUORUM" and enough(own, live))):
            return None
        silent = self.history.names(request.in_flight)  # none of them lives
        able = self.history.names((view.writes | today.writes) & live)
        return (
            f"{self.title_of(number)}, planned at {self.epoch_text(before, request.epoch)}, fails "
            f"at level {ask.level}: {', '.join(silent)} cannot answer; live replicas: "
            f"{', '.join(able)}"
        )

    @step(
        "INV-FENCE",
        on=(Storage.admit, Storage.serve, Storage.write_back),
        sign=lambda m: m.is_sign("fenced"),
    )
    def fenced(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """A request below the fence has no effect.

        A fence bars requests that were planned before it. A write that began before the replica
        knew the fence can still be stored, but it is not counted (Q-46).
        """
        i, number = self.code[action.replica], action.request
        request, known = before.requests[number], before.known[i]
        fence = self.views(before)[known].fence
        answered = after.requests[number].acked & ~request.acked
        if fence is None or request.epoch >= known - fence:
            return None
        begins = isinstance(action, Admit) and self.begun(after, number, i)
        stored = before.cells != after.cells and not self.begun(before, number, i)
        if not (begins or stored or holds(answered, i)):
            return None
        return (
            f"{action.replica} admits {self.title_of(number)}, planned at "
            f"{self.epoch_text(before, request.epoch)}, though its fence is "
            f"{self.epoch_text(before, known - fence)}"
        )

    @step("INV-SESSION", on=(Storage.land_late,), sign=lambda m: m.is_sign("session"))
    def session(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Streaming works only under an open session.

        A late copy changes nothing on a replica that does not know the copy's session as open.
        """
        trail, i = self.trails[before.trail], self.code[action.target]
        known = self.history.epochs[trail.nodes[before.known[i]]]
        if before.cells == after.cells or known.session == action.session:
            return None
        return (
            f"{action.target}, at {self.epoch_text(before, before.known[i])}, takes a copy with "
            f"the permit of session {action.session}, which is not open there"
        )


def commit_rows(m: Fenced, where: Callable[[RangeEpoch], str]) -> TransitionRows:
    """A row for each event of a history: ``where`` it leads from, and its verb."""

    def row(epoch: RangeEpoch, verb: str) -> str:
        return f"{where(epoch)}: {verb}"

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        return (row(m.newest(before), action.verb),) if isinstance(action, Commit) else ()

    names = {row(epoch, edge.verb) for epoch in m.history.epochs for edge in epoch.edges}
    return TransitionRows(tuple(sorted(names)), taken)
