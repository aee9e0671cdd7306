"""The player's module and style sheet, read as text.

The files lie beside the widget that loads them, but the exported page needs them too, without
importing any widget.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kit.views.palette import css_variables

FOLDER = Path(__file__).resolve().parent.parent / "widgets"


@cache
def module() -> str:
    """Return the ES module."""
    return (FOLDER / "player.js").read_text(encoding="utf-8")


@cache
def boot() -> str:
    """Return the lines that start the module in an exported page."""
    return (FOLDER / "boot.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """Return the style sheet with the palette's variables before it."""
    return css_variables() + (FOLDER / "player.css").read_text(encoding="utf-8")
