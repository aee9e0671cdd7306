"""The committed pictures of this family: the bootstrap's tables, the ring, every state diagram."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.registry import build, scenario_of
from kit.engine.timeline import Timeline
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.operation import diagram
from kit.protocols.tcm.panels.placement import GroupChange, Lines, lines
from kit.protocols.tcm.panels.ring import draw_ring
from kit.protocols.tcm.rules.operations import EDITIONS, OPERATION_SPECS
from kit.views.diagrams import StateDiagram
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.static import standalone_svg

ROW = 30
LEFT = {"reads": 20, "writes": 330}
CHIP = 34


def pictures() -> Iterator[tuple[str, str]]:
    """Yield (name, SVG) of the pictures the kit draws itself, with nobody's help."""
    entry, scenario = scenario_of("tcm/bootstrap")
    timeline = Timeline(build(entry.name, scenario.parameters))
    scenes: list[Scene] = []
    while True:
        now = timeline.now
        if now.milestone or now.id == 0:
            step = (timeline.before, now.action, now.say, now.milestone)
            scenes.append(Scene(timeline.model, now.state, *step))
        if timeline.forward() is None:
            break
    for i, scene in enumerate(scenes):
        yield f"bootstrap-{i}", standalone_svg(poster(scene))
    ring = next(part for part in draw_ring(scenes[2]).walk() if part.tag == "svg")
    yield "ring", standalone_svg(ring, ground=True)


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagram of every operation, in both editions."""
    for edition in EDITIONS:
        for kind in OPERATION_SPECS:
            yield diagram(kind, edition)


# -- the placement tables as one drawing, for pages that show pictures only -----------------------


def poster(scene: Scene) -> Frag:
    """Draw the first keyspace's tables (the part in focus) with the step's changes marked."""
    name = facts.keyspaces(scene.model)[0]
    rows = [line for line in lines(scene, name) if facts.inside(scene.model, line.row)]
    height = 84 + ROW * len(rows)
    tables = [
        h(
            "g",
            h("text", f"{side.removesuffix('s').title()} placements", x=x, y=56, class_="soft"),
            [_row(getattr(line, side), line, x, 84 + i * ROW) for i, line in enumerate(rows)],
        )
        for side, x in LEFT.items()
    ]
    words = "; ".join(line.words(" ") for line in rows)
    return h(
        "svg",
        h("rect", x=0, y=0, width=640, height=height, class_="paper"),
        h("text", scene.say, x=20, y=26),
        tables,
        viewBox=f"0 0 640 {height}",
        role="img",
        aria_label=f"epoch {scene.of(facts.epoch)}: {words}",
    )


def _row(group: GroupChange, line: Lines, x: int, y: int) -> Frag:
    kinds = [(name, "added" if name in group.added else "") for name in group.order]
    kinds += [(name, "removed") for name in group.removed]
    chips = [_chip(*chip, x + 90 + i * (CHIP + 6), y) for i, chip in enumerate(kinds)]
    return h("g", h("text", line.row.label, x=x, y=y), chips)


def _chip(name: str, kind: str, x: int, y: int) -> Frag:
    sign = {"added": "+", "removed": "−"}.get(kind, "")
    return h(
        "g",
        h("rect", x=x, y=y - 15, width=CHIP, height=21, rx=4 if kind else 10, class_="body"),
        h("text", f"{sign}{name[:3]}", x=x + CHIP / 2, y=y, text_anchor="middle", class_="on"),
        class_=kind or None,
    )
