"""What an operator asks at each step: what may begin, what one more death breaks, bytes per node.

These panels are shown for somebody's own ring (see ``kit.protocols.tcm.dry_run.history``).
"""

from collections.abc import Mapping, Sequence
from functools import partial

from kit.errors import Refusal, counted, first_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.placement import GroupChange, Lines, changed_lines
from kit.views.declared import Column, Drawn, Table, panel_of
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import apart, beginning
from kit.views.panel import Panel, Scene
from kit.views.parts import SIGNS, bulb, lamp, soft, unlisted, volume
from kit.views.ring import choosable

MOST_NODES = 12
"""Nodes named in a line or a table; the others are counted."""
MOST_RANGES = 3
_yes = partial(lamp, yes="yes", no="no")


def own_ring(scene: Scene) -> bool:
    """Whether the scene is of somebody's own ring."""
    return scene.model.parameters.stored is not None


def _draw_planned(scene: Scene) -> Frag:
    pairs = scene.of(facts.pairs)
    return h(
        "div",
        h("ul", [_planned(scene, planned, "planned") for planned in scene.of(facts.planned)]),
        h("h4", "Can two run at once?", class_="soft") if pairs else None,
        h("ul", [_pair(pair) for pair in pairs]) if pairs else None,
    )


def _planned(scene: Scene, planned: facts.Planned, name: str) -> Frag:
    words: list[Kid] = [h("b", planned.operation.title), f" {standing(scene, planned)}"]
    if planned.refusal is not None and name == "planned":
        words.append(h("small", f": {_reason(planned.refusal)}"))
    signs = {"done": bulb("✓", "done"), "cancelled": bulb("!", "cancelled")}
    sign = signs.get(planned.status, bulb("…", "not yet"))
    return h("li", sign, h("span", words), k=f"{name}:{planned.operation.text}", class_="lamp")


def _reason(refusal: Refusal) -> str:
    held = list(refusal.evidence[:MOST_RANGES])
    rest = len(refusal.evidence) - len(held)
    more = [f"and {counted(rest, 'more range')}"] if rest else []
    return "; ".join([*(held or [refusal.reason]), *more])


def _pair(pair: facts.OperationPair) -> Frag:
    words, look = "yes, they have no range in common", "lamp"
    if pair.refusal is not None:
        words, look = f"no; once the first one has begun, {_reason(pair.refusal)}", "lamp bad"
    both = h("span", f"{pair.first.title} and {pair.second.title}: {words}")
    key = f"pair:{pair.first.text}:{pair.second.text}"
    return h("li", _yes(pair.refusal is None), both, k=key, class_=look)


def fragile(scene: Scene) -> tuple[int, int]:
    """How many nodes must not die next, and how many ranges, of the worst level, lack a quorum."""
    lost = scene.of(facts.losses)
    nodes = {name for loss in lost for name, _ in loss.nodes}
    return len(nodes), max((loss.broken for loss in lost), default=0)


def verdict(scene: Scene) -> str:
    """The effect of one more death, in a sentence."""
    nodes, broken = fragile(scene)
    now = f"Ranges without some quorum now: {broken}. " if broken else ""
    if not nodes:
        return f"{now}No further quorum breaks, whichever node dies next."
    return f"{now}Nodes whose death would break a quorum: {nodes}."


def _breaks(loss: facts.Loss) -> str:
    if loss.ok:
        return "no single node"
    parts = []
    if loss.broken:
        parts.append(f"{counted(loss.broken, 'range')} broken now, such as {loss.broken_first}")
    if loss.nodes:
        nodes = [f"{name} ({counted(count, 'range')})" for name, count in loss.nodes]
        parts.append(f"{first_of(nodes, MOST_NODES, 'node')}; for example {loss.first}")
    return "; ".join(parts)


def _draw_traffic(scene: Scene) -> Frag:
    if not (loads := scene.of(facts.traffic)):
        return h("p", "There is nothing to copy.", k="no-traffic", class_="soft")
    total, done = sum(load.sends for load in loads), sum(load.sent for load in loads)
    bar = h("progress", max=total, value=done)
    shown = _loads_to_show(loads)
    table = _loads(shown, {}, "load", "Bytes and streams by node")
    tables = h("div", table.draw(scene), _matrix(scene, loads), class_="beside")
    rest = unlisted(len(loads) - len(shown), "more node", "not listed.")
    return h("div", h("p", f"{busiest(loads)} ", bar, f" {done} of {total}"), tables, rest)


def _loads_to_show(loads: Sequence[facts.Load]) -> list[facts.Load]:
    if len(loads) <= 2 * MOST_NODES:
        return list(loads)
    return list(dict.fromkeys((*loads[:MOST_NODES], *_by_received(loads)[:MOST_NODES])))


def _by_received(loads: Sequence[facts.Load]) -> list[facts.Load]:
    return sorted(loads, key=lambda load: (-(load.receives_bytes or 0), -load.receives))


def busiest(loads: Sequence[facts.Load]) -> str:
    """The most loaded source, in words."""
    first = loads[0]
    size = "" if first.sends_bytes is None else f"{volume(first.sends_bytes)} in "
    much = f"{size}{counted(first.sends, 'stream')}"
    same = {(each.sends_bytes, each.sends) for each in loads if each.sends}
    senders = sum(bool(each.sends) for each in loads)
    if len(same) == 1 < senders:
        return f"{senders} sources send the same: {much} each."
    return f"Most loaded source: {first.node}, {much}."


def _matrix(scene: Scene, loads: Sequence[facts.Load]) -> Kid:
    sources = _most([load.node for load in loads if load.sends])
    targets = _most([load.node for load in _by_received(loads) if load.receives])
    if len(sources) * len(targets) < 2:
        return None
    cells: dict[tuple[str, str], tuple[int, int | None]] = {}
    for source, copy in scene.of(facts.copies):
        place = (
            source if source in sources else OTHERS,
            copy.target if copy.target in targets else OTHERS,
        )
        count, size = cells.get(place, (0, None))
        cells[place] = (count + 1, size if copy.bytes is None else (size or 0) + copy.bytes)
    nothing = 0, None
    rows = [(x, *(_cell(*cells.get((x, y), nothing)) for y in targets)) for x in sources]
    return Table(
        lambda scene: rows,
        "from:{0[0]}",
        ("from", *targets),
        caption="From (rows) to (columns)",
        marked=False,
        look="figures",
    ).draw(scene)


OTHERS = "others"


def _most(names: list[str]) -> list[str]:
    return names if len(names) <= MOST_NODES else [*names[: MOST_NODES - 1], OTHERS]


def _cell(streams: int, size: int | None) -> str:
    if not streams:
        return "–"
    return counted(streams, "stream") if size is None else volume(size)


def done(load: facts.Load) -> str:
    """How many of a node's streams are done."""
    return f"{load.sent + load.received} of {load.sends + load.receives}"


def _loads(loads: Sequence[facts.Load], names: Mapping[str, str], key: str, caption: str) -> Table:
    return Table(
        lambda scene: loads,
        lambda load: f"{key}:{load.node}",
        (
            Column(
                "node", lambda load: h("span", names.get(load.node, load.node), title=load.node)
            ),
            Column("sends", lambda load: _size(load.sends, load.sends_bytes)),
            Column("receives", lambda load: _size(load.receives, load.receives_bytes)),
            Column("done", done),
        ),
        caption=caption,
        of="{0.node}",
        marked=False,
        look="figures",
    )


def _size(streams: int, size: int | None) -> str:
    return _cell(streams, size) + (f" in {streams}" if size is not None and streams else "")


def _verdict(scene: Scene) -> Frag:
    return h("p", _yes(not any(fragile(scene))), h("span", verdict(scene)), class_="lamp")


PLANNED = panel_of(
    *("planned", "Planned operations", Drawn(_draw_planned)), still=True, shown=own_ring, tab="Plan"
)
DEATHS = panel_of(
    "deaths",
    "If one more node dies",
    Drawn(_verdict),
    Table(
        lambda scene: scene.of(facts.losses),
        lambda loss: f"loss:{','.join(loss.keyspaces)}:{loss.side}:{loss.level}",
        (
            Column("level", "level"),
            Column("keyspace", lambda loss: f"{', '.join(loss.keyspaces)}: {loss.side}"),
            Column("breaks with", lambda loss: [_yes(loss.ok), h("span", f" {_breaks(loss)}")]),
        ),
        caption="One more death, by consistency level",
        marked=False,
    ),
    still=True,
    shown=own_ring,
    tab="Deaths",
)
TRAFFIC = panel_of(
    *("traffic", "Bytes and streams", Drawn(_draw_traffic)), still=True, shown=own_ring, tab="Bytes"
)


MOST_FRAGILE = 24
MOST_LOADS = 4
MOST_CHANGED = 12


def draw_rehearsal(scene: Scene) -> Frag:
    """Draw the four answers, one under the other, the most urgent first."""
    shared = beginning(scene.model.names)
    return h(
        "div",
        h("ul", [_planned(scene, x, "rehearsed") for x in scene.of(facts.planned)], class_="lamps"),
        _deaths(scene),
        _bytes(scene),
        [_changed(scene, keyspace) for keyspace in facts.keyspaces(scene.model)],
        draw_nodes(scene),
        soft(f"All node names begin with {shared}" if shared else ""),
    )


MOST_LISTED = 128
"""Nodes that can be chosen one by one."""


def draw_nodes(scene: Scene) -> Frag:
    """Draw a row for each node: one that is chosen lights up wherever it is shown."""
    m, state = scene.model, scene.state

    def work() -> Frag:
        nodes = [node for node in scene.of(facts.nodes) if node.tokens]
        short, rest = apart([node.name for node in nodes[:MOST_LISTED]]), len(nodes) - MOST_LISTED
        table = Table(
            lambda scene: nodes[:MOST_LISTED],
            "rehearsed node:{0.name}",
            (
                Column("node", lambda each: h("span", short[each.name], title=each.name,
                                              **choosable(each.name, each.name))),
                Column("tokens", lambda each: len(each.tokens)),
                Column("place", lambda each: f"{each.dc}, rack {each.rack}"),
                Column("state", lambda each: each.status if each.up else f"{each.status}, down"),
            ),
            caption="Nodes: choose one to show in the ring",
            of="{0.name}",
            marked=False,
        )  # fmt: skip
        more = soft(f"and {counted(rest, 'more node')}" if rest > 0 else "")
        return h("div", table.draw(scene), more, k="rehearsed nodes", data_kept=True)

    return facts.memo(m, ("rehearsed nodes", state.tcm.events, state.tcm.down), work)


def standing(scene: Scene, planned: facts.Planned) -> str:
    """The state of an operation, and its next step."""
    if planned.status in ("done", "cancelled"):
        return f"is {planned.status}"
    if planned.status == "planned":
        return "must wait" if planned.refusal else "can begin now"
    node = planned.operation.node
    row = next(row for row in scene.of(facts.operations) if row.node == node)
    left = [step.text for step in row.steps if step.status != "done"]
    streams = sum(not stream.done for stream in row.streams)
    unmet = row.awaiting.unmet
    waits = [f"{counted(streams, 'range')} to copy"] * bool(streams)
    waits += [f"{counted(unmet, 'barrier')} to meet"] * bool(unmet)
    return ", ".join([f"next: {left[0]}" if left else "ends", *waits])


def _deaths(scene: Scene) -> Frag:
    ranges: dict[str, int] = {}
    for loss in scene.of(facts.losses):
        for name, count in loss.nodes:
            ranges[name] = max(ranges.get(name, 0), count)
    worst = sorted(ranges, key=lambda name: -ranges[name])
    rest = len(worst) - MOST_FRAGILE
    return h(
        "div",
        _verdict(scene),
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
    short = apart(scene.model.names).get(name, name)
    return h("span", f"{sign}{short}", title=name, class_="chip", data_of=name)


def _bytes(scene: Scene) -> Frag:
    if not (loads := scene.of(facts.traffic)):
        return h("p", "There is nothing to copy.", k="rehearsed bytes", class_="soft")

    def weight(load: facts.Load) -> tuple[int, int]:
        moved = (load.sends_bytes or 0) + (load.receives_bytes or 0)
        return -moved, -(load.sends + load.receives)

    shown = sorted(loads, key=weight)[:MOST_LOADS]
    table = _loads(
        shown, apart(scene.model.names), "rehearsed load", "Bytes by node, most loaded first"
    )
    rest = unlisted(len(loads) - len(shown), "more node", "in the Bytes tab.")
    return h("div", table.draw(scene), rest, k="rehearsed bytes")


def _changed(scene: Scene, keyspace: str) -> Frag | None:
    changed, count = changed_lines(scene, keyspace)
    if not count:
        return None
    shown = changed[:MOST_CHANGED]
    table = Table(
        lambda scene: shown,
        lambda line: f"rehearsed row:{keyspace}:{line.row.left}:{line.row.right}",
        (
            Column("range up to", _upper),
            Column("reads", lambda line: _group(scene, line.reads)),
            Column("writes", lambda line: _group(scene, line.writes)),
        ),
        caption=f"{keyspace}: {counted(count, 'range')} changed in this step",
        marked=False,
    )
    rest = unlisted(count - len(shown), "more range", "in the Placements tab.")
    return h("div", table.draw(scene), rest, k=f"rehearsed:{keyspace}")


def _upper(line: Lines) -> Frag:
    label = line.row.label
    return h("span", label.rpartition(", ")[2].rstrip("]"), title=label)


def _group(scene: Scene, group: GroupChange) -> list[Kid]:
    if not group.any:
        return [h("span", f"{len(group.order)} as before", class_="soft")]
    nodes = [_node(scene, name, SIGNS["added"]) for name in group.added]
    nodes += [_node(scene, name, SIGNS["removed"]) for name in group.removed]
    return [part for node in nodes for part in (node, " ")]


def rehearsal_text(scene: Scene) -> str:
    """Write the four answers with full names; bytes are a panel of their own."""
    lines = [f"{each.operation.title} {standing(scene, each)}" for each in scene.of(facts.planned)]
    lines.append(verdict(scene))
    for keyspace in facts.keyspaces(scene.model):
        changed, count = changed_lines(scene, keyspace)
        lines.append(f"{keyspace}: {counted(count, 'range')} changed in this step")
        lines += [f"  {line.words('; ')}" for line in changed[:MOST_CHANGED]]
    return "\n".join(f"  {line}" for line in lines)


REHEARSAL = Panel(
    "rehearsal", "Rehearsal", draw_rehearsal, rehearsal_text, shown=own_ring, tab="Rehearsal"
)
