"""Who has applied which epoch, the barrier that waits for it, and the acknowledgements.

The progress barrier is a gate for each range whose replicas must know the last epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.awaited import BarrierRow
from kit.protocols.tcm.facts.moment import AppliedEpochs
from kit.protocols.tcm.facts.parts import range_key
from kit.views.fragment import Frag, h
from kit.views.gate import Gate
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, scroll

COLUMNS = 6
MOST_NODES = 24
MOST_BARRIERS = 8


def barriers(scene: Scene) -> list[BarrierRow]:
    """Return the barriers of all operations under way, unmet ones first."""
    rows = [
        row
        for operation in facts.operations(scene.model, scene.state)
        for row in operation.barriers
    ]
    return sorted(rows, key=lambda row: row.met)


def _totals(scene: Scene) -> tuple[int, int]:
    """How many barriers there are, and how many of them are not met."""
    waiting = [row.awaiting for row in facts.operations(scene.model, scene.state)]
    return sum(each.count for each in waiting), sum(each.unmet for each in waiting)


def draw_epochs(scene: Scene) -> Frag:
    """Draw a strip per node, with the barrier as a line before the epoch it asks for."""
    last = facts.epoch(scene.model, scene.state)
    nodes = facts.applied(scene.model, scene.state)
    waits = barriers(scene)
    awaited = {row.epoch for row in waits if not row.met} or {row.epoch for row in waits}
    start = last - len(facts.log(scene.model, scene.state))
    columns = range(max(start, last - COLUMNS + 1), last + 1)
    shown = _concerned(nodes, last) if len(nodes) > MOST_NODES else list(nodes)
    return scroll(
        "applied epochs",
        h(
            "table",
            h("caption", f"Applied epochs{_barrier_word(awaited)}"),
            h(
                "thead",
                h(
                    "tr",
                    h("th", "node", scope="col"),
                    [
                        h(
                            "th",
                            str(epoch),
                            k=f"epoch:{epoch}",
                            scope="col",
                            class_="line" if epoch in awaited else None,
                        )
                        for epoch in columns
                    ],
                    k="epochs",
                ),
            ),
            h("tbody", [_strip(node, columns, awaited) for node in shown]),
            class_="strip",
        ),
        _rest(nodes, shown),
        meters(waits, *_totals(scene)),
    )


def _barrier_word(awaited: set[int]) -> str:
    return f"; barrier at {', '.join(str(epoch) for epoch in sorted(awaited))}" if awaited else ""


def _concerned(nodes: Sequence[AppliedEpochs], last: int) -> list[AppliedEpochs]:
    """Return the nodes that lag or are down: in a large cluster the others are only counted."""
    return [node for node in nodes if node.epoch < last or not node.up][:MOST_NODES]


def _rest(nodes: Sequence[AppliedEpochs], shown: Sequence[AppliedEpochs]) -> Frag | None:
    listed = {node.node for node in shown}
    hidden = Counter(node.epoch for node in nodes if node.node not in listed)
    if not hidden:
        return None
    words = ", ".join(f"{count} at epoch {epoch}" for epoch, count in sorted(hidden.items()))
    return h("p", f"Not listed: {words}.", k="epochs-rest", class_="soft")


def _strip(row: AppliedEpochs, columns: range, awaited: set[int]) -> Frag:
    return h(
        "tr",
        h("th", row.node, None if row.up else h("small", " down"), scope="row", data_of=row.node),
        [_cell(row, epoch, epoch in awaited) for epoch in columns],
        k=f"strip:{row.node}",
    )


def _cell(row: AppliedEpochs, epoch: int, line: bool) -> Frag:
    if epoch <= row.epoch:
        sign, kind, word = "✓", "has", "applied"
    elif epoch in row.held:
        sign, kind, word = "…", "held", "held back above a gap"
    else:
        sign, kind, word = "", "lacks", "not yet"
    return h(
        "td",
        h("span", sign, class_=f"cell {kind}", role="img", aria_label=word),
        k=f"has:{row.node}:{epoch}",
        class_="line" if line else None,
    )


def meters(waits: Sequence[BarrierRow], count: int, unmet: int) -> Frag | None:
    """Draw a meter per barrier: how many of its replicas applied the epoch, and who did not.

    ``waits`` are those at hand of ``count``, of which ``unmet`` are not met.
    """
    if not waits:
        return None
    shown = waits[:MOST_BARRIERS]
    rest = _others(shown, count, unmet)
    return h(
        "div",
        h("ul", [_meter(row) for row in shown], class_="meters"),
        h("p", rest, class_="soft") if rest else None,
        k="meters",
    )


def _others(shown: Sequence[BarrierRow], count: int, unmet: int) -> str:
    """How many barriers are not among those shown, in words; nothing where all are."""
    rest = count - len(shown)
    lacking = unmet - sum(not row.met for row in shown)
    return f"{rest} more barriers, {lacking} of them not met" if rest else ""


def _meter(row: BarrierRow) -> Frag:
    count, of = len(row.acked), len(row.replicas)
    where = f"{row.label} {row.dc}" if row.dc else row.label
    missing = f"; missing {', '.join(row.missing)}" if row.missing else ""
    return h(
        "li",
        bulb("✓", "met") if row.met else bulb("…", "waits"),
        h("span", f"{where} "),
        h("b", f"{count} of {of}"),
        h("small", f" needs {row.needed}{missing}"),
        k=f"ack:{row.keyspace}:{row.left}:{row.right}:{row.dc or ''}:{row.epoch}",
        class_="meter",
    )


def epochs_text(scene: Scene) -> str:
    """Write who has applied what, and what each barrier waits for."""
    parts = []
    for node in facts.applied(scene.model, scene.state):
        held = f", holds back {', '.join(str(epoch) for epoch in node.held)}" if node.held else ""
        down = "" if node.up else " (down)"
        parts.append(f"  {node.node}: epoch {node.epoch}{held}{down}")
    waits = barriers(scene)
    for row in waits:
        where = f"{row.label} {row.dc}" if row.dc else row.label
        missing = f", missing {', '.join(row.missing)}" if row.missing else ""
        parts.append(
            f"  {'met' if row.met else 'waits'}: {row.keyspace} {where} epoch {row.epoch} "
            f"{len(row.acked)} of {len(row.replicas)}, needs {row.needed}{missing}"
        )
    rest = _others(waits, *_totals(scene))
    return "\n".join([*parts, f"  {rest}"] if rest else parts)


MOST_ROWS = 64
"""Barriers that are looked at, those that are not met first: a large ring has thousands."""


def gates(scene: Scene) -> Iterator[Gate]:
    """Yield a gate for each barrier before the next step of an operation, met or not."""
    for row in barriers(scene)[:MOST_ROWS]:
        yield Gate(
            range_key(row.left, row.right),
            f"{row.label} {row.dc}" if row.dc else row.label,
            f"applied epoch {row.epoch}",
            row.acked,
            row.missing,
            row.needed,
        )


EPOCHS = Panel("epochs", "Epochs and barriers", draw_epochs, epochs_text, tab="Epochs")
