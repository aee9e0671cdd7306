"""While Spark starts a bar moves; rows of any engine's table are dictionaries."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from kit.errors import BadType
from kit.spark import dicts
from kit.spark.progress import USUAL, StartBar, starting


def test_the_bar_is_full_only_at_the_end() -> None:
    """However long it takes, the last piece is left until Spark is there."""
    bar = StartBar()
    bar.show(7.4)
    assert bar.progress.value == 7
    assert "7 s" in bar.label.value
    bar.show(10 * USUAL)
    assert bar.progress.value < bar.progress.max
    bar.end(10 * USUAL)
    assert bar.progress.value == bar.progress.max


def test_an_error_leaves_a_full_bar_and_goes_on() -> None:
    """A start that fails ends the bar, too."""
    bar = StartBar()
    with pytest.raises(ZeroDivisionError), starting(bar):
        raise ZeroDivisionError
    assert bar.progress.value == USUAL


def test_outside_a_notebook_nothing_is_made() -> None:
    """A script has no bar."""
    with starting() as bar:
        assert bar is None


def test_rows_are_dictionaries_whichever_the_engine() -> None:
    """Arrow's and pandas' rows alike; what is no table is refused."""
    rows = [{"seed": 1}, {"seed": 2}]
    assert dicts(pa.Table.from_pylist(rows)) == dicts(pd.DataFrame(rows)) == rows
    with pytest.raises(BadType, match="table"):
        dicts(rows)
