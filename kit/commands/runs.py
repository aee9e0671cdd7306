"""``play`` and ``export``: running one thing that can happen, for people and for other tools."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from kit.commands import own_models
from kit.commands.answer import WIDTH, Answer, wrap
from kit.commands.parsing import Command, Word
from kit.edge.paths import to_read
from kit.edge.reading import beginning
from kit.edge.writing import check_place, write_whole
from kit.errors import BadInput, counted, one_line
from kit.formats.itf import is_itf, is_tlc
from kit.formats.recorded import read_itf
from kit.model import trace
from kit.model.model import Model, verdicts
from kit.model.registry import build, model_names, scenario_of
from kit.model.timeline import Timeline
from kit.search.search import STUCK, awaits_operator, may_rest

MOST_PLAYED = 10_000


def _play(given: Namespace) -> Answer:
    what, html = given.what, given.html
    if html is not None:
        check_place(html, "--html", inputs=(what,))
    timeline, notes = opened(what, given.model)
    if html is None:
        return Answer(None, [*notes, *_steps(timeline), *_end(timeline)])
    from kit.views.export import export_html

    written = export_html(timeline, html, field="--html")
    size = f"{counted(written.size, 'byte')}, {counted(len(timeline.moments), 'moment')}"
    left = [f"left out: {part}" for part in written.left_out]
    return Answer(None, [*notes, f"{html}: {size}", *left])


def _export(given: Namespace) -> Answer:
    from kit.views.runs import export_run

    if given.out is not None:
        check_place(given.out, "--out", inputs=(given.what,))
    timeline, notes = opened(given.what, given.model)
    text = export_run(timeline, given.form, node=given.node, field="--node")
    said = {"model": timeline.model.name, "form": given.form, "steps": len(timeline.path()) - 1}
    if given.out is None:
        return Answer({**said, "text": text}, text.splitlines(), warnings=notes)
    size = write_whole(given.out, text, "--out").stat().st_size
    words = [f"{given.out}: {given.form}, {counted(size, 'byte')}"]
    return Answer({**said, "file": given.out, "bytes": size}, words, warnings=notes)


WHAT = Word(
    "what",
    "TRACE|SCENARIO|MODEL",
    "a file (also of Apalache, Quint or TLC), a scenario, a model, or a file with a model of your "
    "own (lock.py)",
)
HTML = Word("--html", "OUT", "write one HTML page instead")
FORMS = "itf, shiviz, mermaid, svg, or node: a line for each step that NODE has seen"
SEEN = "only what this node has seen; node needs it, and itf takes none"
OF_EXPORT = (
    Word("form", "FORM", FORMS),
    Word("--node", "NODE", SEEN, default=""),
    Word("--out", "FILE", "write the run to a file instead"),
)
OWN = Word("--model", "FILE", "the file with the model of your own that the trace is of (lock.py)")
PLAYED = "A run in words: each step, what it breaks, and the pictures at milestones."
EXPORTED = "A run in a form that another tool reads, or what one node has seen of it."
PLAY = Command("play", _play, (WHAT, HTML, OWN), PLAYED, as_json=False)
EXPORT = Command("export", _export, (WHAT, *OF_EXPORT, OWN), EXPORTED)


def opened(what: str, own: str | None = None) -> tuple[Timeline, tuple[str, ...]]:
    """The timeline of a trace (the kit's own, or one of Apalache, Quint or TLC), a scenario file
    (``.txt``), a scenario or model by name, or a file with a model of one's own, and notes.

    The kit's own scenario files go by their names, too: ``topology/another-address``.

    A note says that a trace was made by another revision of its model.

    ``own`` is the file of the model that a trace is of, where that is none of the kit's.

    Raises BadInput when it is none of these.
    """
    if own is not None:
        entry, run = own_models.entry_in(own), trace.read(what)
        if run.model != entry.name:
            allowed = f"the file of the model {run.model}, which the trace is of"
            raise BadInput(OWN.names, own, allowed)
        timeline = Timeline.load(run)
        return timeline, timeline.notes
    if own_models.is_file(what):
        return _suggested(build(own_models.entry_in(what).name))
    first = beginning(what)
    if is_tlc(first) or (is_itf(first) and not trace.is_trace(first)):
        return read_itf(what), ()
    if what.endswith(".txt") or first.lstrip().startswith("#"):
        return _script(what)
    if what.endswith(".json") or _exists(what):
        run = trace.read(what)
        if run.model not in model_names():
            own = f"one of your own is given as its file, with {OWN.names} lock.py"
            raise trace.not_here(run.model, own)
        timeline = Timeline.load(run)
        return timeline, timeline.notes
    if what in model_names():
        return _suggested(build(what))
    try:
        entry, scenario = scenario_of(what)
    except BadInput as error:
        from kit.model.scenario import files

        if what not in files():
            raise BadInput(error.field, what, own_models.or_a_file(what, error.allowed)) from None
        return _script(str(files()[what]))
    timeline = Timeline(build(entry.name, scenario.parameters, scenario.off), scenario.script)
    while len(timeline.moments) < MOST_PLAYED and timeline.forward() is not None:
        pass
    return timeline, ()


def _suggested(model: Model[Any, Any]) -> tuple[Timeline, tuple[str, ...]]:
    timeline = Timeline(model)
    seen = {timeline.state: 0}
    while len(timeline.moments) < MOST_PLAYED and timeline.forward() is not None:
        if (before := seen.setdefault(timeline.state, timeline.at)) != timeline.at:
            same = f"its state is that of step {before}, so it would go on as it did from there"
            return timeline, (f"step {timeline.at} is the last: {same}",)
    if len(timeline.moments) < MOST_PLAYED:
        return timeline, ()
    return timeline, (f"these are the first {timeline.at:,} steps: no state came again",)


def _script(path: str) -> tuple[Timeline, tuple[str, ...]]:
    from kit.model.scenario import differences, open_script, parse, read

    script = parse(read(path), path)
    for line in differences(script):
        print(f"kit: {one_line(line)}", file=sys.stderr)
    return open_script(script), ()


def _exists(path: str) -> bool:
    try:
        return Path(str(to_read(path))).exists()
    except (OSError, ValueError):
        return False


def _steps(timeline: Timeline) -> list[str]:
    from kit.views.panel import scene_at
    from kit.views.registry import for_model

    panels = [panel for panel in for_model(timeline.model).panels if panel.still]
    lines: list[str] = []
    known: set[str] = set()
    for moment in timeline.path():
        now = timeline.moments[moment]
        before = timeline.moments[now.parent].state if moment else None
        lines += wrap(now.say, f"{moment:4} ")
        memories = timeline.memories(moment)
        judged = verdicts(timeline.model, now.state, before, now.action, memories)
        broken = [verdict for verdict in judged if not verdict.ok]
        for verdict in broken:
            if verdict.name not in known:
                lines += wrap(str(verdict.witness), f"     BROKEN {verdict.title}: ", " " * 12)
        known = {verdict.name for verdict in broken}
        if moment == 0 or now.milestone is not None:
            scene = scene_at(timeline, moment)
            for panel in panels:
                if panel.shown is not None and not panel.shown(scene):
                    continue
                lines.append("")
                for line in panel.text(scene).splitlines():
                    lines += _folded("     " + line)
            lines.append("")
    return [line.rstrip() for line in lines]


def _end(timeline: Timeline) -> tuple[str, ...]:
    model, state = timeline.model, timeline.state
    if next(model.actions(state), None) is not None:
        return ()
    if not may_rest(model, state):
        return (f"{STUCK}, and no goal is reached: a deadlock",)
    return (": ".join(filter(None, (STUCK, awaits_operator(model, state)))),)


def _folded(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    return [line] if len(line) <= WIDTH else wrap(line.strip(), indent, indent + "   ")
