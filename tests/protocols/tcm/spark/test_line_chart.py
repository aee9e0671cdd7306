"""The picture of the line: every range that a step changes or an operation holds is on it."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.protocols.tcm.spark import charts
from kit.protocols.tcm.spark.charts import touched
from kit.protocols.tcm.spark.histories import history, sample
from kit.protocols.tcm.spark.pipelines import Pipeline, pipeline


@pytest.fixture(scope="module")
def job() -> Pipeline:
    """A join among forty nodes."""
    given = sample(40, 8)
    return pipeline(None, history(given.ring, given.keyspaces, [given.bootstrap()]))


def test_what_is_drawn_is_what_the_report_counts(job: Pipeline) -> None:
    """At each step as many ranges are changed and locked as the report of the same job says."""
    rows, counts = touched(job, 0), job.affected()
    for row in counts.itertuples(index=False):
        of_step = rows[rows["step"] == row.step]
        assert (of_step["changed"].sum(), of_step["locked"].sum()) == (row.changed, row.locked)
    assert counts["changed"].sum() > 0


def test_the_words_say_each_step(job: Pipeline) -> None:
    """A line for each step, with its counts; the same job gives the same file."""
    chart = charts.changes(job)
    counts = job.affected()
    assert len(chart.words.splitlines()) == len(counts) + 1
    assert f"of {counts['ranges'].iloc[2]} ranges changed" in chart.words.splitlines()[3]
    assert charts.changes(job).png == chart.png


def test_a_group_that_there_is_not_is_told(job: Pipeline) -> None:
    """A number of a group out of its limits is refused."""
    with pytest.raises(BadInput, match="group"):
        charts.changes(job, 5)
