"""Texts of every format that the kit reads, and ways to spoil them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kit import Timeline, build
from kit.model.trace import dumps
from tests.operators.samples import FOLDER

ROOT = Path(__file__).resolve().parents[2]
EVIL = (
    *("", "\0", "\x1b[31m", "\n", "\r", "\t", "\ud800", "\u202e", "\u2028", "é", "'", '"', "\\"),
    *("{", "}", "[", "]", ":", ",", "----", "null", "true", "NaN", "Infinity", "-", "1e999"),
    *("0", "-1", "9" * 30, "-9223372036854775808", "9223372036854775808", "9" * 5000, "1.5"),
    *("[" * 500, '{"a":' * 500, "x" * 5000, "../../x", "%s%n", "<script>", "Datacenter: x", "#"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, -(2**63), 2**63, "", "x", "x" * 5000, "\x1b[2J"),
    *([], {}, [None], [[[[]]]], {"": ""}, {"class": "SimpleStrategy"}, "9" * 30, "dc9", "\ud800"),
)
RING = {
    "epoch": 7,
    "nodes": [
        {"name": f"n{at}", "tokens": [100 * at, 100 * at + 7], "dc": f"dc{at % 2}", "rack": "r1"}
        for at in range(1, 5)
    ],
    "keyspaces": [
        {"name": "ks", "replication": {"class": "SimpleStrategy", "replication_factor": 3}},
        {"name": "nt", "replication": {"class": "NetworkTopologyStrategy", "dc0": 1, "dc1": "2"}},
        {"name": "all", "replication": {"class": "EverywhereStrategy"}},
    ],
}
SIZES = {"nodes": {"n1": 5000}, "ranges": {"ks": [[None, 100, 2000], ["100", 107, 5]]}}


@cache
def traces() -> tuple[str, ...]:
    """Runs of several models as traces."""
    found = []
    for name in ("twophase", "tcm", "dataplane", "replica"):
        timeline = Timeline(build(name))
        for _ in range(6):
            timeline.forward()
        timeline.goto(2)
        timeline.fork()
        found.append(dumps(timeline.save()))
    return tuple(found)


@cache
def scenarios() -> tuple[str, ...]:
    """The short ones of the scenario files that come with the kit."""
    files = sorted((ROOT / "kit" / "protocols").glob("*/scenarios/*.txt"))
    texts = [file.read_text("utf-8") for file in files]
    return tuple(sorted(texts, key=len)[:12])


@cache
def outputs() -> tuple[str, ...]:
    """What tools of running clusters print, and dumps of system tables."""
    files = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return tuple(path.read_text("utf-8") for path in files)


@cache
def topologies() -> tuple[str, ...]:
    """Dumps of the topology's tables, and journals of its coordinator."""
    folder = ROOT / "tests" / "fixtures" / "topology"
    return tuple(path.read_text("utf-8") for path in sorted(folder.iterdir()))


@cache
def metadata_logs() -> tuple[str, ...]:
    """Logs and directories of cluster metadata, and views of its service."""
    folder = ROOT / "tests" / "fixtures" / "metadata"
    return tuple(path.read_text("utf-8") for path in sorted(folder.iterdir()))


@cache
def tablets() -> tuple[str, ...]:
    """Dumps of tablets, of their sizes, of loads and of the topology."""
    folder = ROOT / "tests" / "fixtures" / "tablets"
    return tuple(path.read_text("utf-8") for path in sorted(folder.iterdir()))


def rings() -> tuple[str, ...]:
    """A ring file."""
    return (json.dumps(RING), json.dumps(RING, indent=1))


def spoiled(chance: Random, texts: tuple[str, ...]) -> bytes:
    """One of the texts with one to four things wrong, as bytes."""
    text = chance.choice(texts)
    if text[:1] in "{[" and chance.random() < 0.5:
        text = spoiled_json(chance, text)
    for _ in range(chance.randrange(3)):
        text = _spoil(chance, text, texts)
    content = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.1:
        content = text.encode("utf-16" if chance.random() < 0.5 else "utf-32", "surrogatepass")
    if chance.random() < 0.05:
        at = chance.randrange(len(content) + 1)
        content = content[:at] + chance.randbytes(4) + content[at:]
    return content


def _spoil(chance: Random, text: str, texts: tuple[str, ...]) -> str:
    one, two = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    two = min(two, one + 40)
    lines = text.split("\n")
    match chance.randrange(7):
        case 0:
            return text[:one] + text[two:]
        case 1:
            return text[:two] + text[one:]
        case 2:
            return text[:one] + chance.choice(EVIL) + text[one:]
        case 3:
            return text[:one] + chance.choice(EVIL) + text[two:]
        case 4:
            return text[:one]
        case 5:
            chance.shuffle(lines)
            return "\n".join(lines)
        case _:
            return text[:one] + chance.choice(texts)[one:]


def spoiled_json(chance: Random, text: str) -> str:
    """JSON in which one value is another one, or one key is missing, twice or new."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    places = list(_places(data))
    if not places:
        return text
    owner, key = chance.choice(places)
    match chance.randrange(4):
        case 0:
            del owner[key]
        case 1 if isinstance(owner, dict):
            owner[chance.choice(("nodes", "name", "x", "\x1b", "tokens"))] = owner[key]
        case 2:
            other, there = chance.choice(places)
            owner[key] = json.loads(json.dumps(other[there]))
        case _:
            owner[key] = chance.choice(VALUES)
    return json.dumps(data)


def _places(data: Any) -> Any:
    """Every owner with every key below it."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, dict | list):
            yield from _places(value)
