"""A right answer to every exercise on group 0."""

from __future__ import annotations

from typing import Any

from kit.model.scenario import file_named, open_file


def lost_race() -> list[str]:
    """The race of the kit's own scenario, up to the second answer."""
    timeline = open_file(file_named("group0/race"))
    return [timeline.model.verb(one.action) for one in timeline.moments[1:]]


RIGHT: dict[str, Any] = {"lost-race": lost_race}
"""What gives a right answer, by exercise."""
