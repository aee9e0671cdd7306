"""What the tools of servers answer, over every model that has servers and all its scenarios."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.engine.drill import DrillMoment
from kit.engine.family import server_places
from kit.engine.forms import Grammar
from kit.engine.scenario import file_named, files, open_file, read
from kit.engine.server import OWN_KEYSPACE, Servers
from kit.engine.timeline import Timeline
from kit.errors import Refused
from kit.operators.importers.metadata_log import (
    parse_metadata,
)

READ = Path(__file__).with_name("tools.txt").read_text(encoding="utf-8")
PUBLISHED = {
    name.removeprefix("own "): tuple(re.split(r",\s+", fields.strip()))
    for name, fields in re.findall(r"^(\w.*?): (.*(?:\n .*)*)", READ, re.MULTILINE)
}
OWN = set(re.findall(r"^own (\S+):", READ, re.MULTILINE))
MODELS = rf"^model (?:{'|'.join(server_places())})$"
STORIES = sorted(
    name for name, path in files().items() if re.search(MODELS, read(path), re.MULTILINE)
)


def servers(timeline: Timeline) -> Servers:
    """The servers of a model."""
    family, place = server_places()[timeline.model.name]
    answering: Servers = family.load(place)
    return answering


def moments(timeline: Timeline) -> Iterator[DrillMoment]:
    """Every moment of a run, on each machine in turn."""
    run, names = tuple(timeline.moments[at] for at in timeline.path()), timeline.model.names
    for many in range(1, len(run) + len(names)):
        yield DrillMoment(timeline.model, run[:many], names[many % len(names)])


def typed(tools: Servers, now: DrillMoment, line: str) -> tuple[str, ...]:
    """What a line prints."""
    form, given = Grammar(tools.understood("nodetool", "SELECT"), tools.slots()).read(line, now)
    lines: tuple[str, ...] = form.answer(now, given).lines
    return lines


def fields(line: str, printed: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The fields of each block, in order; the labels of a view."""
    text = "\n".join(printed)
    if line.endswith("describe"):
        return [tuple(re.findall(r"^([A-Z].*?): ?.*$", text, re.MULTILINE)[1:])]
    blocks = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    return [tuple(re.findall(r"^  (\w+)", block, re.MULTILINE)) for block in blocks]


def wanted(line: str, block: tuple[str, ...]) -> tuple[str, ...]:
    """The published fields that a block has to have: some are there only at times."""
    maybe = {"multi_step_operation"} if "dumpdirectory" in line else {"STATUS"}
    missing = {name for name in maybe if name not in block}
    extra = tuple(name for name in maybe if name in block and name not in PUBLISHED[line])
    return (*(name for name in PUBLISHED[line] if name not in missing), *extra)


@pytest.mark.parametrize("name", STORIES)
def test_what_is_printed_is_what_is_published(name: str) -> None:
    """At each moment, on each machine in turn: labels, fields and columns in the published order.

    What is printed is read by what reads the output of real clusters.
    """
    timeline = open_file(file_named(name))
    tools = servers(timeline)
    for now in moments(timeline):
        if not tools.is_up(now, now.here):
            with pytest.raises(Refused, match="server is down"):
                typed(tools, now, "nodetool status")
            continue
        for line in PUBLISHED:
            if line.startswith("nodetool"):
                answered(tools, now, line)
            elif line in {table.title for table in tools.tables}:
                answered(tools, now, f"SELECT * FROM {line}")
        for table in tools.tables:
            assert table.columns == PUBLISHED[table.title]
            assert (table.title in OWN) == (table.keyspace == OWN_KEYSPACE)


def answered(tools: Servers, now: DrillMoment, line: str) -> None:
    """A command prints what is published, or says why not."""
    try:
        printed = typed(tools, now, line)
    except Refused as error:
        why = str(error)
    else:
        why = ""
        if line.startswith("SELECT"):
            head = [name.strip() for name in printed[0].split("|")]
            assert tuple(head) == PUBLISHED[line.rsplit(maxsplit=1)[-1]]
            return
        for block in fields(line, printed):
            assert block == wanted(line, block), (line, now.place)
        if printed and "gossip" not in line:
            parse_metadata("\n".join(printed) + "\n", line)
    assert not why or re.search("^not modelled here: |QUORUM", why)
