"""Widgets for people: the Player and its controls, a drill with its terminal.

The names below are loaded when they are first used: what opens a story needs no widget.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kit.widgets.drilling import DrillBoard
    from kit.widgets.player import Player

__all__ = ["DrillBoard", "Player"]
_PLACES = {"DrillBoard": "kit.widgets.drilling", "Player": "kit.widgets.player"}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
