"""What a cell of a lesson has for a place that is no notebook."""

from __future__ import annotations

import pytest

from kit.catalogue.course import COURSE, lesson, without_magics
from kit.errors import BadInput


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("a = 1\n%nodetool --of a status\na", "a = 1\na"),
        ("%load_ext kit", ""),
        ("%%cql --of a\nSELECT epoch FROM t", ""),
        ("b = 7 % 2\nb", "b = 7 % 2\nb"),
    ],
)
def test_magics_are_left_out(cell: str, python: str) -> None:
    """Pages and handouts run the Python of a cell; what tools print is stored with the lesson."""
    assert without_magics(cell) == python


def test_a_lesson_goes_by_its_slug_or_its_notebook() -> None:
    """Each with or without the ending of a file; nothing else is one."""
    for each in COURSE:
        for name in (each.slug, each.name):
            assert lesson(name) is lesson(f"{name}.ipynb") is each
    for name in ("", "nothing", f"{COURSE[0].slug}.py"):
        with pytest.raises(BadInput, match=r"^lesson: got"):
            lesson(name)
