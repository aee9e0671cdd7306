"""What travels over a ring or a grid: its wire goes round all that stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kit.views.fragment import Frag, keys
from kit.views.labels import Box
from kit.views.panel import Scene
from kit.views.wires import on
from tests.views.frames import classed
from tests.views.test_stage import Part, drawn, parts

MODELS = ("tablets", "resize")
"""Models with a picture that is no stage, over which things travel."""


def things_of(svg: Frag) -> list[Part]:
    """What wires and words keep clear of; disks are drawn smaller there than ``parts`` knows."""
    return [each for each in parts(svg) if each.what != "a disk"]


def pictures(model: str) -> Iterator[tuple[str, int, Scene, Frag]]:
    """Each picture of a model's runs over which something travels."""
    for name, frames in drawn(model, False):
        for at, (scene, frag) in enumerate(frames):
            for svg in (part for part in frag.walk() if part.tag == "svg"):
                if "trails" in keys(svg):
                    yield name, at, scene, svg


def lines(svg: Frag) -> Iterator[Frag]:
    """The wires of what travels, and the arrows of a ring at rest."""
    every = (*classed(svg, "way"), *classed(svg, "message"))
    yield from (each for each in every if each.get("d"))


@pytest.mark.parametrize("model", MODELS)
def test_no_arrow_lies_over_a_word_or_a_number(model: str) -> None:
    """Not over a letter, a token, an applied epoch, a lock, a disc or a chip, but for its ends."""
    found, seen = set(), 0
    for name, at, _, svg in pictures(model):
        things = [each for each in things_of(svg) if not each.owner.startswith("label:")]
        for line in lines(svg):
            seen += 1
            points = curve((line.get("d") or "").split("M")[1], 30)[1:-1]
            found |= {(name, at, thing.what, thing.owner)
                      for thing in things for point in points if covers(thing, point)}  # fmt: skip
    assert seen
    assert not sorted(found)[:10], len(found)


@pytest.mark.parametrize("model", MODELS)
def test_what_travels_between_two_parts_has_a_wire(model: str) -> None:
    """What it is the step's sentence says."""
    for _, _, scene, svg in pictures(model):
        known = {part.key for part in svg.walk() if part.key}
        shown = scene.flows()
        drawn_keys = {part.key for part in classed(svg, "trail")}
        for flow in shown[:12]:
            if {flow.from_key, flow.to_key} <= known and flow.from_key != flow.to_key:
                there, back = (flow.from_key, flow.to_key), (flow.to_key, flow.from_key)
                assert {"trail:{}>{}".format(*ends) for ends in (there, back)} & drawn_keys


def covers(thing: Part, at: complex) -> bool:
    """Whether a point lies on a thing; heads are round."""
    box = thing.box
    if thing.what == "a head":
        return abs(at - complex(box.x, box.y)) < box.width / 2
    return box.meets(Box(at.real, at.imag, 0, 0))


def curve(way: str, steps: int) -> list[complex]:
    """Points along a wire that is drawn, both ends included."""
    numbers = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", way)[:8]]
    a, b, *more = (complex(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
    *handle, d = more
    c = handle[0] if handle else d + (b - d) * 2 / 3  # else one handle for both ends
    b = b if handle else a + (b - a) * 2 / 3
    return [on((a, b, c, d), i / steps) for i in range(steps + 1)]
