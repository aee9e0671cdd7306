"""What travels in the steps of the control model: without pictures of its own, nothing."""

from __future__ import annotations

from typing import get_args

from kit.engine.flows import FlowTable
from kit.protocols.tablets.tracks.actions import TracksAction

FLOWS = FlowTable(still=get_args(TracksAction))
