"""The state of a table that is truncated, and what can happen to it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

TruncatePhase = Literal["idle", "asked", "opened", "sending", "closed", "done"]
"""*opened* and *closed*: the session is open, or closed, and its barrier has not passed yet."""

OLD_ROWS, NEW_ROWS = 1, 2
"""Rows of before the truncate, and rows that clients wrote once it was reported as done."""


class TruncateState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """A truncate under way.

    ``session`` is that of group 0 (0: none), ``views[i]`` the one that node ``i`` knows.
    ``answered`` is a mask of the replicas whose answer the coordinator has (volatile). ``late`` is
    a mask of nodes to which an RPC is still on its way. ``rows[i]`` are the rows on node ``i``
    (``OLD_ROWS``, ``NEW_ROWS``, a mask). ``moving``: tablets are in transition. ``lates``,
    ``changes`` and ``moves`` count what may still happen.
    """

    phase: TruncatePhase = "idle"
    session: int = 0
    views: tuple[int, ...]
    answered: int = 0
    late: int = 0
    rows: tuple[int, ...]
    written: bool = False
    moving: bool = False
    lates: int = 0
    changes: int = 0
    moves: int = 0


class AskTruncate(Struct, frozen=True, tag="truncate"):
    """A client asks to truncate the table: the request goes into the queue of group 0."""


class OpenSession(Struct, frozen=True, tag="open"):
    """The coordinator takes the request up and opens its session."""


class PassSessionBarrier(Struct, frozen=True, tag="barrier"):
    """Every node knows which session is open, and work of closed ones is over."""


class LearnSession(Struct, frozen=True, tag="apply"):
    """A node applies what group 0 says of the session."""

    node: str


class SendTruncate(Struct, frozen=True, tag="send"):
    """The coordinator sends the RPC to a replica, which deletes its rows and answers."""

    node: str


class DelayTruncate(Struct, frozen=True, tag="delay"):
    """The RPC to a replica is late: the coordinator gives it up and will send another one."""

    node: str


class ArriveTruncate(Struct, frozen=True, tag="arrive"):
    """The late RPC arrives: the node carries it out, or refuses its session."""

    node: str


class CloseSession(Struct, frozen=True, tag="close"):
    """All replicas have answered: the session is closed in a command of its own."""


class ChangeCoordinator(Struct, frozen=True, tag="elect"):
    """Another coordinator takes over; it does not know who has answered."""


class WriteRows(Struct, frozen=True, tag="write"):
    """A client that saw the truncate done writes new rows to all replicas."""


class MoveTablet(Struct, frozen=True, tag="move"):
    """Tablets of the table begin to move."""


class EndMove(Struct, frozen=True, tag="end-move"):
    """The tablets have moved."""


TruncateAction = (
    AskTruncate
    | OpenSession
    | PassSessionBarrier
    | LearnSession
    | SendTruncate
    | DelayTruncate
    | ArriveTruncate
    | CloseSession
    | ChangeCoordinator
    | WriteRows
    | MoveTablet
    | EndMove
)
