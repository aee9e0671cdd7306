"""What changed from one snapshot to the next, as far as it fits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.protocols.tablets.dry_run.moments import Change
from kit.protocols.tablets.dry_run.series import changes_text, draw_changes


def scene(count: int, read: int = 1) -> Any:
    """One that shows so many changes, once the second snapshot is read."""
    changed = [Change(f"ks.t {at};", f"moves {at}", ()) for at in range(count)]
    return SimpleNamespace(
        model=SimpleNamespace(entries=[changed]), state=SimpleNamespace(read=read)
    )


@pytest.mark.parametrize("count", [1, 199, 200, 201, 1_200])
def test_the_first_200_changes_are_shown(count: int) -> None:
    """Of more, the picture says how many there are."""
    shown, picture = min(count, 200), draw_changes(scene(count)).html()
    assert picture.count("moves ") == shown == len(changes_text(scene(count)).splitlines())
    assert f"moves {shown - 1}<" in picture
    assert (f"and {count - 200:,} more" in picture) == (count > 200) == (" more" in picture)


@pytest.mark.parametrize(
    ("read", "words"), [(0, "This is the first snapshot."), (1, "Nothing changed.")]
)
def test_without_changes_that_is_said(read: int, words: str) -> None:
    """Whether there was nothing before, or all stayed as it was."""
    assert words in draw_changes(scene(0, read)).html()
    assert changes_text(scene(0, read)) == "  nothing changed so far"
