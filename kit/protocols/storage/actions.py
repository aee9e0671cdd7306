"""The state of one data range with its requests, and everything that can happen to it."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from kit.protocols.storage.rules.exchange import ExchangeSwitches
from kit.protocols.storage.rules.read_repair import ReadRepair
from kit.protocols.storage.rules.requests import Request

CopyProgress = int
"""How far a copy is: ``NOT_COPIED``, ``COPIED``, or the cell that is on its way (0 or more)."""
NOT_COPIED: CopyProgress = -2
COPIED: CopyProgress = -1


def is_under_way(copied: CopyProgress) -> bool:
    """Whether a copy was read at its source and has not arrived."""
    return copied not in (NOT_COPIED, COPIED)


class RequestOptions(Struct, frozen=True):
    """How requests are served.

    ``together``: clients do not wait for one another, only each coordinator for itself.
    ``timeouts``: a request may time out at any moment, not only when it is stuck. ``repair``:
    what a read writes back before it is answered. ``retry``: a request whose plan went stale
    is sent again. ``ring_delay``: how many ticks an event waits after the one before it, where
    nothing but that wait guards it (0: no clock). ``crashes`` and ``losses`` (of messages) are
    budgets, and ``late`` is one of copies that outlive their session; ``cleaning`` and
    ``collecting`` add those actions. ``slow``: a replica begins what a message asks in one step and
    ends it in another, and is asked both times whether it admits it.
    """

    switches: ExchangeSwitches = ExchangeSwitches()
    together: bool = False
    timeouts: bool = False
    repair: ReadRepair = "none"
    retry: bool = False
    ring_delay: int = 0
    crashes: int = 0
    cleaning: bool = False
    collecting: bool = False
    losses: int = 0
    late: int = 0
    slow: bool = False


class LateCopy(Struct, frozen=True, order=True):
    """A copy that was read at its source and was not told of the end of its operation's step.

    ``source`` and ``target`` are replicas, ``cell`` is what it brings, ``session`` the permit that
    it was sent with.
    """

    source: int
    target: int
    cell: int
    session: int


class StorageState(Struct, frozen=True, cache_hash=True):
    """What is committed, who knows it, who holds what, and where each request stands.

    ``at`` is the number of the trail that is committed; ``known`` the index of the epoch that each
    replica has applied, then each coordinator's; ``cells`` a cell per replica, ``copies``
    how far each copy of the present epoch is. ``down`` and ``cleaned`` are masks of replicas;
    ``waited`` counts the ticks since the last event, ``lost`` the messages lost, where some may be;
    ``late_copies`` are the copies of earlier steps that are still on their way, where some may be,
    and ``late_left`` is how many of them may still arrive.
    """

    at: int
    known: tuple[int, ...]
    cells: tuple[int, ...]
    copies: tuple[CopyProgress, ...]
    requests: tuple[Request, ...]
    down: int = 0
    cleaned: int = 0
    crashes: int = 0
    waited: int = 0
    lost: int | UnsetType = UNSET  # unset, it is no part of a fingerprint
    late_copies: tuple[LateCopy, ...] | UnsetType = UNSET
    late_left: int | UnsetType = UNSET


class Commit(Struct, frozen=True, tag="commit"):
    """The next event of the history is committed; ``verb`` names it."""

    verb: str


class ApplyEpoch(Struct, frozen=True, tag="apply"):
    """A node applies its next epoch."""

    node: str


class Fetch(Struct, frozen=True, tag="fetch"):
    """A copy reads the range at its source."""

    source: str
    target: str


class Land(Struct, frozen=True, tag="land"):
    """What a copy read arrives at its target."""

    source: str
    target: str


class LandLate(Struct, frozen=True, tag="land-late"):
    """A copy that outlived its session arrives, with the permit of that session."""

    source: str
    target: str
    session: int


class Start(Struct, frozen=True, tag="start"):
    """A coordinator, at some epoch that it has learned by now, plans a request and sends it."""

    request: int
    epoch: int


class Admit(Struct, frozen=True, tag="admit"):
    """A replica gets a message and begins what it asks, or refuses it at once."""

    request: int
    replica: str


class Serve(Struct, frozen=True, tag="serve"):
    """A replica gets the message of a request and answers."""

    request: int
    replica: str


class WriteBack(Struct, frozen=True, tag="write-back"):
    """A replica gets what a read found, which is written back, and answers."""

    request: int
    replica: str


class Lose(Struct, frozen=True, tag="lose"):
    """The message of a request to a replica is lost: nobody waits for its answer any more."""

    request: int
    replica: str


class Finish(Struct, frozen=True, tag="finish"):
    """The coordinator has enough answers, validates its plan again, and answers the client.

    A read that is repaired first writes back what it found, and is answered by a second such step.
    """

    request: int


class TimeOut(Struct, frozen=True, tag="time-out"):
    """The coordinator gives up: too few answers will ever come, or none came in time."""

    request: int


class ReplicaCrash(Struct, frozen=True, tag="crash"):
    """A replica stops for good; what is on its disk is out of reach."""

    replica: str


class Tick(Struct, frozen=True, tag="tick"):
    """Some time passes."""


class Cleanup(Struct, frozen=True, tag="cleanup"):
    """A replica that lost the range removes what is left of it on its disk."""

    replica: str


class CollectTombstones(Struct, frozen=True, tag="collect-tombstones"):
    """A replica forgets a tombstone whose time is over."""

    replica: str
