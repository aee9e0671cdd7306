"""What the player's module may say to Python: four shapes, checked strictly, never evaluated."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct

from kit.errors import BadInput


class Act(Struct, frozen=True, forbid_unknown_fields=True):
    """A control was used at moment ``at`` by a reader that holds ``have`` texts.

    ``act`` is ``step``, ``milestone``, ``fork``, ``do:`` and an action's mark, or ``macro:`` and
    a macro's name.
    """

    act: str
    at: int
    have: int


class Sync(Struct, frozen=True, forbid_unknown_fields=True):
    """A reader tells what it holds and asks for the rest."""

    sync: int
    nodes: int
    session: str


class Need(Struct, frozen=True, forbid_unknown_fields=True):
    """A reader asks for the frame of a moment that was let go."""

    need: int


class Look(Struct, frozen=True, forbid_unknown_fields=True):
    """The reader looks at moment ``at`` of the branch that ends at ``tip``.

    ``turn`` is the number of the last news it had; a look from before later news is stale.
    """

    at: int
    tip: int
    turn: int


Message: TypeAlias = Act | Sync | Need | Look
_SHAPES: dict[str, type[Message]] = {"act": Act, "sync": Sync, "need": Need, "tip": Look}


def message_from(content: object) -> Message:
    """Read one message.

    Raises:
        BadInput: when it has none of the four shapes.
    """
    if isinstance(content, dict):
        for field, shape in _SHAPES.items():
            if field in content:
                try:
                    return msgspec.convert(content, shape, strict=True)
                except msgspec.ValidationError as error:
                    raise BadInput("message", content, f"a {shape.__name__} ({error})") from None
    raise BadInput("message", content, "an object with act, sync, need or tip")
