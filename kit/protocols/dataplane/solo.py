"""The two models of one real node in the registry: its range comes from a real plan, too."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.dataplane.projection import busiest, project
from kit.protocols.dataplane.safeguards import SAFEGUARDS
from kit.protocols.storage.actions import RequestOptions
from kit.protocols.storage.rules.exchange import Exchange, Switches
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.requests import parse_request
from kit.protocols.storage.rules.view import Acknowledgement
from kit.protocols.storage.solo import Coordinator, Replica
from kit.protocols.tcm.model import Tcm
from kit.protocols.tcm.parameters import TcmParameters

MOST_MESSAGES = 8
_OWN = {guard.name: guard for guard in SAFEGUARDS}


class SoloParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cluster and the operation whose range it is.

    Both models take them; they are those of the dataplane model.
    """

    nodes: int = 3
    rf: int = 3
    operations: tuple[str, ...] = ()
    epoch: int = 99
    exchange: Exchange = "epoch"


class CoordinatorParameters(SoloParameters, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``request`` is what the coordinator is asked, such as ``K1 write QUORUM``.

    The others are those of the dataplane model.
    """

    request: str = "K1 write QUORUM"
    acknowledgement: Acknowledgement = "union"
    retry: bool = False


class ReplicaParameters(SoloParameters, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``replica`` is the real replica's name; ``messages`` how many writes it may get.

    None stands for the first that loses the range, else the first. The others are those of the
    dataplane model.
    """

    replica: str | None = None
    messages: int = 3


def _history(given: SoloParameters) -> RangeHistory:
    tcm = Tcm(
        TcmParameters(
            nodes=given.nodes, rf=given.rf, operations=given.operations, epoch=given.epoch
        )
    )
    return project(tcm, busiest(tcm))


def coordinator(given: CoordinatorParameters, off: tuple[str, ...] = ()) -> Coordinator:
    """A coordinator whose replicas are you.

    Raises:
        BadInput: naming the parameter that is out of its limits.
    """
    options = RequestOptions(Switches.of(given.exchange, off), retry=given.retry)
    history = replace(_history(given), acknowledgement=given.acknowledgement)
    request = parse_request(given.request)
    if request.coordinator in history.replicas:
        names = ", ".join(history.replicas)
        raise BadInput("request", request.coordinator, f"a coordinator that is none of {names}")
    model = Coordinator(history, request, options)
    model.parameters, model.off = given, off
    model.safeguards = COORDINATORS
    return model


def replica(given: ReplicaParameters, off: tuple[str, ...] = ()) -> Replica:
    """A replica whose coordinators are you.

    Raises:
        BadInput: naming the parameter that is out of its limits.
    """
    history = _history(given)
    if not 1 <= given.messages <= MOST_MESSAGES:
        raise BadInput("messages", given.messages, f"a number from 1 to {MOST_MESSAGES}")
    last = history.epochs[-1].view.writes
    losers = [name for i, name in enumerate(history.replicas) if not last >> i & 1]
    name = given.replica or (losers or list(history.replicas))[0]
    if name not in history.replicas:
        raise BadInput("replica", name, "one of " + ", ".join(history.replicas))
    model = Replica(history, name, Switches.of(given.exchange, off), given.messages)
    model.parameters, model.off = given, off
    model.safeguards = REPLICAS
    return model


COORDINATORS = (_OWN["plan-revalidation"],)
REPLICAS = (_OWN["membership-check"],)
