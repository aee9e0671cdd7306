"""The committed pictures of this family: the ring while a node joins, every state diagram."""

from collections.abc import Iterator

from kit.model.registry import build, scenario_of
from kit.model.timeline import Timeline
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.operation import diagram
from kit.protocols.tcm.panels.ring import draw_ring
from kit.protocols.tcm.rules.operations import EDITIONS, OPERATION_SPECS
from kit.views.circle import CENTRE, DISC, HEIGHT, INSIDE, OUTSIDE, RADIUS, WIDTH, point, share
from kit.views.diagrams import StateDiagram
from kit.views.fragment import Frag, h
from kit.views.labels import measured
from kit.views.panel import Scene, scene_at
from kit.views.static import standalone_svg

BESIDE, BETWEEN, LINE = 250, 64, 17
"""How much room words have on either side of the ring; from word to word; from line to line."""


def pictures() -> Iterator[tuple[str, str]]:
    """Yield (name, SVG) of what the kit draws itself: epoch 2 of the worked bootstrap, and the same
    with the words of the first lesson around it.
    """
    entry, scenario = scenario_of("tcm/bootstrap")
    timeline = Timeline(build(entry.name, scenario.parameters))
    while timeline.now.milestone != "epoch 2":
        timeline.forward()
    scene = scene_at(timeline, timeline.at)
    ring = next(part for part in draw_ring(scene).walk() if part.tag == "svg")
    yield "ring", standalone_svg(ring, ground=True)
    yield "ring-words", standalone_svg(_with_words(scene, ring), ground=True)


Said = tuple[str, str, tuple[float, float]]
"""A word, what is said of it, and the point of the ring that it leads to."""


def _with_words(scene: Scene, ring: Frag) -> Frag:
    width, edge = WIDTH + 2 * BESIDE, BESIDE - 12
    left, right = (
        [_said(said, side, i) for i, said in enumerate(words)]
        for side, words in ((-edge, _at_left(scene)), (WIDTH + edge, _at_right(scene)))
    )
    label = "; ".join(f"{word}: {line}" for word, line, _ in (*_at_left(scene), *_at_right(scene)))
    moved = h("g", ring.kids, left, right, transform=f"translate({BESIDE} 0)")
    return h("svg", moved, viewBox=f"0 0 {width} {HEIGHT}", aria_label=f"token ring. {label}")


def _said(said: Said, x: float, place: int) -> Frag:
    word, line, (to_x, to_y) = said
    y = 24 + place * BETWEEN
    anchor, inward = ("start", 1) if x < 0 else ("end", -1)
    from_x = x + inward * (measured(line) + 10)
    return h(
        "g",
        h("path", d=f"M{from_x:.0f} {y + LINE - 4}L{to_x:.0f} {to_y:.0f}", class_="wire"),
        h("text", word, x=x, y=y, text_anchor=anchor, class_="strong"),
        h("text", line, x=x, y=y + LINE, text_anchor=anchor),
    )


def _at_left(scene: Scene) -> Iterator[Said]:
    space = facts.space(scene.model)
    ends = f"the line ends at {space.label(space.high)}"
    yield ("Ring", ends, (CENTRE[0] - 30, 28))
    yield ("Epoch", "the newest event in the log", (CENTRE[0] - 36, CENTRE[1]))
    rest = next(row for row in scene.of(facts.rows) if not row.locked_by)
    name, token = _owner(scene, rest.right)
    x, y = point(share(space, token), RADIUS + DISC)
    applied = next(each.epoch for each in scene.of(facts.applied) if each.node == name)
    yield ("Apply", f"{name} has applied epoch {applied}", (x - 50, y + 4))
    x, y = point(_middle(scene, rest), INSIDE)
    yield ("Replicas", f"of {rest.label}: {', '.join(rest.reads)}", (x - 10, y))


def _at_right(scene: Scene) -> Iterator[Said]:
    space = facts.space(scene.model)
    early, late = [row for row in scene.of(facts.rows) if {*row.writes} > {*row.reads}][:2]
    [comes] = {*early.writes} - {*early.reads}
    x, y = point(_middle(scene, early), OUTSIDE)
    yield ("Write group", f"{comes} gets writes but no reads yet", (x + 9, y))
    x, y = point(_middle(scene, early), INSIDE)
    yield ("Read group", f"{' and '.join(early.reads)} answer reads", (x + 6, y + 2))
    name, token = _owner(scene, early.right)
    x, y = point(share(space, token), RADIUS + DISC)
    yield ("Token", f"{name} owns {space.label(token)}", (x + 47, y + 4))
    x, y = point(share(space, late.left + (late.right - late.left) // 4), RADIUS)
    yield ("Range", f"{late.label} includes its right end", (x + 3, y))


def _middle(scene: Scene, row: facts.RangeRow) -> float:
    space = facts.space(scene.model)
    return (share(space, row.left) + share(space, row.right)) / 2


def _owner(scene: Scene, token: int) -> tuple[str, int]:
    return next((node.name, token) for node in scene.of(facts.nodes) if token in node.tokens)


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagram of every operation, in both editions."""
    for edition in EDITIONS:
        for kind in OPERATION_SPECS:
            yield diagram(kind, edition)
