"""What holds for the switches of every family: on unless somebody switches them off."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest
from msgspec import Struct
from msgspec.structs import fields

from kit.model.family import PROTOCOLS


def switches() -> Iterator[type[Struct]]:
    """The structs of safeguards that families declare, wherever they stand."""
    for path in sorted(PROTOCOLS.glob("*/**/*.py")):
        if "Safeguards(Struct" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(PROTOCOLS.parent.parent).with_suffix("").parts)
            declared = [v for v in vars(import_module(name)).values() if isinstance(v, type)]
            for value in declared:
                if value.__module__ == name and value.__name__.endswith("Safeguards"):
                    yield value


@pytest.mark.parametrize("struct", tuple(switches()), ids=lambda struct: struct.__name__)
def test_a_safeguard_is_on_unless_it_is_switched_off(struct: type[Struct]) -> None:
    """Rules that are asked without more ado keep every safeguard."""
    default = struct()
    for field in fields(struct):
        value = getattr(default, field.name)
        inner = isinstance(value, Struct) and value == type(value)()
        assert value is True or inner, field.name
