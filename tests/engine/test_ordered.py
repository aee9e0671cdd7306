"""Somebody follows a list of steps, while everything else goes on as it may."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.engine.check import check
from kit.engine.orders import Ordered, OrderedState
from tests.engine.toys import Door, Down, Lift, LiftModel, LiftParameters, Up


class Ring(Struct, frozen=True):
    """No action of a lift."""


def ordered(*steps: Any, always: tuple[type, ...] = ()) -> Ordered:
    """A lift of four floors that goes up, and whose door is used, in this order alone."""
    return Ordered(LiftModel(LiftParameters(floors=4)), steps, (Up, Door), always)


def test_only_the_next_step_is_offered_and_others_as_ever() -> None:
    """The door waits for its place; down is nobody's step and goes on as it may."""
    model = ordered(Up(), Door(open=True), Up())
    start = model.start()
    assert (start, model.due(start)) == (OrderedState(Lift(0), 0), Up())
    assert list(model.actions(start)) == [Up()]
    first = model.act(start, Up())
    assert (first.inner, first.place) == (Lift(1), 0)
    assert model.describe(start, Up(), first) == model.model.describe(Lift(0), Up(), Lift(1))
    assert set(model.actions(first)) == {Up(), Down()}


def test_a_step_that_has_nothing_to_do_is_passed_over() -> None:
    """What the model does not know, and a door that is closed already; then the list is done."""
    model = ordered(Ring(), Door(open=False), Door(open=True), Ring())
    start = model.start()
    assert (start.place, model.due(start)) == (2, Door(open=True))
    opened = model.act(start, Door(open=True))
    assert (opened.inner, opened.place) == (Lift(0, door=True), 4)
    assert model.due(opened) is None
    assert Door(open=False) not in list(model.actions(opened))


def test_its_promises_are_the_models() -> None:
    """They are judged on the inner state: without the way up the top is out of reach."""
    assert check(ordered(Up())).unreached == ()
    assert check(ordered(Door(open=True), Up())).unreached == ("top",)
    names = [(each.name, each.kind) for each in ordered().properties]
    assert names == [(each.name, each.kind) for each in LiftModel(LiftParameters()).properties]
