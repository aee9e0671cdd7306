"""Files that are changed without a change of meaning, or so that they have none.

What is the same in another form (quoted, by a pipe, as a row of JSON) is read as the same. An id or
a number with one more sign in it is refused, or means what it meant.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kit.edge.paths import source_name
from kit.edge.reading import pipes_kept
from kit.operators.importers.opening import open_ring
from kit.operators.importers.system_tables import (
    read_loads,
    read_requests,
    read_sizes,
    read_tablets,
    read_topology,
)
from tests.hostile.judging import answered
from tests.hostile.mutating import ROOT

FIXTURES = ROOT / "tests" / "fixtures"
READERS: dict[str, Callable[[Path], Any]] = {
    "topology/topology.csv": read_topology,
    "topology/requests.csv": read_requests,
    "tablets/tablets.csv": read_tablets,
    "tablets/sizes.csv": read_sizes,
    "tablets/loads.csv": read_loads,
    "nodetool/dumps/peers.csv": open_ring,
}
"""Dumps as CSV, and what reads them."""
SIGNS = ("\\", "\\\\", "\\n", "\n", "\r", "\t", "\0", " ", "'", '"', "٣", "０", "_", "+", "e0", ".")
LITTLE = 40  # characters: ids and numbers, no collections


@cache
def records(name: str) -> tuple[tuple[str, ...], ...]:
    """The records of a dump, the header first."""
    text = (FIXTURES / name).read_text("utf-8")
    return tuple(tuple(row) for row in csv.reader(io.StringIO(text), escapechar="\\"))


def written(path: Path, rows: Any, quoting: Any = csv.QUOTE_MINIMAL) -> Path:
    """Rows as COPY TO writes them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        form: Any = {"escapechar": "\\", "doublequote": False, "lineterminator": "\n"}
        csv.writer(file, quoting=quoting, **form).writerows(rows)
    return path


@contextmanager
def piped(content: bytes) -> Iterator[str]:
    """The name of a pipe through which somebody sends the content, as the shell's ``<(…)``."""
    reading, writing = os.pipe()

    def send() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(content)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        sender.join()


def plain(given: Any, path: Path) -> str:
    """What was read, without the name of the file it came from."""
    text = repr(given)
    return re.sub(rf"(['\"]){re.escape(source_name(path))}(?=['\":]| line)", r"\1FILE", text)


@cache
def meant(name: str) -> str:
    """What the dump as it is says."""
    return plain(READERS[name](FIXTURES / name), FIXTURES / name)


def same_meaning(chance: Random, folder: Path) -> None:
    """All fields quoted, other ends of lines, a pipe: the same is read."""
    name = chance.choice(sorted(READERS))
    path = folder / "dump.csv"
    rows = list(records(name))
    written(path, rows, chance.choice((csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL)))
    content = path.read_bytes()
    if chance.random() < 0.5:
        content = content.replace(b"\n", b"\r\n")
        path.write_bytes(content)
    if chance.random() < 0.5:
        with piped(content) as pipe, pipes_kept():
            READERS[name](Path(pipe))
            found = plain(READERS[name](Path(pipe)), Path(pipe))
    else:
        found = plain(READERS[name](path), path)
    assert found == meant(name), f"{name} in another form"


def one_sign_more(chance: Random, folder: Path) -> None:
    """One sign more in an id or a number: refused, or the same as before; never another value."""
    name = chance.choice(sorted(READERS))
    rows = [list(row) for row in records(name)]
    places = [
        (at, column)
        for at, row in enumerate(rows[1:], 1)
        for column, cell in enumerate(row)
        if cell and len(cell) <= LITTLE and any(letter.isdigit() for letter in cell)
    ]
    at, column = chance.choice(places)
    cell, sign = rows[at][column], chance.choice(SIGNS)
    where = chance.randrange(len(cell) + 1)
    rows[at][column] = f"MARK{at}"
    path = written(folder / "dump.csv", rows)
    inserted = f'"{cell[:where]}{sign}{cell[where:]}"'
    path.write_text(path.read_text("utf-8").replace(f"MARK{at}", inserted), "utf-8")
    found = answered(lambda: READERS[name](path))
    if found is not None:
        whole = f"{name} line {at + 1} {rows[0][column]}: {inserted} is read"
        shown = (cell[:where] + sign + cell[where:]).replace("\\\\", "\\")
        said = plain(found, path)
        assert said == meant(name) or repr(shown)[1:-1] in said, whole


def row_of_json(chance: Random, folder: Path) -> None:
    """Rows of JSON are read as the same as CSV, in a list or a row a line."""
    header, *rows = records("nodetool/dumps/peers.csv")
    objects = [
        {name: (_tokens(cell) if name == "tokens" else cell or None) for name, cell in pairs}
        for pairs in (zip(header, row, strict=True) for row in rows)
    ]
    chance.shuffle(objects)
    path = folder / "dump.json"
    lines = "\n".join(map(json.dumps, objects))
    path.write_text(json.dumps(objects) if chance.random() < 0.5 else lines, "utf-8")
    ring, other = open_ring(path).ring, open_ring(FIXTURES / "nodetool/dumps/peers.csv").ring
    assert sorted(map(repr, ring.nodes)) == sorted(map(repr, other.nodes))


def _tokens(cell: str) -> list[str]:
    return [word.strip(" '{}") for word in cell.split(",")]
