"""Charts of large clusters and of many runs, each with the same facts in words.

The words are what a screen reader, a closed notebook and a comparison of stored outputs see.
"""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from matplotlib.colors import LinearSegmentedColormap, to_hex

from kit.protocols.tcm.spark.pipelines import Pipeline
from kit.spark.sessions import arrow_of
from kit.spark.streaming import lag_chart as lag
from kit.views.chart import Chart, canvas, chart
from kit.views.palette import LIGHT, SHADES, SMALL, contrast

__all__ = ["availability", "changes", "lag", "ownership", "streams"]
BINS = 30
MOST_NAMED = 12
NOT_ALL = 0.6  # the darkest shade of what is less than all
SCALE = LinearSegmentedColormap.from_list("share", [LIGHT["bg"], LIGHT["ink"]])
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def ownership(job: Pipeline, group: int = 0, *, ax: Any = None) -> Chart:
    """How evenly the nodes share the line, before the first step and after the last one."""
    first, last = job.ownership(0, group), job.ownership(None, group)
    lines = ["How evenly the nodes share the line (reads, in multiples of the mean)"]
    drawn = {}
    for frame, name in ((first, "before"), (last, "after")):
        shares = frame["reads_share"].to_numpy()
        shares = shares[shares > 0]
        drawn[name] = worst = shares / shares.mean()
        lines.append(
            f"{name}: {len(shares)} nodes, mean {shares.mean():.3%} of the line each, "
            f"from {worst.min():.2f} to {worst.max():.2f}, deviation {worst.std():.3f}"
        )
    low, high = min(x.min() for x in drawn.values()), max(x.max() for x in drawn.values())
    bins = max(8, min(BINS, len(drawn["before"]) // 5))
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    with canvas(ax, 6.4, 3.0) as axes:
        for (name, shares), wide in zip(drawn.items(), (1.4, 3), strict=True):
            counts, _ = np.histogram(shares, edges)
            if name == "before":
                axes.stairs(counts, edges, fill=True, color=SHADES["added"])
            axes.stairs(counts, edges, color=LIGHT["ink"], linewidth=wide, label=name)
        axes.set_xlabel("share of reads, 1 = the mean")
        axes.set_ylabel("nodes")
        axes.legend()
        axes.set_title("Balance of ownership")
    return chart(axes, "\n".join(lines))


def streams(job: Pipeline, *, ax: Any = None) -> Chart:
    """The chart of streams: the largest senders and receivers, the others together."""
    frame = job.streams()
    if frame.empty:
        with canvas(ax, 3.0, 1.0) as axes:
            axes.set_axis_off()
        return chart(axes, "Nothing is streamed.")
    sized = bool(frame["bytes"].notna().all())
    values = frame["bytes" if sized else "ranges"].astype("float64")
    order = {name: code for code, name in enumerate(job.history.ring.names)}
    sources, targets = (_largest(frame[end], values, order) for end in ("source", "target"))
    table = np.zeros((len(targets), len(sources)))
    for source, target, value in zip(frame["source"], frame["target"], values, strict=True):
        row = targets.index(target if target in targets else "others")
        table[row, sources.index(source if source in sources else "others")] += value
    texts = [[_amount(v, sized) for v in row] for row in table]
    with canvas(ax, 1.8 + 0.62 * len(sources), 1.3 + 0.3 * len(targets)) as axes:
        _cells(axes, table / (float(table.max()) or 1.0), texts)
        axes.set_xticks(range(len(sources)), sources, rotation=45)
        axes.set_yticks(range(len(targets)), targets)
        axes.set_xlabel("from")
        axes.set_ylabel("to")
        axes.set_title(f"Streams, {'bytes' if sized else 'ranges'}")
    head = f"Streams: {_amount(values.sum(), sized)} {'' if sized else 'ranges '}in total"
    lines = [
        f"{source} to {target}: {texts[row][column]}"
        for row, target in enumerate(targets)
        for column, source in enumerate(sources)
        if table[row, column]
    ]
    return chart(axes, "\n".join([head, *lines]))


def availability(job: Pipeline, group: int = 0, *, ax: Any = None) -> Chart:
    """How much of the line keeps its quorum when the worst node, rack or datacenter is lost."""
    frame = job.availability(group)
    frame = frame[(frame["loss"] != "none") & (frame["level"] != "ONE")]
    kept = frame.assign(kept=1 - frame["share"], loss="any " + frame["loss"])
    keys = ["level", "loss", "side"]
    table = kept.pivot_table(index=keys, columns="step", values="kept", sort=False)
    names = frame.drop_duplicates("step").set_index("step")["name"]
    rows = _merged_sides(table)
    labels, values = [label for label, _ in rows], np.array([row for _, row in rows])
    texts = [
        [f"{value:.0%}" if value in (0, 1) else f"{value:.2%}" for value in row] for row in values
    ]
    steps = [f"{step} {name}" for step, name in names.items()]
    with canvas(ax, 3.2 + 0.95 * len(names), 1.2 + 0.3 * len(rows)) as axes:
        # What is not quite all must not look like all.
        _cells(axes, np.where(values < 1, NOT_ALL * values, 1.0), texts)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xticks(range(len(steps)), steps, rotation=30)
        axes.set_title("Part of the line that keeps its quorum")
    lines = [
        f"{label}: " + ", ".join(f"{s} {t}" for s, t in zip(steps, row, strict=True))
        for label, row in zip(labels, texts, strict=True)
    ]
    head = "Part of the line that keeps its quorum when the worst node, rack or datacenter is lost"
    return chart(axes, "\n".join([head, *lines]))


def _largest(names: pd.Series, values: pd.Series, order: dict[str, int]) -> list[str]:
    sums = values.groupby(names.to_numpy()).sum().sort_values(ascending=False, kind="stable")
    chosen = sorted(sums.index[:MOST_NAMED], key=order.__getitem__)
    return [*chosen, "others"] if len(sums) > MOST_NAMED else chosen


def _amount(value: float, sized: bool) -> str:
    if not value:
        return ""
    if not sized:
        return f"{value:.0f}"
    power = min(int(np.log10(value) // 3), len(UNITS) - 1)
    return f"{value / 1000**power:.3g} {UNITS[power]}"


def _merged_sides(table: pd.DataFrame) -> list[tuple[str, Any]]:
    rows = []
    for (level, loss), part in table.groupby(level=["level", "loss"], sort=False):
        sides = {key[2]: row.to_numpy() for key, row in part.iterrows()}
        if np.array_equal(sides["read"], sides["write"]):
            rows.append((f"{level}, {loss}", sides["read"]))
        else:
            rows += [(f"{level}, {loss}, {side}s", row) for side, row in sides.items()]
    return rows


def cell_colours(part: float) -> tuple[str, str]:
    """The fill of a cell that shows a part of the most (0 to 1), and the ink of its text."""
    fill = to_hex(SCALE(part))
    return fill, max((LIGHT["ink"], LIGHT["bg"]), key=lambda colour: contrast(colour, fill))


def _cells(axes: Any, shades: Any, texts: list[list[str]]) -> None:
    axes.imshow(shades, cmap=SCALE, vmin=0, vmax=1, aspect="auto")
    for (row, column), shade in np.ndenumerate(shades):
        _, ink = cell_colours(shade)
        axes.text(
            column, row, texts[row][column], ha="center", va="center", color=ink, fontsize=SMALL
        )
    axes.tick_params(length=0)


THINNEST = 0.002  # of the line; a range of a large ring would be too thin to be seen
COLUMNS = ("step", "left", "right", "changed", "locked")


def changes(job: Pipeline, group: int = 0, *, ax: Any = None) -> Chart:
    """Which ranges light up at each step, and which are locked, along the whole line."""
    rows, space = touched(job, group), job.history.ring.space
    counts = job.affected(group)
    names = [f"{step} {name}" for step, name in zip(counts["step"], counts["name"], strict=True)]
    with canvas(ax, 7.2, 0.9 + 0.42 * len(counts)) as axes:
        for place, step in enumerate(counts["step"]):
            axes.broken_barh([(0, 1)], (place - 0.3, 0.6), facecolor=LIGHT["bg"])
            of_step = rows[rows["step"] == step]
            for sign, fill, low, high in (
                ("locked", SHADES["removed"], -0.3, 0.3),
                ("changed", LIGHT["ink"], -0.18, 0.18),
            ):
                lit = of_step[of_step[sign]]
                spans = _spans(lit, space.low, space.high - space.low)
                axes.broken_barh(spans, (place + low, high - low), color=fill)
        axes.set_yticks(range(len(names)), names)
        axes.set_xticks((0, 1), ("min", "max"))
        axes.invert_yaxis()
        axes.set_title("The line: changed (dark, inside) and locked (grey, whole height)")
    lines = [
        f"{name}: {row.changed} of {row.ranges} ranges changed, {row.locked} locked"
        for name, row in zip(names, counts.itertuples(index=False), strict=True)
    ]
    return chart(axes, "\n".join(["Which ranges light up at each step", *lines]))


def touched(job: Pipeline, group: int) -> pd.DataFrame:
    """Step, bounds and signs of the ranges that a step changes or an operation holds."""
    table: Any = job.table("replicas")
    if isinstance(table, pa.Table):
        frame = table.select([*COLUMNS, "group"]).to_pandas()
        chosen = frame[(frame["group"] == group) & (frame["changed"] | frame["locked"])]
    else:
        wanted = table.where(f"`group` = {group} AND (changed OR locked)").select(*COLUMNS)
        chosen = arrow_of(wanted).to_pandas()
    return chosen.sort_values(["step", "left"], ignore_index=True)[list(COLUMNS)]


def _spans(rows: pd.DataFrame, low: int, width: int) -> list[tuple[float, float]]:
    left = (rows["left"].to_numpy(dtype="float64") - low) / width
    reach = (rows["right"].to_numpy(dtype="float64") - low) / width - left
    return list(zip(left, np.maximum(reach, THINNEST), strict=True))
