"""What a call that is refused says, as a line to read: lessons show it beside calls that work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.errors import KitError, one_line


def refusal(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The one line in which the kit refuses ``call(*arguments, **options)``.

    Raises:
        KitError: when the call is not refused, or ends in an error that is not the kit's.
    """
    name = getattr(call, "__name__", type(call).__name__)
    try:
        call(*arguments, **options)
    except KitError as refused:
        return str(refused)
    except Exception as error:
        said = f"refusal: {name} raised {type(error).__name__}: {error}"
        raise KitError(one_line(said)) from error
    raise KitError(f"refusal: {name} was not refused")
