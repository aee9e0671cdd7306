"""The table of protocol families in ARCHITECTURE.md, made from what each family declares.

``python -m tools.families --write`` renews it, ``--check`` says whether it is current.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kit.engine.family import Family, families

DOCUMENT = Path(__file__).resolve().parent.parent / "ARCHITECTURE.md"
BEGIN, END = "<!-- families: begin -->", "<!-- families: end -->"
COLUMNS = ("family", "what it is", "models", "joins", "tables of runs", "commands")


def table() -> str:
    """A row for each family, in the order in which lists show them."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *map(_cells, families())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _cells(family: Family) -> tuple[str, ...]:
    return (
        f"`kit/protocols/{family.name}`",
        family.title,
        _listed(family.models),
        _listed(family.composes),
        _listed(dict.fromkeys(_tables(family))),
        _listed(family.commands),
    )


def _tables(family: Family) -> Iterator[str]:
    for place in family.trace_tables.values():
        yield from (schema.name for schema in family.load(place))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def renewed(text: str) -> str:
    """The document with today's table between its marks.

    Raises:
        ValueError: when the marks are not there, once each and in order.
    """
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if text != f"{before}{BEGIN}{rest}" or END not in rest or BEGIN in rest or END in after:
        raise ValueError(f"{DOCUMENT.name} must hold {BEGIN} and, behind it, {END}, once each")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; exit code 0 when all is well, 1 when the table is not current."""
    parser = argparse.ArgumentParser(prog="python -m tools.families", description=__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--write", action="store_true", help="renew the table")
    choice.add_argument("--check", action="store_true", help="compare it")
    chosen = parser.parse_args(arguments)
    text = DOCUMENT.read_text(encoding="utf-8")
    wanted = renewed(text)
    if chosen.write:
        DOCUMENT.write_text(wanted, encoding="utf-8")
        return 0
    print("the table of families is current" if text == wanted else "renew it with --write")
    return int(text != wanted)


if __name__ == "__main__":
    sys.exit(main())
