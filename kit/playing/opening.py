"""What a Player can be opened on: a timeline, a model, a scenario, or a name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from kit.errors import BadInput, check_among
from kit.model.model import Model
from kit.model.registry import Scenario, build, model_names, scenario_of
from kit.model.scenario import files, open_script, parse, read
from kit.model.timeline import Timeline
from kit.playing.verdicts import end_of
from kit.views.panel import Panel
from kit.views.registry import for_model

Source: TypeAlias = Timeline | Model[Any, Any] | Scenario | str | None


class Opened(Struct, frozen=True):
    """A timeline, and the name it has in the drop-down (None: it is not there)."""

    timeline: Timeline
    name: str | None = None


def open_source(source: Source) -> Opened:
    """Open what a Player takes (None: the first example). Raises BadInput for an unknown name."""
    if isinstance(source, Timeline):
        if (words := end_of(source)) and words not in source.why(source.at):
            source.remark(words)
        return Opened(source)
    if isinstance(source, Model):
        return Opened(Timeline(source))
    if isinstance(source, Scenario):
        entry, known = scenario_of(source.name)
        if known != source:
            raise BadInput("scenario", source.name, "a registered one; give its model instead")
        return open_named(f"{entry.name}/{source.name}")
    return open_named("bootstrap" if source is None else source)


def open_named(name: str, given: Mapping[str, Any] = MappingProxyType({})) -> Opened:
    """Open a scenario or a model by name, with these parameters in place of its own.

    Raises BadInput when there is neither, or for a parameter that it does not take.
    """
    if name.endswith(".json"):
        raise BadInput("source", name, "a name of a model or scenario; Player().open opens a file")
    if name in model_names():
        return Opened(Timeline(build(name, given)), name)
    entry, scenario = scenario_of(name)
    model = build(entry.name, {**scenario.parameters, **given}, scenario.off)
    timeline, full = Timeline(model, scenario.script), f"{entry.name}/{scenario.name}"
    timeline.tell(scenario.title)
    if full in files():
        script = parse(read(files()[full]), full)
        whole = open_script(script) if script.remarks else None
        timeline.tell(scenario.title, script.why, whole)
    return Opened(timeline, full)


def is_known(name: str) -> bool:
    """Whether a model or a scenario has this name."""
    if name in model_names():
        return True
    try:
        scenario_of(name)
    except BadInput:
        return False
    return True


def replayed(timeline: Timeline) -> Timeline:
    """A history of its own with the same moments, looked at where the other one is."""
    twin = Timeline(timeline.model, timeline.script)
    for moment in timeline.moments[1:]:
        twin.at = moment.parent
        twin.do(moment.action, fold=moment.fold, model=timeline.model_at(moment.id))
    twin.inquiries.update(timeline.inquiries)
    twin.tip, twin.at = timeline.tip, timeline.at
    return twin


def panels_named(model: Model[Any, Any], names: tuple[str, ...] | None) -> tuple[Panel, ...] | None:
    """The panels of a model that are asked for by name; None: those that it chooses itself.

    Raises BadInput for a name that none of its panels has.
    """
    if names is None:
        return None
    known = {panel.name: panel for panel in for_model(model).panels}
    for name in names:
        check_among("panels", name, known)
    return tuple(known[name] for name in names)
