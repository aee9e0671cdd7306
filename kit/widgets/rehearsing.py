"""What becomes of a cluster of one's own: its files, opened by the family that reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.edge.reading import beginning
from kit.engine.family import Family, FileKind, families
from kit.errors import BadInput


def rehearse(source: Any, *arguments: Any, **options: Any) -> Any:
    """Open a cluster of one's own, and what is to be done with it, in a Player.

    ``source`` is a file, or several files of one cluster. The first of them says what it is: rings
    (``kit.protocols.tcm.dry_run.player.rehearse`` says what else may be given) or a dump of
    ``system.tablets`` (``kit.protocols.tablets.dry_run.player.rehearse``).

    Raises:
        BadInput: for what is not acceptable, in one line that names it.
    """
    kinds = list(_kinds())
    rehearsed = [each for each in kinds if each[1].rehearsal]
    first = source[0] if isinstance(source, list | tuple) and source else source
    text = beginning(first)
    fitting = [each for each in kinds if text and each[1].is_one(text)]
    # What is no file of a known kind may still be a ring, which can be given in other ways.
    family, kind = next(iter(fitting), rehearsed[0])
    if not kind.rehearsal:
        allowed = " or ".join(each.title for _, each in rehearsed)
        raise BadInput("source", str(first), f"{allowed}; this looks like {kind.title}")
    return family.load(kind.rehearsal)(source, *arguments, **options)


def _kinds() -> Iterator[tuple[Family, FileKind]]:
    """Every kind of file that a family reads, in the order of families."""
    for family in families():
        for kind in family.importers:
            yield family, kind
