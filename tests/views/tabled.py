"""What a drawn table says, read back from its DOT text."""

from __future__ import annotations

import re

CELL = re.compile(r'<TD COLSPAN="(\d+)"([^>]*)>(.*?)</TD>')


def drawn_rows(source: str) -> list[list[tuple[int, str, str]]]:
    """The rows of a table as its DOT text has them: columns, colour of the box, words of a cell."""
    rows = re.findall(r"<TR>(.*?)</TR>", source)
    return [[_cell(*found) for found in CELL.findall(row)] for row in rows if CELL.search(row)]


def _cell(columns: str, look: str, words: str) -> tuple[int, str, str]:
    colour = re.search(r'BGCOLOR="([^"]+)"', look)
    return int(columns), colour[1] if colour else "", words
