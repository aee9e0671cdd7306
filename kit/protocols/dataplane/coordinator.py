"""One real coordinator on the range that a real plan moves."""

from __future__ import annotations

from msgspec.structs import replace

from kit.engine.declared import entry, parameter
from kit.errors import BadInput
from kit.protocols.dataplane.dataplane import (
    ACKNOWLEDGEMENT,
    CLUSTER,
    EXCHANGE,
    FORMER,
    PLAN_REVALIDATION,
    exchange_of,
)
from kit.protocols.dataplane.projection import busiest, project, tcm_of
from kit.protocols.storage import coordinator
from kit.protocols.storage.rules.exchange import Exchange
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.view import Acknowledgement
from kit.protocols.storage.storage import RETRY
from kit.protocols.tcm.parameters import ClusterParameters


class Coordinator(coordinator.Coordinator):
    """A coordinator whose replicas are you; the other parameters are those of ``dataplane``."""

    cluster: ClusterParameters = CLUSTER
    exchange: Exchange = EXCHANGE
    request: str = parameter(
        "K1 write QUORUM",
        "what the coordinator is asked, such as `K1 write QUORUM`",
        title="request",
        extra_json_schema={"written": True},
    )
    acknowledgement: Acknowledgement = ACKNOWLEDGEMENT
    retry: bool = RETRY

    safeguards = (PLAN_REVALIDATION.seen_by("INV-CL").shown_by({"rf": 1}),)

    def placement_history(self) -> RangeHistory:
        """The plan's epochs, as the range sees them that moves most.

        Raises:
            BadInput: when the coordinator is one of the replicas.
        """
        self.switches, tcm = exchange_of(self.exchange, {*self.off}), tcm_of(self.cluster)
        history = replace(project(tcm, busiest(tcm)), acknowledgement=self.acknowledgement)
        asks = self.workload[0].coordinator
        if asks in history.replicas:
            names = ", ".join(history.replicas)
            raise BadInput("request", asks, f"a coordinator that is none of {names}")
        return history


ENTRY = entry(Coordinator, former=FORMER)
