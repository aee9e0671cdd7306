"""How the two upgrades into Raft are drawn."""

from __future__ import annotations

from kit.protocols.upgrade.facts.server_log import LOG
from kit.protocols.upgrade.panels import nodes, route, stuck, tables, topology
from kit.views.logs import log_panel
from kit.views.promises import LAMPS
from kit.views.registry import Views

RAFT = Views(
    (
        *(nodes.BADGES, nodes.PICTURE, nodes.PHASE_BAR, tables.QUERY, tables.VERSIONS),
        *(tables.CHANGES, stuck.ADVICE, log_panel(LOG), LAMPS),
    ),
    evidence=("phases",),
    picture="nodes",
    table="phases",
    badges="badges",
)
TOPOLOGY = Views(
    (topology.BADGES, topology.PICTURE, topology.TABLE, route.ROUTE_CELLS, route.JOINS, LAMPS),
    evidence=("topology",),
    picture="states",
    table="topology",
    badges="badges",
)
