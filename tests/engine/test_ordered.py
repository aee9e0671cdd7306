"""Somebody follows a list of steps, while everything else goes on as it may."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.check import check
from kit.engine.model import Refusal
from kit.engine.orders import Ordered, OrderedState
from tests.engine.toys import Door, Down, Lift, LiftModel, LiftParameters, Up


class Ring(Struct, frozen=True):
    """No action of a lift."""


def ordered(*steps: Any, always: tuple[type, ...] = ()) -> Ordered:
    """A lift of four floors that goes up, and whose door is used, in this order alone."""
    return Ordered(LiftModel(LiftParameters(floors=4)), steps, (Up, Door), always)


def verbs(model: Ordered, state: OrderedState) -> list[str]:
    """What may be done."""
    return [model.verb(action) for action in model.actions(state)]


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


def test_what_has_nothing_to_do_leads_nowhere() -> None:
    """Of a door that is closed already, and one that somebody holds."""

    def outcome(s: Lift, action: Door) -> Lift | Refusal | None:
        held = Refusal("somebody holds it") if s.floor else replace(s, door=action.open)
        return None if action.open is s.door else held

    lift = LiftModel(LiftParameters(floors=4))
    *moves, door = lift.rules
    lift.rules = (*moves, replace(door, outcome=outcome))
    model = Ordered(lift, (Door(open=True), Up()), (Up,))
    rule = model.rules[-1]
    ends = [rule.outcome(OrderedState(Lift(floor), 0), Door(open=is_open))
            for floor, is_open in ((0, False), (0, True), (1, True))]  # fmt: skip
    assert ends == [None, OrderedState(Lift(0, door=True), 1), Refusal("somebody holds it")]


def test_what_may_happen_always_does_not_wait_for_its_place() -> None:
    """A type of the list that is also one of always is offered whenever the model does."""
    for always in ((), (Door,)):
        model = ordered(Up(), always=always)
        assert (Door(open=True) in list(model.actions(model.start()))) is (Door in always)


def test_its_promises_are_the_models() -> None:
    """They are judged on the inner state: without the way up the top is out of reach."""
    assert check(ordered(Up())).unreached == ()
    assert check(ordered(Door(open=True), Up())).unreached == ("top",)
    names = [(each.name, each.kind) for each in ordered().properties]
    assert names == [(each.name, each.kind) for each in LiftModel(LiftParameters()).properties]


def test_it_says_of_itself_what_the_model_does() -> None:
    """Its name, its parameters, what is off, its actions and which of them are faults."""
    lift = LiftModel(LiftParameters(floors=4), ("door",))
    lift.faults = ("down",)
    model = Ordered(lift, (), (Up,))
    for field in ("name", "title", "parameters", "off", "Action", "faults"):
        assert getattr(model, field) == getattr(lift, field)
    assert check(model).scope.configuration == check(lift).scope.configuration
