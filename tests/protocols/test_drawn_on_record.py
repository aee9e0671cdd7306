"""What every panel draws in every story: a change of any picture is seen, and says where it is.

``drawn_of_all.txt`` has a line a story: how many moments are drawn, its own and some of a walk that
leaves it, and for each panel a digest of its pictures in all of them, words and legends included;
``flows`` are what travels. Whether a picture is right other tests say. KIT_REWRITE=1 writes the
table.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from random import Random

import pytest

from kit.engine.timeline import Timeline
from kit.views.frame import draw_flows
from kit.views.panel import Scene, is_shown, scene_of
from kit.views.registry import for_model
from tests.protocols.test_on_record import opened, stories

TABLE = Path(__file__).with_name("drawn_of_all.txt")
MOST = 12  # moments of a story; of longer ones so many are drawn, evenly spread
ASTRAY = 8  # and so many of a walk that leaves it
BYTES = 3


def drawn(timeline: Timeline, moment: int) -> Iterator[tuple[str, str]]:
    """Each panel of a moment with what it draws and says."""
    scene: Scene = scene_of(timeline, moment)
    for panel in for_model(timeline.model).panels:
        if is_shown(panel, scene):
            legend = panel.legend(scene) if panel.legend else ""
            yield panel.name, "\n".join((panel.draw(scene).html(), panel.text(scene), legend))
    flows = scene.flows()
    yield "flows", draw_flows(flows).html() if flows else ""


def astray(timeline: Timeline, begun: int, draw: Random) -> Iterator[int]:
    """Moments of a drawn walk that leaves a story at one of its own."""
    timeline.goto(begun)
    for _ in range(ASTRAY):
        options = [each for each, why in timeline.model.options(timeline.state) if why is None]
        if not options:
            break
        yield timeline.do(draw.choice(options)).id


def digests(story: str) -> str:
    """The line of a story."""
    timeline = opened(story)
    path = timeline.path()
    path = [*path[:: 1 + len(path) // MOST], *astray(timeline, path[len(path) // 2], Random(story))]
    told = defaultdict[str, "blake2b"](lambda: blake2b(digest_size=BYTES))
    for moment in path:
        for name, text in drawn(timeline, moment):
            told[name].update(f"{moment} {text}".encode())
    each = (f"{name}={sums.hexdigest()}" for name, sums in told.items())
    return " ".join((f"{len(path)}", *each))


@cache
def recorded() -> dict[str, str]:
    """The line of each story that is on record."""
    lines = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    return dict(line.split(": ", 1) for line in lines)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("story", recorded())
def test_it_is_drawn_as_on_record(story: str) -> None:
    """Each panel, at each moment; what is drawn otherwise is named."""
    assert digests(story).split() == recorded()[story].split()


def test_every_story_is_on_record() -> None:
    """And no other."""
    names = [story for _, story in stories()]
    if os.environ.get("KIT_REWRITE") == "1":
        TABLE.write_text("".join(f"{name}: {digests(name)}\n" for name in names), "utf-8")
        recorded.cache_clear()
    assert [*recorded()] == names
