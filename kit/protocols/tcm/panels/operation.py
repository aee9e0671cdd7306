"""Operations under way: state diagram, steps, streams and locks.

A merge joins neighbouring ranges that are equal; the others stay apart. Source: CEP-21,
"Decommission" (leaving that out is harmless).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import length
from kit.protocols.tcm.rules.metadata import Advance
from kit.protocols.tcm.rules.operations import Edition, Kind, transitions
from kit.protocols.tcm.tcm import Stream
from kit.views.actions import mark, refusal_text
from kit.views.declared import Column, Drawn, Table, panel_of
from kit.views.diagrams import Standing, StateDiagram, diagram_text, draw_diagram
from kit.views.fragment import Frag, Kid, h
from kit.views.gate import Gate
from kit.views.panel import Panel, Scene
from kit.views.parts import act_button, bulb, scroll, soft, volume

COLUMNS = 6
MOST_NODES = 24


def barriers(scene: Scene) -> list[facts.BarrierRow]:
    """Return the barriers of all operations under way, unmet ones first."""
    rows = (row for operation in scene.of(facts.operations) for row in operation.barriers)
    return sorted(rows, key=lambda row: row.met)


def draw_epochs(scene: Scene) -> Frag:
    """Draw a strip per node, with the barrier as a line before the epoch it asks for."""
    last, nodes, waits = (
        scene.model.newest_epoch(scene.state),
        scene.of(facts.applied),
        barriers(scene),
    )
    awaited = {row.epoch for row in waits if not row.met} or {row.epoch for row in waits}
    start = last - len(scene.of(facts.log))
    columns = range(max(start, last - COLUMNS + 1), last + 1)
    shown = list(nodes)
    if len(nodes) > MOST_NODES:  # those that lag or are down; the others are only counted
        shown = [node for node in nodes if node.epoch < last or not node.up][:MOST_NODES]
    strips = [
        h(
            "tr",
            h("th", x.node, None if x.up else h("small", " down"), scope="row", data_of=x.node),
            [_cell(x, epoch, epoch in awaited) for epoch in columns],
            k=f"strip:{x.node}",
        )
        for x in shown
    ]
    barrier = f"; barrier at {', '.join(map(str, sorted(awaited)))}" if awaited else ""
    head = [
        h("th", str(at), k=f"epoch:{at}", scope="col", class_="line" if at in awaited else None)
        for at in columns
    ]
    listed = {node.node for node in shown}
    hidden = Counter(node.epoch for node in nodes if node.node not in listed)
    words = ", ".join(
        f"{counted(count, 'node')} at epoch {epoch}" for epoch, count in sorted(hidden.items())
    )
    return scroll(
        "applied epochs",
        h(
            "table",
            h("caption", f"Applied epochs{barrier}"),
            h("thead", h("tr", h("th", "node", scope="col"), head, k="epochs")),
            h("tbody", strips),
            class_="strip",
        ),
        soft(f"Not listed: {words}." if words else "", "epochs-rest"),
        meters(waits[:MOST_BARRIERS], _others(scene, waits[:MOST_BARRIERS])),
    )


def _cell(row: facts.AppliedEpochs, epoch: int, line: bool) -> Frag:
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


def meters(shown: Sequence[facts.BarrierRow], rest: str) -> Frag | None:
    """Draw a meter per barrier: how many of its replicas applied the epoch, and who did not."""
    if not shown:
        return None
    drawn = h("ul", [_gauge(row) for row in shown], class_="meters")
    return h("div", drawn, soft(rest), k="meters")


def _others(scene: Scene, shown: Sequence[facts.BarrierRow]) -> str:
    waiting = [row.awaiting for row in scene.of(facts.operations)]
    rest = sum(each.count for each in waiting) - len(shown)
    lacking = sum(each.unmet for each in waiting) - sum(not row.met for row in shown)
    return f"{counted(rest, 'more barrier')} ({lacking} not met)" if rest else ""


def _gauge(row: facts.BarrierRow) -> Frag:
    missing = f"; missing {', '.join(row.missing)}" if row.missing else ""
    return h(
        "li",
        bulb("✓", "met") if row.met else bulb("…", "waits"),
        h("span", f"{row.keyspace} {row.where} "),
        h("b", f"{len(row.acked)} of {len(row.replicas)}"),
        h("small", f" needs {row.needed}{missing}"),
        k=f"ack:{row.keyspace}:{row.left}:{row.right}:{row.dc or ''}:{row.epoch}",
        class_="meter",
    )


MOST_GATES = 64
"""Barriers that are looked at, those that are not met first: a large ring has thousands."""


def gates(scene: Scene) -> Iterator[Gate]:
    """Yield a gate for each barrier before the next step of an operation, met or not."""
    m, s = scene.model, scene.state
    waits = ((op.node, row) for op in scene.of(facts.operations) for row in op.barriers)
    for node, row in sorted(waits, key=lambda wait: wait[1].met)[:MOST_GATES]:
        yield Gate(
            facts.range_key(row.left, row.right),
            m.label(s, m.wrap["tcm"](Advance(node))),
            f"applied epoch {row.epoch}",
            row.acked,
            row.missing,
            row.needed,
            where=row.where,
        )


EPOCHS = Panel("epochs", "Epochs and barriers", draw_epochs, tab="Epochs")


MOST = 40
MOST_BARRIERS = 8
MOST_ROWS = 64
"""In a table with more rows the pairs of neighbours are not listed."""
MARKS = {"done": "✓", "next": "→", "pending": "·"}
BOXES = {"done": "x", "next": ">", "pending": " "}


def diagram(kind: Kind, edition: Edition) -> StateDiagram:
    """The state diagram of an operation; cancelling leads back."""
    table = transitions(kind, edition)
    rollbacks = frozenset(event for _, event, _ in table if event.startswith("cancel"))
    return StateDiagram(f"state-{kind}-{edition}", f"states of {kind}", table, rollbacks)


def draw_operations(scene: Scene) -> Frag:
    """Draw each operation: its diagram with the current state lit, and its steps."""
    if not (operations := scene.of(facts.operations)):
        return h("p", "No operation is in progress.", k="no-operation", class_="soft")
    return h("div", [_operation(scene, operation) for operation in operations])


def _operation(scene: Scene, operation: facts.OperationRow) -> Frag:
    steps = [_step(scene, operation, i) for i in range(len(operation.steps))]
    return h(
        "div",
        h("p", h("b", operation.title), " (cancelling)" if operation.cancelling else ""),
        soft(operation.asks),
        draw_diagram(_standing(scene, operation), f"op:{operation.node}:"),
        h("ol", steps, class_="steps"),
        k=f"op:{operation.node}",
        class_="under-way",
    )


def _standing(scene: Scene, operation: facts.OperationRow) -> Standing:
    machine = diagram(cast(Kind, operation.kind), scene.model.parameters.edition)
    forwards = [way for way in machine.transitions if way[1] not in machine.rollbacks]
    usual = (forwards[0][0], *(after for _, _, after in forwards))
    if operation.state in usual:
        return Standing(machine, usual[: usual.index(operation.state) + 1])
    source = next(before for before, _, after in machine.transitions if after == operation.state)
    return Standing(machine, (*usual[: usual.index(source) + 1], operation.state))


def operations_text(scene: Scene) -> str:
    """Write the operations, their steps, and their diagrams as text."""
    parts = []
    for operation in scene.of(facts.operations):
        parts.append(f"  {operation.title}{' (cancelling)' if operation.cancelling else ''}")
        parts += [f"    {operation.asks}"] * bool(operation.asks)
        for i, step in enumerate(operation.steps):
            parts.append(f"    [{BOXES[step.status]}] {i + 1} {step.text}")
            parts += [f"          {_acknowledged(row)}" for row in _waits(operation, step)]
            parts += [f"          {words}" for _, words, _ in _pairs(scene, operation, step)]
        lines = diagram_text(_standing(scene, operation)).splitlines()
        parts += [f"    {line}" for line in lines]
    return "\n".join(parts) or "  no operation is under way"


# -- the steps as numbered buttons, with what the next one waits for below it ----------------------


def _step(scene: Scene, operation: facts.OperationRow, i: int) -> Frag:
    step = operation.steps[i]
    key = f"op:{operation.node}:step:{i}:{step.name}"
    action = scene.model.wrap["tcm"](Advance(operation.node))
    why = _held_back(scene, operation, i, action)
    act = f"do:{mark(scene.model, action)}"
    return h(
        "li",
        h(
            "span",
            MARKS[step.status],
            class_=f"mark {step.status}",
            role="img",
            aria_label=step.status,
        ),
        act_button(f"{i + 1} {step.text}", f"{key}:button", act, why),
        [_meter(row, key) for row in _waits(operation, step)],
        [
            h(
                "div",
                h("small", words),
                k=f"{key}:pair:{at}",
                class_="soft" if apart else None,
                aria_disabled="true" if apart else None,
            )
            for at, words, apart in _pairs(scene, operation, step)
        ],
        k=key,
        class_=step.status,
    )


def _held_back(scene: Scene, operation: facts.OperationRow, i: int, action: object) -> str | None:
    if operation.steps[i].status == "done":
        return "This event has already been committed."
    if operation.steps[i].status == "pending":
        return f"Event {i} comes first: {operation.steps[i - 1].text}."
    refusal = scene.refusal(action)
    return refusal_text(refusal) if refusal else scene.closed


def _waits(operation: facts.OperationRow, step: facts.StepRow) -> tuple[facts.BarrierRow, ...]:
    if step.status != "next":
        return ()
    return tuple(sorted(operation.barriers, key=lambda row: row.met))[:MOST_BARRIERS]


def _meter(row: facts.BarrierRow, key: str) -> Frag:
    return h(
        "label",
        h("progress", max=row.needed, value=min(len(row.acked), row.needed)),
        h("small", f" {_acknowledged(row)}"),
        k=f"{key}:ack:{row.keyspace}:{row.left}:{row.right}:{row.dc or ''}",
        class_="wait",
    )


def _acknowledged(row: facts.BarrierRow) -> str:
    acked = f"{len(row.acked)} of {len(row.replicas)} acknowledged"
    return f"{row.where}: {acked}, {row.needed} needed"


def _pairs(
    scene: Scene, operation: facts.OperationRow, step: facts.StepRow
) -> Iterator[tuple[int, str, bool]]:
    """Where neighbours meet, what a merge would make of them, and whether it leaves them apart."""
    m, s, name = scene.model, scene.state, facts.keyspaces(scene.model)[0]
    group = m.snapshot(s).metadata.group_of(name)
    if step.name != "merge" or step.status == "done" or group is None:
        return
    if (length(m, s, name) or 0) > MOST_ROWS:
        return
    given_up = {
        bound
        for planned in m.tcm.under_way(s.tcm, operation.node).steps
        if planned.name == "merge"
        for bound in planned.deltas[group].merges
    }
    held = [row for row in facts.rows(m, s, name) if row.locked_by == operation.title]
    for row, other in pairwise(held if given_up else ()):
        if row.right == other.left:
            apart = "" if row.right in given_up else "a token lies between them"
            if (row.reads, row.writes) != (other.reads, other.writes):
                apart = "their replicas differ"
            becomes = f"stay separate: {apart}" if apart else "become one range"
            yield row.right, f"{row.label} and {other.label} {becomes}", bool(apart)


def all_streams(scene: Scene) -> list[tuple[str, facts.StreamRow]]:
    """Every stream of the operations under way, with its node; done ones by who was up then."""

    def work() -> list[tuple[str, facts.StreamRow]]:
        rows = [(each.node, row) for each in scene.of(facts.operations) for row in each.streams]
        then = _sources_then(scene) if rows else {}
        for at, (node, row) in enumerate(rows if then else ()):
            if row.done and (sources := then.get((node, *_of(row)))):
                rows[at] = node, replace(row, sources=sources)
        return rows

    return scene.once("streams", work)


def _of(row: facts.StreamRow) -> tuple[str, int, str]:
    return row.keyspace, row.right, row.target


def _sources_then(scene: Scene) -> dict[tuple[str, str, int, str], tuple[str, ...]]:
    m, then = scene.model, dict[tuple[str, str, int, str], tuple[str, ...]]()
    for step in scene.way():
        action = getattr(step.action, "action", step.action)  # the operator's, in a composition
        if not isinstance(action, Stream):
            continue
        node, before, after = action.node, step.before.tcm, step.after.tcm
        done = m.tcm.streamed(before, node)
        if not done:  # of an operation that was cancelled before nothing counts
            then = {key: names for key, names in then.items() if key[0] != node}
        if before.down != scene.state.tcm.down:
            new, sequence = m.tcm.streamed(after, node) & ~done, m.tcm.under_way(before, node)
            rows = facts.to_stream(m, step.before, sequence, new)
            then |= {(node, *_of(row)): row.sources for row in rows if row.done}
    return then


def _progress(scene: Scene) -> Frag | None:
    done = [row.done for _, row in all_streams(scene)]
    bar = h("progress", max=len(done), value=sum(done))
    return h("label", f"{sum(done)} of {len(done)} ranges ", bar) if done else None


def _pending_first(scene: Scene) -> list[tuple[str, facts.StreamRow]]:
    rows = all_streams(scene)
    return sorted(rows, key=lambda pair: pair[1].done) if len(rows) > MOST else rows


def _copied(pair: tuple[str, facts.StreamRow]) -> list[Kid]:
    sign = bulb("✓", "done") if pair[1].done else bulb("…", "waits")
    return [sign, f" {', '.join(pair[1].sources) or 'nobody'} → {pair[1].target}"]


OPERATION = Panel("operation", "Operations", draw_operations, operations_text)
STREAMS = panel_of(
    "streams",
    "Streams",
    Drawn(_progress),
    Table(
        _pending_first,
        "stream:{0[0]}:{0[1].keyspace}:{0[1].left}:{0[1].right}:{0[1].target}",
        (
            Column("from → to", _copied),
            Column("range", lambda pair: f"{pair[1].keyspace} {pair[1].label}"),
            Column("bytes", lambda pair: pair[1].bytes and volume(pair[1].bytes)),
        ),
        empty="There is nothing to stream.",
        most=MOST,
        thing="range",
    ),
    optional=True,
)
LOCKS = panel_of(
    "locks",
    "Range locks",
    Table(
        lambda scene: [
            (lock.keyspace, lock.label, operation.title)
            for operation in scene.of(facts.operations)
            for lock in operation.locks
        ],
        "held:{0[2]}:{0[0]}:{0[1]}",
        ("keyspace", "range", "locked by"),
        empty="No range is locked.",
        most=MOST,
        thing="range",
    ),
    optional=True,
    tab="Locks",
)
