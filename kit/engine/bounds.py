"""What a person says of how large something is to be: fields by name, checked at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from kit.engine.registry import one_of
from kit.errors import BadInput, misfit

Bounds = TypeVar("Bounds", bound=Struct)


def bounds_of(kind: type[Bounds], field: str, given: Mapping[str, Any], allowed: str) -> Bounds:
    """The struct of these fields; ``allowed`` says in words what they may be.

    Raises:
        BadInput: for an unknown field, or a value of another type or out of its limits.
    """
    known = list(kind.__struct_fields__)
    for name in given:
        if name not in known:
            raise BadInput(field, name, one_of(name, known))
    try:
        return msgspec.convert(dict(given), kind)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise misfit(field, dict(given), error, allowed) from None
