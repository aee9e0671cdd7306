"""Runs of model ``failures`` by verbs."""

from __future__ import annotations

from functools import partial
from typing import Any

from kit.model.timeline import Timeline
from tests.views.frames import after

TWO: dict[str, Any] = {"datacenters": (3, 3)}
THREE: dict[str, Any] = {"datacenters": (3, 3, 3)}


ran = partial(after, "failures")
"""A cluster with these parameters after these verbs."""


def why_not(timeline: Timeline, verb: str) -> str:
    """Why a step may not happen; empty if it may."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    return str(option[1]) if option[1] else ""
