"""What becomes of a cluster of one's own: its files, opened by the family that reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kit.engine.family import Family, FileKind, families

FIRST_BYTES = 100_000  # a file shows its kind in these


def rehearse(source: Any, *arguments: Any, **options: Any) -> Any:
    """Open a cluster of one's own, and what is to be done with it, in a Player.

    ``source`` is a file, or several files of one cluster. The first of them says what it is: rings
    (``kit.protocols.tcm.dry_run.player.rehearse`` says what else may be given) or a dump of
    ``system.tablets`` (``kit.protocols.tablets.dry_run.player.rehearse``).

    Raises:
        BadInput: for what is not acceptable, in one line that names it.
    """
    every = list(_rehearsals())
    text = _beginning(source)
    fitting = [each for each in every if text and each[1].is_one(text)]
    family, kind = (fitting or every[:1])[-1]  # rings are known by columns that others have, too
    return family.load(kind.rehearsal)(source, *arguments, **options)


def _rehearsals() -> Iterator[tuple[Family, FileKind]]:
    """What can be rehearsed, in the order of families."""
    for family in families():
        for kind in family.importers:
            if kind.rehearsal:
                yield family, kind


def _beginning(source: Any) -> str:
    """The beginning of the first file; empty where it is none that can be read."""
    first = source[0] if isinstance(source, list | tuple) and source else source
    if not isinstance(first, str | Path):
        return ""
    try:
        with Path(first).open("rb") as file:
            return file.read(FIRST_BYTES).decode("utf-8", "ignore")
    except (OSError, ValueError):
        return ""
