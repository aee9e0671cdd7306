"""Models that begin at the end of a run: what breaks only after deletes or a second operation.

A search from the start would have to find its way through all that comes before. So the first
lines of a scenario file lead there, and only what can happen from then on is searched.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import checked
from kit.engine.model import Model
from kit.engine.safeguards import LaterCase
from kit.engine.scenario import Script, ScriptLine, ScriptStep, file_named, parse, read, run
from kit.engine.timeline import Timeline
from kit.errors import BadInput


class Begun(Struct, frozen=True):
    """A run, and the model that goes on from its end: its states are those of ``run.model``."""

    run: Timeline
    model: Model[Any, Any]

    @property
    def actions(self) -> tuple[Any, ...]:
        """The run's actions: before what is done in ``model``, they are a run of ``run.model``."""
        return tuple(self.run.moments[moment].action for moment in self.run.path()[1:])


@checked
def begun(run: Timeline) -> Begun:
    """A model that starts where a run has come to; its monitors remember that run."""
    state, memories = run.state, run.memories()
    later = copy(run.model)
    monitors = tuple(
        replace(monitor, begin=lambda memory=memory: memory)
        for monitor, memory in zip(run.model.monitors, memories, strict=True)
    )
    vars(later).update(start=lambda: state, monitors=monitors)
    return Begun(run, later)


@checked
def begun_by(case: LaterCase, off: tuple[str, ...] = ()) -> Begun:
    """The model of a case, without the safeguards ``off``, at the end of its first lines.

    Raises:
        BadInput: when there is no such file or line.
    """
    script = parse(read(file_named(case.scenario)), case.scenario)
    header = tuple(line for line in script.header if not line.text.startswith("off "))
    if off:
        header = (*header, ScriptLine(header[-1].number, f"off {' '.join(off)}"))
    timeline, _ = run(replace(script, header=header, steps=_before(script, case.before)))
    return begun(timeline)


def _before(script: Script, text: str) -> tuple[ScriptStep, ...]:
    """The steps of a script that come before a line."""
    for place, step in enumerate(script.steps):
        for number, line in enumerate(step.above):
            if line.text == text:
                return (*script.steps[:place], ScriptStep(step.above[:number], ()))
    raise BadInput("before", text, f"a line of {script.name}")
