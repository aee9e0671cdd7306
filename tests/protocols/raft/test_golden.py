"""Golden runs of Raft: each is told in a file that a person can read, and opens in the Player.

KIT_REWRITE=1 writes what is shown into them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kit.model.scenario import files, open_file, read
from kit.views.rendered import RenderedTimeline
from tests.stories import rewritten

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))
TOLD = [path for name, path in files().items() if name.startswith("raft/")]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_run_is_what_its_file_says(path: Path) -> None:
    """Played anew, it shows below every rule exactly what stands there, and can be drawn."""
    found = rewritten(path)
    if os.environ.get("KIT_REWRITE") == "1":
        path.write_text(found, encoding="utf-8")
    assert read(path) == found
    timeline = open_file(path)
    assert len(RenderedTimeline(timeline).moments) == len(timeline.moments)


def test_there_are_enough_of_them() -> None:
    """Elections, repair, snapshots, members, reads, hand-over: forty runs and more."""
    assert len(GOLDEN) + len(TOLD) >= 40
