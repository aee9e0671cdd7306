"""Bad input at the command line: one line that says what, where and what is allowed; never more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.commands.cli import kinds_of
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps
from tests.commands.calling import TEN, bad, call, ring_of, written
from tests.operators.samples import FOLDER
from tests.saying import says

LEAVE = ("decommission", "n1")
DEEP = 100_000
BINARY = bytes(range(256))


@pytest.fixture
def ten(tmp_path: Path) -> str:
    """A good ring file of ten nodes."""
    return written(tmp_path, ring_of())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "COMMAND | nothing | check, fuzz | kit --help"),
        (["nope"], "COMMAND | 'nope' | models, show"),
        ([""], "COMMAND | '' | models, show"),
        (["--nope"], "COMMAND | '--nope' | models, show"),
        (["models", "x"], "arguments | 'x' | kit models --help"),
        (["models", "a\nb"], "arguments | kit models --help"),
        (["models", "--js"], "arguments | '--js' | nearest: --json"),
        (["show"], "MODEL | nothing | one of its scenarios | kit show --help"),
        (["show", "boostrap"], "model | 'boostrap' | bootstrap"),
        (["show", "a\nb"], r"model | 'a\nb'"),
        (["check", "nope"], "model | 'nope'"),
        (["ring", "x", "--json=3"], "--json | '3' | no value"),
        (["fuzz", "tcm", "--seeds", "-1:2"], "--seeds | nothing | FIRST:END | --seeds=…"),
        (["topology", "x", "--rf", "many"], "--rf | 'many' | a whole number"),
        (["topology", "x", "--rf", "0_3"], "--rf | '0_3' | a whole number"),
        (["explain", "x", "--bound", "+3"], "--bound | '+3' | a whole number"),
        (["check", "twophase", "--breaks", ""], "--breaks | '' | consistent"),
        (["survive", "--json"], "RINGFILE | '--json' | a ring file"),
        (["check", "tcm", "-p", "holds=5"], "holds | 5 | tcm | true or false"),
        (["check", "tcm", "-p", "operations=x"], "operations | 'x' | tcm | a list"),
        (["check", "tcm", "-p"], "--parameter | nothing | NAME=VALUE"),
        (["check", "tcm", "-p", "nodes"], "-p | 'nodes' | parameter=value"),
        (["check", "tcm", "-p", "=1"], "parameter | ''"),
        (["check", "tcm", "-p", "node=1"], "parameter | 'node' | nodes"),
        (["check", "tcm", "-p", "nodes=0"], "nodes | 0 | 1 to 1000"),
        (["check", "tcm", "-p", "nodes=1e999"], "nodes |"),
        (
            ["check", "tcm", "-p", "nodes=NaN"],
            "nodes | 'NaN' | a number from 1 to 1000 (a whole number)",
        ),
        (["check", "tcm", "-p", "nodes=true"], "nodes | True | a number from 1"),
        (["check", "tcm", "-p", f"nodes={'9' * 5000}"], "nodes |"),
        (["check", "tcm", "-p", f"nodes={'[' * DEEP}"], "nodes |"),
        (["check", "tcm", "-p", "nodes=\udcff"], r"-p | 'nodes=\udcff' | parameter=value"),
        (["check", "tcm", "-p", "edition=none"], "edition | 'none'"),
        (
            ["check", "tcm", "-p", 'operations=["bootstrap X"]'],
            "--tokens | None | bootstrap | needs",
        ),
        (["check", "tcm", "--off", "S-99"], "safeguard | 'S-99'"),
        (["check", "tcm", "--off", ""], "safeguard | ''"),
        (["check", "twophase", "--off", "S-05"], "safeguard | 'S-05'"),
        (["check", "twophase", "-p", "rms=0"], "rms | 0"),
        (["check", "tcm", "--max-states", "0"], "--max-states | '0' | whole"),
        (["check", "tcm", "--max-states", "1.5"], "--max-states | '1.5'"),
        (["check", "tcm", "--max-states", "9" * 30], "--max-states | of at most 18 digits"),
        (["fuzz", "tcm", "--seeds", f"0:{'9' * 30}"], "--seeds | of at most 18 digits"),
        (["play", "nope"], "scenario | 'nope'"),
        (["play", "a" * 5000], "scenario | 'aaa"),
        (["play", "x\0y"], r"scenario | 'x\x00y'"),
        (["play", "nope.json"], "file | 'nope.json' | readable | file"),
        (["play", "nope.txt"], ""),
        (["play", "/"], "file | '/' | readable | file | folder"),
        (["play", "/dev/null"], "file | '/dev/null' | readable | file"),
        (
            ["play", "bootstrap", "--html", "/nope/x.html"],
            "--html | '/nope/x.html' | writable | place | such",
        ),
        (["play", "bootstrap", "--html", "/"], "--html | '/' | writable | place"),
        (["play", "bootstrap", "--html", ""], "--html | '' | writable | place"),
        (["play", "bootstrap", "--html", ".html"], "--html | '.html' | a name before .html"),
        (["side-by-side", "--html", ".html"], "--html | '.html' | a name before .html"),
        (["ring"], "RINGFILE | nothing | a ring file (JSON)"),
        (["ring", "nope"], "ring file | 'nope' | readable | file"),
        (["ring", "/"], "ring file | '/' | readable | file"),
        (["ring", ""], "ring file | '' | readable | file"),
        (["ring", "/dev/null"], "ring file | '/dev/null' | readable | file"),
        (["ring", "/dev/zero"], "ring file | '/dev/zero' | readable | file"),
        (["ring", "x\0y"], r"ring file | 'x\x00y' | readable | file"),
        (["ring", "\udcff"], r"ring file | '\udcff' | readable | file"),
        (["plan"], "RINGFILE | None | ring | file | then"),
        (["plan", "--json"], "RINGFILE | None | ring | file | then"),
        (["plan", "--force"], "option | '--force' | ring | file | operation"),
        (["plan", "decommission", "n1"], "ring file | 'decommission' | readable | file"),
    ],
)
def test_words(words: list[str], said: str) -> None:
    """Each command names the word that is wrong and what would do, on one line."""
    assert says(bad(*words), said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "operation | '' | bootstrap | NODE | --tokens"),
        (["fly", "n1"], "operation | 'fly n1' | bootstrap | NODE | --tokens"),
        (["decommission"], "operation | 'decommission' | decommission | 1 | node"),
        ([*LEAVE, "n2"], "operation | 'decommission n1 n2' | decommission | 1 | node"),
        (["decommission", ""], "operation |"),
        (["decommission", "n99"], "node | 'n99' | n1, n2"),
        ([*LEAVE, "--tokens", "5"], "--tokens | '5' | decommission | no | --tokens"),
        ([*LEAVE, "--dc", "dc1"], "--dc | 'dc1' | except | bootstrap | replace"),
        ([*LEAVE, "--json=1"], "--json | '1' | no | value"),
        ([*LEAVE, "--jso"], "option | '--jso'"),
        (["decommission", "--", "n1"], "option | '--'"),
        ([*LEAVE, "--force", "--force"], "option | '--force' | each | option | once"),
        ([*LEAVE, "--force=yes"], "--force | 'yes' | no | value"),
        ([*LEAVE, "--edition", "servers"], "--edition | 'servers' | server"),
        ([*LEAVE, "--edition"], "--edition | None | value"),
        ([*LEAVE, "--edition="], "--edition | '' | value"),
        (
            [*LEAVE, "--edition", "documents", "--edition", "documents"],
            "option | '--edition' | each",
        ),
        ([*LEAVE, "--while"], "--while | None | value"),
        ([*LEAVE, "--while", "decommission 'n"], "| --while decommission 'n | operation:"),
        ([*LEAVE, "--while", "decommission n99"], "| decommission n99 | node: | 'n99' | n1, n2"),
        (
            [*LEAVE, "--while", "decommission n2 --json"],
            "| --while decommission n2 --json | option: | '--json' | --tokens, --dc",
        ),
        (
            ["decommission", "n9", "--while", "assassinate n2"],
            "operation in flight | 'assassinate n2'",
        ),
        (
            ["decommission", "n9", "--while", "decommission n2", "--while", "decommission n3"],
            "operation in flight | 'd",
        ),
        (["bootstrap", "x"], "--tokens | None | bootstrap | needs | --tokens"),
        (["bootstrap", "x", "--tokens"], "--tokens | None | value"),
        (["bootstrap", "x", "--tokens", ""], "--tokens | '' | value"),
        (["bootstrap", "x", "--tokens", ","], "--tokens | ',' | whole | numbers"),
        (["bootstrap", "x", "--tokens", "1.5"], "--tokens | '1.5' | whole | numbers"),
        (["bootstrap", "x", "--tokens", "1e3"], "--tokens | '1e3' | whole | numbers"),
        (["bootstrap", "x", "--tokens", "NaN"], "--tokens | 'NaN' | whole | numbers"),
        (["bootstrap", "x", "--tokens", "٣"], r"--tokens | '\u0663' | whole | numbers"),
        (["bootstrap", "x", "--tokens", "5,5"], "tokens[1] | 5 | each | token | once"),
        (["bootstrap", "x", "--tokens", "5,100"], "tokens[1] | 100 | token | no node | owns"),
        (["bootstrap", "x", "--tokens", "9223372036854775808"], "tokens[0] | 9223372036854775808"),
        (["bootstrap", "x", "--tokens", "9" * 5000], "--tokens | '999"),
        (["bootstrap", "x", "--tokens", "5", "--dc", ""], "--dc | '' | value"),
        (["bootstrap", "n1", "--tokens", "5"], "node | 'n1' | name | ring"),
        (["bootstrap", "--x", "--tokens", "5"], "option | '--x'"),
        (["bootstrap", "a\nb", "--tokens", "5"], r"node | 'a\nb' | 1 | 200"),
        (["bootstrap", "\udcff", "--tokens", "5"], r"node | '\udcff' | 1 | 200"),
        (["bootstrap", "x" * 5000, "--tokens", "5"], "node | 'xxx"),
        (["bootstrap", "x", "--tokens", "5", "--rack", "\x1b[31m"], r"rack | '\x1b[31m'"),
        (["move", "n1", "--tokens", "100"], "tokens | (100,) | tokens | other | than"),
        (["move", "n1", "--tokens", "200"], "tokens[0] | 200 | token | no node | owns"),
        (["move", "n1", "--tokens", "1,2"], "tokens | (1, 2) | many | tokens | now"),
        (["replace", "n1"], "operation | 'replace n1' | replace | 2 | node"),
        (["replace", "n1", "n2"], "node | 'n2' | name | ring | yet"),
        (["replace", "n99", "x"], "node | 'n99' | n1, n2"),
        ([*LEAVE, "--sizes"], "--sizes | None | value"),
        ([*LEAVE, "--sizes", "nope"], "sizes file | 'nope' | readable | file"),
        ([*LEAVE, "--sizes", "/"], "sizes file | '/' | readable | file"),
        ([*LEAVE, "--sizes", "/dev/null"], "sizes file | '/dev/null' | readable | file"),
    ],
)
def test_operations(ten: str, words: list[str], said: str) -> None:
    """What does not speak of this ring is no refusal of the protocol but bad input."""
    assert says(bad("plan", ten, *words), said)
    assert (
        says(bad("plan", ten, *words, "--json"), said)
        or words[-1] == "--while"
        or (words and words[-1] in ("--edition", "--sizes", "--tokens"))
    )


def changed(**fields: Any) -> dict[str, Any]:
    """The good ring file with other fields."""
    return {**ring_of(), **fields}


GOOD = json.dumps(ring_of())
RF = {"class": "NetworkTopologyStrategy"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "ring file | 'the end of the text' | JSON | Expecting | value"),
        (GOOD[:99], "ring file |"),
        (BINARY, "ring file |"),
        (GOOD.encode("utf-16"), "ring file |"),
        ("[" * DEEP, "ring file | '[[[[[[[[[[[[[[[[[[[[' | JSON | nested"),
        ('{"a":' * DEEP, "ring file |"),
        ("null", "ring file | None | object | nodes | keyspaces"),
        (GOOD.replace('"epoch": 0', '"epoch": 0, "epoch": 1'), "ring file | 'epoch' | each"),
        (GOOD.replace("100]", "NaN]", 1), "ring file | 'NaN' | numbers valid in JSON"),
        (GOOD.replace("100]", "1e999]", 1), "nodes[0].tokens[0] | inf | integer"),
        (GOOD.replace("100]", "100.0]", 1), "nodes[0].tokens[0] | 100.0 | integer"),
        (GOOD.replace("100]", "9" * 5000 + "]", 1), "ring file | '999"),
        (GOOD.replace("100]", '" 100"]', 1), "nodes[0].tokens[0] | ' 100' | integer"),
        (GOOD.replace("[100]", "[]", 1), "nodes[0].tokens | [] | least | 1"),
        (GOOD.replace("[200]", "[100]"), "nodes[1].tokens[0] | 100 | tokens with one owner"),
        (GOOD.replace('"n2"', '"n1"'), "nodes[1].name | 'n1' | name | nodes[0]"),
        (GOOD.replace('"n2"', '"a\\nb"'), r"nodes[1].name | 'a\nb' | 1 | 200"),
        (GOOD.replace('"n2"', '"\\ud800"'), r"nodes[1].name | '\ud800' | 1"),
        (changed(epoch=-1), "epoch | -1 | from 0"),
        (changed(epoch=2**63), "epoch | 9223372036854775808 | from 0"),
        (changed(nodes=[]), "nodes | [] | least | 1"),
        (changed(more=1), "ring file: unknown key | 'more' | nodes, keyspaces, epoch"),
        (ring_of(TEN, {"ks": {**RF, "dc\n1": -1}}), "keyspaces[0].replication.dc 1 | -1"),
        (
            ring_of(TEN, {"ks": {**RF, "dc\n1": 1}}),
            r"keyspaces[0].replication: datacenter | 'dc\n1'",
        ),
    ],
)
@pytest.mark.parametrize("command", ["ring", "plan"])
def test_ring_files(tmp_path: Path, content: Any, said: str, command: str) -> None:
    """Whatever is in the file: one line with the field."""
    path = written(tmp_path, content)
    assert says(bad(command, path, *([*LEAVE] if command == "plan" else [])), said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "sizes file | 'the end of the text' | JSON"),
        (BINARY, "sizes file |"),
        ("[" * DEEP, "sizes file |"),
        ("[]", "sizes file |"),
        ({"nodes": {"n1": 1}, "x": 1}, "sizes file |"),
        ('{"nodes":{"n1":1,"n1":2}}', "sizes file | 'n1' | each | key | once"),
        ({"nodes": {"n99": 1}}, "nodes | 'n99' | n1, n2"),
        ({"nodes": {"n1": -1}}, "nodes.n1 | -1 | bytes | integer | 0"),
        ({"nodes": {"n1": 1.5}}, "nodes.n1 | 1.5 | bytes | integer | 0"),
        ({"nodes": {"n1": True}}, "nodes.n1 | True | bytes | integer | 0"),
        ('{"nodes":{"n1":%s}}' % ("9" * 5000), "sizes file | '999"),
        ('{"nodes":{"n1":NaN}}', "sizes file | 'NaN' | numbers valid in JSON"),
        ({"ranges": {"a\nb": []}}, r"ranges | 'a\nb' | keyspaces | ring"),
        ({"ranges": {"ks": [[1, 2]]}}, "sizes file |"),
        ({"ranges": {"ks": [[2, 1, 5]]}}, "ranges.ks[0] | (2, 1) | left | bound | below"),
        ({"ranges": {"ks": [[1, 3, 5], [2, 4, 5]]}}, "ranges.ks | (2, 4) | ranges"),
        ({"ranges": {"ks": [["1_0", 20, 5]]}}, "ranges.ks[0] | '1_0' | integer"),
        ({"ranges": {"ks": [[True, 20, 5]]}}, "ranges.ks[0] | True | integer"),
        ({"ranges": {"ks": [[1, 20, None]]}}, "ranges.ks[0] | None | bytes"),
    ],
)
def test_sizes_files(tmp_path: Path, ten: str, content: Any, said: str) -> None:
    """A sizes file is read as strictly as a ring file."""
    sizes = written(tmp_path, content, "sizes.json")
    assert says(bad("plan", ten, "decommission", "n3", "--sizes", sizes), said)


HEAD = {
    "format": 2,
    "revision": 1,
    "kit": "0",
    "model": "tcm",
    "parameters": {},
    "off": [],
    "steps": [],
}
STEP = {"parent": 0, "verb": "x", "action": {}, "fingerprint": ""}
NEGATIVE = [{"name": "k", "replication": {"class": "SimpleStrategy", "replication_factor": -3}}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "{path} |"),
        (BINARY, "{path} |"),
        ("[" * DEEP, "{path} |"),
        ({}, "{path}: format | None | 2 | format"),
        ({**HEAD, "format": 3}, "{path}: format | 3 | 2 | format"),
        ({**HEAD, "format": 1.0}, "{path}: format | 1.0 | 2 | format"),
        ({"format": 2}, "trace | {'format': 2}"),
        ({**HEAD, "model": "nope"}, "model of the trace | 'nope'"),
        ({**HEAD, "parameters": {"nodes": 10**9}}, "nodes | 1000000000 | from 1"),
        ({**HEAD, "parameters": {"nodes": "x"}}, "nodes | 'x' | a number from 1"),
        ({**HEAD, "parameters": {"keyspaces": NEGATIVE}}, "keyspace k: replication_factor | -3"),
        ({**HEAD, "off": ["S-99"]}, "safeguard | 'S-99'"),
        ({**HEAD, "steps": [STEP]}, "steps[0].action | {} | action | tcm"),
        ({**HEAD, "steps": [{**STEP, "parent": 9}]}, "steps[0].parent | 9"),
        ({**HEAD, "at": 9}, "at | 9"),
        ({**HEAD, "tip": -1}, "tip | -1"),
    ],
)
def test_traces(tmp_path: Path, content: Any, said: str) -> None:
    """A trace that is malformed, of another format, or of no known model plays nothing."""
    path = written(tmp_path, content, "trace.json")
    assert says(bad("play", path), said.replace("{path}", path))


def test_a_step_that_is_not_enabled(tmp_path: Path) -> None:
    """A trace with a step out of turn or another state is refused at that step."""
    good = str(tmp_path / "good.json")
    assert call("check", "tcm", "--off", "S-05", "--trace", good).status == 1
    trace = json.loads(Path(good).read_text("utf-8"))
    late = {**trace, "steps": [{**trace["steps"][1], "parent": 0}]}
    assert says(bad("play", written(tmp_path, late, "t.json")), "steps[0] |")
    trace["steps"][2]["fingerprint"] = "0" * 16
    said = bad("play", written(tmp_path, trace, "t.json"))
    assert says(said, "steps[2].fingerprint | '0000000000000000'")


def test_nothing_is_written_for_a_bad_place(tmp_path: Path) -> None:
    """A counterexample that cannot be stored is bad input; nothing is printed instead."""
    said = bad("check", "tcm", "--off", "S-05", "--trace", str(tmp_path / "nope" / "t.json"))
    assert says(said, "--trace |")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["plan", "{ring}", "decommission", "n1", "--size", "x"], "(nearest: --sizes)"),
        (["plan", "{ring}", "decommission", "n1", "--wile", "x"], "(nearest: --while)"),
        (["plan", "{ring}", "Leave", "n1"], "(nearest: leave)"),
        (["plan", "{ring}", "bootstrap", "x", "--token", "7"], "(nearest: --tokens)"),
        (["chek", "tcm"], "(nearest: check)"),
        (["check", "tcm", "--max-state", "3"], "(nearest: --max-states)"),
    ],
)
def test_what_was_meant_is_named(ten: str, words: list[str], near: str) -> None:
    """A misspelt option, command or operation is answered with the nearest there is."""
    assert near in bad(*(word.format(ring=ten) for word in words))


def test_an_error_in_a_ring_file_has_its_line(tmp_path: Path) -> None:
    """A key that is missing, unknown or there twice, and a wrong value, by line and column."""
    good = json.dumps(ring_of(TEN[:2]), indent=1)
    for was, now, said in (
        ('"name": "n2",', "", "| line 10 column 3"),
        ('"name": "n2",', '"nme": "n2",', "| line 10 column 3"),
        ('"name": "n2",', '"name": "n2", "name": "n3",', "| line 11 column 18"),
        ('"name": "n2",', '"name": 7,', "nodes[1].name | 7"),
        ('"name": "n2",', '"name": 7,', "| line 11 column 12"),
        ("200", '"x"', "| line 13 column 5"),
    ):
        assert was in good
        assert says(bad("ring", written(tmp_path, good.replace(was, now))), said)


def test_names_that_differ_in_case(tmp_path: Path) -> None:
    """Two nodes or datacenters with such names are taken as two, with a warning for each kind.

    Which of two is named first does not depend on the order of the rows.
    """
    nodes = [{"name": name, "tokens": [at], "dc": dc} for at, (name, dc) in enumerate(ALIKE)]
    for rows in (nodes, nodes[::-1]):
        answer = call("ring", written(tmp_path, ring_of(rows)))
        assert answer.status == 0
        assert [line.split(":")[1] for line in answer.err.splitlines()] == [
            " N1 and n1 are two nodes",
            " DC1 and dc1 are two datacenters",
        ]
        assert "(and 1 more such pairs)" in answer.err


ALIKE = (("n1", "dc1"), ("N1", "DC1"), ("n2", "dc1"), ("N2", "dc1"))


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
