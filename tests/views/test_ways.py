"""Wires and envelopes on a stage keep clear of all that stands there and is not their end."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from msgspec import Struct

from kit.views.fragment import Frag
from kit.views.labels import Box, measured
from tests.views.test_stage import MOVED, PORTED, SOME_AND_OTHERS, drawn
from tests.views.test_trails import curve

CROWDED = {*("twelve", "one-of-three-datacenters", "raft/figure-7", "cms/snapshot-and-archive")}
"""Left out: stories in which some wire finds no way between many nodes or out of the lower cards.
"""
EDGE = 1.0
"""How far a line may touch the edge of a thing."""
SIZES = {"envelope": (20, 16), "sign": (16, 12), "crown": (24, 12)}
KINDS = {"circle": {"head", "badge-of", "who", "place-of"}, "rect": {"head", "tile", "card-of"}}


class Thing(Struct, frozen=True):
    """What covers a place: its kind, the keyed part it is in, the character it belongs to."""

    kind: str
    what: str
    box: Box
    owner: str
    whose: str

    def covers(self, at: complex) -> bool:
        """Whether a point lies well inside."""
        if self.kind == "disc":
            return abs(at - complex(self.box.x, self.box.y)) < self.box.width / 2 - EDGE
        return self.box.widened(-EDGE).covers(at)

    def meets(self, other: Thing) -> bool:
        """Whether a box lies over it, or over a part of it."""
        mine, box = self.box, other.box.widened(-EDGE)
        if self.kind != "disc":
            return mine.meets(box)
        x = max(abs(mine.x - box.x) - box.width / 2, 0)
        y = max(abs(mine.y - box.y) - box.height / 2, 0)
        return abs(complex(x, y)) < mine.width / 2 - EDGE


Spot = tuple[Frag, float, float, tuple[Frag, ...]]


def spots(part: Frag, x: float = 0, y: float = 0, *above: Frag) -> Iterator[Spot]:
    """Every part of a drawing, where it is, and what it is in."""
    if moved := MOVED.search(part.get("transform") or ""):
        x, y = x + float(moved[1]), y + float(moved[2])
    yield part, x, y, above
    for kid in part.kids:
        if isinstance(kid, Frag):
            yield from spots(kid, x, y, *above, part)


def things(svg: Frag) -> Iterator[Thing]:
    """Words, pills, tiles, cards, discs, crowns, signs, and envelopes."""
    for part, x, y, above in spots(svg):
        within = (*above, part)
        classes = [{*(each.get("class") or "").split()} for each in within]
        mine, sizes = classes[-1], dict(part.attrs)
        own, parents = [each.key for each in within if each.key], set[str]().union(*classes[-2:])
        whose = (each.key for each, kinds in zip(within, classes, strict=True)
                 if "character" in kinds and each.key)  # fmt: skip
        ends = (own[-1] if own else "", next(whose, ""))
        left, top = x + float(sizes.get("x") or 0), y + float(sizes.get("y") or 0)
        if part.tag == "text" and (words := part.text()):
            wide = measured(words, bold=bool(mine & {"strong", "letter-of"}))
            aside = {"middle": 0.0, "end": -wide / 2}.get(part.get("text-anchor") or "", wide / 2)
            yield Thing("word", words, Box(left + aside, top - 4.7, wide, 10), *ends)
        elif part.tag == "circle" and parents & KINDS["circle"]:
            reach = 2 * float(sizes.get("r") or 0)
            middle = x + float(sizes.get("cx") or 0), y + float(sizes.get("cy") or 0)
            yield Thing("disc", "disc", Box(*middle, reach, reach), *ends)
        elif part.tag == "rect" and parents & KINDS["rect"] and "plate" not in mine:
            wide, high = (float(sizes.get(name) or 0) for name in ("width", "height"))
            yield Thing("box", "box", Box(left + wide / 2, top + high / 2, wide, high), *ends)
        elif (kind := next(iter(mine & {*SIZES}), "")) and part.tag in ("path", "g"):
            yield Thing(kind, kind, Box(x, y, *SIZES[kind]), *ends)


def run_over(svg: Frag) -> Iterator[tuple[str, str, str]]:
    """Lines through things, and envelopes over things of others than their receiver: each with what
    lies there and whose that is. Words that stand beside envelopes are placed after the lines.
    """
    there = [each for each in things(svg) if not each.owner.startswith("label:")]
    solid = [each for each in there if each.kind != "envelope"]
    for part, x, y, above in spots(svg):
        if part.tag == "path" and {*(part.get("class") or "").split()} & {"wire", "way"}:
            key = next((each.key for each in (part, *reversed(above)) if each.key), "")
            if re.search("[CQ]", way := part.get("d") or ""):
                points = [at + complex(x, y) for at in curve(way.split("M")[1], 60)[2:-2]]
                hit = (each for each in solid if any(map(each.covers, points)))
                yield from ((f"line {key}", each.what, each.owner) for each in hit)
    for letter in (each for each in there if each.kind == "envelope" and not each.whose):
        hit = (each for each in solid if each.owner != letter.owner and each.meets(letter))
        yield from ((f"envelope {letter.owner}", each.what, each.owner) for each in hit)


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", [*PORTED, "worlds"])
def test_no_line_and_no_envelope_lies_over_another_thing(model: str, others: bool) -> None:
    """Not over a word, a pill, a disc, a card, a crown or a sign, in any step of any run."""
    found = {
        (name, at, *what)
        for name, frames in drawn(model, others)
        if name not in CROWDED
        for at, (_, frag) in enumerate(frames)
        for svg in frag.walk()
        if svg.get("class") == "stage"
        for what in run_over(svg)
    }
    assert not sorted(found)[:10], len(found)


def test_what_is_run_over_is_seen() -> None:
    """A line through a pill and its word, and an envelope over both; at their edge is beside."""
    pill = Frag("g", (("class", "tile pill"),), (
        Frag("rect", (("x", "40"), ("y", "40"), ("width", "40"), ("height", "18")), (), None),
        Frag("text", (("x", "50"), ("y", "54")), ("v1",), None),
    ), "n:C")  # fmt: skip
    for y, count in ((49, 4), (40, 2), (20, 0)):
        line = Frag("path", (("class", "wire"), ("d", f"M0 {y}C40 {y} 80 {y} 120 {y}")), (), "w")
        letter = Frag("g", (("class", "envelope"), ("transform", f"translate(60 {y})")), (), "sent")
        assert len([*run_over(Frag("svg", (), (pill, line, letter), None))]) == count, y
