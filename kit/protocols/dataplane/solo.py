"""The two models of one real node in the registry: its range comes from a real plan, too."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.dataplane.parameters import (
    USUAL_CLUSTER,
    AcknowledgementName,
    ExchangeName,
    Retry,
)
from kit.protocols.dataplane.projection import busiest, project, tcm_of
from kit.protocols.storage.actions import RequestOptions
from kit.protocols.storage.rules.exchange import ExchangeSwitches, RequestSafeguards
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.masks import holds
from kit.protocols.storage.rules.requests import parse_request
from kit.protocols.storage.safeguards import MEMBERSHIP_CHECK, PLAN_REVALIDATION
from kit.protocols.storage.solo import Coordinator, Replica
from kit.protocols.tcm.parameters import ClusterParameters

MOST_MESSAGES = 8


class SoloParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cluster and the operation whose range it is, as the dataplane model takes them."""

    cluster: ClusterParameters = USUAL_CLUSTER
    exchange: ExchangeName = "epoch"


class CoordinatorParameters(SoloParameters, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The coordinator's request; the others are those of the dataplane model."""

    request: Annotated[
        str,
        Meta(
            title="request",
            description="what the coordinator is asked, such as `K1 write QUORUM`",
            extra_json_schema={"written": True},
        ),
    ] = "K1 write QUORUM"
    acknowledgement: AcknowledgementName = "union"
    retry: Retry = False


class ReplicaParameters(SoloParameters, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The real replica and its messages; the others are those of the dataplane model."""

    replica: Annotated[
        str | None,
        Meta(description="the real one (null: the first that loses the range, else the first)"),
    ] = None
    messages: Annotated[
        int, Meta(description="how many writes it may get", ge=1, le=MOST_MESSAGES)
    ] = 3


def _history(given: SoloParameters) -> RangeHistory:
    check_limits(given)
    tcm = tcm_of(given.cluster)
    return project(tcm, busiest(tcm))


def coordinator(given: CoordinatorParameters, off: tuple[str, ...] = ()) -> Coordinator:
    """A coordinator whose replicas are you.

    Raises:
        BadInput: naming the parameter that is out of its limits.
    """
    options = RequestOptions(_switches(given, off), retry=given.retry)
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
    last = history.epochs[-1].view.writes
    losers = [name for i, name in enumerate(history.replicas) if not holds(last, i)]
    name = given.replica or (losers or list(history.replicas))[0]
    if name not in history.replicas:
        raise BadInput("replica", name, "one of " + ", ".join(history.replicas))
    model = Replica(history, name, _switches(given, off), given.messages)
    model.parameters, model.off = given, off
    model.safeguards = REPLICAS
    return model


def _switches(given: SoloParameters, off: tuple[str, ...]) -> ExchangeSwitches:
    return ExchangeSwitches(given.exchange, switched_off(RequestSafeguards, off))


COORDINATORS = (PLAN_REVALIDATION.seen_by("INV-CL").shown_by({"rf": 1}),)
REPLICAS = (MEMBERSHIP_CHECK.seen_by("INV-OWN").shown_by({"rf": 1}),)
