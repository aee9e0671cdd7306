"""The panels of a recovery: nodes with their groups, group membership, gossip, data, causality."""

from __future__ import annotations

from kit.protocols.recovery.panels import nodes, tables
from kit.views.promises import LAMPS
from kit.views.registry import Views

VIEWS = Views(
    (
        *(nodes.BADGES, nodes.PICTURE, nodes.ROWS, tables.GROUPS, tables.RANGES, tables.GOSSIP),
        *(tables.CAUSALITY, LAMPS),
    ),
    evidence=("rows",),
    picture="nodes",
    table="rows",
    badges="badges",
)
