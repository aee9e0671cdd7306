"""How tablets are drawn: the grid as the picture, its tabs beside it."""

from __future__ import annotations

from kit.protocols.tablets.panels import balancing, losses, plans, resizing, sharding, tracks
from kit.views.promises import LAMPS
from kit.views.registry import Views

TRACKS = Views(
    (
        *(tracks.BADGES, tracks.GRID, tracks.NOW, tracks.STAGES, tracks.TABLE),
        *(tracks.SESSIONS, tracks.BARRIER, sharding.SHARDER, losses.LOSSES, losses.REPAIRS),
        *(plans.TRACKS_LOAD, plans.TRACKS_PLAN, *tracks.CLUSTER, LAMPS),
    ),
    evidence=("now",),
    picture="grid",
    table="now",
    badges="badges",
)

RESIZE = Views(
    (
        *(resizing.BADGES, resizing.GRID, resizing.LINE, resizing.READINESS),
        *(resizing.SIBLINGS, resizing.STORAGE, plans.RESIZE_LOAD, plans.RESIZE_PLAN),
        LAMPS,
    ),
    evidence=("resize",),
    picture="grid",
    table="resize",
    badges="badges",
)

BALANCE = Views(
    (balancing.BADGES, balancing.GRID, balancing.LOADS, balancing.PLAN, balancing.STORAGE, LAMPS),
    evidence=("loads",),
    picture="grid",
    table="loads",
    badges="badges",
)
