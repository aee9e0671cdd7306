"""``check`` and ``play``: searching all that can happen, and running one thing that does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from kit import trace
from kit.check import Result, check
from kit.commands.layout import GAP, columns, counted, put, wrap
from kit.commands.models import named
from kit.errors import BadInput
from kit.model import Model, lamps
from kit.registry import build, convert, scenario_of
from kit.timeline import Timeline

CLEAN, VIOLATED, BOUNDED = 0, 1, 2
MOST_PLAYED = 10_000


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
    watched = sys.stderr is not None and sys.stderr.isatty()
    result = check(model, max_states=most, progress=_progress if watched else None)
    if watched:
        print(f"\r{' ' * 60}\r", end="", file=sys.stderr, flush=True)
    if result.violation is not None and trace_file is not None:
        timeline = Timeline(model)
        for action in result.violation.actions:
            timeline.do(action)
        trace.write(timeline.save(), trace_file)
    put(json.dumps(_as_plain(model, result)) if as_json else _as_text(model, result))
    if result.violation is not None:
        return VIOLATED
    return CLEAN if result.complete else BOUNDED


def _model(name: str, given: list[str], off: list[str]) -> Model[Any, Any]:
    """A model or scenario by name, with parameters ``key=value`` and safeguards switched off.

    A safeguard brings its smallest configuration along, unless parameters are given.
    """
    entry, scenario = named(name)
    parameters: dict[str, Any] = dict(scenario.parameters) if scenario else {}
    switched = [*(scenario.off if scenario else ()), *off]
    if not given and not parameters:
        for guard in entry.safeguards:
            if guard.name in off or guard.id in off:
                parameters = dict(guard.smallest)
    for text in given:
        field, equals, value = text.partition("=")
        if not equals or not _is_text(text):
            raise BadInput("-p", text, "parameter=value")
        parameters[field] = _value(value)
    convert(entry, parameters)
    return build(entry.name, parameters, tuple(switched))


def _is_text(word: str) -> bool:
    """Whether a word of the command line was valid text; bytes that are not become surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in word)


def _value(text: str) -> Any:
    """A parameter's value: JSON where it is JSON, else the text itself."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _progress(seen: int, waiting: int) -> None:
    print(f"\r{seen:,} states, {waiting:,} in this level ", end="", file=sys.stderr, flush=True)


def _as_plain(model: Model[Any, Any], result: Result) -> dict[str, Any]:
    """The result as data; ``unreached`` only where some *sometimes* property was never met."""
    violation = result.violation
    found: dict[str, Any] = {
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
        "seconds": round(result.seconds, 3),
    }
    if result.unreached:
        found["unreached"] = list(result.unreached)
    return found


def _as_text(model: Model[Any, Any], result: Result) -> str:
    counts = f"{counted(result.states, 'state')}, {counted(result.transitions, 'step')}"
    lines = [f"{result.model}: {counts}, depth {result.depth}, {result.seconds:.2f} s"]
    if result.violation is None:
        lines.append("complete: no violation" if result.complete else "bounded: none found so far")
        lines += [f"never reached: {name}" for name in result.unreached]
        return "\n".join(lines)
    lines += wrap(result.violation.witness, f"violated: {result.violation.property}: ", GAP)
    state = model.start()
    rows = []
    for number, action in enumerate(result.violation.actions, start=1):
        after = model.apply(state, action)
        rows.append((f"{number:4}", model.verb(action), model.describe(state, action, after)))
        state = after
    return "\n".join([*lines, *columns(rows, "")])


def play(what: str, html: str | None) -> int:
    """Run a trace, a scenario file or a scenario; print it, or write it as one HTML page."""
    timeline = opened(what)
    if html is not None:
        from kit.views.export import export_html

        written = export_html(timeline, html)
        size = counted(written.size, "byte")
        put(
            "\n".join(
                [
                    f"{html}: {size}, {counted(len(timeline.moments), 'moment')}",
                    *(f"left out: {part}" for part in written.left_out),
                ]
            )
        )
        return CLEAN
    put(as_script(timeline))
    return CLEAN


def opened(what: str) -> Timeline:
    """The timeline of a trace file, a scenario file (``.txt``) or a scenario by name.

    Raises:
        BadInput: when it is none of these.
    """
    if what.endswith(".txt"):
        from kit.scenario import open_file

        return open_file(what)
    if what.endswith(".json") or _exists(what):
        return Timeline.load(trace.read(what))
    entry, scenario = scenario_of(what)
    model = build(entry.name, dict(scenario.parameters), scenario.off)
    timeline = Timeline(model, scenario.script)
    while len(timeline.moments) < MOST_PLAYED and timeline.forward() is not None:
        pass
    return timeline


def _exists(path: str) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def as_script(timeline: Timeline) -> str:
    """Every step in words, with the witness of what it breaks; at milestones also the pictures."""
    from kit.views.panel import Scene
    from kit.views.registry import for_model

    panels = [panel for panel in for_model(timeline.model).panels if panel.still]
    lines: list[str] = []
    known: set[str] = set()
    for moment in timeline.path():
        now = timeline.moments[moment]
        before = timeline.moments[now.parent].state if moment else None
        lines += wrap(now.say, f"{moment:4} ")
        memories = timeline.memories(moment)
        judged = lamps(timeline.model, now.state, before, now.action, memories)
        broken = [lamp for lamp in judged if not lamp.ok]
        for lamp in broken:
            if lamp.name not in known:
                lines += wrap(str(lamp.witness), f"     BROKEN {lamp.title}: ", " " * 12)
        known = {lamp.name for lamp in broken}
        if moment == 0 or now.milestone is not None:
            scene = Scene(
                timeline.model,
                now.state,
                before,
                now.action,
                now.say,
                now.milestone,
                memories=memories,
            )
            for panel in panels:
                if panel.shown is not None and not panel.shown(scene):
                    continue
                lines += ["", *("     " + line for line in panel.text(scene).splitlines())]
            lines.append("")
    return "\n".join(line.rstrip() for line in lines)
