"""Drawn: what a version costs as changes add up, and how long a service level takes."""

from __future__ import annotations

from kit.edge.arguments import checked
from kit.errors import BadInput
from kit.protocols.gossip.rules.authentication import POLL_SECONDS, AuthMode, rebuild_delay
from kit.protocols.gossip.rules.mutations import Mutations, hashed_cells, merged
from kit.protocols.gossip.rules.schema import SchemaChange, cells_of, schema_of
from kit.views.chart import Chart, chart, empty_figure
from kit.views.palette import OUTLINE, SIGNS

MOST_CHANGES = 2_000
DAY = 86_400  # seconds
MODES: tuple[AuthMode, ...] = ("legacy", "group 0")
FILLS = {"legacy": SIGNS["removed"], "group 0": SIGNS["holds"]}


def hashed_after(changes: int) -> list[tuple[int, int]]:
    """Cells that are hashed and tables that there are, after each of so many changes.

    Every second change drops the table that the one before it created.
    """
    cells = cells_of(SchemaChange("create", "ks"), 1, "A")
    counts = [(hashed_cells(cells), 0)]
    for number in range(changes):
        verb = SchemaChange("drop" if number % 2 else "create", "ks", f"t{number // 2}")
        written: Mutations = cells_of(verb, number + 2, "A")
        cells = merged(cells, written)
        counts.append((hashed_cells(cells), len(schema_of(cells).tables)))
    return counts


@checked
def digest_costs(changes: int = 100) -> Chart:
    """Cells that a version is hashed from, after each of so many changes; tables, beside them.

    Every second change drops the table that the one before it created: no table stays, and each
    leaves its tombstone.

    Raises:
        BadInput: for a number of changes below 2 or above 2,000.
    """
    if not 2 <= changes <= MOST_CHANGES:
        raise BadInput("changes", changes, f"a number from 2 to {MOST_CHANGES}")
    counts = hashed_after(changes)
    figure, axes = empty_figure(6.4, 2.8)
    axes.plot([cells for cells, _ in counts], "--", color=OUTLINE, label="cells hashed (legacy)")
    axes.plot([tables for _, tables in counts], "-", color=OUTLINE, label="tables there are")
    axes.plot([1] * len(counts), ":", color=OUTLINE, label="timestamps made (group 0)")
    axes.set_xlabel("schema changes so far")
    axes.set_ylabel("count")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    half, end = counts[changes // 2], counts[-1]
    hashed = f"{counts[0][0]} after none, {half[0]} after {changes // 2}, {end[0]} after {changes}"
    lines = (
        "What a version costs as schema changes add up",
        f"cells hashed (legacy): {hashed}",
        f"tables there are at the end: {end[1]}",
        "timestamps made (group 0): 1 each time",
    )
    return chart(figure, "\n".join(lines))


@checked
def service_level_delays(poll: float = POLL_SECONDS) -> Chart:
    """Seconds until a node's view has a changed service level: polled, and with group 0.

    Raises:
        BadInput: for an interval that is not above 0, or longer than a day.
    """
    if not 0 < poll <= DAY:
        raise BadInput("poll", poll, f"seconds above 0, up to {DAY}")
    figure, axes = empty_figure(6.4, 1.8)
    lines = ["Seconds until a node's view has a changed service level"]
    for at, mode in enumerate(MODES):
        least, most = rebuild_delay(mode, poll)
        axes.barh(at, most, color=FILLS[mode], edgecolor=OUTLINE)
        said = f"{least:g} to {most:g}" if most else "at once, with the entry"
        axes.text(most, at, f"  {said}", va="center", fontsize=8)
        lines.append(f"{mode}: {said}")
    axes.set_yticks(range(len(MODES)), MODES)
    axes.set_xlim(0, 1.3 * poll)
    axes.set_xlabel("seconds")
    return chart(figure, "\n".join(lines))
