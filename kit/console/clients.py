"""What programs ask of a cluster's rows, and what they are told: the answers of a coordinator.

A request of a client is an action of a model. Which one it is, what becomes of it by itself and
what the client is told are the matter of the family (``RowServers``); a server of a protocol only
puts the answer into a frame.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from kit.console.drill import DrillMoment
from kit.console.server import Servers
from kit.model.model import Model

RequestKind = Literal["write", "delete", "read"]
Verdict = Literal["done", "unavailable", "timeout", "failure"]


class RowRequest(Struct, frozen=True):
    """A client's request to a coordinator: by name, at a consistency level."""

    coordinator: str
    kind: RequestKind
    level: str


class RowAnswer(Struct, frozen=True):
    """The answer to a client's request, and ``why`` in words.

    ``needed`` answers were wanted and ``received`` came, or for *unavailable* so many replicas are
    alive; ``failures`` answered an error. ``writer`` is the number of the request that wrote what a
    read returns (None: it returns no row).
    """

    verdict: Verdict
    needed: int = 0
    received: int = 0
    failures: int = 0
    writer: int | None = None
    why: str = ""


class RowServers(Servers):
    """The servers of a model in which clients write and read one row."""

    def key(self, now: DrillMoment) -> int:
        """The key of the row that the model follows."""
        raise NotImplementedError

    def coordinates(self, now: DrillMoment, at: int) -> bool:
        """Whether a node coordinates requests in the model."""
        raise NotImplementedError

    def with_request(
        self, now: DrillMoment, request: RowRequest, taken: Collection[int]
    ) -> tuple[Model[Any, Any], int]:
        """The model in which a client asks for this, too, and the number of the request, which is
        none of those that are ``taken``.

        Raises BadInput for a level that the model has not, or one request too many.
        """
        raise NotImplementedError

    def slimmer(
        self, now: DrillMoment, finished: Collection[int]
    ) -> tuple[Model[Any, Any], Sequence[int], Callable[[Any], Any]] | None:
        """The model without those of the requests that left nothing behind: with the numbers that
        the others had, and what each action is there (None: that of a request that is gone).
        """
        raise NotImplementedError

    def stored(self, now: DrillMoment, numbers: Sequence[int]) -> object:
        """The data that all servers hold; requests go by these numbers."""
        raise NotImplementedError

    def epoch(self, now: DrillMoment, at: int) -> int:
        """The epoch that a node knows."""
        raise NotImplementedError

    def next_step(
        self, now: DrillMoment, number: int, held: Mapping[str, int], *, begins: bool
    ) -> Any | None:
        """The next step of a request that happens by itself: an action; None where somebody is
        waited for.

        Nothing reaches those that are ``held``, each since the epoch that it knew; a coordinator
        that is held plans by that one, or by the oldest that it may still plan by. A request that
        does not begin yet is left alone.
        """
        raise NotImplementedError

    def answer(self, now: DrillMoment, number: int) -> RowAnswer | None:
        """The answer that the client of a request has by now; None: it waits."""
        raise NotImplementedError

    def refusal(self, now: DrillMoment, number: int, held: Mapping[str, int]) -> RowAnswer | None:
        """Why nothing is sent at all: too few replicas of the plan live. None: it is sent."""
        raise NotImplementedError
