"""Charts for what one would rather look at than read, each with its words beside it.

Every chart has its facts from the model and carries them as text too: that is what a screen
reader, a closed notebook and a comparison of stored outputs see.
"""

from __future__ import annotations

from typing import Any

from kit.engine.timeline import Timeline
from kit.lessons.stills import timeline_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons.clusters import cluster_of
from kit.views.chart import Chart, chart, empty_figure
from kit.views.palette import LIGHT, OKABE_ITO, OUTLINE, SIGNS

FILLS = {
    "split": OKABE_ITO["yellow"],
    "add": SIGNS["added"],
    "switch": SIGNS["holds"],
    "drop": SIGNS["removed"],
    "merge": OKABE_ITO["purple"],
}


def group_sizes(source: Any, token: int) -> Chart:
    """How many nodes are read from and written to for a token, epoch by epoch so far.

    Two bars per epoch, side by side: reads plain, writes hatched, each with its number.

    Raises:
        BadInput: for a token outside the space.
    """
    timeline = timeline_of(source)
    rows = _rows(timeline, token)
    figure, axes = empty_figure(6.4, 2.8)
    for offset, side, fill, hatch in (
        (-0.2, "reads", SIGNS["holds"], ""),
        (0.2, "writes", SIGNS["added"], "//"),
    ):
        heights = [len(getattr(row, side)) for _, row in rows]
        places = [i + offset for i in range(len(rows))]
        bars = axes.bar(
            places, heights, 0.36, color=fill, edgecolor=OUTLINE, hatch=hatch, label=side
        )
        axes.bar_label(bars, [",".join(getattr(row, side)) for _, row in rows], fontsize=8)
    axes.set_xticks(range(len(rows)), [f"epoch {epoch}" for epoch, _ in rows])
    axes.set_yticks(range(max(len(row.writes) for _, row in rows) + 2))
    axes.set_ylabel("nodes in the group")
    axes.set_title(f"Who serves token {token}", loc="left")
    figure.legend(loc="outside right upper", frameon=False)
    lines = [f"epoch {epoch}: {_sizes(row)}" for epoch, row in rows]
    return chart(figure, "\n".join([f"Who serves token {token}, epoch by epoch", *lines]))


def _rows(timeline: Timeline, token: int) -> list[tuple[int, facts.RangeRow]]:
    """(epoch, the row that serves the token) for every epoch on the way to where we are."""
    m = cluster_of(timeline)
    states = [timeline.moments[moment].state for moment in timeline.path(timeline.at)]
    newest = {facts.epoch(m, s): s for s in states}
    return [(epoch, facts.owners(m, s, token)) for epoch, s in newest.items()]


def _sizes(row: facts.RangeRow) -> str:
    groups = ((side, getattr(row, side)) for side in ("reads", "writes"))
    return "; ".join(f"{side} {len(group)} ({', '.join(group)})" for side, group in groups)


def step_table(*sources: Any) -> Chart:
    """Which steps the operation of each timeline has committed so far: a row per operation.

    The tiles are the epochs, in order; each names its step.
    """
    logs = [_log(timeline_of(source)) for source in sources]
    longest = max((len(lines) for _, lines in logs), default=0)
    figure, axes = empty_figure(1.6 + 1.5 * longest, 0.7 + 0.42 * len(logs))
    for i, (_, lines) in enumerate(logs):
        for j, line in enumerate(lines):
            fill = next((f for word, f in FILLS.items() if word in line), LIGHT["raised"])
            axes.barh(i, 0.94, left=j + 0.03, height=0.72, color=fill, edgecolor=OUTLINE)
            axes.text(j + 0.5, i, _broken(line), ha="center", va="center", fontsize=7.5)
    axes.set_yticks(range(len(logs)), [title for title, _ in logs])
    axes.set_xticks([j + 0.5 for j in range(longest)], [str(j + 1) for j in range(longest)])
    axes.set_xlabel("committed events, in order")
    axes.set_xlim(0, longest)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    words = [f"{title}: {', '.join(lines)}" for title, lines in logs]
    return chart(figure, "\n".join(["The events of each operation, an epoch each", *words]))


def _log(timeline: Timeline) -> tuple[str, list[str]]:
    log = facts.log(cluster_of(timeline), timeline.state)
    return (log[0].operation if log else "nothing yet"), [line.text for line in log]


def _broken(text: str) -> str:
    """A step's words on two lines."""
    words = text.split()
    half = (len(words) + 1) // 2
    return " ".join(words[:half]) + "\n" + " ".join(words[half:])
