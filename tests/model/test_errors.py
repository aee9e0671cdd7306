"""Every error on purpose is one clear line, whatever it has to speak about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import LONGEST_MESSAGE, BadInput, KitError, Refused, misfit, one_line, shorten

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


class Unspeakable:
    """Something whose own words raise."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@given(st.text(), ANYTHING, st.text())
def test_a_message_is_one_printable_line(field: str, value: Any, allowed: str) -> None:
    """Whatever field, value and limits are, the message is one line that can be printed."""
    for error in (BadInput(field, value, allowed), Refused(field), KitError(allowed)):
        assert str(error).isprintable()
        assert isinstance(error, KitError)
        assert len(str(error)) <= 10 * LONGEST_MESSAGE


STRANGE: dict[str, tuple[Any, str]] = {
    "a huge integer": (10**5000, "an integer of 16610 bits"),
    "a huge negative one": (-(10**5000), "an integer of 16610 bits"),
    "one in a list": ([10**5000], "a list that cannot be shown"),
    "deep data": (nested(100_000), "a list that cannot be shown"),
    "no words": (Unspeakable(), "a Unspeakable that cannot be shown"),
    "a long text": ("x" * 10**6, "'" + "x" * 56 + "..."),
    "a new line": ("a\nb", r"'a\nb'"),
    "colours": ("\x1b[31m", r"'\x1b[31m'"),
    "right to left": ("\u202eabc", r"'\u202eabc'"),
    "truth": (True, "True"),
    "nothing": (None, "None"),
    "a negative": (-1, "-1"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_values_can_be_spoken_of(name: str) -> None:
    """Huge, deep, unprintable and unspeakable values are described, not tripped over."""
    value, expected = STRANGE[name]
    assert shorten(value) == expected
    assert expected in str(BadInput("field", value, "less"))


def test_a_message_keeps_what_can_be_printed() -> None:
    """Letters of any language and signs stay; line ends become blanks, controls their escapes."""
    assert one_line("Zoë → (100, 150]") == "Zoë → (100, 150]"
    assert one_line("one\n  two\tthree\u2028four") == "one two three four"
    assert one_line("a\x00b\x1b[0m\u202e") == r"a\x00b\x1b[0m\u202e"


PLACES: dict[str, tuple[str, str, Any]] = {
    "Expected `int` - at `$`": ("x", "x", {"a": [1, {"b": 2}]}),
    "Expected `int` - at `$.a`": ("x", "x.a", [1, {"b": 2}]),
    "Expected `int` - at `$.a[1].b`": ("x", "x.a[1].b", 2),
    "Expected `int` - at `$.a[7].b`": ("x", "x.a", [1, {"b": 2}]),
    "Expected `int` - at `$.a[...]`": ("x", "x.a", [1, {"b": 2}]),
    "no place at all": ("x", "x", {"a": [1, {"b": 2}]}),
}


@pytest.mark.parametrize("text", PLACES)
def test_the_very_place_in_data_is_named(text: str) -> None:
    """A fault inside plain data is told with the path to it and the value that is there."""
    start, field, value = PLACES[text]
    error = misfit(start, {"a": [1, {"b": 2}]}, ValueError(text), "as it should be")
    assert (error.field, error.value) == (field, value)
    assert error.allowed.startswith("as it should be (")
