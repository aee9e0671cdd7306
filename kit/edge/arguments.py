"""Checking arguments once, where a caller's value enters: one line with field, value, allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any, TypeVar

from kit.errors import BadInput, BadType

T = TypeVar("T")
MOST = 2**62
LONGEST_NAME = 200  # characters


def instance(field: str, value: object, kind: type[T], allowed: str) -> T:
    """The value itself, which is of this type.

    Raises:
        BadType: when it is not.
    """
    if isinstance(value, kind):
        return value
    raise BadType(field, value, allowed)


def whole_number(field: str, value: object, least: int = 0, most: int = MOST) -> int:
    """A whole number within limits, also one of another library; never a truth value.

    Raises:
        BadType: for what is no whole number; BadInput for one out of its limits.
    """
    allowed = f"a whole number from {least}" + (f" to {most}" if most < MOST else " on")
    try:
        if isinstance(value, bool):
            raise TypeError
        number = index(value)  # type: ignore[arg-type]  # it raises TypeError for what is none
    except TypeError:
        raise BadType(field, value, allowed) from None
    if not least <= number <= most:
        raise BadInput(field, value, allowed)
    return number


def text(field: str, value: object, longest: int = LONGEST_NAME) -> str:
    """A text of at most so many characters, without any that a terminal would obey.

    Raises:
        BadType: for what is no text; BadInput for a long one or one that cannot be printed.
    """
    allowed = f"a text of at most {longest} printable characters"
    if not isinstance(value, str):
        raise BadType(field, value, allowed)
    if len(value) > longest or not value.isprintable():
        raise BadInput(field, value, allowed)
    return value


def several(field: str, value: Iterable[T], kind: type[T], allowed: str) -> tuple[T, ...]:
    """A list, tuple or other finite collection whose members are of one type.

    Raises:
        BadType: for a single text, for what cannot be gone through, or for another member.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise BadType(field, value, f"a list or tuple of {allowed}")
    members = tuple(value)
    for place, member in enumerate(members):
        if not isinstance(member, kind):
            raise BadType(f"{field}[{place}]", member, allowed)
    return members


def mapping(field: str, value: object) -> Mapping[str, Any]:
    """A mapping by names.

    Raises:
        BadType: for another type, or a key that is no text.
    """
    if not isinstance(value, Mapping):
        raise BadType(field, value, "a dict by name")
    for key in value:
        if not isinstance(key, str):
            raise BadType(f"{field}: key", key, "names as texts")
    return value


def function(field: str, value: object) -> Callable[..., Any]:
    """Something that can be called.

    Raises:
        BadType: when it cannot.
    """
    if callable(value):
        return value
    raise BadType(field, value, "a function")
