"""A right answer to every exercise on group 0."""

from __future__ import annotations

from typing import Any

from kit.engine.scenario import file_named, open_file


def lost_race() -> list[str]:
    """The race of the kit's own scenario, up to the second answer."""
    timeline = open_file(file_named("group0/race"))
    return [timeline.model.verb(one.action) for one in timeline.moments[1:]]


def effects(commands: list[list[int]]) -> list[bool]:
    """A command counts when it was built on the last one that did."""
    taken, newest = [], 0
    for previous, new in commands:
        taken.append(previous == newest)
        newest = new if taken[-1] else newest
    return taken


def one_group(seeds: dict[str, list[str]]) -> bool:
    """Some node is within reach of every node."""

    def reached(start: str) -> set[str]:
        found, ahead = {start}, [start]
        while ahead:
            for point in seeds[ahead.pop()]:
                if point not in found:
                    found.add(point)
                    ahead.append(point)
        return found

    return bool(set.intersection(*(reached(name) for name in seeds)))


RIGHT: dict[str, Any] = {
    "lost-race": lost_race,
    "what-takes-effect": lambda: effects,
    "one-group": lambda: one_group,
}
"""What gives a right answer, by exercise."""
