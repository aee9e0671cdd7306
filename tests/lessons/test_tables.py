"""A frame as a table to read: every cell in words, no style that an untrusted notebook drops."""

from __future__ import annotations

import pandas as pd
import pytest

from kit.errors import BadInput, BadType
from kit.lessons import table


def test_what_is_no_frame_or_no_title_is_told() -> None:
    """Both are named in one line."""
    with pytest.raises(BadType, match="frame"):
        table([1, 2], "rows")
    with pytest.raises(BadInput, match="title"):
        table(pd.DataFrame(), "two\nlines")
