"""What an operator asks at each step: what may begin, what one more death breaks, bytes per node.

These panels are shown for somebody's own ring (see ``kit.protocols.tcm.dry_run.history``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.errors import Refusal, counted
from kit.protocols.tcm.facts import dry_run as dry_run_facts
from kit.protocols.tcm.facts.dry_run import Load, Loss, OperationPair, Planned
from kit.views.declared import Column, Drawn, Table, panel_of
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import bulb, volume

MOST_NODES = 12
"""Nodes named in a line or a table; the others are counted."""
MOST_RANGES = 3


def own_ring(scene: Scene) -> bool:
    """Whether the scene is of somebody's own ring."""
    return dry_run_facts.is_dry_run(scene.model)


def _yes(good: bool, sign: str = "!") -> Frag:
    """A bulb: yes, no, or (with another sign) not yet."""
    return bulb("✓", "yes") if good else bulb(sign, "no" if sign == "!" else "not yet")


# -- what may begin -------------------------------------------------------------------------------


def _draw_planned(scene: Scene) -> Frag:
    """Draw each operation with what it does or waits for, and which two may go at once."""
    rows = dry_run_facts.planned(scene.model, scene.state)
    pairs = dry_run_facts.pairs(scene.model, scene.state)
    return h(
        "div",
        h("ul", [_operation(planned) for planned in rows]),
        h("h4", "May two begin and run at once?", class_="soft") if pairs else None,
        h("ul", [_pair(pair) for pair in pairs]) if pairs else None,
    )


def _operation(planned: Planned) -> Frag:
    waits = planned.refusal is not None
    return h(
        "li",
        _yes(not waits, "…") if planned.status == "planned" else _yes(True),
        h(
            "span",
            h("b", planned.operation.title),
            f" {_standing(planned)}",
            h("small", f" {_reason(planned.refusal)}") if planned.refusal is not None else None,
        ),
        k=f"planned:{planned.operation.text}",
        class_="lamp",
    )


def _standing(planned: Planned) -> str:
    if planned.status != "planned":
        return planned.status
    return "may begin now" if planned.refusal is None else "must wait:"


def _reason(refusal: Refusal) -> str:
    """Why, with who holds which range."""
    held = list(refusal.evidence[:MOST_RANGES])
    rest = len(refusal.evidence) - len(held)
    more = [f"and {counted(rest, 'range')} more"] if rest else []
    return "; ".join([*(held or [refusal.reason]), *more])


def _pair(pair: OperationPair) -> Frag:
    return h(
        "li",
        _yes(pair.refusal is None),
        h("span", _together(pair)),
        k=f"pair:{pair.first.text}:{pair.second.text}",
        class_="lamp" if pair.refusal is None else "lamp bad",
    )


def _together(pair: OperationPair) -> str:
    both = f"{pair.first.title} and {pair.second.title}"
    if pair.refusal is None:
        return f"{both}: yes, they have no range in common"
    return f"{both}: no; once the first has begun, {_reason(pair.refusal)}"


# -- one more death -------------------------------------------------------------------------------


def fragile(scene: Scene) -> tuple[int, int]:
    """How many nodes must not die next, and how many ranges, of the worst level, lack a quorum."""
    lost = dry_run_facts.losses(scene.model, scene.state)
    nodes = {name for loss in lost for name, _ in loss.nodes}
    return len(nodes), max((loss.broken for loss in lost), default=0)


def verdict(scene: Scene) -> str:
    """What one more death would do, in a sentence."""
    nodes, broken = fragile(scene)
    now = f"{counted(broken, 'range')} without some quorum now. " if broken else ""
    if not nodes:
        return f"{now}Whichever node dies next, no further quorum breaks."
    return f"{now}The death of any of {counted(nodes, 'node')} would break a quorum."


def _draw_verdict(scene: Scene) -> Frag:
    return h("p", _yes(not any(fragile(scene))), h("span", verdict(scene)), class_="lamp")


def _broken(loss: Loss) -> list[Kid]:
    return [_yes(loss.ok), h("span", f" {_breaks(loss)}")]


def _breaks(loss: Loss) -> str:
    if loss.ok:
        return "no single node"
    parts = []
    if loss.broken:
        parts.append(f"{counted(loss.broken, 'range')} broken now, such as {loss.broken_first}")
    if loss.nodes:
        shown = [f"{name} ({counted(count, 'range')})" for name, count in loss.nodes[:MOST_NODES]]
        rest = len(loss.nodes) - len(shown)
        more = f" and {counted(rest, 'more node')}" if rest else ""
        parts.append(f"{', '.join(shown)}{more}; such as {loss.first}")
    return "; ".join(parts)


# -- bytes and streams ----------------------------------------------------------------------------


def _loads(scene: Scene) -> tuple[Load, ...]:
    return dry_run_facts.traffic(scene.model, scene.state)


def _draw_traffic(scene: Scene) -> Frag:
    """Draw who sends and receives how much, and from whom to whom."""
    loads = _loads(scene)
    if not loads:
        return h("p", "Nothing has to be copied.", k="no-traffic", class_="soft")
    total, done = sum(load.sends for load in loads), sum(load.sent for load in loads)
    rest = len(loads) - len(_shown(loads))
    return h(
        "div",
        h("p", f"{busiest(loads)} ", h("progress", max=total, value=done), f" {done} of {total}"),
        h("div", LOADS.draw(scene), _matrix(scene, loads), class_="beside"),
        h("p", f"{counted(rest, 'more node')} not listed.", class_="soft") if rest else None,
    )


def _shown(loads: Sequence[Load]) -> list[Load]:
    """The nodes that send or receive the most."""
    if len(loads) <= 2 * MOST_NODES:
        return list(loads)
    targets = sorted(loads, key=lambda load: (-(load.receives_bytes or 0), -load.receives))
    return list(dict.fromkeys((*loads[:MOST_NODES], *targets[:MOST_NODES])))


def busiest(loads: Sequence[Load]) -> str:
    """The most loaded source, in words."""
    first = loads[0]
    size = "" if first.sends_bytes is None else f"{volume(first.sends_bytes)} in "
    return f"Most loaded source: {first.node}, {size}{counted(first.sends, 'stream')}."


def _sums(scene: Scene) -> dict[tuple[str, str], tuple[int, int | None]]:
    """Streams and bytes by source and target."""
    sums: dict[tuple[str, str], tuple[int, int | None]] = {}
    for copy in dry_run_facts.copies(scene.model, scene.state):
        count, size = sums.get((copy.source, copy.target), (0, None))
        more = size if copy.bytes is None else (size or 0) + copy.bytes
        sums[copy.source, copy.target] = (count + 1, more)
    return sums


def _matrix(scene: Scene, loads: Sequence[Load]) -> Frag | None:
    """Draw a row per source and a column per target; the smaller ones together."""
    sums = _sums(scene)
    sources = _most([load.node for load in loads if load.sends])
    by_received = sorted(loads, key=lambda load: (-(load.receives_bytes or 0), -load.receives))
    targets = _most([load.node for load in by_received if load.receives])
    if len(sources) * len(targets) < 2:
        return None
    cells: dict[tuple[str, str], tuple[int, int | None]] = {}
    for (source, target), (count, size) in sums.items():
        place = source if source in sources else OTHERS, target if target in targets else OTHERS
        known, much = cells.get(place, (0, None))
        cells[place] = (known + count, much if size is None else (much or 0) + size)
    return h(
        "table",
        h("caption", "From (rows) to (columns)"),
        h(
            "thead",
            h(
                "tr",
                h("th", "from", scope="col"),
                [h("th", name, scope="col", k=f"to:{name}") for name in targets],
                k="matrix:head",
            ),
        ),
        h(
            "tbody",
            [
                h(
                    "tr",
                    h("th", source, scope="row"),
                    [
                        h("td", _cell(cells.get((source, target))), k=f"cell:{source}:{target}")
                        for target in targets
                    ],
                    k=f"from:{source}",
                )
                for source in sources
            ],
        ),
        class_="figures",
    )


OTHERS = "others"


def _most(names: list[str]) -> list[str]:
    return names if len(names) <= MOST_NODES else [*names[: MOST_NODES - 1], OTHERS]


def _cell(traffic: tuple[int, int | None] | None) -> str:
    if traffic is None:
        return "–"
    count, size = traffic
    return counted(count, "stream") if size is None else volume(size)


def _traffic(scene: Scene) -> Iterator[str]:
    """The most loaded source, then a line per node."""
    loads = _loads(scene)
    if not loads:
        yield "nothing has to be copied"
        return
    yield busiest(loads)
    shown = _shown(loads)
    for load in shown:
        parts = []
        if load.sends:
            parts.append(f"sends {counted(load.sends, 'stream')}, {volume(load.sends_bytes)}")
        if load.receives:
            received = counted(load.receives, "stream")
            parts.append(f"receives {received}, {volume(load.receives_bytes)}")
        yield f"{load.node}: {'; '.join(parts)}; {done(load)} done"
    if len(shown) < len(loads):
        yield f"{counted(len(loads) - len(shown), 'more node')} not listed"


def done(load: Load) -> str:
    """How many of a node's streams are done."""
    return f"{load.sent + load.received} of {load.sends + load.receives}"


LOADS = Table(
    lambda scene: _shown(_loads(scene)),
    "load:{0.node}",
    (
        Column("node", "node"),
        Column("sends", "sends"),
        Column("bytes", lambda load: volume(load.sends_bytes) if load.sends else "", none=""),
        Column("receives", "receives"),
        Column("bytes", lambda load: volume(load.receives_bytes) if load.receives else "", none=""),
        Column("done", done),
    ),
    caption="Bytes and streams by node",
    of="{0.node}",
    marked=False,
    look="figures",
)
PLANNED = panel_of(
    *("planned", "Planned operations", Drawn(_draw_planned)), still=True, shown=own_ring, tab="Plan"
)
DEATHS = panel_of(
    "deaths",
    "If one more node dies",
    Drawn(_draw_verdict),
    Table(
        lambda scene: dry_run_facts.losses(scene.model, scene.state),
        lambda loss: f"loss:{','.join(loss.keyspaces)}:{loss.side}:{loss.level}",
        (
            Column("level", "level"),
            Column("of", lambda loss: f"{', '.join(loss.keyspaces)}: {loss.side}"),
            Column("breaks with", _broken),
        ),
        caption="One more death, by consistency level",
        marked=False,
    ),
    still=True,
    shown=own_ring,
    tab="Deaths",
)
TRAFFIC = panel_of(
    *("traffic", "Bytes and streams", Drawn(_draw_traffic, _traffic)),
    still=True,
    shown=own_ring,
    tab="Bytes",
)
