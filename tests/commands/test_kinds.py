"""A file that a command cannot read, but another can: the error says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.commands.cli import kinds_of
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps
from tests.commands.calling import bad, ring_of, written
from tests.operators.samples import FOLDER

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


def test_the_error_of_another_command_says_who_reads_the_file(tmp_path: Path) -> None:
    """A dump given to ``plan``, a ring given to ``topology``, a file in place of a command."""
    dump = tmp_path / "dump.csv"
    dump.write_text(TABLE, encoding="utf-8")
    ring = written(tmp_path, ring_of())
    assert "which is for `python -m kit topology`" in bad("plan", str(dump), "decommission", "n1")
    assert f"{RING}, which is for `python -m kit ring` or" in bad("topology", ring)
    assert "looks like a dump of system.topology" in bad(str(dump))
    assert "which is for `python -m kit topology`" in bad("ring", "--json", str(dump))


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
