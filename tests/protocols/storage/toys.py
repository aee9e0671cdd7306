"""Small histories of three kinds, made by hand: a range goes from replica A to replica X.

Each is what one protocol makes of the same move: epochs with majority barriers (CEP-21), versions
with fences or drains (topology changes over Raft), stages (tablets). Each can be made
without one of its rules.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.protocols.storage.rules.conditions import (
    AllKnow,
    Condition,
    MajorityKnows,
    NothingBelow,
    SessionClosed,
)
from kit.protocols.storage.rules.history import CopyTask, Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.storage import Storage

A, X = 1, 2
BOTH = A | X
NEVER = MajorityKnows(0, 1)
TO_X = CopyTask(0, 1)
REQUESTS = ("K1 write QUORUM", "K2 read QUORUM")


def history(*epochs: RangeEpoch, **rules: Any) -> RangeHistory:
    """The range (0, 10] of A and X."""
    return RangeHistory("(0, 10]", 0, 10, ("A", "X"), ("dc1", "dc1"), epochs, **rules)


def epoch(
    number: int,
    reads: int,
    writes: int,
    *edges: Edge,
    copies: tuple[CopyTask, ...] = (),
    fence: int | None = None,
) -> RangeEpoch:
    """An epoch of the move; owners are A before it and X after it."""
    old, new = (reads, reads) if reads == writes else (A, X)
    view = View(reads, writes, old, new, fence=fence)
    return RangeEpoch(number, f"epoch {number}", view, edges, copies)


def without(condition: Condition, missing: str) -> tuple[Condition, ...]:
    """A condition, unless its kind is the rule that is missing."""
    return () if type(condition).__name__ == missing else (condition,)


def epochs(missing: str = "") -> RangeHistory:
    """CEP-21: each step waits for a majority of old and new replicas; X may leave A again later."""
    known = without(MajorityKnows(BOTH, 2), missing)
    copy = (CopyTask(0, 1, known),)
    return history(
        epoch(1, A, A, Edge("add", "", 1)),
        epoch(2, A, BOTH, Edge("switch", "", 2, known, True, True), copies=copy),
        epoch(3, X, BOTH, Edge("drop", "", 3, known)),
        epoch(4, X, X),
        acknowledgement="natural" if missing == "union" else "union",
    )


def versions(missing: str = "") -> RangeHistory:
    """Topology changes: every node knows a version before it is fenced off; failing leads back.

    A fence is an event of its own: who knows it refuses what was planned before that version.
    Where sessions are not closed, a copy goes on after the rollback.
    """
    known = without(AllKnow(BOTH), missing)
    closed = without(SessionClosed(), missing)
    left = () if closed else (replace(TO_X, conditions=(NEVER,)),)
    copy = (replace(TO_X, conditions=known),)
    back = Edge("roll back", "", 0, (*known, *closed))
    rules: dict[str, Any] = {
        "admission": "all" if missing == "fence" else "fence",
        "acknowledgement": "natural" if missing == "joint" else "joint",
    }
    return history(
        epoch(1, A, A, Edge("write both", "", 1, regains=X), copies=left, fence=0),
        epoch(2, A, BOTH, Edge("fence writes", "", 2, known), fence=1),
        epoch(
            3, A, BOTH, Edge("read new", "", 3, (*known, *closed), True, True), back,
            copies=copy, fence=1,
        ),
        epoch(4, X, BOTH, Edge("fence reads", "", 4, known), fence=2),
        epoch(5, X, BOTH, Edge("finish", "", 5, known), fence=1),
        epoch(6, X, X, fence=2),
        lag=4,
        **rules,
    )  # fmt: skip


def drains(missing: str = "") -> RangeHistory:
    """Topology changes without fences: each version waits until the older requests are over."""
    over = (*without(AllKnow(BOTH), missing), *without(NothingBelow(), missing))
    return history(
        epoch(1, A, A, Edge("write both", "", 1)),
        epoch(
            2, A, BOTH, Edge("read new", "", 2, over, True, True), copies=(CopyTask(0, 1, over),)
        ),
        epoch(3, X, BOTH, Edge("finish", "", 3, over)),
        epoch(4, X, X),
        admission="all",
        acknowledgement="joint",
    )


def stages(missing: str = "") -> RangeHistory:
    """Tablets: replicas admit requests of adjacent stages only; failing to stream leads back."""
    known = without(AllKnow(BOTH), missing)
    closed = without(SessionClosed(), missing)
    left = () if closed else (replace(TO_X, conditions=(NEVER,)),)
    copy = (replace(TO_X, conditions=known),)
    back = Edge("revert", "", 0, (*known, *closed))
    rules: dict[str, Any] = {
        "admission": "all" if missing == "one-stage-apart" else "one-stage-apart",
        "acknowledgement": "natural" if missing == "quorum-plus-pending" else "quorum-plus-pending",
    }
    return history(
        epoch(1, A, A, Edge("write both", "", 1, known, regains=X), copies=left),
        epoch(2, A, BOTH, Edge("stream", "", 2, known)),
        epoch(
            3, A, BOTH, Edge("read new", "", 3, (*known, *closed), True, True), back, copies=copy
        ),
        epoch(4, X, BOTH, Edge("use new", "", 4, known)),
        epoch(5, X, X),
        lag=4,
        **rules,
    )


class Toy(Storage):
    """Requests on a hand-made history; what a client can see is judged."""

    name = title = "toy"

    def __init__(self, moves: RangeHistory, options: dict[str, Any]) -> None:
        """The range of these moves, with options that other models take as parameters."""
        vars(self).update(options, moves=moves)
        super().__init__()

    def placement_history(self) -> RangeHistory:
        """The moves that were made by hand."""
        history: RangeHistory = vars(self)["moves"]
        return history

    def judges_streaming(self) -> bool:
        """A search goes on until a client misses something."""
        return False


def toy(moves: RangeHistory, requests: tuple[str, ...] = REQUESTS, **options: Any) -> Storage:
    """A model of requests on moves that were made by hand."""
    return Toy(moves, {"requests": requests, **options})
