"""What every panel draws in every story: a change of any picture is seen, and says where it is.

``drawn_of_all.txt`` has a line a story: how many moments are drawn, its own and some of a walk that
leaves it, and for each panel a digest of its pictures in all of them, words and legends included;
``flows`` are what travels. So have runs of operators' files and of large clusters. Whether a
picture is right other tests say. KIT_REWRITE=1 writes the table.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kit
from kit import build
from kit.errors import BadInput
from kit.model.registry import entries
from kit.model.timeline import Timeline
from kit.views.frame import draw_flows
from kit.views.panel import Scene, is_shown, scene_of
from kit.views.registry import for_model
from tests.fixtures import HERE
from tests.protocols.tcm.dry_run.samples import FILES, JOIN, SHOP
from tests.protocols.test_on_record import opened, stories
from tests.recording.records import led_on

TABLE = Path(__file__).with_name("drawn_of_all.txt")
MOST = 12  # moments of a story; of longer ones so many are drawn, evenly spread
ASTRAY = 8  # and so many of a walk that leaves it
LONGEST = 60  # moments of a run that is not a story
SIZES = (40, 12, 9, 7)  # nodes of a cluster where much is shown otherwise
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


def rehearsed(*arguments: Any, **options: Any) -> Timeline:
    """What is done with files of a cluster of one's own."""
    return timeline_of(kit.rehearse(*arguments, **options))


def timeline_of(opened: Any) -> Timeline:
    """The history that a rehearsal or a Player of files shows, to its end."""
    timeline: Timeline = opened.timeline
    timeline.goto(timeline.tip)
    return led_on(timeline, LONGEST)


def large(model: str) -> Timeline:
    """A model with the most nodes of these that it takes, as it suggests."""
    largest = build(model)
    for nodes in reversed(SIZES):
        with suppress(BadInput):
            largest = build(model, {"nodes": nodes})
    return led_on(Timeline(largest), LONGEST)


TABLETS, SNAPSHOTS = HERE / "tablets", sorted((HERE / "snapshots").iterdir())
NAMED = {name: TABLETS / f"{name}.csv" for name in ("topology", "sizes", "loads")}
RUNS: dict[str, Callable[[], Timeline]] = {
    **{
        f"rehearse a ring, {line}": partial(rehearsed, FILES, line, keyspaces=SHOP)
        for line in (JOIN, "decommission 10.20.0.2", "removenode 10.30.0.3")
    },
    **{
        f"rehearse tablets, {line}": partial(rehearsed, TABLETS / "tablets.csv", [line], **NAMED)
        for line in ("balance", "decommission 00000001", "lose 00000002")
    },
    **{
        f"rehearse a snapshot, {line}": partial(rehearsed, str(SNAPSHOTS[0]), [line])
        for line in ("balance", "decommission c83e")
    },
    "replay snapshots": lambda: timeline_of(kit.replay_snapshots(*map(str, SNAPSHOTS))),
    "replay a log": lambda: timeline_of(kit.replay_log(HERE / "metadata" / "log.txt")),
    "replay a log with a directory": lambda: timeline_of(
        kit.replay_log([HERE / "metadata" / f"{name}.txt" for name in ("log", "directory")])
    ),
    "replay journals": lambda: timeline_of(
        kit.replay_journal(sorted((HERE / "topology").glob("*.log")))
    ),
    **{f"large {model}": partial(large, model) for model in entries()},
}
"""Histories from files of operators, those of fixtures; and of models with as many nodes as may
be.
"""


def digests(story: str) -> str:
    """The line of a story, or of a run of files."""
    timeline = RUNS[story]() if story in RUNS else opened(story)
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
def test_each_panel_draws_a_story_as_on_record(story: str) -> None:
    """A digest that differs names the panel: look whether the new picture is right."""
    assert digests(story).split() == recorded()[story].split()


def test_every_story_and_no_other_is_on_record() -> None:
    """In the order of the stories."""
    names = [*(story for _, story in stories()), *RUNS]
    if os.environ.get("KIT_REWRITE") == "1":
        TABLE.write_text("".join(f"{name}: {digests(name)}\n" for name in names), "utf-8")
        recorded.cache_clear()
    assert [*recorded()] == names
