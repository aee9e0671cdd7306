"""Bad input at the command line: one line that says what, where and what is allowed; never more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import TEN, bad, call, ring_of, written

DEEP = 100_000
BINARY = bytes(range(256))


@pytest.fixture
def ten(tmp_path: Path) -> str:
    """A good ring file of ten nodes."""
    return written(tmp_path, ring_of())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "python -m kit: the following arguments are required: COMMAND; "),
        (["nope"], "COMMAND: got 'nope'; allowed: models, show"),
        ([""], "COMMAND: got ''; allowed: models, show"),
        (["--nope"], "python -m kit: "),
        (["models", "x"], "python -m kit models: unrecognized arguments: x"),
        (["models", "a\nb"], "python -m kit models: unrecognized arguments: a b"),
        (["models", "--js"], "python -m kit models: unrecognized arguments: --js"),
        (["show"], "python -m kit show: the following arguments are required: MODEL; "),
        (["show", "boostrap"], "model: got 'boostrap'; allowed: one of bootstrap, "),
        (["show", "a\nb"], "model: got 'a\\nb'; allowed: one of "),
        (["check", "nope"], "model: got 'nope'; allowed: one of "),
        (["check", "tcm", "-p"], "python -m kit check: argument -p/--parameter: expected one"),
        (["check", "tcm", "-p", "nodes"], "-p: got 'nodes'; allowed: parameter=value"),
        (["check", "tcm", "-p", "=1"], "parameter: got ''; allowed: one of "),
        (["check", "tcm", "-p", "node=1"], "parameter: got 'node'; allowed: one of nodes, "),
        (["check", "tcm", "-p", "nodes=0"], "nodes: got 0; allowed: a number from 1 to 1000"),
        (["check", "tcm", "-p", "nodes=1e999"], "nodes: got "),
        (["check", "tcm", "-p", "nodes=NaN"], "nodes: got 'NaN'; allowed: as tcm takes it"),
        (["check", "tcm", "-p", "nodes=true"], "nodes: got True; allowed: as tcm takes it"),
        (["check", "tcm", "-p", f"nodes={'9' * 5000}"], "nodes: got "),
        (["check", "tcm", "-p", f"nodes={'[' * DEEP}"], "nodes: got "),
        (
            ["check", "tcm", "-p", "nodes=\udcff"],
            "-p: got 'nodes=\\udcff'; allowed: parameter=value",
        ),
        (["check", "tcm", "-p", "variant=none"], "variant: got 'none'; allowed: "),
        (
            ["check", "tcm", "-p", 'operations=["join X"]'],
            "--tokens: got None; allowed: join needs",
        ),
        (["check", "tcm", "--off", "S-99"], "safeguard: got 'S-99'; allowed: one of "),
        (["check", "tcm", "--off", ""], "safeguard: got ''; allowed: one of "),
        (["check", "twophase", "--off", "S-05"], "safeguard: got 'S-05'; allowed: "),
        (["check", "twophase", "-p", "rms=0"], "rms: got 0; allowed: "),
        (["check", "tcm", "--max-states", "0"], "--max-states: got '0'; allowed: a whole number"),
        (["check", "tcm", "--max-states", "1.5"], "--max-states: got '1.5'; allowed: "),
        (["check", "tcm", "--max-states", "9" * 30], "--max-states: got "),
        (["play", "nope"], "scenario: got 'nope'; allowed: one of "),
        (["play", "a" * 5000], "scenario: got 'aaa"),
        (["play", "x\0y"], "scenario: got 'x\\x00y'; allowed: one of "),
        (["play", "nope.json"], "file: got 'nope.json'; allowed: a readable file"),
        (["play", "nope.txt"], ""),
        (["play", "/"], "file: got '/'; allowed: a readable file (this is a folder)"),
        (
            ["play", "/dev/null"],
            "file: got '/dev/null'; allowed: a readable file (this is",
        ),
        (
            ["play", "bootstrap", "--html", "/nope/x.html"],
            "--html: got '/nope/x.html'; allowed: a writable place (No such",
        ),
        (
            ["play", "bootstrap", "--html", "/"],
            "--html: got '/'; allowed: a writable place (this is",
        ),
        (["play", "bootstrap", "--html", ""], "--html: got ''; allowed: a writable place"),
        (["ring"], "python -m kit ring: the following arguments are required: RINGFILE; "),
        (["ring", "nope"], "ring file: got 'nope'; allowed: a readable file "),
        (["ring", "/"], "ring file: got '/'; allowed: a readable file "),
        (["ring", ""], "ring file: got ''; allowed: a readable file "),
        (
            ["ring", "/dev/null"],
            "ring file: got '/dev/null'; allowed: a readable file (this is",
        ),
        (
            ["ring", "/dev/zero"],
            "ring file: got '/dev/zero'; allowed: a readable file (this is",
        ),
        (["ring", "x\0y"], "ring file: got 'x\\x00y'; allowed: a readable file "),
        (["ring", "\udcff"], "ring file: got '\\udcff'; allowed: a readable file "),
        (["plan"], "RINGFILE: got None; allowed: a ring file, then an operation"),
        (["plan", "--json"], "RINGFILE: got None; allowed: a ring file, then an operation"),
        (["plan", "--force"], "option: got '--force'; allowed: a ring file and an operation"),
        (["plan", "leave", "n1"], "ring file: got 'leave'; allowed: a readable file "),
    ],
)
def test_words(words: list[str], said: str) -> None:
    """Each command names the word that is wrong and what would do, on one line."""
    assert bad(*words).startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "operation: got ''; allowed: join NODE --tokens T"),
        (["fly", "n1"], "operation: got 'fly n1'; allowed: join NODE --tokens T"),
        (["leave"], "operation: got 'leave'; allowed: leave with 1 node name"),
        (["leave", "n1", "n2"], "operation: got 'leave n1 n2'; allowed: leave with 1 node name"),
        (["leave", ""], "operation: got "),
        (["leave", "n99"], "node: got 'n99'; allowed: one of n1, n2"),
        (["leave", "n1", "--tokens", "5"], "--tokens: got '5'; allowed: leave takes no --tokens"),
        (["leave", "n1", "--dc", "dc1"], "--dc: got 'dc1'; allowed: only with join and replace"),
        (["leave", "n1", "--json=1"], "--json: got '1'; allowed: no value"),
        (["leave", "n1", "--jso"], "option: got '--jso'; allowed: "),
        (["leave", "--", "n1"], "option: got '--'; allowed: "),
        (["leave", "n1", "--force", "--force"], "option: got '--force'; allowed: each option once"),
        (["leave", "n1", "--force=yes"], "--force: got 'yes'; allowed: no value"),
        (["leave", "n1", "--variant", "ceps"], "--variant: got 'ceps'; allowed: one of cep"),
        (["leave", "n1", "--variant"], "--variant: got None; allowed: a value"),
        (["leave", "n1", "--variant="], "--variant: got ''; allowed: a value"),
        (
            ["leave", "n1", "--variant", "cep", "--variant", "cep"],
            "option: got '--variant'; allowed: each",
        ),
        (["leave", "n1", "--while"], "--while: got None; allowed: a value"),
        (["leave", "n1", "--while", "leave 'n"], """"--while leave 'n": operation: got"""),
        (["leave", "n1", "--while", "leave n99"], "'leave n99': node: got 'n99'; allowed: one of"),
        (
            ["leave", "n1", "--while", "leave n2 --json"],
            "'--while leave n2 --json': option: got '--json'; allowed: --tokens, --dc",
        ),
        (["leave", "n9", "--while", "assassinate n2"], "operation in flight: got 'assassinate n2'"),
        (
            ["leave", "n9", "--while", "leave n2", "--while", "leave n3"],
            "operation in flight: got 'l",
        ),
        (["join", "x"], "--tokens: got None; allowed: join needs --tokens"),
        (["join", "x", "--tokens"], "--tokens: got None; allowed: a value"),
        (["join", "x", "--tokens", ""], "--tokens: got ''; allowed: a value"),
        (["join", "x", "--tokens", ","], "--tokens: got ','; allowed: whole numbers"),
        (["join", "x", "--tokens", "1.5"], "--tokens: got '1.5'; allowed: whole numbers"),
        (["join", "x", "--tokens", "1e3"], "--tokens: got '1e3'; allowed: whole numbers"),
        (["join", "x", "--tokens", "NaN"], "--tokens: got 'NaN'; allowed: whole numbers"),
        (["join", "x", "--tokens", "٣"], "--tokens: got '\\u0663'; allowed: whole numbers"),
        (["join", "x", "--tokens", "5,5"], "tokens[1]: got 5; allowed: each token once"),
        (
            ["join", "x", "--tokens", "5,100"],
            "tokens[1]: got 100; allowed: a token that nobody owns",
        ),
        (
            ["join", "x", "--tokens", "9223372036854775808"],
            "tokens[0]: got 9223372036854775808; all",
        ),
        (["join", "x", "--tokens", "9" * 5000], "--tokens: got '999"),
        (["join", "x", "--tokens", "5", "--dc", "dc9"], "dc: got 'dc9'; allowed: one of dc1"),
        (["join", "x", "--tokens", "5", "--dc", ""], "--dc: got ''; allowed: a value"),
        (
            ["join", "n1", "--tokens", "5"],
            "node: got 'n1'; allowed: a name that is not in the ring",
        ),
        (["join", "--x", "--tokens", "5"], "option: got '--x'; allowed: "),
        (["join", "a\nb", "--tokens", "5"], "node: got 'a\\nb'; allowed: a text of 1 to 200"),
        (["join", "\udcff", "--tokens", "5"], "node: got '\\udcff'; allowed: a text of 1 to 200"),
        (["join", "x" * 5000, "--tokens", "5"], "node: got 'xxx"),
        (
            ["join", "x", "--tokens", "5", "--rack", "\x1b[31m"],
            "rack: got '\\x1b[31m'; allowed: a te",
        ),
        (["move", "n1", "--tokens", "100"], "tokens: got (100,); allowed: other tokens than"),
        (
            ["move", "n1", "--tokens", "200"],
            "tokens[0]: got 200; allowed: a token that nobody owns",
        ),
        (["move", "n1", "--tokens", "1,2"], "tokens: got (1, 2); allowed: as many tokens as now"),
        (["replace", "n1"], "operation: got 'replace n1'; allowed: replace with 2 node name"),
        (["replace", "n1", "n2"], "node: got 'n2'; allowed: a name that is not in the ring yet"),
        (["replace", "n99", "x"], "node: got 'n99'; allowed: one of n1, n2"),
        (["leave", "n1", "--sizes"], "--sizes: got None; allowed: a value"),
        (["leave", "n1", "--sizes", "nope"], "sizes file: got 'nope'; allowed: a readable file"),
        (["leave", "n1", "--sizes", "/"], "sizes file: got '/'; allowed: a readable file"),
        (
            ["leave", "n1", "--sizes", "/dev/null"],
            "sizes file: got '/dev/null'; allowed: a readable file (this is",
        ),
    ],
)
def test_operations(ten: str, words: list[str], said: str) -> None:
    """What does not speak of this ring is no refusal of the protocol but bad input."""
    assert bad("plan", ten, *words).startswith(said)
    assert (
        bad("plan", ten, *words, "--json").startswith(said)
        or words[-1] == "--while"
        or (words and words[-1] in ("--variant", "--sizes", "--tokens"))
    )


def changed(**fields: Any) -> dict[str, Any]:
    """The good ring file with other fields."""
    return {**ring_of(), **fields}


GOOD = json.dumps(ring_of())
RF = {"class": "NetworkTopologyStrategy"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "ring file: got 'the end of the text'; allowed: JSON text; Expecting value at line 1"),
        (GOOD[:99], "ring file: got "),
        (BINARY, "ring file: got "),
        (GOOD.encode("utf-16"), "ring file: got "),
        (
            "[" * DEEP,
            "ring file: got '[[[[[[[[[[[[[[[[[[[['; allowed: JSON text that is not nested",
        ),
        ('{"a":' * DEEP, "ring file: got "),
        ("null", "ring file: got None; allowed: an object with nodes, keyspaces"),
        (
            GOOD.replace('"epoch": 0', '"epoch": 0, "epoch": 1'),
            "ring file: got 'epoch'; allowed: each",
        ),
        (GOOD.replace("100]", "NaN]", 1), "ring file: got 'NaN'; allowed: numbers that JSON knows"),
        (GOOD.replace("100]", "1e999]", 1), "nodes[0].tokens[0]: got inf; allowed: an integer"),
        (GOOD.replace("100]", "100.0]", 1), "nodes[0].tokens[0]: got 100.0; allowed: an integer"),
        (GOOD.replace("100]", "9" * 5000 + "]", 1), "ring file: got '999"),
        (GOOD.replace("100]", '" 100"]', 1), "nodes[0].tokens[0]: got ' 100'; allowed: an integer"),
        (GOOD.replace("[100]", "[]", 1), "nodes[0].tokens: got []; allowed: a list of at least 1"),
        (GOOD.replace("[200]", "[100]"), "nodes[1].tokens[0]: got 100; allowed: tokens owned once"),
        (GOOD.replace('"n2"', '"n1"'), "nodes[1].name: got 'n1'; allowed: a name that nodes[0]"),
        (
            GOOD.replace('"n2"', '"a\\nb"'),
            "nodes[1].name: got 'a\\nb'; allowed: a text of 1 to 200",
        ),
        (GOOD.replace('"n2"', '"\\ud800"'), "nodes[1].name: got '\\ud800'; allowed: a text of 1"),
        (changed(epoch=-1), "epoch: got -1; allowed: an integer from 0"),
        (changed(epoch=2**63), "epoch: got 9223372036854775808; allowed: an integer from 0"),
        (changed(nodes=[]), "nodes: got []; allowed: a list of at least 1"),
        (changed(more=1), "ring file: unknown key: got 'more'; allowed: nodes, keyspaces, epoch"),
        (
            ring_of(TEN, {"ks": {**RF, "dc\n1": -1}}),
            "keyspaces[0].replication.dc 1: got -1; allowed: ",
        ),
        (
            ring_of(TEN, {"ks": {**RF, "dc\n1": 1}}),
            "keyspaces[0].replication: datacenter: got 'dc\\n1'; allowed: ",
        ),
    ],
)
@pytest.mark.parametrize("command", ["ring", "plan"])
def test_ring_files(tmp_path: Path, content: Any, said: str, command: str) -> None:
    """Whatever is in the file: one line with the field."""
    path = written(tmp_path, content)
    assert bad(command, path, *(["leave", "n1"] if command == "plan" else [])).startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "sizes file: got 'the end of the text'; allowed: JSON text"),
        (BINARY, "sizes file: got "),
        ("[" * DEEP, "sizes file: got "),
        ("[]", "sizes file: got "),
        ({"nodes": {"n1": 1}, "x": 1}, "sizes file: got "),
        ('{"nodes":{"n1":1,"n1":2}}', "sizes file: got 'n1'; allowed: each key once"),
        ({"nodes": {"n99": 1}}, "nodes: got 'n99'; allowed: one of n1, n2"),
        ({"nodes": {"n1": -1}}, "nodes.n1: got -1; allowed: bytes, an integer from 0"),
        ({"nodes": {"n1": 1.5}}, "nodes.n1: got 1.5; allowed: bytes, an integer from 0"),
        ({"nodes": {"n1": True}}, "nodes.n1: got True; allowed: bytes, an integer from 0"),
        ('{"nodes":{"n1":%s}}' % ("9" * 5000), "sizes file: got '999"),
        ('{"nodes":{"n1":NaN}}', "sizes file: got 'NaN'; allowed: numbers that JSON knows"),
        ({"ranges": {"a\nb": []}}, "ranges: got 'a\\nb'; allowed: keyspaces of the ring: ks"),
        ({"ranges": {"ks": [[1, 2]]}}, "sizes file: got "),
        ({"ranges": {"ks": [[2, 1, 5]]}}, "ranges.ks[0]: got (2, 1); allowed: a left bound below"),
        (
            {"ranges": {"ks": [[1, 3, 5], [2, 4, 5]]}},
            "ranges.ks: got (2, 4); allowed: ranges that do",
        ),
        ({"ranges": {"ks": [["1_0", 20, 5]]}}, "ranges.ks[0]: got '1_0'; allowed: an integer from"),
        ({"ranges": {"ks": [[True, 20, 5]]}}, "ranges.ks[0]: got True; allowed: an integer from"),
        ({"ranges": {"ks": [[1, 20, None]]}}, "ranges.ks[0]: got None; allowed: bytes"),
    ],
)
def test_sizes_files(tmp_path: Path, ten: str, content: Any, said: str) -> None:
    """A sizes file is read as strictly as a ring file."""
    sizes = written(tmp_path, content, "sizes.json")
    assert bad("plan", ten, "leave", "n3", "--sizes", sizes).startswith(said)


HEAD = {"format": 1, "kit": "0", "model": "tcm", "parameters": {}, "off": [], "steps": []}
STEP = {"parent": 0, "verb": "x", "action": {}, "fingerprint": ""}
NEGATIVE = [{"name": "k", "replication": {"class": "SimpleStrategy", "replication_factor": -3}}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "{path}: got "),
        (BINARY, "{path}: got "),
        ("[" * DEEP, "{path}: got "),
        ({}, "{path}: format: got None; allowed: 1, the one format"),
        ({**HEAD, "format": 2}, "{path}: format: got 2; allowed: 1, the one format"),
        ({**HEAD, "format": 1.0}, "{path}: format: got 1.0; allowed: 1, the one format"),
        ({"format": 1}, "trace: got {'format': 1}; allowed: "),
        ({**HEAD, "model": "nope"}, "model: got 'nope'; allowed: one of "),
        (
            {**HEAD, "parameters": {"nodes": 10**9}},
            "nodes: got 1000000000; allowed: a number from 1",
        ),
        ({**HEAD, "parameters": {"nodes": "x"}}, "nodes: got 'x'; allowed: as tcm takes it"),
        (
            {**HEAD, "parameters": {"keyspaces": NEGATIVE}},
            "keyspace k: replication_factor: got -3; ",
        ),
        ({**HEAD, "off": ["S-99"]}, "safeguard: got 'S-99'; allowed: one of "),
        ({**HEAD, "steps": [STEP]}, "steps[0].action: got {}; allowed: an action of tcm"),
        ({**HEAD, "steps": [{**STEP, "parent": 9}]}, "steps[0].parent: got 9; allowed: "),
        ({**HEAD, "at": 9}, "at: got 9; allowed: "),
        ({**HEAD, "tip": -1}, "tip: got -1; allowed: "),
    ],
)
def test_traces(tmp_path: Path, content: Any, said: str) -> None:
    """A trace that is malformed, of another format, or of no known model plays nothing."""
    path = written(tmp_path, content, "trace.json")
    assert bad("play", path).startswith(said.replace("{path}", path))


def test_a_step_that_is_not_enabled(tmp_path: Path) -> None:
    """A trace with a step out of turn or another state is refused at that step."""
    good = str(tmp_path / "good.json")
    assert call("check", "tcm", "--off", "S-05", "--trace", good).status == 1
    trace = json.loads(Path(good).read_text("utf-8"))
    late = {**trace, "steps": [{**trace["steps"][1], "parent": 0}]}
    assert bad("play", written(tmp_path, late, "t.json")).startswith("steps[0]: got ")
    trace["steps"][2]["fingerprint"] = "0" * 16
    said = bad("play", written(tmp_path, trace, "t.json"))
    assert said.startswith("steps[2].fingerprint: got '0000000000000000'; allowed: ")


def test_nothing_is_written_for_a_bad_place(tmp_path: Path) -> None:
    """A counterexample that cannot be stored is bad input; nothing is printed instead."""
    said = bad("check", "tcm", "--off", "S-05", "--trace", str(tmp_path / "nope" / "t.json"))
    assert said.startswith("file: got ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["plan", "{ring}", "leave", "n1", "--size", "x"], "(nearest: --sizes)"),
        (["plan", "{ring}", "leave", "n1", "--wile", "x"], "(nearest: --while)"),
        (["plan", "{ring}", "Leave", "n1"], "(nearest: leave)"),
        (["plan", "{ring}", "join", "x", "--token", "7"], "(nearest: --tokens)"),
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
        ('"name": "n2",', "", "(in the file at line 10 column 3)"),
        ('"name": "n2",', '"nme": "n2",', "(in the file at line 10 column 3)"),
        ('"name": "n2",', '"name": "n2", "name": "n3",', "at line 11 column 18"),
        ('"name": "n2",', '"name": 7,', "nodes[1].name: got 7"),
        ('"name": "n2",', '"name": 7,', "(in the file at line 11 column 12)"),
        ("200", '"x"', "(in the file at line 13 column 5)"),
    ):
        assert was in good
        assert said in bad("ring", written(tmp_path, good.replace(was, now)))


def test_names_that_differ_in_case(tmp_path: Path) -> None:
    """Two nodes or datacenters with such names are taken as two, with a warning for each kind."""
    nodes = [{"name": name, "tokens": [at], "dc": dc} for at, (name, dc) in enumerate(ALIKE)]
    answer = call("ring", written(tmp_path, ring_of(nodes)))
    assert answer.status == 0
    assert [line.split(":")[1] for line in answer.err.splitlines()] == [
        " n1 and N1 are two nodes",
        " DC1 and dc1 are two datacenters",
    ]
    assert "(and 1 more such pairs)" in answer.err


ALIKE = (("n1", "dc1"), ("N1", "DC1"), ("n2", "dc1"), ("N2", "dc1"))
