"""What can happen while a node joins, beside what messages do."""

from __future__ import annotations

from msgspec import Struct


class PlaceRequest(Struct, frozen=True, tag="place"):
    """A member checks a request with group 0, puts it into the queue, and answers the joiner."""

    node: str


class TakeRequest(Struct, frozen=True, tag="take"):
    """The coordinator finds the request, checks the rest, and accepts or rejects it."""


class AddMember(Struct, frozen=True, tag="add"):
    """The coordinator adds the joiner to the configuration of group 0."""


class Respond(Struct, frozen=True, tag="respond"):
    """The coordinator sends its verdict."""


class CallFails(Struct, frozen=True, tag="call-fails"):
    """The coordinator learns that its response, or the answer to it, was lost."""


class Conclude(Struct, frozen=True, tag="conclude"):
    """The coordinator has the joiner's answer; the operation goes on and ends well."""


class EnableFeature(Struct, frozen=True, tag="enable"):
    """The coordinator enables the feature that all nodes support."""


class StartAgain(Struct, frozen=True, tag="start-again"):
    """The joiner crashes, if it runs, and starts again; some of its features may be disabled."""

    drop: bool


class WipeAndStart(Struct, frozen=True, tag="wipe-and-start"):
    """The joiner's data directory is cleared; it starts with a new host id."""


class StopWaiting(Struct, frozen=True, tag="give-up"):
    """The joiner's call was lost, or nobody answers it any more: it stops."""


class LearnOutcome(Struct, frozen=True, tag="learn"):
    """The accepted joiner sees in group 0 what has become of its join."""


class MemberRestarts(Struct, frozen=True, tag="restart-member"):
    """A member crashes and starts again; what it was at is forgotten."""

    node: str


class TakeTheLead(Struct, frozen=True, tag="elect"):
    """A member becomes the leader of group 0 and so the coordinator."""

    node: str


class WakeUp(Struct, frozen=True, tag="wake-up"):
    """The removed node hears the others again, and sends what it had not sent."""


OWN = (
    PlaceRequest,
    TakeRequest,
    AddMember,
    Respond,
    CallFails,
    Conclude,
    EnableFeature,
    StartAgain,
    WipeAndStart,
    StopWaiting,
    LearnOutcome,
    MemberRestarts,
    TakeTheLead,
    WakeUp,
)
"""All of them."""
