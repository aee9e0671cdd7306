"""No room of the project grows unless the same commit says that it may."""

from __future__ import annotations

from tools.budget import FILE, budget, excesses, lowered, rooms


def test_no_room_is_larger_than_its_budget() -> None:
    """Lines of Python and of data, bytes of scripts and styles, and the sums."""
    assert not excesses(rooms(), budget()), "budget.toml"


def test_what_is_larger_or_not_counted_is_named() -> None:
    """A room that grew, one that is new, and one that is gone."""
    told = excesses({"kit/a": 1_200, "kit/b": 5}, {"kit/a": 1_000, "kit/c": 7})
    assert told == [
        "kit/a: 1,200, 200 above its budget",
        "kit/b: has 5, and no budget",
        "kit/c: is not there",
    ]


def test_a_budget_comes_down_to_what_stands_and_never_goes_up() -> None:
    """The reason behind a figure stays."""
    text = '"kit/a" = 1_000  # tokens\n"kit/b" = 10\n'
    assert lowered(text, {"kit/a": 900, "kit/b": 20}) == '"kit/a" = 900  # tokens\n"kit/b" = 10\n'
    assert budget(lowered(FILE.read_text(encoding="utf-8"), {})) == budget()
