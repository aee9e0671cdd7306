"""``python -m tests.net.record [SECTION ...]``: write down what the kit says now.

Writes ``record/SECTION.json.gz``. Searches of more than ``QUICK`` states are compared with
``--all`` only, those of more than ``LONG`` with ``--long`` only.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.net.answering import answer
from tests.net.questions import SECTIONS

FOLDER = Path(__file__).with_name("record")
QUICK, LONG = 120_000, 500_000
Item = dict[str, Any]


def read(section: str) -> list[Item]:
    """The items of one section: ``item``, ``share``, ``question`` and ``answer``."""
    found = json.loads(gzip.decompress((FOLDER / f"{section}.json.gz").read_bytes()))
    assert isinstance(found, list)
    return found


def recorded(section: str) -> list[Item]:
    """The items of one section, asked now."""
    items: dict[str, Item] = {}
    for name, question in SECTIONS[section]():
        assert name not in items, name
        began = perf_counter()
        told = answer(question)
        assert "error" not in told, (name, told)
        seconds = round(perf_counter() - began, 2)
        share = "quick"
        if question["kind"] == "search":
            states = told["out"]["states"]
            share = "quick" if states < QUICK else "all" if states < LONG else "long"
        items[name] = {
            "item": name,
            "share": share,
            "seconds": seconds,
            "question": question,
            "answer": told,
        }
    return list(items.values())


def main() -> None:
    """Write the sections that are named, or all."""
    FOLDER.mkdir(exist_ok=True)
    for section in sys.argv[1:] or SECTIONS:
        began = perf_counter()
        items = recorded(section)
        text = json.dumps(items, ensure_ascii=False, separators=(",", ":")).encode()
        path = FOLDER / f"{section}.json.gz"
        path.write_bytes(gzip.compress(text, 9, mtime=0))
        size, seconds = path.stat().st_size, perf_counter() - began
        print(f"{section}: {len(items)} items, {size:,} bytes, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
