"""What travels in the steps of a truncate: without pictures of its own, nothing."""

from __future__ import annotations

from typing import get_args

from kit.engine.flows import FlowTable
from kit.protocols.tablets.truncate.state import TruncateAction

FLOWS = FlowTable(still=get_args(TruncateAction))
