"""A step of one model as the run of a finer one that achieves it.

A coarse model takes in one step what a finer one does in many: an entry is in the log, and there
were ballots, promises and an answer. The finer model's refinement says of each of its steps what
that is in the coarser one. So the run is found by playing the finer model, until its image has done
the same. A family declares it for its models (``Family.zooms``), by a function of the model and the
steps of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from kit.errors import KitError
from kit.model.family import model_places
from kit.model.model import Model
from kit.model.registry import build, entry_of, registered
from kit.model.timeline import LONGEST_RUN, Timeline


class FinerRun(Struct, frozen=True):
    """The run to play: a model with its parameters, up to the ``nth`` coarse step of a kind.

    ``begins`` is the verb with which the work on that step begins: the run is looked at from there.
    ``story`` says in a sentence what one sees.
    """

    model: str
    parameters: Mapping[str, Any]
    kind: str
    nth: int
    begins: str
    story: str = ""


def finer_runs(model: Model[Any, Any]) -> Any:
    """The function for the finer run of a model's step; None where its family declares none."""
    if model.name not in model_places() or registered(model) is None:  # another of that name
        return None
    family, _ = model_places()[model.name]
    place = family.zooms.get(model.name)
    return family.load(place) if place else None


def finer_run(timeline: Timeline, moment: int) -> FinerRun | None:
    """What to play to see the step to a moment more finely; None where nothing finer is known."""
    model, way = timeline.model_at(moment), timeline.passed(moment)
    runs = finer_runs(model)
    return runs(model, way) if runs and way else None


def zoomed(timeline: Timeline, moment: int | None = None) -> Timeline:
    """The finer run that achieves the step to a moment (left out: the one that is shown).

    Raises KitError where nothing finer is known of that step.
    """
    at = timeline.at if moment is None else moment
    finer = finer_run(timeline, at)
    if finer is None:
        raise KitError(f"zoom: this step of {timeline.model_at(at).name} has no finer view")
    run = Timeline(build(finer.model, finer.parameters))
    refines = entry_of(finer.model).refinement
    assert refines is not None, f"{finer.model} refines nothing"
    refinement = refines(run.model.parameters)
    begun = done = 0
    for step in islice(iter(run.forward, None), LONGEST_RUN):
        if run.model.verb(step.action) == finer.begins:
            begun = step.parent
        images = refinement.image(run.moments[step.parent].state, step.action, step.state)
        done += sum(refinement.coarse.kind(each) == finer.kind for each in images)
        if done == finer.nth:
            break
    run.goto(begun)
    run.tell(finer.story)
    return run
