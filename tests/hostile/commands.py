"""Random command lines: words of the commands, names of models, files good and spoiled."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from random import Random

from kit.model.family import families
from tests.commands.calling import call
from tests.hostile.mutating import (
    EVIL,
    SIZES,
    outputs,
    rings,
    scenarios,
    spoiled,
    tablets,
    topologies,
    traces,
)

OF_FAMILIES = tuple(sorted(name for family in families() for name in family.commands))
OWN = ("models", "show", "play", "check", "fuzz", "ring", "handout", "class", "lab")
COMMANDS = (*OWN, *OF_FAMILIES, "chek", "", "-h")
NAMES = (
    *("twophase", "tcm", "dataplane", "storage", "bootstrap", "TCM", "tmc", "off-range-locks"),
    *("group0", "discovery", "topology", "vnodes", "edition=server", "operations=leave C", "S-20"),
    *("twophase/plain", "S-05", "S-99", "rms=2", "rms=1e9", "rms=[", "nodes=3", "rf=nan", "=", "-"),
)
STRAY = ("--help", "--jsn", "--size", "--", "-x", "-p")
NUMBERS = ("0", "1", "-1", "2", "0:3", "3:0", "-5:5", "nan", "1e3", "9" * 30, "150", "1,2", "٣")
OPERATIONS = (
    "bootstrap",
    "decommission",
    "move",
    "replace",
    "removenode",
    "assassinate",
    "n1",
    "n2",
    "n9",
    "X",
    "drain",
    "balance",
    "resize",
    "lose",
    "shard",
    "why",
    "tokens",
    "count=8,rf=3",
)
REPLICATIONS = ('ks={"class": "SimpleStrategy", "replication_factor": 2}', "ks={", "ks", "={}")
BOUND = ("--max-states", "40")


def command_line(chance: Random, folder: Path) -> None:
    """A command answers as it promises: status, stdout, stderr.

    Raises:
        AssertionError: when it does not.
    """
    words = _words(chance, folder)
    answer = call(*words)
    told = f"{words!r:.600} -> {answer.status}, stderr {answer.err!r:.300}"
    assert answer.status in (0, 1, 2, 130), told
    lines = answer.err.splitlines()
    assert all(line.startswith("kit: ") and line.isprintable() for line in lines), told
    if answer.status == 2 and not answer.out:
        assert len(lines) == 1, told
        assert re.search(r": got .*; allowed: ", answer.err), told
    else:
        assert answer.out, told
        assert answer.status != 2 or words[0] in ("check", "fuzz"), told
        assert answer.out.replace("\n", "").isprintable(), told


@cache
def options() -> tuple[str, ...]:
    """Every option that a command's help names, and some that there are not."""
    told = [call(command, "-h").out for command in (*OWN, *OF_FAMILIES)]
    return (*sorted({word for text in told for word in re.findall(r"--[a-z-]+", text)}), *STRAY)


def _words(chance: Random, folder: Path) -> list[str]:
    command = chance.choice(COMMANDS)
    if command in ("class", "lab"):  # a good one would begin to serve
        return [command, "--port", chance.choice(("0", "x", "-1", "99999", ""))]
    words = [command]
    count = chance.randrange(6)
    if command == "plan":
        words += [_file(chance, folder), *chance.choices(OPERATIONS, k=2)]
    elif command in ("ring", "play", *OF_FAMILIES) and chance.random() < 0.8:
        words.append(_file(chance, folder))
    elif command in ("show", "check", "fuzz"):
        words.append(chance.choice(NAMES))
    for _ in range(count):
        words.append(_word(chance, folder))
    if command == "check":
        words += BOUND
    if command == "fuzz":
        words += ["--seeds", "0:2", "--steps", "5"]
    if command == "handout":  # all of them are minutes of work
        words = [word for word in words if word != "--all"]
    return words


def _word(chance: Random, folder: Path) -> str:
    kind = chance.randrange(12)
    if kind < 5:
        option = chance.choice(options())
        return f"{option}={_value(chance, folder)}" if chance.random() < 0.2 else option
    return _value(chance, folder) if kind < 11 else chance.choice(EVIL)


def _value(chance: Random, folder: Path) -> str:
    pool = chance.choice((NAMES, NUMBERS, OPERATIONS, REPLICATIONS, ()))
    return chance.choice(pool) if pool else _file(chance, folder)


def _file(chance: Random, folder: Path) -> str:
    """The path of a file, most of them spoiled; sometimes of none."""
    kinds = {
        "ring.json": rings(),
        "output.txt": outputs(),
        "sizes.json": (json.dumps(SIZES),),
        "trace.json": traces(),
        "scenario.txt": scenarios(),
        "topology.csv": topologies(),
        "tablets.csv": tablets(),
    }
    name = chance.choice([*kinds, "missing", "folder"])
    if name == "folder":
        return str(folder)
    if name in kinds:
        good = chance.random() < 0.4
        text = chance.choice(kinds[name]).encode() if good else spoiled(chance, kinds[name])
        (folder / name).write_bytes(text)
    return str(folder / name)
