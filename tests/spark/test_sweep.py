"""Walks over many seeds as a table: the same on Spark and without, and open to anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from kit.errors import BadInput
from kit.model.model import fingerprint
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.search.fuzz import Walker, fuzz
from kit.spark.rows import timeline as timeline_of
from kit.spark.sweeping import SWEEP, stored, sweep
from kit.views.export import export_html
from tests.saying import like

OFF = ("S-06",)
GIVEN = {"rf": 3}


def as_frame(table: Any) -> pd.DataFrame:
    """The rows in the order of their seeds."""
    frame = table.toPandas() if hasattr(table, "toPandas") else table.to_pandas()
    frame["coverage"] = [list(rows) for rows in frame["coverage"]]
    return frame.sort_values("seed", ignore_index=True)


@pytest.mark.spec("H-017", "H-018")
def test_spark_draws_what_one_process_draws(spark: Any, tmp_path: Path) -> None:
    """Cut into one, two or five tasks, and without Spark, the same seeds give the same rows; from
    Parquet every one of them replays without Spark to the fingerprints it recorded, and those of
    the walk of its seed, and a failing one opens as a page.
    """
    seeds = range(3, 23)
    given: dict[str, Any] = {"parameters": GIVEN, "off": OFF, "steps": 40}
    plain = as_frame(sweep(None, "tcm", seeds, **given))
    assert list(plain["seed"]) == list(seeds)
    for tasks in (1, 5):
        frame = as_frame(sweep(spark, "tcm", seeds, tasks=tasks, **given))
        pd.testing.assert_frame_equal(frame, plain)

    written = sweep(spark, "tcm", seeds, tasks=2, **given)
    assert written.dtypes == [(column.name, column.type) for column in SWEEP.columns]
    folder = stored(written, tmp_path / "sweep")
    read = as_frame(pq.read_table(folder))
    pd.testing.assert_frame_equal(read, plain)

    walker = Walker(build("tcm", GIVEN, OFF), steps=40)
    for _, row in read.iterrows():
        walk = walker.walk(int(row["seed"]))
        timeline = timeline_of(row)
        assert (row["steps"], row["verdict"]) == (walk.steps, walk.verdict)
        assert tuple(row["coverage"]) == walk.taken
        own = Timeline.along(walker.model, walk.actions)
        assert fingerprint(timeline.state) == fingerprint(own.state)
    failed = read[read["verdict"] != "clean"].iloc[0]
    assert not all(verdict.ok for verdict in timeline_of(failed).verdicts())
    small = timeline_of(failed, small=True)
    assert len(small.moments) <= len(timeline_of(failed).moments)
    assert failed["verdict"] in [verdict.name for verdict in small.verdicts() if not verdict.ok]
    assert export_html(small, tmp_path / "run.html").size > 1000


def test_a_sweep_finds_what_fuzz_finds() -> None:
    """The verdicts of the rows, added up, are the findings of fuzz over the same seeds."""
    rows = as_frame(sweep(None, "tcm", range(12), parameters=GIVEN, off=OFF))
    found = fuzz(build("tcm", GIVEN, OFF), range(12))
    times = rows["verdict"].value_counts().to_dict()
    times.pop("clean", None)
    assert times == {finding.property: finding.times for finding in found.findings}
    taken = {row for rows_taken in rows["coverage"] for row in rows_taken}
    assert set(found.rows) - taken == set(found.untaken)


def test_without_spark_it_is_stored_too(tmp_path: Path) -> None:
    """A table made without Spark is written under the same schema; twice into one folder is not."""
    table = sweep(None, "twophase", range(0, 10, 3), weights={"decide": 0.2})
    folder = stored(table, tmp_path / "plain")
    assert pq.read_table(folder).schema.equals(SWEEP.arrow)
    assert pq.read_table(folder).column("seed").to_pylist() == [0, 3, 6, 9]
    with pytest.raises(BadInput, match=like("folder |")):
        stored(table, tmp_path / "plain")
    assert sweep(None, "twophase", range(0)).num_rows == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "twofase"}, "model | 'twofase' | twophase"),
        ({"parameters": {"rm": 3}}, "parameter | 'rm' | rms"),
        ({"off": ("S-05",)}, "safeguard | 'S-05'"),
        ({"steps": 0}, "steps | 0"),
        ({"weights": {"decides": 1}}, "weights | 'decides' | decide"),
        ({"seeds": range(-5, 5)}, "seeds | 'range(-5, 5)' | range"),
        ({"seeds": [1, 2]}, "seeds | '[1, 2]' | range"),
        ({"seeds": range(2**63 - 2, 2**63 + 2)}, "seeds | range | 9223372036854775806"),
        ({"seeds": range(-(2**62), 2**63 - 1)}, "seeds | range"),
        ({"seeds": range(0, 1, 2**70)}, "seeds | range"),
    ],
)
def test_bad_input_is_told_before_any_task(given: dict[str, Any], said: str) -> None:
    """What cannot be walked is refused at once, with the nearest names."""
    words: dict[str, Any] = {"model": "twophase", "seeds": range(3), **given}
    with pytest.raises(BadInput, match=like(said)):
        sweep(object(), words.pop("model"), words.pop("seeds"), **words)


def test_a_row_that_was_changed_is_refused() -> None:
    """A row without a trace, or whose run leads elsewhere than it says, does not open."""
    with pytest.raises(BadInput, match=like("row |")):
        timeline_of({"seed": 1})
    row = sweep(None, "twophase", range(1)).to_pylist()[0]
    mark = timeline_of(row).save().steps[0].fingerprint
    with pytest.raises(BadInput, match=r"steps\[0\].fingerprint"):
        timeline_of({**row, "trace": row["trace"].replace(mark, "0" * 16)})
    assert Walker(build("twophase")).walk(0).steps == row["steps"]
