"""The panels of group 0: the log as lanes, its history, guards, voters, schema."""

from __future__ import annotations

from kit.protocols.group0.panels.configuration import CONFIGURATION, STATUS
from kit.protocols.group0.panels.guards import GUARDS
from kit.protocols.group0.panels.history import HISTORY
from kit.protocols.group0.panels.matrix import MATRIX
from kit.protocols.group0.panels.predict import question
from kit.protocols.group0.panels.schema import SCHEMA
from kit.views.promises import LAMPS
from kit.views.registry import Views

VIEWS = Views(
    (STATUS, MATRIX, HISTORY, GUARDS, CONFIGURATION, SCHEMA, LAMPS),
    question=question,
    evidence=("matrix", "history"),
    picture="matrix",
    table="history",
    badges="status",
)
