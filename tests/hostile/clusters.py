"""Hostile words and files for what is asked of a cluster: schemas, replication, losses, drills."""

from __future__ import annotations

import io
import json
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kit import build
from kit.console.drill import drills, open_drill
from kit.model.registry import entries
from kit.operators.importers.schema import read_schema
from kit.protocols.recovery.dry_run import advise, open_cluster
from kit.spark import dead_nodes
from tests.commands.calling import call
from tests.hostile.judging import answered
from tests.hostile.mutating import EVIL, ROOT, VALUES, spoiled

FOLDER = ROOT / "tests" / "fixtures" / "tablets"
NETWORK = "{'class': 'NetworkTopologyStrategy', 'dc1:0': 'r1', 'dc2:-1': '', 'dc3': '2'}"
SCHEMAS = (
    (FOLDER / "schema.cql").read_text("utf-8"),
    f'keyspace_name,replication\nks,"{NETWORK}"\n',
    "keyspace_name,table_name,id,tombstone_gc\nks,t,,\"{'mode': 'repair'}\"\n",
    '[{"keyspace_name": "ks", "replication": {"class": "LocalStrategy"}}]',
    '[{"keyspace_name": "ks", "view_name": "v", "base_table_name": "t"}]',
    f"USE ks; CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {NETWORK};",
)
CQL = (
    *("CREATE", "KEYSPACE", "TABLE", "MATERIALIZED", "VIEW", "USE", "WITH", "AND", "FROM", "IF"),
    *("replication", "tablets", "id", "tombstone_gc", "=", ";", ".", "{", "}", "[", "]", ",", ":"),
    *("'class'", "'dc1'", "'dc1:0'", "'dc1:-1'", "'LocalStrategy'", "ks", "t", '"T"', "/*", "--"),
    *("$$", "'", '"', "\r", "\ufeff", "7", "-1", "nan", "null", "true", "(", ")"),
)
CLUSTER = {
    "nodes": [
        {"name": "A", "dc": "dc1", "rack": "r1", "status": "up", "commit_index": 10},
        {"name": "B", "status": "lost"},
        {"name": "C", "status": "down"},
    ],
    "keyspaces": {"shop": {"dc1": 3}},
    "deaths": [["B"], ["C"]],
    "upgrade": "stuck",
}
ASKED = ("rf", "repair", "shop", "dc1=3", "dc1=r1,r2", "dc9=1", "=", "dc1=", "2026-01-31T10:00:00Z")
BOUNDS = ("least", "most", "datacenters", "largest", "racks", "rf", "x")
AMOUNTS = (*VALUES, 1, 2, 3, [1], [1, 1], (2, 3), float("nan"), b"x", object())


def schema(chance: Random, folder: Path) -> None:
    """A schema as CQL or as rows, spoiled or of random words, in one file or two."""
    paths = [folder / "a.cql", folder / "b.cql"][: chance.randrange(1, 3)]
    for path in paths:
        if chance.random() < 0.4:
            text = " ".join(chance.choices(CQL, k=chance.randrange(30)))
            path.write_bytes(text.encode())
        else:
            path.write_bytes(spoiled(chance, SCHEMAS))
    answered(lambda: read_schema(*paths))


def asked_of_tablets(chance: Random, folder: Path) -> None:
    """``rf`` and ``repair`` of a good dump, with any words behind them, and any schema."""
    words = [str(FOLDER / "tablets.csv"), "--topology", str(FOLDER / "topology.csv")]
    if chance.random() < 0.3:
        (folder / "schema.cql").write_bytes(spoiled(chance, SCHEMAS))
        words += ["--schema", str(folder / "schema.cql")]
    words.append(chance.choice(("rf", "repair")))
    for _ in range(chance.randrange(4)):
        word = chance.choice((*ASKED, *EVIL))
        words.append(word + chance.choice(EVIL) if chance.random() < 0.3 else word)
    answer = call("tablets", *words)
    told = f"{words!r:.600} -> {answer.status}, stderr {answer.err!r:.300}"
    assert answer.status in (0, 1, 2), told
    assert bool(answer.err) == (answer.status == 2), told
    assert answer.err.count("\n") == (answer.status == 2), told
    assert answer.out.replace("\n", "").isprintable(), told


def cluster(chance: Random, folder: Path) -> None:
    """The description of a cluster that lost nodes; what can be read is advised on."""
    path = folder / "cluster.json"
    path.write_bytes(spoiled(chance, (json.dumps(CLUSTER),)))
    opened = answered(lambda: open_cluster(path))
    if opened is not None:
        edition = chance.choice(("documents", "server"))
        leader = chance.choice((None, "A", *EVIL))
        answered(lambda: advise(opened[0], "cluster.json", edition, leader, opened[1]))


def sets_of_the_dead(chance: Random, _folder: Path) -> None:
    """Bounds of any type."""
    names = chance.sample(BOUNDS, k=chance.randrange(1, 4))
    given = {"most": 2, **{name: chance.choice(AMOUNTS) for name in names}}
    answered(lambda: dead_nodes(None, tasks=chance.choice((None, *AMOUNTS)), **given))


def typed(chance: Random, _folder: Path) -> None:
    """A script of a drill on stdin: every line is answered, and the run is graded."""
    name = chance.choice(drills())
    lines = [_typed(chance, name) for _ in range(chance.randrange(6))]
    former, sys.stdin = sys.stdin, io.StringIO("\n".join(lines))
    try:
        answer = call("drill", name, "--checklist")
    finally:
        sys.stdin = former
    told = f"{lines!r:.600} -> {answer.status}, stderr {answer.err!r:.300}"
    assert answer.status in (0, 1), told
    assert answer.err == "", told
    assert answer.out.replace("\n", "").isprintable(), told


@cache
def _forms(name: str) -> tuple[str, ...]:
    return tuple(form.text for form in open_drill(name).kind.forms)


def _typed(chance: Random, name: str) -> str:
    words = chance.choice(_forms(name)).split()
    for at, word in enumerate(words):
        if "{" in word:
            words[at] = chance.choice(("A", "B", "recovery", "system.raft", *EVIL))
    if chance.random() < 0.3:
        words.insert(chance.randrange(len(words) + 1), chance.choice(EVIL))
    return " ".join(words)


def parameter(chance: Random, _folder: Path) -> None:
    """A model with a parameter of any type, or any text for one."""
    entry = entries()[chance.choice(sorted(entries()))]
    names: tuple[str, ...] = getattr(entry.parameters, "__struct_fields__", ())
    given: dict[str, Any] = {
        name: chance.choice((*AMOUNTS, *EVIL))
        for name in chance.sample(names, k=min(len(names), chance.randrange(1, 3)))
    }
    answered(lambda: build(entry.name, given))
