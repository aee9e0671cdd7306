"""Published cases in the folder ``published`` beside a test, a table a file: heads, then cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.house.checkout import ROOT

INDEX = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
LEAST = 5


def tables(test: str) -> dict[str, str]:
    """The text of each table by its name, for the test with this ``__file__``."""
    folder = Path(test).with_name("published")
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))}


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """The heads and the cases of a table."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield tuple(cell.strip() for cell in line.split("|"))


def cases(files: dict[str, str]) -> list[Any]:
    """Each case with the name of its table, as parameters of a test."""
    return [
        pytest.param(name, row, id=f"{name}: {' | '.join(row)}")
        for name, text in files.items()
        for row in [*rows(text)][1:]
    ]
