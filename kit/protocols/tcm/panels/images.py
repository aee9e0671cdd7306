"""The committed pictures of this family: the ring while a node joins, every state diagram."""

from collections.abc import Iterator

from kit.engine.registry import build, scenario_of
from kit.engine.timeline import Timeline
from kit.protocols.tcm.panels.operation import diagram
from kit.protocols.tcm.panels.ring import draw_ring
from kit.protocols.tcm.rules.operations import EDITIONS, OPERATION_SPECS
from kit.views.diagrams import StateDiagram
from kit.views.panel import scene_at
from kit.views.static import standalone_svg


def pictures() -> Iterator[tuple[str, str]]:
    """Yield (name, SVG) of the picture the kit draws itself: epoch 2 of the worked bootstrap."""
    entry, scenario = scenario_of("tcm/bootstrap")
    timeline = Timeline(build(entry.name, scenario.parameters))
    while timeline.now.milestone != "epoch 2":
        timeline.forward()
    drawn = draw_ring(scene_at(timeline, timeline.at))
    ring = next(part for part in drawn.walk() if part.tag == "svg")
    yield "ring", standalone_svg(ring, ground=True)


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagram of every operation, in both editions."""
    for edition in EDITIONS:
        for kind in OPERATION_SPECS:
            yield diagram(kind, edition)
