"""One real replica of the range that a real plan moves."""

from __future__ import annotations

from kit.engine.declared import entry, parameter
from kit.errors import BadInput
from kit.protocols.dataplane.dataplane import (
    CLUSTER,
    EXCHANGE,
    FORMER,
    MEMBERSHIP_CHECK,
    exchange_of,
)
from kit.protocols.dataplane.projection import busiest, project, tcm_of
from kit.protocols.storage import replica
from kit.protocols.storage.rules.exchange import Exchange
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.view import holds
from kit.protocols.tcm.parameters import ClusterParameters

MOST_MESSAGES = 8


class Replica(replica.Replica):
    """A replica whose coordinators are you; the other parameters are those of ``dataplane``."""

    cluster: ClusterParameters = CLUSTER
    exchange: Exchange = EXCHANGE
    real: str | None = parameter(
        None, "the real one (null: the first that loses the range, else the first)", field="replica"
    )
    messages: int = parameter(3, "how many writes it may get", ge=1, le=MOST_MESSAGES)

    safeguards = (MEMBERSHIP_CHECK.seen_by("INV-OWN").shown_by({"rf": 1}),)

    def placement_history(self) -> RangeHistory:
        """The plan's epochs, as the range sees them that moves most.

        Raises:
            BadInput: when the replica is none of the range's.
        """
        self.switches, tcm = exchange_of(self.exchange, {*self.off}), tcm_of(self.cluster)
        history = project(tcm, busiest(tcm))
        last = history.epochs[-1].view.writes
        losers = [name for i, name in enumerate(history.replicas) if not holds(last, i)]
        self.replica = self.real or (losers or list(history.replicas))[0]
        if self.replica not in history.replicas:
            raise BadInput("replica", self.replica, "one of " + ", ".join(history.replicas))
        return history


ENTRY = entry(Replica, former=FORMER)
