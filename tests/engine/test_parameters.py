"""Parameters say on their own fields what they are called, mean and may be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct
from msgspec.structs import replace

from kit.engine.parameters import check_limits, parameters_of, plainly
from kit.engine.registry import Entry, convert, entries
from kit.errors import BadInput
from tests.engine.toys import LiftModel
from tests.saying import like, says


class OfAKettle(Struct, frozen=True, forbid_unknown_fields=True):
    """A kettle's parameters."""

    litres: Annotated[int, Meta(title="size", description="what it holds", ge=1, le=5)] = 2
    lid: Literal["shut", "open"] = "shut"
    spare_keys: Annotated[int | None, Meta(extra_json_schema={"hidden": True})] = None
    heat: Annotated[int, Meta(ge=0)] = 0
    cups: Annotated[int, Meta(title="cups left", ge=1, le=9)] | None = None


KETTLE = Entry(name="kettle", title="A kettle", parameters=OfAKettle, build=LiftModel)


def test_a_field_says_what_its_parameter_is() -> None:
    """Title, meaning, ends, choices and flags are the field's; else its name is the title."""
    litres, lid, spare_keys, heat, cups = parameters_of(OfAKettle)
    assert (litres.title, litres.meaning) == ("size", "what it holds")
    assert litres.allowed == "a number from 1 to 5"
    assert (lid.title, set(lid.choices)) == ("lid", {"shut", "open"})
    assert (spare_keys.title, spare_keys.flags["hidden"]) == ("spare keys", True)
    assert spare_keys.allowed == ""
    assert heat.allowed == "a number from 0 up"
    assert (cups.title, cups.allowed) == ("cups left", "a number from 1 to 9")


class OfAKitchen(Struct, frozen=True, forbid_unknown_fields=True):
    """A kettle and a tap; both have heat."""

    kettle: OfAKettle = OfAKettle()
    heat: int = 1


def test_parameters_of_a_struct_are_told_one_by_one() -> None:
    """Each goes by its own name where no other has it, by its path where one has; in order."""
    names = [each.name for each in parameters_of(OfAKitchen)]
    assert names == ["litres", "lid", "spare_keys", "kettle.heat", "cups", "heat"]
    kitchen = OfAKitchen(OfAKettle(litres=3), heat=2)
    plain = plainly(kitchen)
    assert (plain["litres"], plain["kettle.heat"], plain["heat"]) == (3, 0, 2)
    with pytest.raises(BadInput, match="litres: got 9"):
        check_limits(OfAKitchen(OfAKettle(litres=9)))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"litres": 6}, "litres | 6 | 1 to 5"),
        ({"litres": 0}, "litres | 0 | 1 to 5"),
        ({"litres": 2**70}, "litres | 1180591620717411303424 | 1 to 5"),
        ({"cups": 10}, "cups | 10 | 1 to 9"),
        ({"heat": -1}, "heat | -1 | from 0"),
        ({"lid": "ajar"}, "lid | 'ajar' | open, shut"),
        ({"litres": "two"}, "litres | 'two' | 1 to 5 | a whole number"),
    ],
)
def test_the_error_says_what_the_field_allows(given: dict[str, Any], error: str) -> None:
    """A value out of its limits is refused in the words of its field, a wrong type as such."""
    with pytest.raises(BadInput) as refused:
        convert(KETTLE, given)
    assert says(refused.value, error)


def test_a_struct_made_by_hand_is_checked_as_well() -> None:
    """What was not converted is held against the same fields."""
    check_limits(OfAKettle(litres=5, spare_keys=99))
    with pytest.raises(BadInput, match=like("litres | 9 | 1 to 5")):
        check_limits(OfAKettle(litres=9))
    with pytest.raises(BadInput, match=like("lid | 'ajar'")):
        check_limits(OfAKettle(lid="ajar"))  # type: ignore[arg-type]  # that is the point


def _with(given: Any, path: tuple[str, ...], value: int) -> Any:
    """Parameters in which one of them, or of a struct among them, has another value."""
    first, *more = path
    return replace(
        given, **{first: _with(getattr(given, first), (*more,), value) if more else value}
    )


@pytest.mark.parametrize("name", entries())
def test_a_model_keeps_its_limits_whoever_makes_it(name: str) -> None:
    """Also when it is given its parameters as they are, not as words: one beyond each end."""
    entry = entries()[name]
    for each in parameters_of(entry.parameters):
        for end, beyond in ((each.least, -1), (each.most, 1)):
            if end is not None:
                given = _with(entry.parameters(), each.path, end + beyond)
                with pytest.raises(BadInput, match=rf"^{each.name}: "):
                    entry.build(given, ())
