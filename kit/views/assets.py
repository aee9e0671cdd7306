"""The player's module and style sheet, read as text.

The files lie beside the widget that loads them, but the exported page needs them too, without
importing any widget.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kit.views.palette import css_variables
from kit.views.picture import SVG_STYLE

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
    drawings = "".join(_inside(line) for line in SVG_STYLE.strip().splitlines())
    return css_variables() + drawings + (FOLDER / "player.css").read_text(encoding="utf-8")


def _inside(rule: str) -> str:
    """Confine a rule for drawings to the drawings of a player."""
    selectors, _, body = rule.partition("{")
    whole = (one if one == "svg" else f"svg {one}" for one in selectors.split(","))
    return ",".join(f".kp {one}" for one in whole) + "{" + body + "\n"
