"""Products: models side by side, steps that happen in several of them at once or not at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import Refusal, Refused
from kit.model.compose import Product, needs
from kit.model.log import Append, Apply, AtomicLog, LogParameters
from kit.model.timeline import Timeline
from kit.model.trace import action_from
from kit.search.check import check
from tests.examples import examples
from tests.model.toys import Door, Down, LiftModel, LiftParameters, Up, walk

MOST = 3  # entries of the log, so that the product is finite


def _link(s: Any, part: str, action: Any) -> tuple[tuple[str, Any], ...]:
    """Moving the left lift up is logged; opening its door opens the right one's, too."""
    if part == "left" and isinstance(action, Up):
        return (("log", Append(f"up from {s.left.floor}")),)
    if part == "left" and isinstance(action, Door):
        return (("right", action), ("log", Append("door")))
    return ()


class House(Product):
    """Two lifts and a log of what the left one did."""

    def __init__(self) -> None:
        super().__init__(
            "house",
            {
                "left": LiftModel(LiftParameters(2)),
                "right": LiftModel(LiftParameters(3)),
                "log": AtomicLog(LogParameters(("A",))),
            },
            link=_link,
            passive=(Append,),
        )

    @needs()
    def lets(self, s: Any, part: str, action: Any) -> Refusal | None:
        """The right lift goes no higher than the left one; the log has room for a few entries."""
        if part == "right" and isinstance(action, Up) and s.right.floor >= s.left.floor:
            return Refusal("the left lift is not above")
        if part == "left" and not isinstance(action, Down) and len(s.log.entries) >= MOST:
            return Refusal("the log is full")
        return None


HOUSE = House()
LEFT, RIGHT, LOG = HOUSE.wrap["left"], HOUSE.wrap["right"], HOUSE.wrap["log"]


def reasons(state: Any) -> dict[str, str]:
    """Why each waiting action of the house waits, by its part and verb."""
    return {
        f"{HOUSE.part_of(action)[0]} {HOUSE.verb(action)}": refusal.reason
        for action, refusal in HOUSE.waiting(state)
    }


@given(st.lists(st.integers(0, 50), max_size=25))
@examples(60)
def test_links_are_atomic(choices: list[int]) -> None:
    """On every walk the log holds exactly what the left lift did: never half of a step."""
    done = []
    for before, action, after in walk(HOUSE, choices):
        part, own = HOUSE.part_of(action)
        if part == "left" and isinstance(own, Up):
            done.append(f"up from {before.left.floor}")
        if part == "left" and isinstance(own, Door):
            done.append("door")
            assert after.right.door == after.left.door
        assert tuple(after.log.entries) == tuple(done)


def test_a_linked_refusal_refuses_the_whole_step() -> None:
    """When a linked action may not happen, nothing happens, and its reason is the answer."""
    strict = Product(
        "strict",
        {"left": LiftModel(LiftParameters(2)), "right": LiftModel(LiftParameters(2))},
        link=lambda s, part, action: (("right", action),) if part == "left" else (),
    )
    state = strict.act(strict.start(), strict.wrap["right"](Up()))
    with pytest.raises(Refused, match="there is no such floor"):
        strict.act(state, strict.wrap["left"](Up()))
    waiting = {strict.part_of(action)[0]: why.reason for action, why in strict.waiting(state)}
    assert waiting["left"] == "there is no such floor"


def test_conditions_read_all_parts() -> None:
    """A condition over the whole state refuses what the part alone would allow."""
    start = HOUSE.start()
    assert reasons(start)["right up"] == "the left lift is not above"
    after = HOUSE.act(start, LEFT(Up()))
    assert "right up" not in reasons(after)
    assert HOUSE.refusal(after, RIGHT(Up())) is None


def test_passive_actions_never_happen_alone() -> None:
    """What only comes by a link is neither enabled nor waiting, and is refused when tried."""
    state = HOUSE.act(HOUSE.start(), LEFT(Up()))
    every = [*HOUSE.actions(state), *(action for action, _ in HOUSE.waiting(state))]
    assert not [action for action in every if isinstance(HOUSE.part_of(action)[1], Append)]
    with pytest.raises(Refused, match="no such action here"):
        HOUSE.act(state, LOG(Append("forged")))


@pytest.mark.parametrize("foreign", [Up(), Apply("A"), HOUSE.start(), "left", None], ids=repr)
def test_an_unwrapped_action_is_none_of_the_product(foreign: object) -> None:
    """A part's bare action does not say whose it is, so it is refused."""
    with pytest.raises(Refused, match="not an action of house"):
        HOUSE.act(HOUSE.start(), foreign)


@pytest.mark.parametrize(
    "action", [LEFT(Up()), RIGHT(Door(False)), LOG(Apply("A")), LOG(Append({"a": [1]}))], ids=repr
)
def test_wrapped_actions_survive_being_written_down(action: Any) -> None:
    """A wrapped action names its part in JSON, and comes back equal and of the same type."""
    data = msgspec.json.decode(msgspec.json.encode(action))
    assert data["part"] == HOUSE.part_of(action)[0]
    back = action_from(HOUSE, data, "action")
    assert (back, type(back)) == (action, type(action))


def test_a_product_is_searched_and_walked_like_any_model() -> None:
    """A product has a timeline, traces and a search without a word of its own."""
    result = check(HOUSE, HOUSE.properties)
    assert result.complete, result
    assert result.states > 50
    timeline = Timeline(HOUSE)
    for _ in range(6):
        timeline.forward()
    again = Timeline.load(timeline.save(), HOUSE)
    assert [m.state for m in again.moments] == [m.state for m in timeline.moments]


class TwoHouses(Product):
    """A house beside a lift: a part that is itself a product."""

    def __init__(self) -> None:
        super().__init__("street", {"house": House(), "lift": LiftModel(LiftParameters(2))})


def test_a_part_may_be_a_product() -> None:
    """Every action of each part of a part is one of the whole, with its own rule and effect."""
    street, house = TwoHouses(), House()
    state = street.start()
    inner = {house.verb(action) for action, _ in house.options(state.house)}
    assert {street.verb(a) for a, _ in street.options(state) if a.action is not None} >= inner
    for action in street.actions(state):
        part, own = street.part_of(action)
        after = street.apply(state, action)
        moved = street.parts[part].apply(getattr(state, part), own)
        assert getattr(after, part) == moved
        assert street.refusal(state, action) is None
    assert dict(street.successors(state)).keys() == set(street.actions(state))
