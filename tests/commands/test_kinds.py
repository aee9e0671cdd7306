"""A file that a command cannot read, but another can: the error says which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.commands.cli import kinds_of
from kit.model.family import families
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps
from kit.views.runs import export_run
from tests.commands.calling import bad, call, ring_of, written
from tests.operators.samples import FOLDER

FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = "host_id,node_state,tokens,transition_state,version,fence_version\n"
REQUESTS = "id,initiating_host,request_type,done\n"
LOG = "INFO  2026-01-01 00:00:00,000 [shard 0] raft_topology - entered `lock` transition state\n"
RING = "a description of a ring"
LOST = "a description of a cluster that lost nodes"
TABLETS = "a dump of system.tablets"


def titles_of(text: str) -> list[str]:
    """The kinds of a text; one that two families read is told once."""
    return list(dict.fromkeys(kind.title for kind in kinds_of(text)))


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (TABLE, ["a dump of system.topology"]),
        (REQUESTS, ["a dump of system.topology_requests"]),
        (LOG, ["a coordinator's journal"]),
        ('{"nodes": []}', [RING]),
        ('[{"peer": "::1"}]', [RING]),
        ('{"nodes": [{"name": "A", "status": "lost"}]}', [RING, LOST]),
        ('{"nodes": [{"name": "A", "dc": "d"}], "keyspaces": {"ks": {"d": 1}}}', [RING, LOST]),
        ("table_id,last_token,tablet_count,replicas\n", [TABLETS]),
        ("table_id,last_token,replicas,stage,transition\n", [TABLETS]),
        ('[{"keyspace_name": "ks", "replication": {}}]', [RING]),
        ('[{"keyspace_name": "ks", "table_name": "t"}]', []),
        ("keyspace_name,table_name\n", []),
        ('{"format": 1, "kit": "0", "model": "tcm", "parameters": {"nodes": 3}}', ["a trace"]),
        ("", []),
        ("[1, 2]", []),
        ('{"a": 1}', []),
        ("a,b\n1,2\n", []),
    ],
)
def test_a_text_is_of_the_kinds_that_recognise_it(text: str, titles: list[str]) -> None:
    """What no family can read is of no kind; what two read is of one."""
    assert titles_of(text) == titles


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.*")), ids=lambda path: path.name)
def test_each_sample_of_the_tools_is_of_one_kind(path: Path) -> None:
    """Whatever nodetool prints, and each dump of the tables of a ring."""
    assert titles_of(path.read_text(encoding="utf-8")) == [RING]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("t*/*")), ids=lambda path: path.name)
def test_each_dump_of_other_tables_is_of_one_kind(path: Path) -> None:
    """Though it names keyspaces, datacenters or tokens, as a ring does."""
    [title] = titles_of(path.read_text(encoding="utf-8"))
    assert (title == RING) == (path.name == "status.txt")


def test_the_error_of_another_command_says_who_reads_the_file(tmp_path: Path) -> None:
    """A dump given to ``plan``, a ring given to ``topology``, a file in place of a command."""
    dump = tmp_path / "dump.csv"
    dump.write_text(TABLE, encoding="utf-8")
    ring = written(tmp_path, ring_of())
    assert "which is for `python -m kit topology`" in bad("plan", str(dump), "decommission", "n1")
    assert f"{RING}, which is for `python -m kit ring` or" in bad("topology", ring)
    assert "looks like a dump of system.topology" in bad(str(dump))
    assert "which is for `python -m kit topology`" in bad("ring", "--json", str(dump))


def test_a_command_that_reads_the_file_says_nothing_of_others(tmp_path: Path) -> None:
    """Nor is the file of an option looked at, nor one that is none."""
    ring = written(tmp_path, ring_of())
    assert "looks like" not in bad("plan", ring)
    assert "looks like" not in bad("topology", str(tmp_path), "--status", ring)
    assert "looks like" not in bad("plan", str(tmp_path / "none"))
    counted = tmp_path / "counted.json"
    counted.write_text('{"parameters": {"nodes": 4}, "steps": []}', "utf-8")
    assert "looks like" not in bad("play", str(counted))


def test_a_notebook_is_no_dump_whatever_its_cells_say(tmp_path: Path) -> None:
    """A lesson shows rows of tables; what was wrong with the command is told alone."""
    lesson = tmp_path / "lesson.ipynb"
    lesson.write_text(json.dumps({"cells": [{"source": TABLE}]}, indent=1), encoding="utf-8")
    assert "looks like" not in bad("plan", str(lesson), "decommission", "n1")
    plain = tmp_path / "rows.json"
    plain.write_text(json.dumps({"rows": TABLE}), encoding="utf-8")
    assert "looks like a dump" in bad("plan", str(plain), "decommission", "n1")


def test_a_trace_is_no_description_of_a_ring(tmp_path: Path) -> None:
    """Though its parameters and actions name nodes; who plays it is told what is wrong with it."""
    timeline = Timeline(build("tcm"))
    timeline.forward()
    text = dumps(timeline.save())
    good, spoiled = tmp_path / "good.json", tmp_path / "spoiled.json"
    good.write_text(text, encoding="utf-8")
    spoiled.write_text(text.replace('"node": "X"', '"node": "Y"'), encoding="utf-8")
    assert "looks like a trace, which is for `python -m kit play`" in bad("ring", str(good))
    assert "there is no such action here" in (said := bad("play", str(spoiled)))
    assert "looks like" not in said


def test_every_command_named_is_one() -> None:
    """The words that a kind names begin with a command of the kit."""
    known = call("--help").out
    for kind in (kind for family in families() for kind in family.importers):
        for command in kind.commands:
            assert f"    {command.split()[0]}" in known


def test_a_spoiled_trace_of_another_tool_is_no_description_of_a_ring(tmp_path: Path) -> None:
    """Its states name nodes; it still is a trace, and one line says what is wrong with it."""
    text = export_run(Timeline(build("raft")), "itf").replace('"down": 0', '"down": 1.5')
    spoiled = tmp_path / "spoiled.itf.json"
    spoiled.write_text(text, encoding="utf-8")
    assert "states[0].down: got 1.5" in (said := bad("play", str(spoiled)))
    assert "looks like" not in said
