"""A copy of the kit that may be spoiled, and searches with it in a process of its own.

Of two thousand files a test spoils two: the others are links, and so are whole folders of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import kit

KIT = Path(kit.__file__).parent
SEARCH = """
import json, sys
from pathlib import Path
import kit
from kit.search.check import check
from kit.model.registry import build
assert Path(kit.__file__).is_relative_to(Path.cwd()), kit.__file__
for model, parameters in json.loads(sys.argv[1]):
    found = check(build(model, parameters))
    print(json.dumps([found.violation.property if found.violation else None, found.complete]))
"""


def search(folder: Path, model: str, parameters: dict[str, Any]) -> tuple[str | None, bool]:
    """What a search with the kit in ``folder`` finds broken, and whether it is complete."""
    [(broken, complete)] = searches(folder, model, [parameters])
    return broken, complete


def searches(
    folder: Path, model: str, given: Sequence[dict[str, Any]]
) -> list[tuple[str | None, bool]]:
    """What several searches find, one after the other in one process."""
    asked = json.dumps([(model, msgspec.to_builtins(parameters)) for parameters in given])
    ran = subprocess.run(
        [sys.executable, "-c", SEARCH, asked],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [(broken, complete) for broken, complete in map(json.loads, ran.stdout.splitlines())]


def cut(folder: Path, cuts: list[tuple[str, str, str]]) -> None:
    """Put other text in the place of some; each must be there once."""
    for name, there, instead in cuts:
        path = _own(folder, Path("kit") / name)
        text = path.read_text(encoding="utf-8")
        assert text.count(there) == 1, f"{name} no longer holds {there!r} once"
        path.unlink()  # the link: what it leads to stays as it is
        path.write_text(text.replace(there, instead), encoding="utf-8")


def link(folder: Path, there: Path, *, without: str = "") -> None:
    """Make a folder whose entries are links to those of another one."""
    folder.mkdir()
    for entry in there.iterdir():
        if entry.name != without:
            (folder / entry.name).symlink_to(entry)


def _own(folder: Path, name: Path) -> Path:
    """A file of a copy, in folders that are no links any more."""
    for above in reversed(name.parents[:-1]):
        place = folder / above
        if place.is_symlink():
            there = place.readlink()
            place.unlink()
            link(place, there)
    return folder / name
