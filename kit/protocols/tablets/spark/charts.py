"""The chart of average tablet sizes, with the same facts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kit.protocols.tablets.rules.balance.reasons import bytes_said
from kit.protocols.tablets.rules.resize import Thresholds
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
Counts = Mapping[tuple[int | None, str], int]
"""Tables by bucket (None: no size is known) and decision."""


def size_histogram(
    cluster: TabletCluster, tablets: Any = None, edition: Edition = "server"
) -> Chart:
    """How many tables have which average tablet size, and what is decided on them.

    The horizontal axis is the average as a multiple of the target size; a bar of each bucket is cut
    by decision, and both thresholds of the edition are marked. ``tablets`` are rows other than the
    cluster's own. In edition ``server`` more rules than the thresholds decide.
    """
    rows = cluster.histogram(tablets, edition).to_pylist()
    counts = {(row["bucket"], row["decision"]): row["tables"] for row in rows}
    limits = cluster.thresholds(edition)
    figure, axes = empty_figure(6.8, 3.2)
    _bars(axes, counts)
    _marks(axes, limits)
    axes.set_xticks(PLACES, [str(part) for part in PARTS])
    axes.set_xlim(0, len(PARTS) + 1)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"average tablet, 1 = the target of {bytes_said(limits.target)}")
    axes.set_ylabel("tables")
    axes.set_title("Average tablet sizes", loc="left")
    figure.legend(loc="outside right upper", frameon=False)
    return chart(figure, _words(rows, limits))


def _bars(axes: Any, counts: Counts) -> None:
    """A bar for each bucket, its decisions on top of each other."""
    buckets = range(len(PARTS) + 1)
    floor = np.zeros(len(buckets), np.int64)
    for decision, (fill, hatch) in FILLS.items():
        heights = np.array([counts.get((bucket, decision), 0) for bucket in buckets])
        axes.bar(
            buckets,
            heights,
            1.0,
            floor,
            align="edge",
            color=fill,
            hatch=hatch,
            edgecolor=OUTLINE,
            label=decision,
        )
        floor += heights


def _marks(axes: Any, limits: Thresholds) -> None:
    """A line for each threshold, with its own dash and name."""
    percents = limits.merge_percent, limits.split_percent
    for percent, dash, name in zip(percents, (":", "--"), _named(limits), strict=True):
        place = np.interp(percent / 100, [float(part) for part in PARTS], PLACES)
        axes.axvline(place, color=OUTLINE, linestyle=dash, linewidth=2, label=name)


def _named(limits: Thresholds) -> tuple[str, str]:
    """Both thresholds in words."""
    below, above = map(bytes_said, (limits.merge_below, limits.split_above))
    return f"merge below {below}", f"split above {above}"


def _words(rows: list[dict[str, Any]], limits: Thresholds) -> str:
    """The thresholds, then a line for each bucket that has tables."""
    head = f"Average tablet sizes of {sum(row['tables'] for row in rows)} tables"
    buckets: dict[str, list[str]] = {}  # decisions of each
    for row in rows:
        counts = buckets.setdefault(_bucket(row["least"], row["below"]), [])
        counts.append(f"{row['tables']} {row['decision']}")
    lines = [f"{bucket}: {', '.join(counts)}" for bucket, counts in buckets.items()]
    return "\n".join([head, f"Thresholds: {', '.join(_named(limits))}", *lines])


def _bucket(least: int | None, below: int | None) -> str:
    if least is None:
        return "not known"
    if below is None:
        return f"from {bytes_said(least, 2)}"
    return f"{bytes_said(least, 2)} to {bytes_said(below, 2)}"
