"""What travelled in a step, drawn over a picture: a line that goes round all that stands there,
with an open envelope near its end.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from kit.model.flows import Flow
from kit.views.fragment import Frag, h
from kit.views.labels import LINE, SIZE, Box, Sheet, measured
from kit.views.panel import Scene
from kit.views.replicas import envelope_path
from kit.views.wires import Body, Place, ground, on, path, tip

MOST_TRAILS = 12
ENDING = (0.85, 0.7, 0.55, 0.4, 0.78, 0.62, 0.47, 0.3, 0.2)
"""Where on its wire an envelope stands."""
MOST_HIGH = 40.0
"""What is higher is no thing but a place for some."""
MOVED = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)(?: scale\(([\d.]+)\))?")
GLYPH = re.compile(r"M?(-?[\d.]+)[ ,]?(-?[\d.]+)")
BASE = 4.5
"""How far the middle of letters is above the line that they stand on."""


class Standing:
    """What stands in a drawing: the ground for wires, and where each keyed part has its end.

    That is all that the part names as its ends (``data_end``), or the first thing in it.
    """

    def __init__(self, drawing: Frag, width: float, height: float) -> None:
        bodies: list[Body] = []
        first: dict[str, Body] = {}
        named: dict[str, Body] = {}
        for part, at, size, keys, is_end in _parts(drawing, 0j, 1.0, (), is_end=False):
            if body := _body(part, at, size):
                bodies.append(body)
                for key in keys:
                    first.setdefault(key, body)
                if is_end and keys:
                    whole = named.setdefault(keys[-1], body)
                    if whole is not body:
                        named[keys[-1]] = replace(whole, boxes=(*whole.boxes, body.around))
        self.ends = first | named
        self.ground = ground(tuple(bodies), Box(width / 2, height / 2, width, height))


def _parts(
    part: Frag, at: Place, size: float, keys: tuple[str, ...], *, is_end: bool
) -> Iterator[tuple[Frag, Place, float, tuple[str, ...], bool]]:
    if part.get("hidden") is not None:
        return
    if moved := MOVED.match(part.get("transform") or ""):
        right, down, by = moved.groups("1")
        at, size = at + size * Place(float(right), float(down)), size * float(by)
    keys = (*keys, part.key) if part.key else keys
    is_end = is_end or part.get("data-end") is not None
    yield part, at, size, keys, is_end
    for kid in part.kids:
        if isinstance(kid, Frag):
            yield from _parts(kid, at, size, keys, is_end=is_end)


def _numbers(part: Frag, size: float, *names: str) -> Iterator[float]:
    own = dict(part.attrs)
    return (size * float(own.get(name) or 0) for name in names)


def _body(part: Frag, at: Place, size: float) -> Body | None:
    if part.tag == "text" and (words := part.text()):
        x, y, dy = _numbers(part, size, "x", "y", "dy")
        wide = measured(words, SIZE * size, bold=True)
        aside = {"middle": 0.0, "end": -wide / 2}.get(part.get("text-anchor") or "", wide / 2)
        middle = at + Place(x + aside, y + dy - BASE * size)
        return Body(middle, 0, (Box(middle.real, middle.imag, wide, LINE * size),))
    if part.tag == "rect":
        x, y, wide, high = _numbers(part, size, "x", "y", "width", "height")
        if high < MOST_HIGH:
            middle = at + Place(x + wide / 2, y + high / 2)
            return Body(middle, 0, (Box(middle.real, middle.imag, wide, high),))
    if part.tag == "circle":
        x, y, r = _numbers(part, size, "cx", "cy", "r")
        if 2 * r < MOST_HIGH:
            return Body(at + Place(x, y), r)
    if pen := GLYPH.match(part.get("d") or part.get("points") or ""):
        wide, high = (2 * size * abs(float(place)) for place in pen.groups())
        reach = max(wide, high) / 2 if part.tag == "polygon" else 0
        if max(wide, high) < MOST_HIGH:
            return Body(at, reach, (Box(at.real, at.imag, wide, max(high, wide / 2)),))
    return None


def travelled(scene: Scene, there: Standing, known: str = "", air: float = 0) -> Frag | None:
    """Draw what travelled between the parts of a drawing, round all others, each pair of ends once
    and both ways on one line; what is ``known`` has no envelope, which keep so much ``air``.
    """
    taken = Sheet(box.widened(air / 2) for box in there.ground.taken())
    seen = dict[tuple[str, str], tuple[Flow, str]]()
    for flow in scene.flows()[:MOST_TRAILS]:
        back = (flow.to_key, flow.from_key)
        if back in seen:
            seen[back] = seen[back][0], f"; {flow.text}"
        else:
            seen.setdefault((flow.from_key, flow.to_key), (flow, ""))
    drawn = []
    for flow, answered in seen.values():
        start, end = there.ends.get(flow.from_key), there.ends.get(flow.to_key)
        if not start or not end or start.at == end.at:
            continue
        way = there.ground.way(start, end)
        free = (at for share in ENDING if taken.is_free(_around(at := on(way, share))))
        place = None if flow.label == known else next(free, None)
        heads = "" if place and not answered else tip(way, 1)
        heads += tip(way[::-1], 1) if answered else ""
        envelope = None
        if place:
            taken.cover(_around(place))
            letter = h("path", d=envelope_path(8, opened=True), class_="opened")
            spot = f"translate({place.real:.0f} {place.imag:.0f})"
            envelope = h("g", letter, transform=spot)
        line = h("path", d=path(way) + heads, class_="way")
        drawn.append(h("g", h("title", f"{flow.text}{answered}"), line, envelope,
                       k=f"trail:{flow.from_key}>{flow.to_key}",
                       class_=f"trail {flow.kind}"))  # fmt: skip
    return h("g", drawn, k="trails") if drawn else None


def _around(place: Place) -> Box:
    return Box(place.real, place.imag, 24, 20)
