"""What is said at one moment of every model: by its panels, and by the tools of its servers.

``printed.txt`` and the tests of each model have moments that a person has checked; these tables
have one more of each, late in its longest story, so that whatever changes what is said is seen.
KIT_REWRITE=1 writes them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from kit.console.drill import DrillMoment
from kit.errors import BadInput, Refused
from kit.model.family import server_places
from kit.model.registry import entries
from kit.model.scenario import file_named, files, open_file
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.protocols.test_tools import servers, typed
from tests.recording.records import led_on, told_in_files

LOOKS = (
    *("nodetool status", "nodetool ring", "nodetool describecluster", "nodetool gossipinfo"),
    *("nodetool cms describe", "nodetool cms dumplog", "nodetool cms dumpdirectory"),
)
MOST = 200  # moments of a run that has no end


def begun(timeline: Timeline) -> int:
    """How many moments of a run are looked back on: two thirds."""
    return 1 + 2 * len(timeline.path()) // 3


def printed(timeline: Timeline) -> Iterator[str]:
    """Each command that only looks, on the first node that is up, and what it prints."""
    tools = servers(timeline)
    run = tuple(timeline.moments[at] for at in timeline.path()[: begun(timeline)])
    every = (DrillMoment(timeline.model, run, name) for name in timeline.model.names)
    now = next(each for each in every if tools.is_up(each, each.here))
    for line in (*LOOKS, *(f"SELECT * FROM {table.title}" for table in tools.tables)):
        yield f"{now.place} $ {line}"
        try:
            yield from (f"  {printed}".rstrip() for printed in typed(tools, now, line))
        except (Refused, BadInput) as error:
            yield f"  error: {error}"


def told(timeline: Timeline) -> Iterator[str]:
    """Each panel, as text."""
    scene = scene_of(timeline, timeline.path()[: begun(timeline)][-1])
    for panel in for_model(timeline.model).panels:
        yield f"== {panel.name}"
        yield from map(str.rstrip, panel.text(scene).splitlines())


SAID: dict[str, Callable[[Timeline], Iterator[str]]] = {"printed": printed, "told": told}


def table(what: str) -> Path:
    """Where one kind is on record."""
    return Path(__file__).with_name(f"{what}_of_all.txt")


@cache
def recorded(what: str) -> dict[str, list[str]]:
    """What is on record, by the heading that names a model and a story of it."""
    text = table(what).read_text(encoding="utf-8") if table(what).exists() else ""
    parts = [part.splitlines() for part in re.split("^model ", text, flags=re.MULTILINE)[1:]]
    return {head: lines for head, *lines in parts}


def opened(story: str) -> Timeline:
    """A story's run: that of its file, of its scenario, or what a model suggests, to its end if it
    has one.
    """
    if story in files():
        return open_file(file_named(story))
    return led_on(open_named(story).timeline, MOST)


def stories() -> Iterator[tuple[str, str]]:
    """Each model with each of its stories; a file tells more than a scenario."""
    for story, model in told_in_files().items():
        yield model, story
    for model, entry in entries().items():
        if model not in told_in_files().values():
            named = [f"{model}/{scenario.name}" for scenario in entry.scenarios]
            yield from ((model, story) for story in named or [model])


RECORDS = [(what, head) for what in SAID for head in recorded(what)]


@pytest.mark.parametrize(("what", "head"), RECORDS)
def test_panels_and_tools_say_what_is_on_record(what: str, head: str) -> None:
    """To the letter, refusals included: look whether the new words are right."""
    model, _, story = head.partition(": ")
    timeline = opened(story)
    assert timeline.model.name == model
    assert [*SAID[what](timeline)] == recorded(what)[head]


def test_every_model_and_every_server_is_on_record() -> None:
    """A missing model is added by KIT_REWRITE=1, with its longest story."""
    if os.environ.get("KIT_REWRITE") == "1":
        longest: dict[str, tuple[int, str]] = {}
        for model, story in stories():
            steps = len(opened(story).path())
            if steps > longest.get(model, (0, ""))[0]:
                longest[model] = steps, story
        for what, says in SAID.items():
            every = (
                (f"model {model}: {story}", *says(opened(story)))
                for model, (_, story) in longest.items()
                if what == "told" or model in server_places()
            )
            text = "".join(f"{line}\n" for line in chain.from_iterable(every))
            table(what).write_text(text, encoding="utf-8")
        recorded.cache_clear()
    models = {what: {head.partition(":")[0] for head in recorded(what)} for what in SAID}
    assert models["told"] == {*entries()}
    assert models["printed"] == {*server_places()} & {model for model, _ in stories()}
