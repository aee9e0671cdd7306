"""A Player that a notebook keeps: its picture is stored, and this beside it, to open it again.

It stands in the metadata of the output, which no front end shows. A page of the lesson makes a
Player of it (``kit.site.lessons``).
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from kit.edge.json_text import fitting
from kit.model import trace as traces
from kit.model.model import Model
from kit.model.parameters import plainly
from kit.model.registry import build, registered
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.views.rendered import MOST_AHEAD

FIELD = "run"
"""Its name in the metadata of an output."""


class StoredRun(Struct, frozen=True, forbid_unknown_fields=True):
    """A history as a trace, the scenario that tells it (or none), whether like steps are one.

    ``above`` is how many characters of the output's HTML stand above the Player. Of a model that is
    not the kit's there is no trace: the cell makes it again.
    """

    trace: str
    name: str = ""
    story: bool = False
    above: int | UnsetType = UNSET

    def timeline(self) -> Timeline:
        """The history again, told ahead.

        Raises BadInput for a trace that is none, or that the model of today does not follow.
        """
        timeline = Timeline.load(traces.loads(self.trace))
        if self.name:
            scenario = open_named(self.name).timeline
            if _same(scenario.model, timeline.model):
                timeline.script = scenario.script
                timeline.tell(scenario.story, scenario.premise, scenario)
        return foretold(timeline)


def foretold(timeline: Timeline) -> Timeline:
    """The history itself: one that nobody has begun is told to its end, or as far as one counts,
    and seen from its start.
    """
    if len(timeline.moments) == 1:
        for _ in range(MOST_AHEAD):
            if timeline.forward() is None:
                break
        timeline.goto(0)
    return timeline


def stored_run(
    timeline: Timeline, name: str | None, *, story: bool = False, above: int = 0
) -> dict[str, Any]:
    """The metadata of the output that shows a history; empty where nobody may open it again."""
    model, trace = timeline.model, ""
    if registered(model):
        again = build(model.name, plainly(model.parameters), tuple(model.off))
        if not _same(again, model):  # one whose safeguards are hidden
            return {}
        trace = msgspec.json.encode(timeline.save()).decode()
    return {FIELD: msgspec.to_builtins(StoredRun(trace, name or "", story, above or UNSET))}


def run_stored(metadata: Any) -> StoredRun | None:
    """The run in the metadata of an output, if any. Raises BadInput for what is none."""
    plain = metadata.get(FIELD) if isinstance(metadata, dict) else None
    allowed = "what a Player has stored"
    run: StoredRun | None = plain if plain is None else fitting(plain, StoredRun, FIELD, allowed)
    return run


def _same(model: Model[Any, Any], other: Model[Any, Any]) -> bool:
    names = ("__class__", "parameters", "off", "safeguards")
    return all(getattr(model, name) == getattr(other, name) for name in names)
