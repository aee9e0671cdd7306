"""The panels of this family: those of requests, whose epochs are topology versions here."""

from __future__ import annotations

from msgspec.structs import replace

from kit.protocols.storage.panels import VIEWS as STORAGE

VNODES = replace(
    STORAGE,
    panels=tuple(
        replace(panel, title="The range, version by version", tab="Versions")
        if panel.name == "views"
        else panel
        for panel in STORAGE.panels
    ),
)
