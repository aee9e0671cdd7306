"""Refinement: a fine model does what a coarse one does, and a wrong map is found and named."""

from __future__ import annotations

from typing import Any

from kit.model.model import Refinement
from kit.protocols.twophase.twophase import (
    ABORTED,
    COMMITTED,
    ReceiveDecision,
    TwoPhase,
    TwoPhaseParameters,
)
from kit.search.check import Result, check_refinement
from tests.model.toys import Cell, Go, Graph

FINE = TwoPhase(TwoPhaseParameters(3))

# The coarse view of a transaction: 0 open, 1 and 2 some, or all, hold the outcome *commit*; 3, 4
# likewise *abort*. A manager that gives up settles nothing for the others.
COARSE = Graph({0: (1, 3), 1: (2,), 3: (4,)})


def project(s: Any) -> Cell:
    """Open until the decision; then whether everybody has carried it out."""
    if s.tm == COMMITTED:
        return Cell(2 if s.committed == FINE.everybody else 1)
    if s.tm == ABORTED:
        return Cell(4 if s.aborted == FINE.everybody else 3)
    return Cell(0)


def image(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
    """The coarse steps of a fine one: none unless the coarse state moves."""
    was, now = project(before).at, project(after).at
    if was == now:
        return ()
    return (Go(3), Go(4)) if (was, now) == (0, 4) else (Go(now),)


def refined(fine: Any = FINE, coarse: Any = COARSE, **maps: Any) -> Result:
    """The verdict on a refinement with one of the maps replaced."""
    given = {"project": project, "image": image, **maps}
    return check_refinement(Refinement(fine, coarse, given["project"], given["image"]))


def test_the_right_map_passes() -> None:
    """Every reachable step of the fine model is its image in the coarse one."""
    result = refined()
    assert result.violation is None, result
    assert result.complete, result
    assert result.states == 288


def test_a_wrong_image_is_named_with_its_shortest_run() -> None:
    """A map that forgets the last manager's obedience fails at that very step."""
    result = refined(image=lambda b, a, n: () if isinstance(a, ReceiveDecision) else image(b, a, n))
    assert result.violation is not None
    assert "leads to a different state than its image" in result.violation.witness
    assert isinstance(result.violation.actions[-1], ReceiveDecision)
    assert FINE.verb(result.violation.actions[-1]) in result.violation.witness


def test_an_image_that_the_coarse_model_refuses_is_named() -> None:
    """A map that sends a step to an action that is not there says which, and why not."""
    result = refined(image=lambda b, a, n: (Go(2),))
    assert result.violation is not None
    assert "go 2" in result.violation.witness
    assert "is refused there" in result.violation.witness
    assert len(result.violation.actions) == 1


def test_a_wrong_projection_is_found() -> None:
    """A projection that mistakes commit for abort does not hold."""
    swapped = {0: 0, 1: 3, 2: 4, 3: 1, 4: 2}
    result = refined(project=lambda s: Cell(swapped[project(s).at]))
    assert result.violation is not None


def test_another_start_is_no_refinement() -> None:
    """A fine model whose start is not the coarse one's fails before any step."""
    result = refined(project=lambda s: Cell(1))
    assert result.violation is not None
    assert "start" in result.violation.witness
    assert (result.states, result.transitions, result.depth, result.complete) == (1, 0, 0, False)
    assert result.violation.actions == ()


def test_a_bounded_search_says_so() -> None:
    """A refinement checked in part is not called complete."""
    result = check_refinement(Refinement(FINE, COARSE, project, image), max_states=100)
    assert result.violation is None, result
    assert not result.complete
    assert result.states == 100
