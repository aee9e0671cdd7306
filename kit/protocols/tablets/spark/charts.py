"""The chart of average tablet sizes, with the same facts in words."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from kit.errors import counted
from kit.protocols.tablets.rules.balance.reasons import bytes_said
from kit.protocols.tablets.spark.sizes import PARTS, TabletCluster
from kit.protocols.topology.rules.machines import Edition
from kit.views.chart import Chart, chart, empty_figure
from kit.views.palette import LIGHT, OUTLINE, SIGNS

FILLS = {
    "merge": (SIGNS["removed"], "\\\\"),
    "none": (LIGHT["raised"], ""),
    "split": (SIGNS["added"], "//"),
}
"""Fill and hatch of each decision, from the bottom of a bar to its top."""
PLACES = range(1, len(PARTS) + 1)
"""Where the edges of buckets stand on the axis: all bars are as wide as each other."""
Rows = Sequence[dict[str, Any]]  # those of ``averages``


def size_histogram(
    cluster: TabletCluster, tablets: Any = None, edition: Edition = "documents"
) -> Chart:
    """How many tables have which average tablet size, and what is decided on them.

    The horizontal axis is the average as a multiple of the target size; a bar of each bucket is cut
    by decision, and both thresholds of the edition are marked. ``tablets`` are rows other than the
    cluster's own. In edition ``server`` more rules than the thresholds decide.
    """
    rows = cluster.histogram(tablets, edition).to_pylist()
    limits = cluster.thresholds(edition)
    figure, axes = empty_figure(6.8, 3.2)
    _bars(axes, rows)
    below, above = map(bytes_said, (limits.merge_below, limits.split_above))
    names = f"merge below {below}", f"split above {above}"
    percents = limits.merge_percent, limits.split_percent
    for percent, wide, name in zip(percents, (1.4, 3), names, strict=True):
        place = np.interp(percent / 100, [float(part) for part in PARTS], PLACES)
        axes.axvline(place, color=OUTLINE, linewidth=wide, label=name)
    axes.set_xticks(PLACES, [str(part) for part in PARTS])
    axes.set_xlim(0, len(PARTS) + 1)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"average tablet (1 = the target, {bytes_said(limits.target)})")
    axes.set_ylabel("tables")
    axes.set_title("Average tablet sizes", loc="left")
    figure.legend(loc="outside right upper", frameon=False)
    tables = counted(sum(row["tables"] for row in rows), "table")
    head = f"Average tablet sizes of {tables} (edition {edition})"
    return chart(figure, "\n".join([head, f"Thresholds: {', '.join(names)}", *_lines(rows)]))


def _bars(axes: Any, rows: Rows) -> None:
    floor = np.zeros(len(PARTS) + 1, np.int64)
    for decision, (fill, hatch) in FILLS.items():
        heights = np.zeros_like(floor)
        for row in rows:
            if row["bucket"] is not None and row["decision"] == decision:
                heights[row["bucket"]] = row["tables"]
        look = {"color": fill, "hatch": hatch, "edgecolor": OUTLINE, "label": decision}
        axes.bar(range(len(floor)), heights, 1.0, floor, align="edge", **look)
        floor += heights


def _lines(rows: Rows) -> Iterator[str]:
    for (least, below), of_bucket in groupby(rows, lambda row: (row["least"], row["below"])):
        bucket = "not known" if least is None else f"from {bytes_said(least, 2)}"
        if below is not None:
            bucket = f"{bytes_said(least, 2)} to {bytes_said(below, 2)}"
        counts = ", ".join(f"{row['tables']} {row['decision']}" for row in of_bucket)
        yield f"{bucket}: {counts}"
