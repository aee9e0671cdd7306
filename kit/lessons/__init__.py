"""What the notebooks ask and check: predictions before a step is shown, exercises after it.

The names below are loaded when they are first used, so that a checker's fresh process loads no
widgets.
"""

from importlib import import_module
from typing import Any

_PLACES = {
    "after": "kit.lessons.steps",
    "allowed": "kit.lessons.questions",
    "at_once": "kit.lessons.questions_rehearsal",
    "barrier": "kit.lessons.questions",
    "before": "kit.lessons.steps",
    "breaks": "kit.lessons.questions",
    "busiest": "kit.lessons.questions_rehearsal",
    "changes": "kit.lessons.questions",
    "crossed": "kit.lessons.questions_hunting",
    "enough_answers": "kit.lessons.questions_requests",
    "events": "kit.lessons.questions",
    "exercise": "kit.lessons.exercises",
    "fails": "kit.lessons.questions_models",
    "group_sizes": "kit.lessons.charts",
    "holders": "kit.lessons.questions_requests",
    "how_many": "kit.lessons.questions_models",
    "hunt": "kit.lessons.hunting",
    "late": "kit.lessons.questions_large",
    "leftovers": "kit.lessons.questions_requests",
    "losses": "kit.lessons.questions_large",
    "misses": "kit.lessons.questions_large",
    "predict": "kit.lessons.predictions",
    "readers": "kit.lessons.questions",
    "senders": "kit.lessons.questions_large",
    "shortest": "kit.lessons.questions_models",
    "sources": "kit.lessons.questions",
    "spread": "kit.lessons.questions_large",
    "step_table": "kit.lessons.charts",
    "still": "kit.lessons.stills",
    "story": "kit.lessons.steps",
    "terminal": "kit.lessons.prompt",
    "to_epoch": "kit.lessons.steps",
    "told": "kit.lessons.questions_requests",
    "versions": "kit.lessons.prompt",
    "victims": "kit.lessons.questions_rehearsal",
    "writers": "kit.lessons.questions",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # the table above is the one list of public names


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kit.lessons' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
