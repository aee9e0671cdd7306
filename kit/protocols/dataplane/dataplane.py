"""Requests while the replicas of their range change: the storage model over a real plan of CEP-21.

Where the nodes only gossip about who owns what (mode ``gossip``) no epochs are compared, no plan is
validated again and no step waits for who knows the last one, only for ``ring_delay`` ticks.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import replace

from kit.errors import BadInput, check_among
from kit.masks import holds
from kit.model.declared import Cost, entry, parameter
from kit.model.model import LaterCase, Safeguard, switched_off
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.dataplane.projection import busiest, project, projected, tcm_of
from kit.protocols.storage import solo, storage
from kit.protocols.storage.rules.exchange import Exchange, ExchangeSwitches, RequestSafeguards
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.levels import ReadRepair
from kit.protocols.storage.rules.view import Acknowledgement
from kit.protocols.tcm.parameters import ClusterParameters
from kit.protocols.tcm.tcm import SAFEGUARD, Tcm

# What the models of one real node take, too.
CLUSTER = parameter(ClusterParameters(rf=3, epoch=99), "the cluster and its operations")
EXCHANGE: Exchange = parameter(
    "epoch", "how epochs travel with messages", title="epochs in messages"
)
ACKNOWLEDGEMENT: Acknowledgement = parameter(
    "union", "how new replicas count in a quorum", title="pending replicas"
)

EPOCH_EXCHANGE = Safeguard(
    "epoch-exchange",
    "S-02",
    "Messages and answers carry epochs, and a node that is behind catches up",
    ("INV-QI", "INV-VISIBLE"),
)
PLAN_REVALIDATION = Safeguard(
    "plan-revalidation",
    "S-03",
    "A plan is validated again before success is reported",
    ("INV-CL", "INV-VISIBLE"),
)
MEMBERSHIP_CHECK = Safeguard(
    "membership-check",
    "S-04",
    "A replica that is ahead answers only while it is a member",
    ("INV-OWN", "INV-NORES"),
)
# What a cluster lacks whose nodes only gossip about who owns what.
UNKNOWN_TO_GOSSIP = (
    *(each.name for each in (EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION)),
    "progress-barrier",
)
STREAMING = {"streams-before-switch", "known-before-streams", "stream-from-displaced"}
"""Without one of them, what streaming promises is itself broken."""
QUORUMS = {"write-before-read", "old-writer-stays", "two-event-cancel"}
"""Without one of them, quorums of epochs in use miss one another."""
_ONE = {"rf": 1}
# Deleted data can come back only to a replica that gave the range up and got it again.
_DELETED = LaterCase("INV-NORES", "dataplane/deleted-data-returns", before="read 3 at epoch 105")


OWNERS = "owners-store", "owners-serve"


def crosses(m: Any) -> bool:
    """Whether requests ask one datacenter, and barriers count all of them."""
    local = any(each.level == "LOCAL_QUORUM" for each in m.workload)
    local = local and m.cluster.edition == "documents"
    return local and len({node.dc for node in m.tcm.cluster.ring.nodes}) > 1


class Dataplane(storage.Storage):
    """Clients, coordinators and the replicas of one data range, while a plan is carried out."""

    name, title = "dataplane", "Reads and writes while a range moves (CEP-21)"
    premise = (
        "Every acknowledged write must survive while a range moves. Clients (K) write and read. "
        "Each node holds a replica and works with one epoch."
    )
    about = """
    A cluster and its operations, and the requests of clients on one of its ranges.

    In mode ``gossip``, no epochs are compared and no plan is validated again. A step waits for
    ``ring_delay`` ticks, not until nodes know the step before it.

    With ``repair``, a read writes back the newest cell that it found. ``answered`` writes to the
    replicas that answered. ``mismatch`` uses the current write plan and waits for it, but only
    where answers differ. ``blocking`` does so whenever no write quorum is known to hold the cell.
    Only ``blocking`` keeps a later read from missing what an earlier one saw.
    """

    costs = (
        *(
            Cost(
                name,
                "Nodes learn of a change by waiting alone: some still use the old replicas.",
                "CEP-21, Motivation",
                when=lambda m: m.mode == "gossip",
            )
            for name in ("consistency-level", "visible", "streamed", *OWNERS)
        ),
        *(
            Cost(
                name,
                "A majority of all is none of each datacenter: a LOCAL_QUORUM read misses writes.",
                "published ProgressBarrier, which counts each datacenter",
                when=crosses,
            )
            for name in ("quorums-in-use", "visible", "streamed")
        ),
    )
    cluster: ClusterParameters = CLUSTER
    token: int | None = parameter(
        None, "a token of the range to look at (null: the range with the most old and new replicas)"
    )
    lag: Annotated[int, Meta(ge=0, le=100)] | None = parameter(
        None,
        "how far nodes, messages and requests can lag (null: any number; 0: a request starts at "
        "the newest epoch, and nodes are at most one behind)",
        title="epochs of lag",
    )
    requests: tuple[str, ...] = storage.REQUESTS
    exchange: Exchange = EXCHANGE
    acknowledgement: Acknowledgement = ACKNOWLEDGEMENT
    together: bool = storage.TOGETHER
    timeouts: bool = storage.TIMEOUTS
    repair: ReadRepair = storage.REPAIR
    retry: bool = storage.RETRY
    mode: Literal["log", "gossip"] = parameter("log", "how nodes learn of changes")
    ring_delay: int = parameter(
        1, "how long a step waits in gossip mode", title="ticks of RING_DELAY", ge=1, le=100
    )
    crashes: int = storage.CRASHES
    cleaning: bool = parameter(False, "replicas can clean up after a move", title="cleanup")
    collecting: bool = storage.COLLECTING

    safeguards = (
        SAFEGUARD["progress-barrier"].seen_by("INV-QI", "INV-VISIBLE").shown_by(_ONE),
        EPOCH_EXCHANGE.seen_by("INV-QI", "INV-VISIBLE").shown_by(_ONE),
        PLAN_REVALIDATION.shown_by(_ONE),
        MEMBERSHIP_CHECK.shown_by(_ONE, _DELETED),
        SAFEGUARD["write-before-read"].seen_by("INV-QI", "INV-VISIBLE").shown_by(_ONE),
        SAFEGUARD["old-writer-stays"].seen_by("INV-QI", "INV-VISIBLE").shown_by(_ONE),
        SAFEGUARD["streams-before-switch"].shown_by(_ONE),
        SAFEGUARD["known-before-streams"].shown_by(_ONE),
        SAFEGUARD["two-event-cancel"]
        .seen_by("INV-QI", "INV-VISIBLE")
        .shown_by({"rf": 1, "cancels": 1}),
        SAFEGUARD["stream-from-displaced"],
    )

    def placement_history(self) -> RangeHistory:
        """The plan's epochs, as one of its ranges sees them."""
        absent = {*self.off, *(UNKNOWN_TO_GOSSIP if self.mode == "gossip" else ())}
        self.ring_delay *= self.mode == "gossip"
        self.switches = exchange_of(self.exchange, absent)
        self.tcm = tcm_of(self.cluster, tuple(sorted(absent & _OF_PLANS)))
        token = busiest(self.tcm) if self.token is None else self.token
        history, self.metadata = projected(self.tcm, token, self.lag)
        return replace(history, acknowledgement=self.acknowledgement)

    def set_up(self) -> None:
        """Nodes without a replica of the range are nodes, too."""
        super().set_up()
        self.names += tuple(name for name in self.tcm.names if name not in self.names)

    def judges_streaming(self) -> bool:
        """Where another safeguard is off, the harm to show is the lost write."""
        return not self.off or not STREAMING.isdisjoint(self.off)

    def judges_quorums(self) -> bool:
        """Gossip promises nothing of the kind."""
        return self.mode == "log"

    def is_sign(self, judge: str) -> bool:
        """Quorums that miss one another are the harm of three safeguards, and else on the way."""
        return judge == "quorums-in-use" and not {*self.off} <= QUORUMS


def exchange_of(exchange: Exchange, off: set[str]) -> ExchangeSwitches:
    """The exchange of epochs without some safeguards."""
    return ExchangeSwitches(exchange, switched_off(RequestSafeguards, off & _OF_REQUESTS))


_OF_PLANS = {each.name for each in Tcm.safeguards}
_OF_REQUESTS = {name.replace("_", "-") for name in RequestSafeguards.__struct_fields__}

_LOCAL = ("K1@dc1 write LOCAL_QUORUM", "K2@dc1 read LOCAL_QUORUM")
_TWO = {"nodes": 4, "dcs": 2, "rf": 1, "strategy": "network", "requests": _LOCAL}
DELETED = ("K1 write QUORUM", "K1 delete QUORUM", "K2 read QUORUM")
ENTRY = entry(
    Dataplane,
    scenarios=(
        Scenario("write-and-read", "A write before a node joins, a read after it"),
        Scenario(
            "two-replicas",
            "The same story with two replicas. It is small enough to search quickly",
            {"rf": 2},
        ),
        Scenario(
            "no-barrier",
            "Nobody waits: is a write lost? No barrier between epochs 100 and 102",
            off=("progress-barrier",),
        ),
        Scenario("deletes", "A write, its deletion and a read", {"rf": 2, "requests": DELETED}),
        Scenario(
            "while-leaving",
            "A node leaves between a write and a read",
            {"nodes": 4, "operations": ("decommission D",)},
        ),
        Scenario("local-quorums", "Local quorums. The barrier counts all datacenters", _TWO),
        Scenario(
            "local-quorums-kept",
            "Local quorums, counted apart. The published server's barrier counts each datacenter",
            {**_TWO, "edition": "server"},
        ),
        Scenario(
            "timeouts",
            "A coordinator gives up. It can do so at any moment: what happens to the write?",
            {"timeouts": True},
        ),
        Scenario(
            "gossip", "The same by gossip. No order, no barrier, only waiting", {"mode": "gossip"}
        ),
    ),
    fuzzing=Fuzzing(
        parameters={
            "requests": DELETED,
            "timeouts": True,
            "cancels": 1,
            "crashes": 1,
            "cleaning": True,
            "collecting": True,
        }
    ),
)


class Coordinator(solo.Coordinator):
    """A coordinator whose replicas you play. The other parameters are those of ``dataplane``."""

    cluster: ClusterParameters = CLUSTER
    exchange: Exchange = EXCHANGE
    request: str = parameter(
        "K1 write QUORUM",
        "the request to the coordinator, such as `K1 write QUORUM`",
        title="request",
        written=True,
    )
    acknowledgement: Acknowledgement = ACKNOWLEDGEMENT
    retry: bool = storage.RETRY

    safeguards = (PLAN_REVALIDATION.seen_by("INV-CL").shown_by({"rf": 1}),)

    def placement_history(self) -> RangeHistory:
        """The plan's epochs, as the range sees them that moves most; no replica asks."""
        self.switches, tcm = exchange_of(self.exchange, {*self.off}), tcm_of(self.cluster)
        history = replace(project(tcm, busiest(tcm)), acknowledgement=self.acknowledgement)
        [request] = self.workload
        asks = request.coordinator
        if asks in history.replicas:
            names = ", ".join(history.replicas)
            raise BadInput("request", asks, f"a coordinator other than {names}")
        return history


COORDINATOR = entry(Coordinator)


class Replica(solo.Replica):
    """A replica whose coordinators you play. The other parameters are those of ``dataplane``."""

    cluster: ClusterParameters = CLUSTER
    exchange: Exchange = EXCHANGE
    real: str | None = parameter(
        None,
        "the real replica (null: the first node that loses the range, else the first node)",
        field="replica",
    )
    messages: int = parameter(3, "how many writes the replica can receive", ge=1, le=8)

    safeguards = (MEMBERSHIP_CHECK.seen_by("INV-OWN").shown_by({"rf": 1}),)

    def placement_history(self) -> RangeHistory:
        """The plan's epochs, as the range sees them that moves most; the replica is its."""
        self.switches, tcm = exchange_of(self.exchange, {*self.off}), tcm_of(self.cluster)
        history = project(tcm, busiest(tcm))
        last = history.epochs[-1].view.writes
        losers = [name for i, name in enumerate(history.replicas) if not holds(last, i)]
        self.replica = self.real or (losers or list(history.replicas))[0]
        check_among("replica", self.replica, history.replicas)
        return history


REPLICA = entry(Replica)
