"""The committed pictures: ``python -m tools.images --write`` draws them, ``--check`` compares.

State diagrams are compared by the digest of their DOT text, pictures of the kit's own by content.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kit.errors import KitError
from kit.model.family import families
from kit.views.diagrams import FOLDERS, StateDiagram, digest, digest_in, dot_source, render
from tools import course


def own_pictures() -> Iterator[tuple[str, str]]:
    """Yield (name, SVG) of the pictures the kit draws itself, with nobody's help."""
    return _drawn_by_families("pictures")


def graphs() -> Iterator[tuple[str, str]]:
    """Yield (name, DOT text) of the pictures that Graphviz lays out."""
    yield from _drawn_by_families("graphs")
    yield from course.graphs()
    for diagram in diagrams():
        yield diagram.name, dot_source(diagram)


def diagrams() -> Iterator[StateDiagram]:
    """Yield the state diagrams of all families."""
    return _drawn_by_families("diagrams")


def _drawn_by_families(function: str) -> Iterator[Any]:
    for family in families():
        if family.images:
            yield from getattr(family.load(family.images), function, tuple)()


def problems(folder: Path) -> list[str]:
    """Return a line for every picture that is missing, stale or no longer drawn by anything."""
    there = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.svg"))}
    known, lines = set(), []
    for name, source in graphs():
        known.add(name)
        if digest_in(there.get(name, "")) != digest(source):
            stale = "drawn from another table" if name in there else "missing"
            lines.append(f"{name}.svg: {stale}")
    for name, svg in own_pictures():
        known.add(name)
        if there.get(name) != svg + "\n":
            stale = "not what the kit draws now" if name in there else "missing"
            lines.append(f"{name}.svg: {stale}")
    return [*lines, *(f"{name}.svg: nothing draws it" for name in there if name not in known)]


def write(folder: Path) -> list[str]:
    """Draw every picture into ``folder``; return the names. Raises KitError without ``dot``."""
    folder.mkdir(exist_ok=True)
    names = []
    for name, source in graphs():
        path = folder / f"{name}.svg"
        if path.is_file() and digest_in(path.read_text(encoding="utf-8")) == digest(source):
            continue
        svg = render(source)
        if svg is None:
            raise KitError("dot: not found; allowed: the graphviz program on the path")
        path.write_text(svg, encoding="utf-8")
        names.append(path.name)
    for name, svg in own_pictures():
        (folder / f"{name}.svg").write_text(svg + "\n", encoding="utf-8")
        names.append(f"{name}.svg")
    return names


def main(arguments: list[str] | None = None) -> int:
    """Run the command; exit code 0 when all is well, 1 when a picture is not current."""
    parser = argparse.ArgumentParser(prog="python -m tools.images", description=__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--write", action="store_true", help="draw the pictures")
    choice.add_argument("--check", action="store_true", help="compare them")
    chosen = parser.parse_args(arguments)
    if chosen.write:
        try:
            print("\n".join(write(FOLDERS[0])))
        except KitError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    lines = problems(FOLDERS[0])
    print("\n".join(lines) or "images are current")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
