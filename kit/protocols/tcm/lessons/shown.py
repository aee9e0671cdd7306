"""Charts and tables for lessons on the epoch protocol, each with its facts in words beside it."""

from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked
from kit.lessons.stills import timeline_of
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.operators.workload import PLACEMENTS, estimate
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import first_missed
from kit.protocols.tcm.lessons import cluster_of
from kit.protocols.tcm.panels.ring import RING
from kit.protocols.tcm.spark.histories import Sample
from kit.ring.replication import total
from kit.views.chart import Chart, canvas, chart
from kit.views.fragment import Frag, h
from kit.views.palette import BESIDE, SHADES, SMALL
from kit.views.panel import scene_at
from kit.views.parts import volume
from kit.views.static import BROKEN, HOLDS, Sheet, Shown

FILLS = {
    "split": SHADES["changed"],
    "add": SHADES["added"],
    "switch": SHADES["removed"],
    "drop": SHADES["added"],
    "merge": SHADES["changed"],
}


def group_sizes(source: Any, token: int, *, ax: Any = None) -> Chart:
    """How many nodes are read from and written to for a token, epoch by epoch so far."""
    timeline = timeline_of(source)
    m = cluster_of(timeline)
    states = [timeline.moments[moment].state for moment in timeline.path(timeline.at)]
    newest = {m.newest_epoch(s): s for s in states}
    rows = [(epoch, facts.owners(m, s, token)) for epoch, s in newest.items()]
    with canvas(ax, 6.4, 2.8) as axes:
        for offset, side, fill, hatch in (
            (-0.2, "reads", SHADES["removed"], ""),
            (0.2, "writes", SHADES["added"], "//"),
        ):
            heights = [len(getattr(row, side)) for _, row in rows]
            places = [i + offset for i in range(len(rows))]
            bars = axes.bar(places, heights, 0.36, color=fill, hatch=hatch, label=side)
            axes.bar_label(bars, [",".join(getattr(row, side)) for _, row in rows], fontsize=SMALL)
        axes.set_xticks(range(len(rows)), [f"epoch {epoch}" for epoch, _ in rows])
        axes.set_yticks(range(max(len(row.writes) for _, row in rows) + 2))
        axes.set_ylabel("nodes in the group")
        axes.set_title(f"Which nodes serve token {token}")
        axes.legend(**BESIDE)
    lines = []
    for epoch, row in rows:
        sides = (("reads", row.reads), ("writes", row.writes))
        sizes = "; ".join(f"{side} {len(group)} ({', '.join(group)})" for side, group in sides)
        lines.append(f"epoch {epoch}: {sizes}")
    return chart(axes, "\n".join([f"Which nodes serve token {token}, epoch by epoch", *lines]))


def step_table(*sources: Any, ax: Any = None) -> Chart:
    """Which steps the operation of each timeline has committed so far: a row per operation."""
    logs: list[tuple[str, list[str]]] = []
    for timeline in map(timeline_of, sources):
        log = facts.log(cluster_of(timeline), timeline.state)
        title = log[0].operation.title if log else "nothing yet"
        logs.append((title, [line.text for line in log]))
    longest = max((len(lines) for _, lines in logs), default=0)
    with canvas(ax, 1.6 + 1.5 * longest, 0.7 + 0.42 * len(logs)) as axes:
        for i, (_, lines) in enumerate(logs):
            for j, line in enumerate(lines):
                fill = next((f for word, f in FILLS.items() if word in line), SHADES["plain"])
                axes.barh(i, 0.94, left=j + 0.03, height=0.72, color=fill)
                words = line.split()
                half = (len(words) + 1) // 2
                text = " ".join(words[:half]) + "\n" + " ".join(words[half:])
                axes.text(j + 0.5, i, text, ha="center", va="center", fontsize=SMALL)
        axes.set_yticks(range(len(logs)), [title for title, _ in logs])
        axes.set_xticks([j + 0.5 for j in range(longest)], [str(j + 1) for j in range(longest)])
        axes.set_xlabel("committed events, in order")
        axes.set_xlim(0, longest)
        axes.invert_yaxis()
        axes.tick_params(length=0)
    said = [f"{title}: {', '.join(lines)}" for title, lines in logs]
    return chart(axes, "\n".join(["The events of each operation, one epoch each", *said]))


def meetings(source: Any, token: int) -> Sheet:
    """Whether each two epochs' majorities of readers and writers meet; a cross: some do not."""
    timeline = timeline_of(source)
    m, s = cluster_of(timeline), timeline.state
    facts.space(m).check(token, "token")
    groups = {}
    for epoch in (line.epoch for line in facts.log(m, s)):
        rows = facts.rows(m, s, at=epoch)
        groups[epoch] = next(row for row in rows if row.left < token <= row.right)
    return Sheet(
        f"Token {token}: a read at one epoch, a write at another",
        ("", *(f"write at {epoch}" for epoch in groups)),
        tuple(
            (f"read at {epoch}", *(_meeting_words(row, other) for other in groups.values()))
            for epoch, row in groups.items()
        ),
        (f"{HOLDS} they always share a node; {BROKEN} these two majorities share none",),
    )


def _meeting_words(reading: facts.RangeRow, writing: facts.RangeRow) -> str:
    if (missed := first_missed(reading.reads, writing.writes)) is None:
        return HOLDS
    read, write = (",".join(sorted(group)) for group in missed)
    return f"{BROKEN} {read} / {write}"


def barriers(*sources: Any) -> Sheet:
    """The barriers of each timeline's next step, on the first range that is locked."""
    rows = []
    for timeline in map(timeline_of, sources):
        m = cluster_of(timeline)
        operation = facts.operations(m, timeline.state)[0]
        steps = ", ".join(step.name for step in operation.steps)
        for row in operation.barriers:
            if row.label == operation.barriers[0].label:
                applied = f"{row.needed} of {', '.join(row.replicas)}"
                rows.append((m.parameters.edition, steps, row.label, row.dc or "all", applied))
    heads = ("edition", "events", "range", "datacenter", "must have applied")
    return Sheet("Before the next event", heads, tuple(rows))


class RingPicture(Struct, Shown, frozen=True):
    """A ring as a drawing; its words say how large it is and list no tokens."""

    drawing: Frag
    words: str

    def __repr__(self) -> str:
        return self.words

    def draw(self) -> Frag:
        """Draw it below its words."""
        return h("div", h("p", f"{self.words}."), self.drawing)


@checked
def ring_picture(sample: Sample) -> RingPicture:
    """Draw the ring of a sample when a newcomer gets its first writes; its tokens are dark."""
    begin = sample.bootstrap()
    given = {"members": sample.ring.nodes, "keyspaces": sample.keyspaces, "barrier": False}
    timeline = Timeline(build("tcm", {**given, "operations": [begin.text]}))
    for verb in (begin.text, f"apply {begin.node}", f"commit {begin.node}"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    drawn = RING.draw(scene_at(timeline, timeline.at))
    nodes, tokens = len(sample.ring.nodes), len(sample.ring.tokens)
    words = f"A ring of {nodes:,} nodes with {tokens:,} tokens, and {begin.title}"
    return RingPicture(next(part for part in drawn.walk() if part.tag == "svg"), words)


@checked
def estimates(sample: Sample, *rings: tuple[int, int]) -> Sheet:
    """Estimate what one table of all ranges costs the plain engine, by nodes and tokens."""
    replicas = sum(total(keyspace.replication, sample.ring) for keyspace in sample.keyspaces)
    rows = []
    for nodes, tokens in rings:
        ranges = nodes * tokens
        room, seconds = estimate(ranges, replicas, PLACEMENTS)
        took = "below 0.1" if seconds < 0.1 else f"{seconds:,.1f}"
        rows.append((f"{nodes:,}", f"{tokens:,}", f"{ranges:,}", took, volume(room)))
    heads = ("nodes", "tokens each", "ranges", "seconds", "memory")
    return Sheet("One table of all ranges, estimated for the plain engine", heads, tuple(rows))
