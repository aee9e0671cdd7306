"""A value that equals another one, but whose sets are gone through the other way round.

The order of a set differs from run to run (of texts) and between equal sets. A model that lets it
decide does another thing in another run; whoever is asked about a state and its twin shows that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace


class _Backwards(frozenset[Any]):
    """A set that is gone through from its last element to its first."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])


def twin_of(value: Any) -> Any:
    """The value with every set of several elements in it turned round; itself without any."""
    if isinstance(value, frozenset):
        parts = _turned(tuple(value))
        return value if parts is None and len(value) < 2 else _Backwards(parts or value)
    if type(value) is tuple:
        return _turned(value) or value
    if isinstance(value, Struct):
        parts = _turned(astuple(value))
        return value if parts is None else replace(value, **_named(value.__struct_fields__, parts))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value) if field.init)
        parts = _turned(tuple(getattr(value, name) for name in names))
        return value if parts is None else dataclasses.replace(value, **_named(names, parts))
    return value


def _turned(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The twins of the values; None when each is its own."""
    twins = tuple(map(twin_of, values))
    same = all(twin is value for twin, value in zip(twins, values, strict=True))
    return None if same else twins


def _named(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))
