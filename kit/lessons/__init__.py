"""What the notebooks ask and check: predictions before a step is shown, exercises after it.

The names below are loaded when they are first used, so that a checker's fresh process loads no
widgets.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "exercises": "exercise",
    "hunting": "hunt",
    "predictions": "predict",
    "questions": "allowed breaks changes fails how_many shortest",
    "stills": "frames still",
    "tables": "table",
    "trying": "attempt finished harms refusal side_by_side terminal versions without",
}
_PLACES = {name: f"kit.lessons.{place}" for place in _NAMES for name in _NAMES[place].split()}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # families add the rest: `public` of each


def __getattr__(name: str) -> Any:
    return import_module("kit.model.family").public_name(__name__, _PLACES, name)
