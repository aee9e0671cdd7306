"""The panels of two-phase commit: the managers around the one who decides, and their table."""

from __future__ import annotations

from kit.protocols.twophase.panels.managers import MANAGERS, STATUS, TABLE
from kit.views.promises import LAMPS
from kit.views.registry import Views

VIEWS = Views((STATUS, MANAGERS, TABLE, LAMPS), picture="managers", table="table", badges="status")
