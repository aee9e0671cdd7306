"""The chart of a lag report: how many epochs each node is behind."""

import numpy as np
import pandas as pd

from kit.spark.rows import columns_of
from kit.spark.schemas import table
from kit.views.chart import Chart, chart, empty_figure
from kit.views.palette import OUTLINE, SIGNS

LAG_REPORT = table(
    "lag",
    "a node, over all runs",
    "node string: the node",
    "runs bigint: how many runs the node was in",
    "mean double: how many epochs the node was behind, on average",
    "most bigint: the most epochs that the node was behind",
    "behind double: the share of the steps in which the node was behind",
)


def lag(frame: pd.DataFrame) -> Chart:
    """How many epochs each node is behind, of a lag report (else BadInput): the mean, the most."""
    frame = columns_of("frame", frame, LAG_REPORT).to_pandas()
    figure, axes = empty_figure(6.4, 2.8)
    places = np.arange(len(frame))
    for offset, name, sign, hatch in ((-0.2, "mean", "added", ""), (0.2, "most", "removed", "//")):
        look = {"color": SIGNS[sign], "edgecolor": OUTLINE, "hatch": hatch, "label": name}
        axes.bar(places + offset, frame[name], 0.38, **look)
    axes.set_xticks(places, list(frame["node"]))
    axes.set_ylabel("epochs behind")
    axes.yaxis.get_major_locator().set_params(integer=True)
    runs = int(frame["runs"].max()) if len(frame) else 0
    axes.set_title(f"Epoch lag, {runs} runs", loc="left")
    figure.legend(loc="outside right upper", frameon=False)
    lines = [
        f"{row.node}: mean {row.mean:.2f}, most {row.most}, behind in {row.behind:.0%} of the steps"
        for row in frame.itertuples(index=False)
    ]
    return chart(figure, "\n".join([f"Epochs behind, over {runs} runs", *lines]))
