"""Requests while the replicas of their range change: the storage model over a real plan."""

from __future__ import annotations

from msgspec.structs import replace

from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.protocols.dataplane.parameters import DataplaneParameters
from kit.protocols.dataplane.projection import busiest, project, tcm_of
from kit.protocols.dataplane.safeguards import SAFEGUARDS, DataplaneSafeguards
from kit.protocols.storage.actions import RequestOptions
from kit.protocols.storage.played import PlayedStorage, check_coordinators
from kit.protocols.storage.properties import monitors, properties
from kit.protocols.storage.rules.exchange import ExchangeSwitches, RequestSafeguards
from kit.protocols.storage.rules.requests import parse_workload
from kit.protocols.storage.safeguards import EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION
from kit.protocols.tcm.rules.safeguards import TcmSafeguards
from kit.protocols.tcm.safeguards import PROGRESS_BARRIER

# What a cluster lacks whose nodes only gossip about who owns what.
UNKNOWN_TO_GOSSIP = tuple(
    safeguard.name
    for safeguard in (EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION, PROGRESS_BARRIER)
)


class Dataplane(PlayedStorage):
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
        check_coordinators(workload, history)
        super().__init__(history, workload, _request_options(given, safeguards.requests))
        self.parameters, self.off = given, off
        # Where another safeguard is off, the harm to show is the lost write, not its first sign.
        self.properties = properties(self, streaming=not off or not _streams(safeguards.tcm))
        self.monitors = monitors(self)


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
