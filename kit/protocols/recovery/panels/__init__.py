"""The panels of the models: of nodes that fail, and of a recovery."""

from __future__ import annotations

from kit.protocols.recovery.facts.leader_log import LEADER_LOG
from kit.protocols.recovery.panels import (
    driver,
    failure_tables,
    failures,
    nodes,
    operation,
    tables,
)
from kit.views.logs import log_panel
from kit.views.promises import LAMPS
from kit.views.registry import Views

VIEWS = Views(
    (
        *(nodes.BADGES, nodes.PICTURE, nodes.ROWS, tables.GROUPS, tables.RANGES, tables.GOSSIP),
        *(tables.CAUSALITY, operation.PANEL, driver.DRIVER, log_panel(LEADER_LOG), LAMPS),
    ),
    evidence=("rows",),
    picture="nodes",
    table="rows",
    badges="badges",
)
FAILURES = Views(
    (
        *(failures.BADGES, failures.PICTURE, failures.NODES, failure_tables.FAILURES),
        *(failures.DATA, LAMPS),
    ),
    evidence=("presses",),
    picture="nodes",
    table="presses",
    badges="badges",
)
