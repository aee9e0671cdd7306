"""See how a distributed database changes shape safely, one epoch at a time.

The names below are loaded when they are first used, so that ``import kit`` stays quick.
"""

from importlib import import_module

TYPE_CHECKING = False  # importing the real one would take most of the time of ``import kit``
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
_PLACES = {
    "DrillBoard": "kit.widgets.drilling",
    "Player": "kit.widgets.player",
    "Timeline": "kit.model.timeline",
    "badges": "kit.lessons.badges",
    "build": "kit.model.registry",
    "course": "kit.lessons.progress",
    "editions": "kit.commands.editions",
    "explain": "kit.operators.explain",
    "export_grades": "kit.lessons.progress",
    "export_html": "kit.views.export",
    "export_run": "kit.views.runs",
    "glossary": "kit.lessons.glossary",
    "lesson": "kit.catalogue.course",
    "load_ipython_extension": "kit.widgets.magics",
    "read_itf": "kit.formats.recorded",
    "read_ring": "kit.operators.importers.ringfile",
    "register": "kit.model.registry",
    "rehearse": "kit.widgets.rehearsing",
    "serve": "kit.clients.server",
    "style": "kit.views.chart",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # families add the rest: `public` of each


def __getattr__(name: str) -> "Any":
    return import_module("kit.model.family").public_name(__name__, _PLACES, name)
