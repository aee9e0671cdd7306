"""See how a distributed database changes shape safely, one epoch at a time.

The names below are loaded when they are first used, so that ``import kit`` stays quick.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
_PLACES = {
    "Player": "kit.widgets.player",
    "Timeline": "kit.timeline",
    "build": "kit.registry",
    "export_html": "kit.views.export",
    "read_ring": "kit.importers.ringfile",
    "register": "kit.registry",
    "rehearse": "kit.widgets.rehearsal",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # the table above is the one list of public names


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kit' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
