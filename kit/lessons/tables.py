"""A report as a table to read: no index, no styles, the same as text."""

import math
from typing import Any

import pandas as pd

from kit.edge.arguments import text
from kit.errors import BadType
from kit.views.static import Sheet


def table(frame: pd.DataFrame, title: str) -> Sheet:
    """The rows of a frame below a title.

    Raises BadInput for a title that is no text.
    Raises BadType when it is no frame.
    """
    if not isinstance(frame, pd.DataFrame):
        raise BadType("frame", frame, "a frame of pandas'")
    cells = tuple(tuple(map(_cell, row)) for row in frame.itertuples(index=False))
    return Sheet(text("title", title), tuple(map(str, frame.columns)), cells)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4g}"
    return "–" if value is None else str(value)
