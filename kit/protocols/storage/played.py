"""The storage model as people play it: what comes next, in words, whatever moves the range."""

from __future__ import annotations

from typing import Any

from kit.errors import BadInput
from kit.protocols.storage import wording
from kit.protocols.storage.actions import (
    Admit,
    ApplyEpoch,
    Cleanup,
    Commit,
    Fetch,
    Finish,
    Land,
    Serve,
    Start,
    StorageState,
    Tick,
    WriteBack,
)
from kit.protocols.storage.model import Storage
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.requests import AT_WORK, ClientRequest

_ORDER = (Admit, Serve, WriteBack, Finish, Start, ApplyEpoch, Land, Fetch, Cleanup, Commit, Tick)


class PlayedStorage(Storage):
    """Requests on one data range, told in words; a family adds where the range's history is from.

    What is promised is that of ``kit.protocols.storage.model.Storage``.
    """

    def suggest(self, s: StorageState) -> Any | None:
        """Ask, then carry the operation out, then ask again: each request is answered first."""
        last = s.at > 0 and all(edge.aside for edge in self.newest(s).edges)
        best: tuple[int, Any] | None = None
        for action in self.actions(s):
            if type(action) not in _ORDER or self._leads_aside(s, action):
                continue
            if isinstance(action, Cleanup) and not self.newest(s).cleans:
                continue  # nobody is told to: an operator may
            if isinstance(action, Start) and not (action.request == 0 or last):
                continue
            rank = _ORDER.index(type(action))
            if best is None or rank < best[0] or (isinstance(action, Start) and rank == best[0]):
                best = rank, action
        return best[1] if best else None

    def _leads_aside(self, s: StorageState, action: Any) -> bool:
        return isinstance(action, Commit) and self.edge(s, action).aside

    def milestone(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Each committed epoch, each answered request."""
        if isinstance(action, Commit):
            return f"{self.history.unit} {self.newest(after).epoch}"
        if isinstance(action, Finish) and after.requests[action.request].phase not in AT_WORK:
            return f"{self.title_of(action.request)} is answered"
        return None

    def describe(self, before: StorageState, action: Any, after: StorageState) -> str:
        """What happened, and who knew what."""
        return wording.describe(self, before, action, after)

    def verb(self, action: Any) -> str:
        """The action as one line of a scenario file."""
        return wording.verb(self, action)

    def label(self, s: StorageState, action: Any) -> str:
        """The text of the action's button."""
        return wording.label(self, s, action)


def check_coordinators(workload: tuple[ClientRequest, ...], history: RangeHistory) -> None:
    """See that coordinators are no replicas, in datacenters that the range has.

    Raises:
        BadInput: naming the coordinator or the datacenter.
    """
    known = sorted(set(history.dcs))
    for ask in workload:
        if ask.coordinator in history.replicas:
            allowed = "a coordinator that is no replica: not one of " + ", ".join(history.replicas)
            raise BadInput("requests", ask.coordinator, allowed)
        if ask.dc is not None and ask.dc not in known:
            raise BadInput("requests", ask.dc, "a datacenter of the range: " + ", ".join(known))
