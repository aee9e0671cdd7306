"""A frame as a table to read: every cell in words, no style that an untrusted notebook drops."""

from __future__ import annotations

import pandas as pd
import pytest

from kit.errors import BadInput, BadType
from kit.lessons import table


def test_cells_are_text_without_an_index() -> None:
    """Whole numbers stay, fractions have four digits that count, nothing is a dash."""
    frame = pd.DataFrame({"n": [16017, 2], "share": [0.0057661, None], "who": ["A", None]})
    sheet = table(frame, "Two rows")
    assert sheet.headings == ("n", "share", "who")
    assert sheet.rows == (("16017", "0.005766", "A"), ("2", "–", "–"))
    assert "<style" not in sheet._repr_mimebundle_()["text/html"]


def test_what_is_no_frame_or_no_title_is_told() -> None:
    """Both are named in one line."""
    with pytest.raises(BadType, match="frame"):
        table([1, 2], "rows")
    with pytest.raises(BadInput, match="title"):
        table(pd.DataFrame(), "two\nlines")
