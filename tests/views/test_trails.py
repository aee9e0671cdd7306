"""What travels over a ring or a grid: its wire goes round all that stands there, its words too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.views.fragment import Frag, keys
from kit.views.panel import Scene
from tests.views.frames import classed
from tests.views.test_stage import Part, covers, curve, drawn, parts

MODELS = ("tcm", "tablets", "resize")
"""Models with a picture that is no stage, over which things travel."""
MARKED = {("tcm", "entry")}
"""What is seen without a wire: an applied epoch is an outlined number."""
NO_WAY = {("tcm/two-bootstraps", 54), ("tcm/two-bootstraps", 55), ("two-datacenters", 21)}
"""Steps in which a node on the ring is walled in: discs at both sides, behind it its number, before
it letters and a disk that stand closer than a curve is wide.
"""

MOST_UNSAID = 0.1


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
        if (name, at) in NO_WAY:
            continue
        things = [each for each in things_of(svg) if not each.owner.startswith("label:")]
        for line in lines(svg):
            seen += 1
            points = curve((line.get("d") or "").split("M")[1], 30)[1:-1]
            found |= {(name, at, thing.what, thing.owner)
                      for thing in things for point in points if covers(thing, point)}  # fmt: skip
    assert seen
    assert not sorted(found)[:10], len(found)


@pytest.mark.parametrize("model", MODELS)
def test_words_of_what_travels_lie_over_nothing(model: str) -> None:
    """Each label has a place of its own, and no wire runs through it."""
    found = set()
    for name, at, _, svg in pictures(model):
        things = things_of(svg)
        points = [point for line in lines(svg)
                  for point in curve((line.get("d") or "").split("M")[1], 30)]  # fmt: skip
        for label in things:
            if label.owner.startswith("label:"):
                found |= {
                    (name, at, label.what, other.what)
                    for other in things
                    if other.owner != label.owner and label.box.meets(other.box)
                }
                found |= {
                    (name, at, label.what, "a wire") for point in points if covers(label, point)
                }
    assert not sorted(found)[:10], len(found)


@pytest.mark.parametrize("model", MODELS)
def test_what_travels_between_two_parts_has_a_wire_and_words(model: str) -> None:
    """Its words stand at the wire, or in the picture anyway; where all around is full, and on the
    ring, only the step's sentence says them.
    """
    flying, unsaid = 0, []
    for name, at, scene, svg in pictures(model):
        keys = {part.key for part in svg.walk() if part.key}
        shown = [flow for flow in scene.flows() if (model, flow.kind) not in MARKED]
        flows = [flow for flow in shown[:12] if {flow.from_key, flow.to_key} <= keys]
        drawn_keys = {part.key for part in classed(svg, "trail")}
        labels = (p for p in svg.walk() if p.tag == "text" or (p.key or "").startswith("label:"))
        said = {each for part in labels for each in (part.text(), *part.text().split(", "))}
        for flow in flows:
            if flow.from_key != flow.to_key:
                there, back = (flow.from_key, flow.to_key), (flow.to_key, flow.from_key)
                assert {"trail:{}>{}".format(*ends) for ends in (there, back)} & drawn_keys
                flying += 1
                unsaid += [(name, at, flow.label)] * (flow.label not in said and model != "tcm")
    assert len(unsaid) <= MOST_UNSAID * flying, unsaid
