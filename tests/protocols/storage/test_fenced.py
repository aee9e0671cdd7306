"""What a coordinator of versions and fences promises, asked of states made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.protocols.storage.fenced import Fenced
from kit.protocols.storage.rules.history import Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.requests import OPEN, Request
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.storage import Admit, Serve, TimeOut

A, B, C = 1, 2, 4
ALL = A | B | C


def history(fence: int | None) -> RangeHistory:
    """The range of A, B and C, from which C is shut down."""
    views = [View(group, group, group, group, fence=fence) for group in (ALL, A | B)]
    epochs = (
        RangeEpoch(1, "", views[0], (Edge("stop C", "", 1),)),
        RangeEpoch(2, "", views[1], dead=C),
    )
    return RangeHistory("(0, 10]", 0, 10, ("A", "B", "C"), ("dc1",) * 3, epochs, admission="fence")


class Moves(Fenced):
    """Requests on that history."""

    name = title = "moves"

    def __init__(self, level: str, fence: int | None = 0) -> None:
        vars(self).update(requests=(f"K1 write {level}",), moves=history(fence))
        super().__init__()

    def placement_history(self) -> RangeHistory:
        """The moves that were made by hand."""
        moves: RangeHistory = vars(self)["moves"]
        return moves


@pytest.mark.parametrize(
    ("level", "acked", "in_flight", "down", "stopped", "fails"),
    [
        ("QUORUM", A | B, C, C, False, True),
        ("ALL", A | B, C, C, False, False),  # a quorum lives, and more was asked for
        ("QUORUM", A, B | C, B | C, False, False),  # no quorum lives
        ("ALL", A | B, C, C, True, True),  # all that are there today live
        ("ALL", A | B, C, B | C, True, False),
        ("ALL", A, B | C, B | C, True, False),
        ("QUORUM", A, B | C, C, False, False),  # B may still answer
        ("QUORUM", A, C, C, False, False),  # B has refused
    ],
)
def test_a_quorum_that_lives_is_enough(
    level: str, acked: int, in_flight: int, down: int, stopped: bool, fails: bool
) -> None:
    """No request fails while a quorum of its plan lives, or all replicas of today do."""
    model = Moves(level)
    request = Request(OPEN, 0, 0, in_flight, acked, timestamp=1)
    before = replace(model.start(), trail=int(stopped), requests=(request,), down=down)
    said = model.available(before, TimeOut(0), before)
    live = "A" if down & B else "A, B"
    wanted = (
        f"write 1, planned at epoch 1, fails at level {level}: C cannot answer; live replicas: "
    )
    assert said == (f"{wanted}{live}" if fails else None)


@pytest.mark.parametrize(
    ("fence", "known", "fails"), [(None, 1, False), (0, 1, True), (1, 1, False), (0, 0, False)]
)
def test_what_is_below_the_fence_has_no_effect(fence: int | None, known: int, fails: bool) -> None:
    """Where no fence stands, or the replica does not know of it, nothing is below it."""
    model: Any = Moves("ONE", fence)
    request = Request(OPEN, 0, 0, ALL, 0, timestamp=1)
    before = replace(model.start(), trail=1, known=(known, 0, 0, 0), requests=(request,))
    after = before.but(requests=(replace(request, acked=A),))
    said = model.fenced(before, Serve(0, "A"), after)
    wanted = "A admits write 1, planned at epoch 1, though its fence is epoch 2"
    assert said == (wanted if fails else None)


@pytest.mark.parametrize(("begun", "fails"), [(A, True), (B, False), (0, False)])
def test_nothing_below_the_fence_begins(begun: int, fails: bool) -> None:
    """Where replicas take time, they are not to be at work on it either."""
    model: Any = Moves("ONE")
    request = Request(OPEN, 0, 0, ALL, 0, timestamp=1, begun=0)
    before = replace(model.start(), trail=1, known=(1, 0, 0, 0), requests=(request,))
    after = before.but(requests=(replace(request, begun=begun),))
    wanted = "A admits write 1, planned at epoch 1, though its fence is epoch 2"
    assert model.fenced(before, Admit(0, "A"), after) == (wanted if fails else None)
