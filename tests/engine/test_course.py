"""What a cell of a lesson has for a place that is no notebook."""

from __future__ import annotations

import pytest

from kit.engine.course import without_magics


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
