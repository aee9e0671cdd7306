"""The table of searches, ``searches.md``: states, steps and seconds of each configuration.

``python -m tests.protocols.tablets.requests.table`` searches them all and writes the table again; a
test compares its counts with those that the searches must give. Seconds are of the machine that
wrote it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.protocols.dataplane.table import Row
from tests.protocols.tablets.requests.runs import CLEAN, LARGE, search

PLACE = Path(__file__).with_name("searches.md")
HEAD = """\
# Searches of one tablet's requests with every safeguard on

Each is complete and finds nothing. Written by
`python -m tests.protocols.tablets.requests.table`.

| configuration | states | steps | seconds | run by |
|---|---:|---:|---:|---|
"""


def searched(name: str, parameters: dict[str, Any], target: str) -> Row:
    """Search one configuration."""
    result, _ = search(parameters)
    assert result.complete, name
    return Row(name, result.states, result.depth, result.seconds, target)


def main() -> None:
    """Search them all; the table takes the place of the old one when it is whole."""
    rows = [searched(name, given, "make test") for name, (given, _, _) in CLEAN.items()]
    rows += [searched(name, given, "make test-deep") for name, (given, _, _) in LARGE.items()]
    new = PLACE.with_suffix(".new")
    new.write_text(HEAD + "".join(f"{row.text}\n" for row in rows), encoding="utf-8")
    new.replace(PLACE)


if __name__ == "__main__":
    main()
