"""What a schema change costs, drawn: by the hash of all tables, and by a timestamp."""

from __future__ import annotations

from kit.edge.arguments import checked
from kit.errors import BadInput
from kit.protocols.group0.rules.versions import LARGE, VersionSource, change_cost, total_cost
from kit.views.chart import Chart, chart, empty_figure
from kit.views.palette import OUTLINE, SIGNS

SOURCES: tuple[VersionSource, ...] = ("hash", "timestamp")
FILLS = {"hash": SIGNS["removed"], "timestamp": SIGNS["holds"]}
POINTS = 20
MOST_TABLES = 1_000_000


@checked
def schema_costs(tables: int = LARGE) -> Chart:
    """Seconds of one schema change: bars for a cluster of so many tables, and curves up to there.

    The bars reach the most that a change takes, a second line the least.

    Raises:
        BadInput: for a number of tables below 1 or above a million.
    """
    if not 1 <= tables <= MOST_TABLES:
        raise BadInput("tables", tables, f"a number from 1 to {MOST_TABLES}")
    figure, axes = empty_figure(6.4, 2.8)
    counts = [max(1, tables * i // POINTS) for i in range(1, POINTS + 1)]
    lines = [f"Seconds of one schema change, up to {tables:,} tables"]
    for place, source in enumerate(SOURCES):
        costs = [change_cost(source, count) for count in counts]
        dash = "-" if source == "timestamp" else "--"
        axes.plot(counts, [cost.most for cost in costs], dash, color=OUTLINE, label=source)
        cost = costs[-1]
        at = tables * (1.12 + 0.2 * place)
        axes.bar(at, cost.most, 0.1 * tables, color=FILLS[source], edgecolor=OUTLINE)
        axes.plot([at - 0.05 * tables, at + 0.05 * tables], [cost.least] * 2, color=OUTLINE)
        axes.text(at, cost.most, source, ha="center", va="bottom", fontsize=8)
        lines.append(f"by {source}: {_seconds(cost.least, cost.most)}")
    halved = change_cost("hash", max(1, tables // 2)).most
    lines.append(f"with half as many tables: by hash {halved:g} at most, by timestamp as before")
    lines.append(f"to create all of them, one by one: {_totals(tables)}")
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= tables])
    axes.set_xlabel("tables in the cluster")
    axes.set_ylabel("seconds a change")
    figure.legend(loc="outside right upper", frameon=False)
    return chart(figure, "\n".join(lines))


def _seconds(least: float, most: float) -> str:
    return f"{least:g} to {most:g}" if least < most else f"{most:g} or less"


def _totals(tables: int) -> str:
    return ", ".join(f"by {source} {total_cost(source, tables):,.0f} at most" for source in SOURCES)
