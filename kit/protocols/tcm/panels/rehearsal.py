"""A rehearsal on one screen: what comes next, who must not die, bytes by node, changed ranges.

Each is told in full by a tab of its own (``dry_run``, ``placement``). Names are as short as tells
the nodes apart; each carries its full one, and lights its node in the ring.
"""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.tcm.facts import dry_run as dry_run_facts
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.dry_run import Load, Planned
from kit.protocols.tcm.panels.dry_run import done, own_ring, verdict
from kit.protocols.tcm.panels.names import draw_nodes
from kit.protocols.tcm.panels.placement import GroupChange, Lines, changed_lines
from kit.views.declared import Column, Table
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import apart, beginning
from kit.views.panel import Panel, Scene
from kit.views.parts import SIGNS, bulb, volume

MOST_FRAGILE = 24
MOST_LOADS = 4
MOST_CHANGED = 12


def draw_rehearsal(scene: Scene) -> Frag:
    """Draw the four answers, one under the other, the most urgent first."""
    names = scene.model.names
    shared = beginning(names)
    return h(
        "div",
        h("ul", [_operation(scene, planned) for planned in _planned(scene)], class_="lamps"),
        _deaths(scene),
        _bytes(scene),
        [_changed(scene, keyspace) for keyspace in facts.keyspaces(scene.model)],
        draw_nodes(scene),
        h("p", f"The nodes' names begin with {shared}", class_="soft") if shared else None,
    )


def _planned(scene: Scene) -> tuple[Planned, ...]:
    return dry_run_facts.planned(scene.model, scene.state)


def _operation(scene: Scene, planned: Planned) -> Frag:
    done = planned.status == "done"
    return h(
        "li",
        bulb("✓", "done") if done else bulb("…", "not yet"),
        h("span", h("b", planned.operation.title), f" {standing(scene, planned)}"),
        k=f"rehearsed:{planned.operation.text}",
        class_="lamp",
    )


def standing(scene: Scene, planned: Planned) -> str:
    """Where an operation is, and what comes next of it."""
    if planned.status == "done":
        return "is done"
    if planned.status == "planned":
        return "must wait" if planned.refusal else "may begin now"
    row = next(
        row
        for row in facts.operations(scene.model, scene.state)
        if row.node == planned.operation.node
    )
    left = [step.text for step in row.steps if step.status != "done"]
    streams = sum(not stream.done for stream in row.streams)
    unmet = row.awaiting.unmet
    waits = [f"{counted(streams, 'range')} to copy"] * bool(streams)
    waits += [f"{counted(unmet, 'barrier')} to meet"] * bool(unmet)
    return ", ".join([f"next: {left[0]}" if left else "ends", *waits])


def _deaths(scene: Scene) -> Frag:
    lost = dry_run_facts.losses(scene.model, scene.state)
    ranges: dict[str, int] = {}
    for loss in lost:
        for name, count in loss.nodes:
            ranges[name] = max(ranges.get(name, 0), count)
    broken = any(loss.broken for loss in lost)
    worst = sorted(ranges, key=lambda name: -ranges[name])
    rest = len(worst) - MOST_FRAGILE
    return h(
        "div",
        h(
            "p",
            bulb("!", "no") if ranges or broken else bulb("✓", "yes"),
            h("span", h("b", verdict(scene))),
            class_="lamp",
        ),
        h(
            "p",
            [(_node(scene, name), " ") for name in worst[:MOST_FRAGILE]],
            f"and {counted(rest, 'more node')}" if rest > 0 else None,
        )
        if worst
        else None,
        k="rehearsed deaths",
    )


def _node(scene: Scene, name: str, sign: str = "") -> Frag:
    return h("span", f"{sign}{_short(scene, name)}", title=name, class_="chip", data_of=name)


def _short(scene: Scene, name: str) -> str:
    return apart(scene.model.names).get(name, name)


def _bytes(scene: Scene) -> Frag:
    loads = dry_run_facts.traffic(scene.model, scene.state)
    if not loads:
        return h("p", "Nothing has to be copied.", k="rehearsed bytes", class_="soft")
    shown = sorted(loads, key=_weight)[:MOST_LOADS]
    rest = len(loads) - len(shown)
    return h(
        "div",
        Table(
            lambda scene: shown,
            "rehearsed load:{0.node}",
            (
                Column("node", lambda load: _named(scene, load.node)),
                Column("sends", lambda load: _size(load.sends, load.sends_bytes)),
                Column("receives", lambda load: _size(load.receives, load.receives_bytes)),
                Column("done", done),
            ),
            caption="Bytes by node, the most loaded first",
            of="{0.node}",
            marked=False,
            look="figures",
        ).draw(scene),
        h("p", f"{counted(rest, 'more node')} in the tab Bytes.", class_="soft") if rest else None,
        k="rehearsed bytes",
    )


def _weight(load: Load) -> tuple[int, int]:
    moved = (load.sends_bytes or 0) + (load.receives_bytes or 0)
    return -moved, -(load.sends + load.receives)


def _named(scene: Scene, name: str) -> Frag:
    return h("span", _short(scene, name), title=name)


def _size(streams: int, size: int | None) -> str:
    if not streams:
        return "–"
    return counted(streams, "stream") if size is None else f"{volume(size)} in {streams}"


def _changed(scene: Scene, keyspace: str) -> Frag | None:
    """Draw the ranges that the step changed, each by its last token; none: nothing."""
    changed, count = changed_lines(scene, keyspace)
    if not count:
        return None
    shown = changed[:MOST_CHANGED]
    rest = count - len(shown)
    return h(
        "div",
        Table(
            lambda scene: shown,
            f"rehearsed row:{keyspace}:{{0.row.left}}:{{0.row.right}}",
            (
                Column("range up to", _upper),
                Column("reads", lambda line: _group(scene, line.reads)),
                Column("writes", lambda line: _group(scene, line.writes)),
            ),
            caption=f"{keyspace}: {counted(count, 'range')} changed in this step",
            marked=False,
        ).draw(scene),
        h("p", f"{counted(rest, 'more range')} in the tab Placements.", class_="soft")
        if rest
        else None,
        k=f"rehearsed:{keyspace}",
    )


def _upper(line: Lines) -> Frag:
    label = line.row.label
    return h("span", label.rpartition(", ")[2].rstrip("]"), title=label)


def _group(scene: Scene, group: GroupChange) -> list[Kid]:
    """Who came and who went; of an unchanged group, how many there are."""
    if not group.any:
        return [h("span", f"{len(group.order)} as before", class_="soft")]
    nodes = [_node(scene, name, SIGNS["added"]) for name in group.added]
    nodes += [_node(scene, name, SIGNS["removed"]) for name in group.removed]
    return [part for node in nodes for part in (node, " ")]


def rehearsal_text(scene: Scene) -> str:
    """Write the four answers with full names; bytes are a panel of their own."""
    lines = [f"  {p.operation.title} {standing(scene, p)}" for p in _planned(scene)]
    lines.append(f"  {verdict(scene)}")
    for keyspace in facts.keyspaces(scene.model):
        changed, count = changed_lines(scene, keyspace)
        lines.append(f"  {keyspace}: {counted(count, 'range')} changed in this step")
        lines += [f"    {_words(line)}" for line in changed[:MOST_CHANGED]]
    return "\n".join(lines)


def _words(line: Lines) -> str:
    return f"{line.row.label} reads {line.reads.text()}; writes {line.writes.text()}"


REHEARSAL = Panel(
    "rehearsal", "Rehearsal", draw_rehearsal, rehearsal_text, shown=own_ring, tab="Rehearsal"
)
