"""What the notebooks ask and check: predictions before a step is shown, exercises after it.

The names below are loaded when they are first used, so that a checker's fresh process loads no
widgets.
"""

from importlib import import_module
from typing import Any

_PLACES = {
    "allowed": "kit.lessons.questions",
    "attempt": "kit.lessons.trying",
    "breaks": "kit.lessons.questions",
    "changes": "kit.lessons.questions",
    "exercise": "kit.lessons.exercises",
    "fails": "kit.lessons.questions",
    "how_many": "kit.lessons.questions",
    "finished": "kit.lessons.trying",
    "frames": "kit.lessons.stills",
    "harms": "kit.lessons.trying",
    "side_by_side": "kit.lessons.trying",
    "hunt": "kit.lessons.hunting",
    "predict": "kit.lessons.predictions",
    "refusal": "kit.lessons.trying",
    "shortest": "kit.lessons.questions",
    "still": "kit.lessons.stills",
    "table": "kit.lessons.tables",
    "terminal": "kit.lessons.trying",
    "versions": "kit.lessons.trying",
    "without": "kit.lessons.trying",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # families add the rest: `public` of each


def __getattr__(name: str) -> Any:
    """Load a public name on first use: the package's own, or one that a protocol family adds."""
    return import_module("kit.engine.family").public_name(__name__, _PLACES, name)
