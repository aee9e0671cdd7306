"""Requests while the replicas of their range change: the storage model over a real plan."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.dataplane.parameters import DataplaneParameters
from kit.protocols.dataplane.projection import busiest, project, tcm_of
from kit.protocols.dataplane.safeguards import SAFEGUARDS, DataplaneSafeguards
from kit.protocols.storage import wording
from kit.protocols.storage.actions import (
    ApplyEpoch,
    Commit,
    Fetch,
    Finish,
    Land,
    RequestOptions,
    Serve,
    Start,
    StorageState,
    Tick,
    WriteBack,
)
from kit.protocols.storage.model import Storage
from kit.protocols.storage.properties import monitors, properties
from kit.protocols.storage.rules.exchange import ExchangeSwitches, RequestSafeguards
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.requests import AT_WORK, ClientRequest, parse_workload
from kit.protocols.storage.safeguards import EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION
from kit.protocols.tcm.rules.safeguards import TcmSafeguards
from kit.protocols.tcm.safeguards import PROGRESS_BARRIER

# What a cluster lacks whose nodes only gossip about who owns what.
UNKNOWN_TO_GOSSIP = tuple(
    guard.name for guard in (EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION, PROGRESS_BARRIER)
)


class Dataplane(Storage):
    """Clients, coordinators and the replicas of one data range, while a plan is carried out.

    What is promised is that of ``kit.protocols.storage.model.Storage``.
    """

    name = "dataplane"
    title = "Reads and writes while a range moves (CEP-21)"
    safeguards = SAFEGUARDS

    def __init__(
        self, parameters: DataplaneParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model of the cluster and requests that ``parameters`` describe.

        Raises:
            BadInput: naming the parameter that is out of its limits.
        """
        given = parameters or DataplaneParameters()
        absent = off if given.mode == "log" else (*off, *UNKNOWN_TO_GOSSIP)
        safeguards = switched_off(DataplaneSafeguards, absent)
        check_limits(given)
        self.tcm = tcm_of(given.cluster, safeguards.tcm)
        workload = parse_workload(given.requests)
        token = busiest(self.tcm) if given.token is None else given.token
        history = replace(
            project(self.tcm, token, given.lag), acknowledgement=given.acknowledgement
        )
        _check_coordinators(workload, history)
        super().__init__(history, workload, _request_options(given, safeguards.requests))
        self.parameters, self.off = given, off
        # Where another safeguard is off, the harm to show is the lost write, not its first sign.
        self.properties = properties(self, streaming=not off or not _streams(safeguards.tcm))
        self.monitors = monitors(self)

    def suggest(self, s: StorageState) -> Any | None:
        """Ask, then carry the operation out, then ask again: each request is answered first."""
        last = s.at > 0 and all(edge.verb.startswith("cancel") for edge in self.newest(s).edges)
        wanted = (Serve, WriteBack, Finish, Start, ApplyEpoch, Land, Fetch, Commit, Tick)
        best: tuple[int, Any] | None = None
        for action in self.actions(s):
            if type(action) not in wanted or _is_cancel(action):
                continue
            if isinstance(action, Start) and not (action.request == 0 or last):
                continue
            rank = wanted.index(type(action))
            if best is None or rank < best[0] or (isinstance(action, Start) and rank == best[0]):
                best = rank, action
        return best[1] if best else None

    def milestone(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Each committed epoch, each answered request."""
        if isinstance(action, Commit):
            return f"epoch {self.newest(after).epoch}"
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


def _is_cancel(action: Any) -> bool:
    return isinstance(action, Commit) and action.verb.startswith("cancel")


def _check_coordinators(workload: tuple[ClientRequest, ...], history: RangeHistory) -> None:
    known = sorted(set(history.dcs))
    for ask in workload:
        if ask.coordinator in history.replicas:
            allowed = "a coordinator that is no replica: not one of " + ", ".join(history.replicas)
            raise BadInput("requests", ask.coordinator, allowed)
        if ask.dc is not None and ask.dc not in known:
            raise BadInput("requests", ask.dc, "a datacenter of the range: " + ", ".join(known))


def _streams(safeguards: TcmSafeguards) -> bool:
    """Whether all that streaming needs is on."""
    return (
        safeguards.streams_before_switch
        and safeguards.known_before_streams
        and safeguards.stream_from_displaced
    )


def _request_options(given: DataplaneParameters, safeguards: RequestSafeguards) -> RequestOptions:
    return RequestOptions(
        ExchangeSwitches(given.exchange, safeguards),
        given.together,
        given.timeouts,
        given.repair,
        given.retry,
        given.ring_delay if given.mode == "gossip" else 0,
        given.crashes,
        given.cleaning,
        given.collecting,
    )
