"""What a coordinator of versions and fences promises, asked of states made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from kit.protocols.storage.fenced import Fenced
from kit.protocols.storage.rules.history import Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.requests import NOTHING, OPEN, Request, written
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.storage import Admit, LandLate, Serve, TimeOut

A, B, C = 1, 2, 4
ALL = A | B | C


def history(fence: int | None, dead: tuple[int, int] = (0, C)) -> RangeHistory:
    """The range of A, B and C, from which C is shut down."""
    views = [View(group, group, group, group, fence=fence) for group in (ALL, A | B)]
    epochs = (
        RangeEpoch(1, "", views[0], (Edge("stop C", "", 1),), dead=dead[0]),
        RangeEpoch(2, "", views[1], dead=dead[1]),
    )
    return made(*epochs)


def made(*epochs: RangeEpoch) -> RangeHistory:
    """What becomes of the range of A, B and C."""
    return RangeHistory("(0, 10]", 0, 10, ("A", "B", "C"), ("dc1",) * 3, epochs, admission="fence")


class Moves(Fenced):
    """Requests on that history."""

    name = title = "moves"

    def __init__(self, level: str, moves: RangeHistory | None = None) -> None:
        vars(self).update(requests=(f"K1 write {level}",), moves=moves or history(0))
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
    ("dead", "fails"),
    [((0, C), True), ((0, 0), False), ((C, C), False), ((C, 0), False), ((0, B | C), True)],
)
def test_only_who_was_shut_down_since_the_plan_may_not_be_lacking(
    dead: tuple[int, int], fails: bool
) -> None:
    """All of today's replicas live, and C, which is none any more, does not answer: that is the
    operation's fault if it has shut C down since then, and not if C failed, or was dead before.
    """
    model = Moves("ALL", history(0, dead))
    request = Request(OPEN, 0, 0, C, A | B, timestamp=1)
    before = replace(model.start(), trail=1, requests=(request,), down=C)
    assert bool(model.available(before, TimeOut(0), before)) is fails


@pytest.mark.parametrize(
    ("old", "new", "acked", "fails"),
    [
        (A, A | B, A, False),  # A alone is no quorum of the new ones
        (A | B, A, A, False),  # nor of the old ones
        (A, A, A, True),
        (A | C, A, A | C, True),
        (A, A | C, A | C, True),
        (B, A, A, False),
    ],
)
def test_a_quorum_of_old_and_of_new_replicas_has_to_live(
    old: int, new: int, acked: int, fails: bool
) -> None:
    """While replicas change, each group needs its own; B does not live."""
    writes = old | new | B
    view = View(old, writes, old, new, fence=0)
    model = Moves("QUORUM", made(RangeEpoch(1, "", view)))
    request = Request(OPEN, 0, 0, writes & ~acked, acked, timestamp=1)
    before = replace(model.start(), requests=(request,), down=B)
    assert bool(model.available(before, TimeOut(0), before)) is fails


@pytest.mark.parametrize(
    ("groups", "down", "live"),
    [((A | C, A | B), C, "A, B"), ((A | B, B | C), A, "B, C"), ((A | B, B), A, "B")],
)
def test_whoever_could_have_answered_is_named(
    groups: tuple[int, int], down: int, live: str
) -> None:
    """The replicas of the plan and those of today, as far as they live."""
    views = [View(group, group, group, group, fence=0) for group in groups]
    epochs = (
        RangeEpoch(1, "", views[0], (Edge("swap", "", 1),)),
        RangeEpoch(2, "", views[1], dead=down),
    )
    model = Moves("ALL", made(*epochs))
    request = Request(OPEN, 0, 0, down, groups[0] & ~down, timestamp=1)
    before = replace(model.start(), trail=1, requests=(request,), down=down)
    name = {A: "A", C: "C"}[down]
    assert model.available(before, TimeOut(0), before) == (
        f"write 1, planned at epoch 1, fails at level ALL: {name} cannot answer; live replicas: "
        f"{live}"
    )


def test_answers_are_judged_unless_a_model_says_otherwise() -> None:
    """It is one of the promises of every such coordinator."""
    assert Moves("ONE").judges_answers()
    assert "available" in [each.name for each in Moves("ONE").properties]


@pytest.mark.parametrize(
    ("fence", "known", "fails"), [(None, 1, False), (0, 1, True), (1, 1, False), (0, 0, False)]
)
def test_what_is_below_the_fence_has_no_effect(fence: int | None, known: int, fails: bool) -> None:
    """Where no fence stands, or the replica does not know of it, nothing is below it."""
    model: Any = Moves("ONE", history(fence))
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


@pytest.mark.parametrize(
    ("before", "after", "stores", "fails"),
    [
        (None, None, False, False),
        (None, None, True, True),  # where replicas take no time
        (0, 0, True, True),  # it is stored, and A was not at work on it
        (A, 0, True, False),  # A began before it knew the fence
        (A, A, False, False),
        (A, A, True, False),
        (B, B, True, True),
    ],
)
def test_what_began_before_the_fence_may_be_stored(
    before: int | None, after: int | None, stores: bool, fails: bool
) -> None:
    """Nothing else that was planned below it is stored."""
    model: Any = Moves("ONE")
    at_work, left = (UNSET if begun is None else begun for begun in (before, after))
    request = Request(OPEN, 0, 0, ALL, 0, timestamp=1, begun=at_work)
    state = replace(model.start(), trail=1, known=(1, 0, 0, 0), requests=(request,))
    cells = (written(1), NOTHING, NOTHING) if stores else state.cells
    served = state.but(requests=(replace(request, begun=left),), cells=cells)
    wanted = "A admits write 1, planned at epoch 1, though its fence is epoch 2"
    assert model.fenced(state, Serve(0, "A"), served) == (wanted if fails else None)


@pytest.mark.parametrize(
    ("known", "session", "stores", "fails"),
    [
        (1, 7, True, False),
        (1, 6, True, True),
        (0, 7, True, True),  # B does not know yet that it is open
        (2, 7, True, True),  # B knows already that it is closed
        (1, 6, False, False),
        (0, 7, False, False),
    ],
)
def test_a_late_copy_works_only_under_a_session_that_is_open(
    known: int, session: int, stores: bool, fails: bool
) -> None:
    """As its target knows of it, whoever else knows more."""
    view = View(ALL, ALL, ALL, ALL)
    epochs = (
        RangeEpoch(1, "", view, (Edge("open", "", 1),)),
        RangeEpoch(2, "", view, (Edge("close", "", 2),), session=7),
        RangeEpoch(3, "", view),
    )
    model: Any = Moves("ONE", made(*epochs))
    before = replace(model.start(), trail=2, known=(1, known, 1, 0))
    after = before.but(cells=(NOTHING, written(1), NOTHING)) if stores else before
    action = LandLate("A", "B", session)
    wanted = (
        f"B, at epoch {known + 1}, takes a copy with the permit of session {session}, "
        "which is not open there"
    )
    assert model.session(before, action, after) == (wanted if fails else None)
