"""Seeded random rings, sizes and operations, as the command line takes them."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from typing import Any

KINDS = ("join", "leave", "move", "replace", "remove", "assassinate")
RACKS = ("r1", "r2", "r3")
LOW, HIGH = -(2**63), 2**63 - 1
Node = dict[str, Any]


def rehearsed(seed: int) -> tuple[list[list[str]], dict[str, str]]:
    """Command lines and the files that they read."""
    chance = Random(f"ring {seed}")
    nodes = _nodes(chance)
    keyspaces = _keyspaces(chance, nodes)
    ring = {"epoch": chance.choice((0, 0, 7, 99)), "nodes": nodes, "keyspaces": keyspaces}
    files = {"ring.json": json.dumps(ring)}
    options: list[str] = []
    if chance.random() < 0.5:
        files["sizes.json"] = json.dumps(_sizes(chance, nodes, keyspaces))
        options += ["--sizes", "@sizes.json"]
    if chance.random() < 0.5:
        options += ["--shape", "implementation"]
    words = _operation(chance, nodes, "x")
    if chance.random() < 0.25:
        options += ["--while", " ".join(_operation(chance, nodes, "y"))]
    plan = ["plan", "@ring.json", *words, *options]
    commands = [["ring", "@ring.json", "--json"], [*plan, "--json"]]
    if seed % 5 == 0:
        commands += [["ring", "@ring.json"], plan]
    return commands, files


def _nodes(chance: Random) -> list[Node]:
    count = chance.choice((1, 2, 3, 3, 4, 4, 5, 6, 6, 8, 10, 12, 16))
    tokens = chance.choice((1, 1, 1, 2, 3)) if count < 12 else 1
    near = chance.random() < 0.6
    first, last = (-500, 5000) if near else (LOW, HIGH)
    dcs = chance.choice((1, 1, 2, 2, 3))
    racks = chance.choice((1, 2, 3))
    used: set[int] = set()
    found = []
    for i in range(count):
        own: list[int] = []
        while len(own) < tokens:
            token = chance.randint(first, last)
            if token not in used:
                used.add(token)
                own.append(token)
        place = {"dc": f"dc{i % dcs + 1}", "rack": chance.choice(RACKS[:racks])}
        found.append({"name": f"n{i + 1}", "tokens": own, **place})
    return found


def _keyspaces(chance: Random, nodes: list[Node]) -> list[dict[str, Any]]:
    dcs = sorted({node["dc"] for node in nodes})
    found = []
    for i in range(chance.choice((1, 1, 2, 3))):
        kind = chance.choice(("Simple", "Simple", "NetworkTopology", "NetworkTopology", "rest"))
        if kind == "rest":
            replication: dict[str, Any] = {"class": chance.choice(("Everywhere", "Local"))}
        elif kind == "Simple":
            replication = {"class": kind, "replication_factor": chance.choice((1, 2, 3, 3, 5))}
        else:
            chosen = dcs if chance.random() < 0.7 else dcs[:1]
            replication = {"class": kind, **{dc: chance.choice((1, 2, 3)) for dc in chosen}}
        replication["class"] += "Strategy"
        found.append({"name": f"k{i + 1}", "replication": replication})
    return found


def _sizes(chance: Random, nodes: list[Node], keyspaces: list[dict[str, Any]]) -> Any:
    found: dict[str, Any] = {}
    if chance.random() < 0.7:
        found["nodes"] = {node["name"]: chance.randrange(10**9) for node in nodes}
    if not found or chance.random() < 0.5:
        ends = [None, *sorted(token for node in nodes for token in node["tokens"]), None]
        rows = [
            [left, right, chance.randrange(10**8)]
            for left, right in pairwise(ends)
            if right != LOW and left != HIGH
        ]
        found["ranges"] = {chance.choice(keyspaces)["name"]: rows}
    return found


def _operation(chance: Random, nodes: list[Node], newcomer: str) -> list[str]:
    kind, node = chance.choice(KINDS[:5] * 3 + KINDS), chance.choice(nodes)
    used = {token for one in nodes for token in one["tokens"]}
    free = [one for one in (chance.randint(-500, 5000) for _ in range(200)) if one not in used]
    tokens = ",".join(map(str, dict.fromkeys(free[: len(node["tokens"])])))
    if kind == "join":
        place = ["--dc", node["dc"], "--rack", chance.choice((*RACKS, "r9"))]
        return ["join", newcomer, "--tokens", tokens, *(place if chance.random() < 0.7 else [])]
    if kind == "move":
        return ["move", node["name"], "--tokens", tokens]
    if kind == "replace":
        return ["replace", node["name"], newcomer]
    force = ["--force"] if chance.random() < 0.4 else []
    return [kind, node["name"], *force]
