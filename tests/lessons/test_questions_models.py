"""Questions on a model as a whole are answered by a search of it."""

from __future__ import annotations

import pytest

from kit.errors import KitError
from kit.lessons import fails, how_many, predict, shortest
from kit.lessons.predictions import NONE
from kit.model.model import Monitor, always, goal
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseParameters
from kit.search.check import check
from tests.model.toys import Graph
from tests.search.test_check import Rash


def test_what_breaks_first_is_what_the_search_finds() -> None:
    """The right choice is the property of the shortest run, and a wrong one is shown that run."""
    model = Rash()
    prediction = predict(model, fails)
    assert prediction.choices == ("No manager commits while another aborts", NONE)
    verdict = prediction.answer(NONE)
    assert not verdict.passed
    assert "The shortest run that breaks one: " in repr(verdict)
    assert verdict.evidence is not None
    assert "[BROKEN] No manager commits while another aborts" in repr(verdict.evidence)
    assert prediction.answer("No manager commits while another aborts").passed


def test_nothing_breaks_is_an_answer() -> None:
    """Where nothing breaks, none is the right choice; goals and monitors are offered, too."""
    model = Graph({0: (1,), 1: (0,)}, goal("home", "One can come home", lambda s: s.at == 0))
    model.monitors = (
        Monitor("m", "Something of the way", int, lambda m, b, a, n: 0, lambda m: None),
    )
    prediction = predict(model, fails)
    assert prediction.choices == ("One can come home", "Something of the way", NONE)
    assert prediction.answer(NONE).passed
    with pytest.raises(KitError, match="no run of graph breaks anything"):
        predict(model, shortest)


def test_the_shortest_run_is_as_long_as_the_search_says() -> None:
    """Four lengths are offered, the right one among them."""
    found = check(Rash()).violation
    assert found is not None
    prediction = predict(Rash(), shortest)
    assert prediction.answer(len(found.actions)).passed
    assert not prediction.answer(len(found.actions) - 1).passed
    wrong = always("start", "Wrong at once", lambda s: "here")
    assert predict(Graph({}, wrong), shortest).choices[0] == "1"
    assert predict(Graph({0: (1,)}, wrong), fails).answer("Wrong at once").passed


def test_how_many_states_there_are() -> None:
    """The right number is that of the search; with large numbers the thousands are marked."""
    assert predict("twophase", how_many).answer("288").passed
    assert predict(TwoPhase(TwoPhaseParameters(5)), how_many).answer("8,832").passed


def test_a_model_that_is_too_large_is_not_asked_about() -> None:
    """A question does not search for ever: it says how many states are too many."""
    with pytest.raises(KitError, match="twophase has more than 100,000 states"):
        predict(TwoPhase(TwoPhaseParameters(9)), how_many)
