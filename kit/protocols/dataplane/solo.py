"""The two models of one real node in the registry: its range comes from a real plan, too."""

from __future__ import annotations

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.dataplane.projection import busiest, project
from kit.protocols.dataplane.safeguards import SAFEGUARDS
from kit.protocols.storage.actions import Terms
from kit.protocols.storage.rules.exchange import Exchange, Switches
from kit.protocols.storage.rules.history import Course
from kit.protocols.storage.rules.levels import Reading
from kit.protocols.storage.rules.requests import parse_ask
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
    reading: Reading = "whole-group"
    retry: bool = False


class ReplicaParameters(SoloParameters, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``replica`` is the real replica's name; ``messages`` how many writes it may get.

    None stands for the first that loses the range, else the first. The others are those of the
    dataplane model.
    """

    replica: str | None = None
    messages: int = 3


def _course(given: SoloParameters) -> Course:
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
    terms = Terms(Switches.of(given.exchange, off), given.reading, retry=given.retry)
    course, ask = _course(given), parse_ask(given.request)
    if ask.coordinator in course.replicas:
        names = ", ".join(course.replicas)
        raise BadInput("request", ask.coordinator, f"a coordinator that is none of {names}")
    model = Coordinator(course, ask, terms)
    model.parameters, model.off = given, off
    model.safeguards = COORDINATORS
    return model


def replica(given: ReplicaParameters, off: tuple[str, ...] = ()) -> Replica:
    """A replica whose coordinators are you.

    Raises:
        BadInput: naming the parameter that is out of its limits.
    """
    course = _course(given)
    if not 1 <= given.messages <= MOST_MESSAGES:
        raise BadInput("messages", given.messages, f"a number from 1 to {MOST_MESSAGES}")
    last = course.moments[-1].view.writes
    losers = [name for i, name in enumerate(course.replicas) if not last >> i & 1]
    name = given.replica or (losers or list(course.replicas))[0]
    if name not in course.replicas:
        raise BadInput("replica", name, "one of " + ", ".join(course.replicas))
    model = Replica(course, name, Switches.of(given.exchange, off), given.messages)
    model.parameters, model.off = given, off
    model.safeguards = REPLICAS
    return model


COORDINATORS = (_OWN["plan-recheck"],)
REPLICAS = (_OWN["membership-check"],)
