"""The panels of this family: those of requests, whose epochs are topology versions here."""

from msgspec.structs import replace

from kit.protocols.storage.facts import OUTPUT
from kit.protocols.storage.panels import VIEWS as STORAGE
from kit.views.declared import renamed

__all__ = ["OUTPUT", "VNODES"]

VNODES = replace(
    STORAGE,
    panels=tuple(
        renamed(panel, "The range, version by version", "Versions")
        if panel.name == "views"
        else panel
        for panel in STORAGE.panels
    ),
)
