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


def test_the_line_chart_draws_as_many_ranges_as_the_report_counts(job: Pipeline) -> None:
    """Changed and locked ones, at each step."""
    rows, counts = touched(job, 0), job.affected()
    for row in counts.itertuples(index=False):
        of_step = rows[rows["step"] == row.step]
        assert (of_step["changed"].sum(), of_step["locked"].sum()) == (row.changed, row.locked)
    assert counts["changed"].sum() > 0


def test_the_line_chart_has_a_line_of_words_for_each_step(job: Pipeline) -> None:
    """The same job gives the same bytes."""
    chart = charts.changes(job)
    counts = job.affected()
    assert len(chart.words.splitlines()) == len(counts) + 1
    assert f"of {counts['ranges'].iloc[2]} ranges changed" in chart.words.splitlines()[3]
    assert charts.changes(job).png == chart.png


def test_the_line_chart_refuses_an_unknown_group(job: Pipeline) -> None:
    """The error names the group."""
    with pytest.raises(BadInput, match="group"):
        charts.changes(job, 5)
