"""What becomes of a cluster of one's own: its files, opened by the family that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

from kit.edge.reading import beginning
from kit.engine.family import Family, FileKind, families
from kit.errors import BadInput


def rehearse(source: Any, *arguments: Any, **options: Any) -> Any:
    """Open a cluster of one's own, and what is to be done with it, in a Player.

    ``source`` is a file, or several files of one cluster. The first of them says what it is, and so
    which family opens it; what else may be given is said by ``rehearse`` of the family's dry run.

    Raises:
        BadInput: for what is not acceptable, in one line that names it.
    """
    kinds = list(_kinds())
    rehearsed = [each for each in kinds if each[1].rehearsal]
    first = source[0] if isinstance(source, list | tuple) and source else source
    text = beginning(first)
    fitting = [each for each in kinds if text and each[1].is_one(text)]
    titles = " or ".join(each.title for _, each in rehearsed)
    if fitting and not fitting[0][1].rehearsal:
        raise BadInput("source", str(first), f"{titles}; this looks like {fitting[0][1].title}")
    # What is no file of a known kind may be a ring given in another way, or is refused where the
    # arguments say that it should be read.
    for family, kind in fitting[:1] or rehearsed:
        opens = family.load(kind.rehearsal)
        if _takes(opens, source, *arguments, **options):
            return opens(source, *arguments, **options)
    given = ", ".join(["source", *map(repr, arguments), *options])
    raise BadInput("rehearse", given, f"what a rehearsal of {titles} takes")


def _takes(opens: Callable[..., Any], *arguments: Any, **options: Any) -> bool:
    """Whether a function can be called so."""
    try:
        signature(opens).bind(*arguments, **options)
    except TypeError:
        return False
    return True


def _kinds() -> Iterator[tuple[Family, FileKind]]:
    """Every kind of file that a family reads, in the order of families."""
    for family in families():
        for kind in family.importers:
            yield family, kind
