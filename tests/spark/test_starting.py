"""While Spark starts a bar moves; rows of any engine's table are dictionaries."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from kit.errors import BadType
from kit.spark import dicts


def test_rows_are_dictionaries_whichever_the_engine() -> None:
    """Arrow's and pandas' rows alike; what is no table is refused."""
    rows = [{"seed": 1}, {"seed": 2}]
    assert dicts(pa.Table.from_pylist(rows)) == dicts(pd.DataFrame(rows)) == rows
    with pytest.raises(BadType, match="table"):
        dicts(rows)
