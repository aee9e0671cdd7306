"""The line of a large ring, a strip for each step: which ranges change, which are locked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from kit.protocols.tcm.spark.pipelines import Pipeline
from kit.views.chart import Chart, chart, empty_figure
from kit.views.palette import LIGHT, OKABE_ITO, OUTLINE, SIGNS

THINNEST = 0.002  # of the line; a range of a large ring would be too thin to be seen
COLUMNS = ("step", "left", "right", "changed", "locked")


def changes(job: Pipeline, group: int = 0) -> Chart:
    """Which ranges light up at each step, and which are locked, along the whole line.

    A range is drawn at its place; one that is too thin to be seen is drawn wider.
    """
    rows, space = touched(job, group), job.history.ring.space
    counts = job.affected(group)
    figure, axes = empty_figure(7.2, 0.9 + 0.42 * len(counts))
    for place, step in enumerate(counts["step"]):
        axes.broken_barh([(0, 1)], (place - 0.3, 0.6), facecolor=LIGHT["bg"], edgecolor=OUTLINE)
        of_step = rows[rows["step"] == step]
        for sign, fill, low, high in (
            ("locked", OKABE_ITO["yellow"], -0.3, 0.3),
            ("changed", SIGNS["added"], -0.18, 0.18),
        ):
            lit = of_step[of_step[sign]]
            spans = _spans(lit, space.low, space.high - space.low)
            axes.broken_barh(spans, (place + low, high - low), facecolor=fill)
    names = [f"{step} {name}" for step, name in zip(counts["step"], counts["name"], strict=True)]
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks((0, 1), ("min", "max"))
    axes.invert_yaxis()
    axes.set_title("The line: changed (blue, inside) and locked (yellow, whole height)", loc="left")
    lines = [
        f"{name}: {row.changed} of {row.ranges} ranges changed, {row.locked} locked"
        for name, row in zip(names, counts.itertuples(index=False), strict=True)
    ]
    return chart(figure, "\n".join(["Which ranges light up at each step", *lines]))


def touched(job: Pipeline, group: int) -> pd.DataFrame:
    """Step, bounds and signs of the ranges that a step changes or an operation holds."""
    table: Any = job.table("replicas")
    if isinstance(table, pa.Table):
        frame = table.select([*COLUMNS, "group"]).to_pandas()
        chosen = frame[(frame["group"] == group) & (frame["changed"] | frame["locked"])]
    else:
        wanted = table.where(f"`group` = {group} AND (changed OR locked)").select(*COLUMNS)
        chosen = wanted.toArrow().to_pandas()
    return chosen.sort_values(["step", "left"], ignore_index=True)[list(COLUMNS)]


def _spans(rows: pd.DataFrame, low: int, width: int) -> list[tuple[float, float]]:
    """Where ranges begin on the line (0 to 1) and how far they reach, wide enough to be seen."""
    left = (rows["left"].to_numpy(dtype="float64") - low) / width
    reach = (rows["right"].to_numpy(dtype="float64") - low) / width - left
    return list(zip(left, np.maximum(reach, THINNEST), strict=True))
