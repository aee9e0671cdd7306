"""The table of searches, ``searches.md``: states, steps and seconds of each configuration.

``python -m tests.protocols.tablets.tablet.table`` searches them all and writes the table again; a
test compares its counts with those that the searches must give. Seconds are of the machine that
wrote it.
"""

from __future__ import annotations

from pathlib import Path

from tests.protocols.dataplane.table import write
from tests.protocols.tablets.tablet.runs import CLEAN, LARGE, search

PLACE = Path(__file__).with_name("searches.md")
HEAD = """\
# Searches of one tablet's requests with every safeguard on

Each is complete and finds nothing. Written by
`python -m tests.protocols.tablets.tablet.table`.

| configuration | states | steps | seconds | run by |
|---|---:|---:|---:|---|
"""


if __name__ == "__main__":
    write(PLACE, HEAD, search, CLEAN, LARGE)
