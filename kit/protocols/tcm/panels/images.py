"""The committed pictures of this family: the ring while a node joins, every state diagram."""

from collections.abc import Iterator

from kit.model.registry import build, scenario_of
from kit.model.timeline import Timeline
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.operation import diagram
from kit.protocols.tcm.panels.ring import ring_of
from kit.protocols.tcm.rules.operations import EDITIONS, OPERATION_SPECS
from kit.views.diagrams import StateDiagram
from kit.views.fragment import Frag, h
from kit.views.labels import measured
from kit.views.panel import Scene, scene_at
from kit.views.ring import HEIGHT, WIDTH, Place, draw_ring, whole_place, xy
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
    ring = draw_ring(scene, ring_of)
    yield "ring", standalone_svg(ring, ground=True)
    yield "ring-words", standalone_svg(_with_words(scene, ring), ground=True)


Said = tuple[str, str, complex]
"""A word, what is said of it, and the point of the ring that it leads to."""


def _with_words(scene: Scene, ring: Frag) -> Frag:
    place = whole_place(ring_of(scene))
    sides = [*_at_left(scene, place)], [*_at_right(scene, place)]
    width, edge = WIDTH + 2 * BESIDE, BESIDE - 12
    left, right = (
        [_draw_caption(said, x, i) for i, said in enumerate(words)]
        for x, words in zip((-edge, WIDTH + edge), sides, strict=True)
    )
    label = "; ".join(f"{word}: {line}" for words in sides for word, line, _ in words)
    moved = h("g", ring.kids, left, right, transform=f"translate({BESIDE} 0)")
    return h("svg", moved, viewBox=f"0 0 {width} {HEIGHT}", aria_label=f"token ring. {label}")


def _draw_caption(said: Said, x: float, place: int) -> Frag:
    word, line, to = said
    y = 24 + place * BETWEEN
    anchor, inward = ("start", 1) if x < 0 else ("end", -1)
    start = complex(x + inward * (measured(line) + 10), y + LINE - 4)
    return h(
        "g",
        h("path", d=f"M{xy(start)}L{xy(to)}", class_="wire"),
        h("text", word, x=x, y=y, text_anchor=anchor, class_="strong"),
        h("text", line, x=x, y=y + LINE, text_anchor=anchor),
    )


def _at_left(scene: Scene, place: Place) -> Iterator[Said]:
    space = facts.space(scene.model)
    yield ("Ring", f"the line ends at {space.label(space.high)}", place.at(0.98, place.outer))
    yield ("Epoch", "the newest event in the log", place.middle - 48)
    rest = next(row for row in scene.of(facts.rows) if not row.locked_by)
    name, token = _owner(scene, rest.right)
    below = place.at(place.turn(token), place.nodes + place.disc) + 24j
    applied = next(each.epoch for each in scene.of(facts.applied) if each.node == name)
    yield ("Apply", f"{name} has applied epoch {applied}", below)
    at = _at(place, rest, place.lane(0)[1])
    yield ("Replicas", f"of {rest.label}: {', '.join(rest.reads)}", at)


def _at_right(scene: Scene, place: Place) -> Iterator[Said]:
    early, late = [row for row in scene.of(facts.rows) if {*row.writes} > {*row.reads}][:2]
    [comes] = {*early.writes} - {*early.reads}
    yield ("Write group", f"{comes} gets writes but no reads yet", _at(place, early, place.outer))
    at = _at(place, early, place.lane(0)[0])
    yield ("Read group", f"{' and '.join(early.reads)} answer reads", at)
    name, token = _owner(scene, early.right)
    at = place.at(place.turn(token), place.nodes + place.disc)
    yield ("Token", f"{name} owns {facts.space(scene.model).label(token)}", at + 2)
    at = place.at(place.turn(late.right), place.outer)
    yield ("Range", f"{late.label} includes its right end", at)


def _at(place: Place, row: facts.RangeRow, radius: float) -> complex:
    return place.at((place.turn(row.left) + place.turn(row.right)) / 2, radius)


def _owner(scene: Scene, token: int) -> tuple[str, int]:
    return next((node.name, token) for node in scene.of(facts.nodes) if token in node.tokens)


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagram of every operation, in both editions."""
    for edition in EDITIONS:
        for kind in OPERATION_SPECS:
            yield diagram(kind, edition)
