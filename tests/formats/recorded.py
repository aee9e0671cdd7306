"""A run of two branches as a trace, as plain data to be damaged, and read again."""

from __future__ import annotations

import json
from typing import Any

from kit.errors import KitError
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.protocols.twophase.twophase import GiveUp


def a_run() -> Timeline:
    """Two branches of two-phase commit; one looks at a moment in the middle."""
    timeline = Timeline(build("twophase", {"rms": 2}))
    for _ in range(4):
        timeline.forward()
    timeline.goto(1)
    timeline.do(GiveUp(1))
    timeline.run(list(timeline.model.actions(timeline.state))[:1])
    timeline.goto(5)
    return timeline


def plain() -> dict[str, Any]:
    """The same run as JSON data, to be damaged."""
    data: dict[str, Any] = json.loads(dumps(a_run().save()))
    return data


def load(data: object) -> Timeline:
    """The history in JSON data."""
    return Timeline.load(loads(json.dumps(data)))


def outcome(text: str | bytes) -> Timeline | KitError:
    """The history in a text, or the kit's own error; any other error is the test's."""
    try:
        return Timeline.load(loads(text))
    except KitError as error:
        return error
