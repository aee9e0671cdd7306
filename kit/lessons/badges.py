"""Badges: what a learner's own runs have shown of what a good test of a protocol meets.

Each is a step that a family wants everybody to have seen (``BADGES`` of the modules that have its
exercises). Source: the published catalogue of properties of cluster metadata asks of each whether
one has seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked
from kit.lessons.progress import keep_names, names_in
from kit.lessons.stills import timeline_of
from kit.model.family import families
from kit.model.timeline import PassedStep
from kit.views.static import Sheet

HEADINGS = "seen", "sight", "scenario that shows it"


class Badge(Struct, frozen=True):
    """A sight, a model, a scenario that meets it, and whether a step of the model shows it."""

    sight: str
    model: str
    scenario: str
    shows: Callable[[Any, PassedStep], Any]


def every_badge() -> Iterator[Badge]:
    """All that families declare, in the order of families."""
    for family in families():
        for place in family.tasks:
            yield from getattr(family.load(place), "BADGES", ())


def earned(source: Any) -> list[str]:
    """The sights of a Player or a timeline, on any of its branches. Raises BadInput for neither."""
    timeline = timeline_of(source)
    wanted = [each for each in every_badge() if each.model == timeline.model.name]
    sights = dict[str, None]()
    for at, moment in enumerate(timeline.moments[1:] if wanted else (), 1):
        step = PassedStep(timeline.moments[moment.parent].state, moment.action, moment.state)
        model = timeline.model_at(at)
        sights |= {each.sight: None for each in wanted if each.shows(model, step)}
    return [*sights]


@checked
def badges(*runs: Any, kept: str | PathLike[str] | None = None) -> Sheet:
    """Show the badges that these runs (Players or timelines) have earned, and where to earn the
    rest.

    ``kept`` is a file of your own. The badges in it are shown as well, and new ones are added to
    it.

    Raises BadInput for something that is not a run, and for a file of another kind or one that
    cannot be written.
    """
    before = names_in(kept, "kept") if kept is not None and Path(kept).exists() else []
    now = [*dict.fromkeys([*before, *(sight for run in runs for sight in earned(run))])]
    if kept is not None and now != before:
        now = keep_names(kept, now, "kept")
    signs = (("✓" if each.sight in now else "–", each) for each in every_badge())
    rows = tuple((sign, each.sight, each.scenario) for sign, each in signs)
    count = sum(sign == "✓" for sign, _, _ in rows)
    return Sheet(f"Have you seen it? {count} of {len(rows)}", HEADINGS, rows)
