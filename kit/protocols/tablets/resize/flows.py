"""What travels in the steps of a resize: without pictures of its own, nothing."""

from __future__ import annotations

from typing import get_args

from kit.engine.flows import FlowTable
from kit.protocols.tablets.resize.actions import ResizeAction

FLOWS = FlowTable(still=get_args(ResizeAction))
