"""What every command that only looks prints, in the longest story of each model with servers.

``printed.txt`` has moments that a person has checked; this table has one more of every model, so
that whatever changes what is printed is seen. KIT_REWRITE=1 writes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from kit.engine.drill import DrillMoment
from kit.engine.scenario import file_named, files, open_file, read
from kit.errors import BadInput, Refused
from tests.protocols.test_tools import STORIES, servers, typed

TABLE = Path(__file__).with_name("printed_of_all.txt")
LOOKS = (
    *("nodetool status", "nodetool ring", "nodetool describecluster", "nodetool gossipinfo"),
    *("nodetool cms describe", "nodetool cms dumplog", "nodetool cms dumpdirectory"),
)
TEXT = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
RECORDED: dict[str, list[str]] = {
    part.partition(":")[0]: ["model " + part.splitlines()[0], *part.splitlines()[1:]]
    for part in re.split("^model ", TEXT, flags=re.MULTILINE)[1:]
}
"""What is on record, by the name of the model."""


def stories() -> Iterator[tuple[str, str]]:
    """Each story of a model with servers, behind the name of the model."""
    for story in STORIES:
        [model] = re.findall(r"^model (\w+)$", read(files()[story]), re.MULTILINE)
        yield model, story


def lines_of(story: str) -> Iterator[str]:
    """Two thirds into the story, on the first node that is up: each command, and what it prints."""
    timeline = open_file(file_named(story))
    tools, path = servers(timeline), timeline.path()
    run = tuple(timeline.moments[at] for at in path[: 1 + 2 * len(path) // 3])
    every = (DrillMoment(timeline.model, run, name) for name in timeline.model.names)
    now = next(each for each in every if tools.is_up(each, each.here))
    yield f"model {timeline.model.name}: {story}, {len(run) - 1} steps, on {now.place}"
    for line in (*LOOKS, *(f"SELECT * FROM {table.title}" for table in tools.tables)):
        yield f"$ {line}"
        try:
            yield from (f"  {printed}".rstrip() for printed in typed(tools, now, line))
        except (Refused, BadInput) as error:
            yield f"  error: {error}"


@pytest.mark.parametrize("model", RECORDED)
def test_every_command_that_only_looks_prints_what_is_on_record(model: str) -> None:
    """To the letter, refusals too."""
    [story] = re.findall(r": (\S+),", RECORDED[model][0])
    assert [*lines_of(story)] == RECORDED[model]


def test_every_model_with_servers_is_on_record() -> None:
    """By the longest of its stories when the record was written; of equals by the first."""
    if os.environ.get("KIT_REWRITE") == "1":
        lengths = {story: len(open_file(file_named(story)).path()) for _, story in stories()}
        longest: dict[str, str] = {}
        for model, story in stories():
            if lengths[story] > lengths.get(longest.get(model, ""), 0):
                longest[model] = story
        told = chain.from_iterable(map(lines_of, longest.values()))
        TABLE.write_text("".join(f"{line}\n" for line in told), encoding="utf-8")
    assert {model for model, _ in stories()} == {*RECORDED}
