"""Charts: each with its words, its colours and the same bytes every time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit.protocols.tcm.spark import charts
from kit.protocols.tcm.spark.histories import history, sample
from kit.protocols.tcm.spark.pipelines import Pipeline, pipeline
from kit.spark.streaming import LiveChart
from kit.spark.traces import PlainTraces, as_tables, drawn
from kit.views.palette import contrast
from tools.notebooks import LIVE

PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def job() -> Pipeline:
    """A join and a removal among forty nodes, with sizes."""
    given = sample(40, 8)
    planned = history(given.ring, given.keyspaces, [given.bootstrap(), "removenode n3"])
    return pipeline(None, planned, sizes={"ks": 10**12})


def test_ownership_says_how_even_it_is(job: Pipeline) -> None:
    """The words give the nodes that serve and their spread, before and after."""
    chart = charts.ownership(job)
    assert chart.png.startswith(PNG)
    shares = job.ownership(0)["reads_share"]
    shares = shares[shares > 0] / shares[shares > 0].mean()
    before = next(line for line in chart.words.splitlines() if line.startswith("before: 40 nodes"))
    assert f"from {shares.min():.2f} to {shares.max():.2f}" in before
    assert "after: 40 nodes" in chart.words  # one came, one went


def test_streams_name_senders_and_receivers(job: Pipeline) -> None:
    """All bytes are in the matrix, also those of nodes that have no row or column of their own."""
    chart = charts.streams(job)
    assert "others to x: " in chart.words or "to x: " in chart.words
    frame = job.streams()
    total = frame["bytes"].sum()
    assert chart.words.startswith(f"Streams: {total / 10**9:.3g} GB in total")
    given = sample(4, 2, dcs=1)
    nothing = pipeline(None, history(given.ring, given.keyspaces))
    assert charts.streams(nothing).words == "Nothing is streamed."


def test_availability_has_a_cell_a_step(job: Pipeline) -> None:
    """Each row of the heat map names what is lost, and has a number for every step."""
    chart = charts.availability(job)
    _, *rows = chart.words.splitlines()
    steps = len(job.steps())
    assert all(len(re.findall(r"\d+(?:\.\d+)?%", row)) == steps for row in rows)
    assert any(row.startswith("QUORUM, any dc: 0 before 0%") for row in rows)
    assert any(row.startswith("QUORUM, any node: 0 before 100%") for row in rows)


def test_lag_names_every_node() -> None:
    """The words of the lag chart have a line per node."""
    runs = [as_tables(drawn(seed, nodes=4), f"seed-{seed}") for seed in range(2)]
    chart = charts.lag(PlainTraces(*runs).lag())
    assert chart.words.splitlines()[0] == "Epochs behind, over 2 runs"
    assert [line[0] for line in chart.words.splitlines()[1:]] == list("ABCDX")


def test_a_live_chart_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live chart is displayed once and then changes where it stands, always with its words; what
    a closed notebook has in its place is the same whenever it was first drawn.
    """
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    runs = [as_tables(drawn(seed, nodes=4), f"seed-{seed}") for seed in range(2)]
    live = LiveChart()
    for count in (1, 2):
        live(PlainTraces(*runs[:count]).lag())
        assert f'alt="Epochs behind, over {count} runs' in live.widget.value
    [bundle] = shown
    assert bundle["text/plain"] == "Epochs behind: a chart grows here as runs come in"
    assert LIVE in bundle


def test_charts_show_their_words_to_every_reader(job: Pipeline) -> None:
    """A chart is a picture with an alternative text, the text itself, and the same file again."""
    chart = charts.availability(job)
    data, extra = chart._repr_mimebundle_()
    assert data["text/plain"] == extra["image/png"]["alt"] == repr(chart) == chart.words
    assert charts.availability(job).png == chart.png


def test_numbers_in_cells_can_be_read() -> None:
    """Whatever a cell's fill, its number has a contrast of 4.5 to 1."""
    for step in range(101):
        fill, ink = charts.cell_colours(step / 100)
        assert contrast(fill, ink) >= 4.5
