"""How tablets are drawn: the grid as the picture, its tabs beside it."""

from __future__ import annotations

from kit.protocols.tablets.panels import tracks
from kit.views.promises import LAMPS
from kit.views.registry import Views

TRACKS = Views(
    (
        *(tracks.BADGES, tracks.GRID, tracks.NOW, tracks.STAGES, tracks.TABLE),
        *(tracks.SESSIONS, tracks.BARRIER, *tracks.CLUSTER, LAMPS),
    ),
    evidence=("now",),
    picture="grid",
    table="now",
    badges="badges",
)
