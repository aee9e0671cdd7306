"""What a call that is refused says, as a line to read: lessons show it beside calls that work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.errors import KitError


def refusal(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The one line in which the kit refuses ``call(*arguments, **options)``.

    Raises:
        KitError: when the call is not refused.
    """
    try:
        call(*arguments, **options)
    except KitError as refused:
        return str(refused)
    name = getattr(call, "__name__", type(call).__name__)
    raise KitError(f"refusal: {name} was not refused")
