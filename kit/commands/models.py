"""``models``, ``show``, ``check`` and ``play``: what is there, and what it does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from kit import trace
from kit.check import Result, check
from kit.errors import BadInput
from kit.model import Model
from kit.registry import Entry, build, convert, entries, entry_of, one_of, scenario_of
from kit.timeline import Timeline

CLEAN, VIOLATED, BOUNDED = 0, 1, 2
MOST_PLAYED = 10_000


def models(*, as_json: bool) -> int:
    """List every model with its parameters, safeguards and properties."""
    if as_json:
        print(json.dumps([_listed(entry) for entry in entries().values()]))
        return CLEAN
    for entry in entries().values():
        print(f"{entry.name:<12} {entry.title}")
        print(f"{'':<12} scenarios: {', '.join(s.name for s in entry.scenarios) or 'none'}")
    return CLEAN


def _listed(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "parameters": msgspec.to_builtins(entry.parameters()),
        "safeguards": [
            {"name": g.name, "id": g.id, "title": g.title, "protects": list(g.protects)}
            for g in entry.safeguards
        ],
        "properties": [prop.name for prop in build(entry.name).properties],
        "scenarios": [scenario.name for scenario in entry.scenarios],
    }


def show(name: str) -> int:
    """Print a model: its diagrams as text, its parameters, safeguards and scenarios."""
    entry = entry_of(name)
    print(f"{entry.name}: {entry.title}")
    print("\nparameters")
    for field, value in msgspec.to_builtins(entry.parameters()).items():
        print(f"  {field} = {json.dumps(value)}")
    print("\nproperties")
    for prop in build(entry.name).properties:
        print(f"  {prop.name:<16} {prop.kind:<9} {prop.title} {prop.invariant}".rstrip())
    print("\nsafeguards")
    for guard in entry.safeguards:
        print(f"  {guard.id} {guard.name:<20} {guard.title}; protects {', '.join(guard.protects)}")
    print("\nscenarios")
    for scenario in entry.scenarios:
        print(f"  {scenario.name:<18} {scenario.title}")
    for diagram in entry.diagrams:
        print(f"\n{diagram.title}")
        for state, event, after in diagram.transitions:
            print(f"  {state} --{event}--> {after}")
    return CLEAN


def checked(
    name: str,
    given: list[str],
    off: list[str],
    *,
    most: int | None,
    trace_file: str | None,
    as_json: bool,
) -> int:
    """Search a model; 0 complete and clean, 1 a violation was found, 2 bounded."""
    model = _model(name, given, off)
    result = check(model, max_states=most, progress=_progress if sys.stderr.isatty() else None)
    if result.violation is not None and trace_file is not None:
        timeline = Timeline(model)
        for action in result.violation.actions:
            timeline.do(action)
        trace.write(timeline.save(), trace_file)
    print(json.dumps(_as_plain(model, result)) if as_json else _as_text(model, result))
    if result.violation is not None:
        return VIOLATED
    return CLEAN if result.complete else BOUNDED


def _model(name: str, given: list[str], off: list[str]) -> Model[Any, Any]:
    """A model or scenario by name, with parameters ``key=value`` and safeguards switched off.

    A safeguard brings its smallest configuration along, unless parameters are given.
    """
    parameters: dict[str, Any] = {}
    names = list(entries())
    if name in names:
        entry = entry_of(name)
    else:
        scenarios = [f"{e.name}/{s.name}" for e in entries().values() for s in e.scenarios]
        bare = [word.split("/")[1] for word in scenarios]
        if name not in (*scenarios, *bare):
            raise BadInput("model", name, one_of(name, [*names, *bare]))
        entry, scenario = scenario_of(name)
        parameters = dict(scenario.parameters)
        off = [*scenario.off, *off]
    if not given and not parameters:
        for guard in entry.safeguards:
            if guard.name in off or guard.id in off:
                parameters = dict(guard.smallest)
    for text in given:
        field, equals, value = text.partition("=")
        if not equals:
            raise BadInput("-p", text, "parameter=value")
        parameters[field] = _value(value)
    convert(entry, parameters)
    return build(entry.name, parameters, tuple(off))


def _value(text: str) -> Any:
    """A parameter's value: JSON where it is JSON, else the text itself."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _progress(seen: int, waiting: int) -> None:
    print(f"\r{seen:,} states, {waiting:,} in this level ", end="", file=sys.stderr, flush=True)


def _as_plain(model: Model[Any, Any], result: Result) -> dict[str, Any]:
    violation = result.violation
    return {
        "model": result.model,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "complete": result.complete,
        "violation": None
        if violation is None
        else {
            "property": violation.property,
            "witness": violation.witness,
            "trace": [model.verb(action) for action in violation.actions],
        },
        "unreached": list(result.unreached),
        "seconds": round(result.seconds, 3),
    }


def _as_text(model: Model[Any, Any], result: Result) -> str:
    counts = f"{result.states:,} states, {result.transitions:,} steps, depth {result.depth}"
    lines = [f"{result.model}: {counts}, {result.seconds:.2f} s"]
    if result.violation is None:
        lines.append("complete: no violation" if result.complete else "bounded: none found so far")
        lines += [f"never reached: {name}" for name in result.unreached]
        return "\n".join(lines)
    lines.append(f"violated: {result.violation.property}: {result.violation.witness}")
    state = model.start()
    for number, action in enumerate(result.violation.actions, start=1):
        after = model.apply(state, action)
        lines.append(f"{number:4} {model.verb(action):<28} {model.describe(state, action, after)}")
        state = after
    return "\n".join(lines)


def play(what: str, html: str | None) -> int:
    """Run a trace, a scenario file or a scenario; print it, or write it as one HTML page."""
    timeline = opened(what)
    if html is not None:
        from kit.views.export import export_html

        written = export_html(timeline, html)
        print(f"{html}: {written.size:,} bytes, {len(timeline.moments)} moments")
        for part in written.left_out:
            print(f"left out: {part}")
        return CLEAN
    print(as_script(timeline))
    return CLEAN


def opened(what: str) -> Timeline:
    """The timeline of a trace file, a scenario file (``.txt``) or a scenario by name.

    Raises:
        BadInput: when it is none of these.
    """
    if what.endswith(".txt"):
        from kit.scenario import open_file

        return open_file(what)
    if what.endswith(".json") or Path(what).exists():
        return Timeline.load(trace.read(what))
    entry, scenario = scenario_of(what)
    model = build(entry.name, dict(scenario.parameters), scenario.off)
    timeline = Timeline(model, scenario.script)
    while len(timeline.moments) < MOST_PLAYED and timeline.forward() is not None:
        pass
    return timeline


def as_script(timeline: Timeline) -> str:
    """Every step in words; at milestones also the pictures, in their text form."""
    from kit.views.panel import Scene
    from kit.views.registry import for_model

    panels = [panel for panel in for_model(timeline.model).panels if panel.still]
    lines = []
    for moment in timeline.path():
        now = timeline.moments[moment]
        before = timeline.moments[now.parent].state if moment else None
        lines.append(f"{moment:4} {now.say}")
        if moment == 0 or now.milestone is not None:
            scene = Scene(timeline.model, now.state, before, now.action, now.say, now.milestone)
            for panel in panels:
                lines += ["", *("     " + line for line in panel.text(scene).splitlines())]
            lines.append("")
    return "\n".join(lines)
