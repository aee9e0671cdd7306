"""Every type of action that a model can have."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Any, Union, get_args, get_origin

from kit.model.flows import has_parts
from kit.model.model import Model


def action_types(model: Model[Any, Any]) -> Iterator[type]:
    """Every type of action that a model, or a part of it, can have, whatever its parameters."""
    if has_parts(model):
        for part in model.parts.values():
            yield from action_types(part)
    else:
        yield from _members(model.Action)


def _members(action: Any) -> Iterator[type]:
    """The types that a union is made of, without what they are generic over."""
    origin = get_origin(action)
    if origin in (Union, UnionType):
        for member in get_args(action):
            yield from _members(member)
    else:
        yield origin or action
