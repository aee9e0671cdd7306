"""The committed pictures of this family: the bootstrap's tables, the ring, every state diagram."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.registry import build, scenario_of
from kit.engine.timeline import Timeline
from kit.protocols.tcm.panels.operation import diagram
from kit.protocols.tcm.panels.poster import poster
from kit.protocols.tcm.panels.ring import draw_ring
from kit.protocols.tcm.rules.steps import EDITIONS, OPERATION_SPECS
from kit.views.diagrams import StateDiagram
from kit.views.panel import Scene
from kit.views.static import standalone_svg


def pictures() -> Iterator[tuple[str, str]]:
    """Yield (name, SVG) of the pictures the kit draws itself, with nobody's help."""
    entry, scenario = scenario_of("tcm/bootstrap")
    timeline = Timeline(build(entry.name, scenario.parameters))
    scenes: dict[int, Scene] = {}
    while True:
        now = timeline.now
        if now.milestone or now.id == 0:
            scenes[len(scenes)] = Scene(
                timeline.model, now.state, timeline.before, now.action, now.say, now.milestone
            )
        if timeline.forward() is None:
            break
    for i, scene in scenes.items():
        yield f"bootstrap-{i}", standalone_svg(poster(scene))
    ring = next(part for part in draw_ring(scenes[2]).walk() if part.tag == "svg")
    yield "ring", standalone_svg(ring, ground=True)


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagram of every operation, in both editions."""
    for edition in EDITIONS:
        for kind in OPERATION_SPECS:
            yield diagram(kind, edition)
