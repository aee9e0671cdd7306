"""Words in the lanes of space and time: no arrow and no other word lies over them."""

import re
from collections.abc import Iterator

import pytest

from kit.model.registry import entries
from kit.protocols.storage.panels.spacetime import draw_spacetime
from kit.views.fragment import Frag
from kit.views.labels import Box, measured
from tests.views.frames import scenes, walk

PLACE = re.compile(r"translate\(([-\d.]+) ([-\d.]+)\)")
STRAIGHT = re.compile(r"M([-\d.]+) ([-\d.]+)L([-\d.]+) ([-\d.]+)")
WAYS = {"message", "inked", "answer"}
"""What an arrow is drawn as."""
STORIES = [
    f"{model}/{story.name}"
    for model in ("dataplane", "vnodes", "tablet")
    for story in entries()[model].scenarios
    if story.name != "requests-within-a-node"  # whose words name shards, and are long
]


def parts(part: Frag, x: float = 0, y: float = 0) -> Iterator[tuple[Frag, float, float]]:
    """All parts of a drawing but for the heads, with their places."""
    if moved := PLACE.match(part.get("transform") or ""):
        x, y = x + float(moved[1]), y + float(moved[2])
    if part.key != "names":
        yield part, x, y
        for kid in part.kids:
            if isinstance(kid, Frag):
                yield from parts(kid, x, y)


def struck(drawn: Frag) -> list[str]:
    """The words over which an arrow lies, or which lie over others."""
    words, points = list[tuple[str, Box]](), list[Box]()
    for part, x, y in parts(drawn):
        if part.tag == "text":
            at, low = x + float(part.get("x") or 0), y + float(part.get("y") or 0) - 4.5
            wide = 0.93 * measured(part.text())
            aside = {"start": wide / 2, "end": -wide / 2}.get(part.get("text-anchor") or "", 0)
            words.append((part.text(), Box(at + aside, low, wide, 9)))
        elif WAYS & {*(part.get("class") or "").split()}:
            ends = STRAIGHT.search(part.get("d") or "")
            assert ends, part
            a, b, c, d = map(float, ends.groups())
            points += (Box(a + (c - a) * i / 40, b + (d - b) * i / 40, 1, 1) for i in range(41))
    return [
        said
        for at, (said, box) in enumerate(words)
        if any(map(box.meets, points)) or any(box.meets(other) for _, other in words[:at])
    ]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("story", STORIES)
def test_no_arrow_strikes_a_word(story: str) -> None:
    """In no step: each message has a column of its own, and those on their way are side by side."""
    assert not [
        (at, hit) for at, s in enumerate(scenes(walk(story))) if (hit := struck(draw_spacetime(s)))
    ]
