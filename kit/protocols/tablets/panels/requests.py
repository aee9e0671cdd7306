"""The panels of one tablet's requests: those of storage, whose epochs are stages; its own tabs."""

from __future__ import annotations

from msgspec.structs import replace

from kit.protocols.storage.panels import VIEWS as STORAGE
from kit.protocols.tablets.facts.one_tablet import grid
from kit.protocols.tablets.panels.grid import grid_panel
from kit.protocols.tablets.panels.kept_writes import KEPT
from kit.protocols.tablets.panels.strips import STATES, STRIPS

GRID = replace(
    grid_panel(lambda scene: grid(scene.model, scene.state)), optional=True, still=False, tab="Grid"
)
"""The tablet's replicas in their cells, in transition both ends with the way between them."""

TABLET = replace(
    STORAGE,
    panels=(
        *(
            replace(panel, title="The tablet, stage by stage", tab="Stages")
            if panel.name == "views"
            else panel
            for panel in STORAGE.panels
        ),
        GRID,
        STRIPS,
        STATES,
        KEPT,
    ),
)
