"""Charts: each with its words, its colours and the same bytes every time."""

from __future__ import annotations

import pytest

from kit.protocols.tcm.spark import charts
from kit.protocols.tcm.spark.histories import history, sample
from kit.protocols.tcm.spark.pipelines import Pipeline, pipeline

PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def job() -> Pipeline:
    """A join and a removal among forty nodes, with sizes."""
    given = sample(40, 8)
    planned = history(given.ring, given.keyspaces, [given.bootstrap(), "removenode n3"])
    return pipeline(None, planned, sizes={"ks": 10**12})


def test_the_ownership_chart_says_how_even_shares_are_before_and_after(job: Pipeline) -> None:
    """The words give the number of nodes, and the smallest and largest share."""
    chart = charts.ownership(job)
    assert chart.png.startswith(PNG)
    shares = job.ownership(0)["reads_share"]
    shares = shares[shares > 0] / shares[shares > 0].mean()
    before = next(line for line in chart.words.splitlines() if line.startswith("before: 40 nodes"))
    assert f"from {shares.min():.2f} to {shares.max():.2f}" in before
    assert "after: 40 nodes" in chart.words  # one came, one went


def test_the_streams_chart_names_its_total_and_the_joiner(job: Pipeline) -> None:
    """Without an operation it says that nothing is streamed."""
    chart = charts.streams(job)
    assert "to x: " in chart.words
    frame = job.streams()
    total = frame["bytes"].sum()
    assert chart.words.startswith(f"Streams: {total / 10**9:.3g} GB in total")
    given = sample(4, 2, dcs=1)
    nothing = pipeline(None, history(given.ring, given.keyspaces))
    assert charts.streams(nothing).words == "Nothing is streamed."


def test_a_chart_has_its_words_as_alternative_text_and_the_same_bytes_each_time(
    job: Pipeline,
) -> None:
    """The words are the text of the notebook as well."""
    chart = charts.availability(job)
    data, extra = chart._repr_mimebundle_()
    assert data["text/plain"] == extra["image/png"]["alt"] == repr(chart) == chart.words
    assert charts.availability(job).png == chart.png
