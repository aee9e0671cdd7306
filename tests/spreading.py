"""Which worker runs which tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parents[1]
SHARED = {
    "spark: Any": "spark",
    "nodes(path)": "syntax trees",
    "lab_page: Page": "JupyterLab",
    "in drawn(model": "pictures of runs",
    "in runs(model": "pictures of runs",
}
"""What files share that takes long to make, by what a file says that uses it."""


@cache
def shared(file: str) -> str | None:
    """What the tests of a file share with those of other files, or start themselves."""
    if "/spark/" in file:
        return "spark"
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return next((what for words, what in SHARED.items() if words in text), None)


class SharedTogether(LoadFileScheduling):  # type: ignore[misc]  # xdist is untyped
    """A file stays on one worker, and so do all files that share what takes long to make.

    A session of Spark takes as long to start as many of its tests together, and so does a
    JupyterLab, reading the source for the rules of the house, or drawing every run of a model.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return shared(file) or file
