"""The table of searches, ``searches.md``: states, steps and seconds of each configuration.

``python -m tests.protocols.dataplane.table`` searches them all and writes the table again; a test
compares its counts with those that the searches must give. Seconds are of the machine that wrote
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from kit.search.check import Result
from tests.protocols.dataplane.runs import BOUNDED, CLEAN, LARGE, search

Runs = Mapping[str, tuple[dict[str, Any], int, int]]
"""Configurations by name: the parameters, the states and the steps of their searches."""
Search = Callable[[dict[str, Any]], tuple[Result, Any]]
"""A search with these parameters, and its model."""

PLACE = Path(__file__).with_name("searches.md")
HEAD = """\
# Searches of the data plane with every safeguard on

Each is complete and finds nothing, but for those at the end. Written by
`python -m tests.protocols.dataplane.table`.

| configuration | states | steps | seconds | run by |
|---|---:|---:|---:|---|
"""
TAIL = """
## Too large to be searched whole

`make test-deep` looks at a million states of each: nothing breaks in any run of so many steps.
Longer runs are not proved.

| configuration | steps |
|---|---:|
"""
BEYOND = "".join(f"| {name} | {steps} |\n" for name, (_, steps) in BOUNDED.items())


class Row(Struct, frozen=True):
    """One search: its name, what it counted, how long it took, which target runs it."""

    name: str
    states: int
    depth: int
    seconds: float
    target: str

    @property
    def text(self) -> str:
        """The row as a line of the table."""
        counts = f"{self.states:,} | {self.depth} | {self.seconds:.1f}"
        return f"| {self.name} | {counts} | `{self.target}` |"


def parsed(text: str) -> list[Row]:
    """The rows of a table."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1].replace(",", "").isdigit():
            name, states, depth, seconds, target = cells
            number = int(states.replace(",", ""))
            found.append(Row(name, number, int(depth), float(seconds), target.strip("`")))
    return found


def write(place: Path, head: str, search: Search, clean: Runs, large: Runs, tail: str = "") -> None:
    """Search them all; the table takes the place of the old one when it is whole."""
    rows = []
    for target, runs in (("make test", clean), ("make test-deep", large)):
        for name, (parameters, _, _) in runs.items():
            result, _ = search(parameters)
            assert result.complete, name
            rows.append(Row(name, result.states, result.depth, result.seconds, target))
    new = place.with_suffix(".new")
    lines = "".join(f"{row.text}\n" for row in rows)
    new.write_text(f"{head}{lines}{tail}", encoding="utf-8")
    new.replace(place)


def assert_current(place: Path, clean: Runs, large: Runs) -> None:
    """The table at a place has each configuration with its states, its steps and its target."""
    rows = {row.name: row for row in parsed(place.read_text(encoding="utf-8"))}
    assert set(rows) == {*clean, *large}
    for target, runs in (("make test", clean), ("make test-deep", large)):
        for name, (_, states, depth) in runs.items():
            row = rows[name]
            assert (row.states, row.depth, row.target) == (states, depth, target)


if __name__ == "__main__":
    write(PLACE, HEAD, search, CLEAN, LARGE, TAIL + BEYOND)
