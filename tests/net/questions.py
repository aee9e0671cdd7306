"""What the record asks, section by section: pairs of an item's name and its question."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from tests.net import places
from tests.net.answering import Question, called
from tests.net.rings import rehearsed

RINGS = 200
Asked = Iterator[tuple[str, Question]]
KS = 'ks={"class": "SimpleStrategy", "replication_factor": 2}'

NODE = '{"name": "a", "tokens": [5]}'
OTHER = '{"name": "b", "tokens": [5]}'
BAD_RINGS = (
    "",
    "[]",
    "{",
    '{"nodes": []}',
    '{"nodes": [], "keyspaces": []}',
    f'{{"nodes": [{NODE}, {NODE}], "keyspaces": []}}',
    f'{{"nodes": [{NODE}, {OTHER}], "keyspaces": []}}',
    f'{{"nodes": [{NODE}], "keyspaces": [], "more": 1}}',
    f'{{"nodes": [{NODE}], "keyspaces": [{{"name": "k"}}]}}',
    f'{{"nodes": [{NODE}], "keyspaces": [{{"name": "k", "replication": {{"class": "None"}}}}]}}',
    '{"nodes": [{"name": "a", "tokens": ["x"]}], "keyspaces": []}',
    '{"nodes": [{"name": "a", "tokens": [], "rack": 3}], "keyspaces": []}',
)


def searches() -> Asked:
    """Every search of the tests that is of a model in the registry; see ``searches.json``."""
    text = Path(__file__).with_name("searches.json").read_text(encoding="utf-8")
    for asked in json.loads(text):
        yield f"searches/{asked.pop('id')}", {"kind": "search", **asked}


def rings() -> Asked:
    """The rings of seeds, and what the tools of running clusters print."""
    for seed in range(RINGS):
        commands, files = rehearsed(seed)
        for number, argv in enumerate(commands):
            yield f"rings/{seed:03}-{number}", {"kind": "call", "argv": argv, "files": files}
    for number, (argv, names) in enumerate(_tools()):
        files = {name.replace("/", "-"): _text(places.FIXTURES / name) for name in names}
        yield f"rings/tools-{number:02}", {"kind": "call", "argv": argv, "files": files}
    for number, text in enumerate(BAD_RINGS):
        argv = ["plan", "@ring.json", "leave", "a", "--json"]
        files = {"ring.json": text}
        yield f"rings/bad-{number:02}", {"kind": "call", "argv": argv, "files": files}


def _tools() -> Iterator[tuple[list[str], list[str]]]:
    one, ring = "cassandra/ring-one-token.txt", "cassandra/ring.txt"
    there = "@cassandra-ring-one-token.txt"
    keyspace = ["--keyspace", KS]
    for form in ([], ["--json"]):
        yield ["ring", there, *keyspace, *form], [one]
        yield ["plan", there, "leave", "10.9.0.2", "--force", *keyspace, *form], [one]
        yield ["plan", there, "join", "10.9.0.9", "--tokens", "7", *keyspace, *form], [one]
        both = [there, "--with", "@cassandra-status-one-token.txt", *keyspace, *form]
        yield ["ring", *both], [one, "cassandra/status-one-token.txt"]
        for kind in ("cassandra", "scylla"):
            names = [f"{kind}/ring.txt", f"{kind}/status.txt"]
            files = [f"@{kind}-ring.txt", "--with", f"@{kind}-status.txt", *keyspace, *form]
            yield ["ring", *files], names
            yield ["plan", files[0], "join", "10.9.9.9", "--tokens", "7", *files[1:]], names
            yield ["ring", f"@{kind}-describering.txt", *form], [f"{kind}/describering.txt"]
        dumps = ["dumps/local.txt", "dumps/peers.csv", "dumps/keyspaces.csv"]
        files = ["@dumps-local.txt", "--with", "@dumps-peers.csv", "--with", "@dumps-keyspaces.csv"]
        yield ["ring", *files, *form], dumps
        yield (
            ["ring", "@dumps-nodes.json", "--with", "@dumps-keyspaces.json", *form],
            ["dumps/nodes.json", "dumps/keyspaces.json"],
        )
    yield ["ring", there, "--keyspace", "ks=3"], [one]
    yield ["ring", there, "--with", "@scylla-status.txt", *keyspace], [one, "scylla/status.txt"]
    yield ["ring", there], [one]
    yield ["ring", "@cassandra-ring.txt", *keyspace], [ring]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def scenarios() -> Asked:
    """The scenario files, and every scenario by name."""
    yield "scenarios/names", {"kind": "scenarios"}
    for path in places.scenario_files():
        name = places.scenario_name(path)
        yield f"scenarios/{name}", {"kind": "scenario", "path": name}
    for entry in places.entries().values():
        for scenario in entry.scenarios:
            name = f"{entry.name}/{scenario.name}"
            yield f"play/{name}", _call("play", name)
            yield f"show/{name}", _call("show", name)


def _call(*argv: str) -> Question:
    return {"kind": "call", "argv": list(argv)}


def commands() -> Asked:
    """Models, show, check, fuzz, help, and what is refused."""
    yield "models/text", _call("models")
    yield "models/json", _call("models", "--json")
    for name, entry in places.entries().items():
        yield f"show/{name}", _call("show", name)
        small = ["-p", "rf=1"] if name == "dataplane" else []
        refines = [["--refines"]] if entry.refinement is not None else []
        for words in ([], ["--max-states", "50"], *refines):
            for form in ([], ["--json"]):
                argv = ["check", name, *small, *words, *form]
                yield f"check/{' '.join(argv[1:])}", _call(*argv)
        for guard in entry.safeguards:
            off = ["--off", guard.name]
            yield f"check/{name} {guard.name}", _call("check", name, *off, "--json")
            yield f"check/{name} {guard.id}", _call("check", name, "--off", guard.id)
            fuzz = ["fuzz", name, *off, "--seeds", "0:10", "--steps", "60", "--json"]
            yield f"fuzz/{name} {guard.name}", _call(*fuzz)
        yield f"fuzz/{name}", _call("fuzz", name, "--seeds", "0:20", "--json")
        yield f"fuzz/{name} text", _call("fuzz", name, "--seeds", "20:30", "--steps", "60")
    for argv in (
        ["check", "twophase", "-p", "rms=5", "--symmetry", "--json"],
        ["check", "twophase", "-p", "rms=4"],
        ["check", "dataplane/two-replicas", "--json"],
        ["check", "tcm", "-p", 'operations=["leave C"]', "--json"],
        ["check", "bootstrap", "--json"],
    ):
        yield f"check/{' '.join(argv[1:])}", _call(*argv)
    for words in ([], ["models"], ["show"], ["play"], ["check"], ["fuzz"], ["ring"], ["plan"]):
        yield f"help/{' '.join(words) or 'all'}", _call(*words, "--help")
    for number, argv in enumerate(_bad()):
        yield f"bad/{number:02}", _call(*argv)


def _bad() -> Iterator[list[str]]:
    yield from ([], ["nothing"], ["show"], ["show", "tmc"], ["show", "tcm/nothing"])
    yield from (["play", "bootstarp"], ["play", "nothing.txt"], ["play", "nothing.json"])
    yield from (["check", "tcm", "--off", "S-99"], ["check", "tcm", "--off", "barrier"])
    yield from (["check", "twophase", "--off", "S-01"], ["check", "twophase", "--refines"])
    yield from (["check", "tcm", "-p", "nodse=3"], ["check", "tcm", "-p", "nodes=0"])
    yield from (["check", "tcm", "-p", "nodes"], ["check", "tcm", "-p", "nodes=many"])
    yield from (["check", "tcm", "-p", "shape=round"], ["check", "tcm", "--symmetry"])
    yield from (["check", "tcm", "--max-states", "0"], ["check", "tcm", "--symmetry", "--refines"])
    yield from (["check", "dataplane", "-p", "reading=none"], ["check", "replica", "-p", "rf=x"])
    yield from (["check", "dataplane", "-p", 'requests=["K1 write SOME"]'], ["fuzz", "nothing"])
    yield from (["fuzz", "tcm", "--seeds", "9:3"], ["fuzz", "tcm", "--steps", "-1"])
    yield from (["ring", "nothing.json"], ["plan"], ["plan", "nothing.json"], ["plan", "--tokens"])
    yield from (["plan", "nothing.json", "join"], ["plan", "x", "leave", "n1", "--shape", "round"])
    yield from (["check", "tcm", "-p", 'operations=["jion X"]'], ["check", "tcm", "--of", "S-01"])


def traces() -> Asked:
    """Saved traces of seeded walks, some with forks, and of shortest runs that fail."""
    for number, (model, parameters, off, steps) in enumerate(_walks()):
        walk = {"model": model, "parameters": parameters, "off": off, "steps": steps}
        found = {"kind": "walk", "seed": number, **walk}
        yield f"walks/{number:02}-{model}", found
        yield f"traces/{number:02}-{model}", {"kind": "trace", "trace": _walked(found)}
    for model, guard in (
        ("tcm", "write-before-read"), ("tcm", "range-locks"), ("tcm", "pending-in-metadata"),
        ("dataplane", "progress-barrier"), ("dataplane", "membership-check"),
        ("coordinator", "plan-recheck"), ("replica", "membership-check"),
    ):  # fmt: skip
        yield f"traces/{model}-{guard}", {"kind": "trace", "trace": _counterexample(model, guard)}


def _walks() -> Iterator[tuple[str, dict[str, Any], list[str], int]]:
    for managers in (1, 3, 4, 6):
        yield "twophase", {"rms": managers}, [], 40
    for name, steps in (("tcm", 60), ("dataplane", 60)):
        entry = places.entries()[name]
        usual = _builtins(dict(entry.fuzzing.parameters))
        yield from [(name, usual, [], steps)] * 3
        for scenario in entry.scenarios:
            yield name, _builtins(dict(scenario.parameters)), list(scenario.off), steps
        for guard in entry.safeguards[:4]:
            yield name, usual, [guard.name], steps
    yield "tcm", {"nodes": 4, "shape": "implementation", "peers": True, "crashes": 1}, [], 60
    asks = ["K1 write QUORUM", "K2 read QUORUM"]
    beside = {"requests": asks * 2, "together": True, "repair": True, "rf": 3}
    yield "dataplane", beside, [], 60
    for kind in ("write", "read"):
        yield "coordinator", {"request": f"K1 {kind} QUORUM", "retry": kind == "write"}, [], 40
        yield "coordinator", {"request": f"K1 {kind} QUORUM", "rf": 2}, [], 40
    for messages in (2, 3, 5):
        yield "replica", {"messages": messages}, [], 40


def _builtins(parameters: dict[str, Any]) -> dict[str, Any]:
    found = msgspec.to_builtins(parameters)
    assert isinstance(found, dict)
    return found


def _walked(asked: Question) -> str:
    """The trace of a walk; every third has a second branch from its middle, and stands there."""
    model: Any = places.build(asked["model"], asked["parameters"], tuple(asked["off"]))
    walk = places.Walker(model, steps=asked["steps"]).walk(asked["seed"])
    timeline: Any = places.Timeline.along(model, walk.actions)
    if asked["seed"] % 3 == 0:
        chance = Random(asked["seed"])
        timeline.goto(len(walk.actions) // 2)
        for _ in range(8):
            enabled = list(model.actions(timeline.state))
            if enabled:
                timeline.do(chance.choice(enabled))
    return places.dumps(timeline.save())


def _counterexample(model: str, guard: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        told = called(["check", model, "--off", guard, "--trace", str(path)], {})
        assert told["status"] == 1, told
        return path.read_text(encoding="utf-8")


SECTIONS = {
    "searches": searches,
    "rings": rings,
    "scenarios": scenarios,
    "commands": commands,
    "traces": traces,
}
