"""The ring of tokens: a shape and a colour a rack, dashed while a node comes or goes.

Locked ranges are striped. Arrows lead from one range to its replicas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.flows import LOG, ends, spot
from kit.protocols.tcm.facts.flows import RING as RING_KEY
from kit.protocols.tcm.facts.large import spread
from kit.protocols.tcm.facts.moment import LockRow, NodeRow
from kit.protocols.tcm.panels.arrows import arrows, arrows_words
from kit.protocols.tcm.panels.circle import MIDDLE, RADIUS, SIZE, point, share
from kit.protocols.tcm.panels.short_names import tags
from kit.ring.tokens import TokenSpace
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene

MOST_LABELS = 40
MOST_NAMES = 128
MOST_ARCS = 128
MOST_TICKS = 720
"""Ticks that can be told apart on the ring; more tokens than FINEST are drawn so coarsely."""
FINEST = 7200
SHAPES = ("circle", "square", "diamond", "triangle", "hexagon", "pentagon")
SIDES = {"square": 4, "diamond": 4, "triangle": 3, "hexagon": 6, "pentagon": 5}
TURN = {"square": math.pi / 4}


class TokenPlace(Struct, frozen=True):
    """A token of a node on the picture; ``inner``: it stands inside, before its present owner."""

    node: NodeRow
    token: int
    share: float
    inner: bool = False


def places(scene: Scene) -> list[TokenPlace]:
    """Return every token with its share of the line, from 0 (its start) to 1 (its end)."""
    space, nodes = facts.space(scene.model), facts.nodes(scene.model, scene.state)
    owned = Counter(token for node in nodes for token in node.tokens)
    return [
        TokenPlace(
            node, token, share(space, token), owned[token] > 1 and node.status == "replacing"
        )
        for node in nodes
        for token in (*node.tokens, *node.coming)
    ]


def shapes(scene: Scene) -> dict[str, str]:
    """Give every rack a shape; from the seventh rack on shapes repeat."""
    nodes = facts.nodes(scene.model, scene.state)
    racks = sorted({node.rack for node in nodes})
    return {rack: SHAPES[i % len(SHAPES)] for i, rack in enumerate(racks)}


def locked(scene: Scene) -> list[LockRow]:
    """Return the ranges that operations hold, each once."""
    rows = {
        (lock.left, lock.right): lock
        for operation in facts.operations(scene.model, scene.state)
        for lock in operation.locks
    }
    return [rows[bounds] for bounds in sorted(rows)]


def draw_ring(scene: Scene) -> Frag:
    """Draw tokens clockwise from the top: a shape a rack, dashed while a node comes or goes."""
    space = facts.space(scene.model)
    by_rack = shapes(scene)
    count = token_count(scene)
    many = count > MOST_LABELS
    return h(
        "div",
        h(
            "svg",
            h("circle", cx=MIDDLE, cy=MIDDLE, r=RADIUS, k=RING_KEY, class_="track"),
            h("path", d=f"M{MIDDLE} {MIDDLE - RADIUS - 7}v14", class_="tick"),
            h(
                "text",
                f"{space.label(space.low)} | {space.label(space.high)}",
                x=MIDDLE,
                y=MIDDLE - RADIUS - 12,
                text_anchor="middle",
                class_="soft",
            ),
            h("g", _arcs(space, locked(scene)), k="ring-locks"),
            None if many else h("g", arrows(scene), k="ring-arrows"),
            _log(scene),
            _ticks(scene, count) if many else _spots(scene, places(scene), by_rack),
            _concerned(scene, by_rack) if many else None,
            viewBox=f"-10 16 {SIZE + 20} {SIZE - 30}",
            role="group",
            aria_label=f"token ring: {ring_words(scene)}",
            class_="ring-drawing",
        ),
        _names(scene) if many else None,
        h("p", _legend(scene, by_rack, count), k="ring-legend", class_="soft"),
        None if many else h("p", arrows_words(scene), k="ring-arrows-words", class_="soft"),
    )


def token_count(scene: Scene) -> int:
    """How many tokens there are."""
    return sum(len(node.tokens) for node in facts.nodes(scene.model, scene.state))


def _log(scene: Scene) -> Frag:
    """Draw the log in the middle, with its newest epoch: entries come from there."""
    return h(
        "g",
        h("title", "the log: its newest epoch"),
        h("rect", x=-38, y=-12, width=76, height=24, rx=4, class_="box"),
        h("text", f"epoch {facts.epoch(scene.model, scene.state)}", text_anchor="middle", dy=4,
          class_="on"),
        k=LOG,
        transform=f"translate({MIDDLE:.0f} {MIDDLE:.0f})",
    )  # fmt: skip


def _concerned(scene: Scene, by_rack: dict[str, str]) -> Frag | None:
    """Of a large ring draw the few tokens between which something travels in this step."""
    named = ends(scene.flows())
    space = facts.space(scene.model)
    spots = [
        TokenPlace(node, token, share(space, token))
        for node in facts.nodes(scene.model, scene.state)
        if any(key.startswith(spot(node.name, "")) for key in named)
        for token in (*node.tokens, *node.coming)
        if spot(node.name, token) in named
    ]
    return _spots(scene, spots[:MOST_LABELS], by_rack, "ring-concerned") if spots else None


def _spots(
    scene: Scene, spots: list[TokenPlace], by_rack: dict[str, str], key: str = "ring-nodes"
) -> Frag:
    """Draw tokens as buttons with their nodes' names."""
    letters = _letters(scene)
    short = tags(node.name for node in facts.nodes(scene.model, scene.state))
    words = {
        node.name: (short[node.name], letters.get(node.dc, ""))
        for node in {place.node for place in spots}
    }
    return h(
        "g",
        [
            _spot(place, by_rack, *words[place.node.name], first=i == 0)
            for i, place in enumerate(spots)
        ],
        k=key,
        data_rove=True,
    )


def _ticks(scene: Scene, count: int) -> Frag:
    """Draw many tokens as ticks: one path for all that rest, one for each node that does not.

    There is room for so many ticks; where there are more tokens, one stands for all near it.
    """
    bins = FINEST if count <= FINEST else MOST_TICKS
    groups = spread(scene.model, scene.state, bins)
    return h(
        "g",
        [
            h(
                "path",
                d="".join(_tick((at + 0.5) / bins) for at in group.bins),
                k=f"ticks:{group.node.name if group.node else ''}",
                class_="tick" if group.node is None else f"ticks {_classes(group.node)}",
            )
            for group in groups
            if group.bins
        ],
        k="ring-nodes",
    )


def _tick(part: float) -> str:
    (x1, y1), (x2, y2) = point(part, RADIUS - 6), point(part, RADIUS + 6)
    return f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"


def _names(scene: Scene) -> Frag:
    """Draw the nodes of a large ring as a list; one lights up wherever it is shown."""
    nodes = [node for node in facts.nodes(scene.model, scene.state) if node.tokens]
    shown = nodes[:MOST_NAMES]
    rest = len(nodes) - len(shown)
    return h(
        "div",
        h(
            "ul",
            [
                h(
                    "li",
                    h(
                        "span",
                        node.name,
                        class_="chip",
                        role="button",
                        tabindex="0" if i == 0 else "-1",
                        aria_pressed="false",
                        aria_label=f"{node.name}: {_count(node)}, {node.dc}, rack {node.rack}, "
                        f"{node.status}{'' if node.up else ', down'}",
                        data_roving=True,
                        data_spot=node.name,
                        data_of=node.name,
                    ),
                    k=f"name:{node.name}",
                )
                for i, node in enumerate(shown)
            ],
            class_="names",
            data_rove=True,
        ),
        h("p", f"and {rest} more nodes", class_="soft") if rest else None,
        k="ring-names",
    )


def _count(node: NodeRow) -> str:
    return "1 token" if len(node.tokens) == 1 else f"{len(node.tokens)} tokens"


def ring_words(scene: Scene) -> str:
    """Name every node with its tokens, shortly."""
    rows = facts.nodes(scene.model, scene.state)
    if sum(len(row.tokens) for row in rows) > MOST_LABELS:
        return f"{len(rows)} nodes"
    space = facts.space(scene.model)
    return ", ".join(
        f"{row.name} at {' and '.join(space.label(token) for token in row.tokens)}"
        for row in rows
        if row.tokens
    )


def _legend(scene: Scene, by_rack: dict[str, str], count: int) -> str:
    letters = _letters(scene)
    many = count > MOST_LABELS
    parts = [f"{count} tokens; a tick stands for all near it"] if count > FINEST else []
    if len(by_rack) > 1 and not many:
        parts += [f"{shape}: rack {rack}" for rack, shape in by_rack.items()]
    if letters and not many:
        parts.append(", ".join(f"{letter}: {dc}" for dc, letter in letters.items()))
    parts.append("dashed: coming or going; striped arc: locked")
    return "; ".join(parts) + "."


def _letters(scene: Scene) -> dict[str, str]:
    """Give every datacenter a letter, where there is more than one."""
    dcs = sorted({node.dc for node in facts.nodes(scene.model, scene.state)})
    return {dc: chr(ord("a") + i % 26) for i, dc in enumerate(dcs)} if len(dcs) > 1 else {}


def _spot(
    place: TokenPlace, by_rack: dict[str, str], short: str, letter: str, *, first: bool
) -> Frag:
    node, shape = place.node, by_rack[place.node.rack]
    x, y = point(place.share, RADIUS - 26 * place.inner)
    out, up = point(place.share, RADIUS + (30 if letter else 24))
    token = str(place.token)
    words = f"{node.name}: token {token}, {node.dc}, rack {node.rack}, {node.status}"
    return h(
        "g",
        h("title", words),
        _body(shape, 11),
        h("text", short, text_anchor="middle", dy=4, class_="on"),
        h(
            "text",
            f"{letter} {token if len(token) <= 6 else ''}".strip(),
            x=out - x,
            y=up - y + 4,
            text_anchor="middle",
            class_="soft",
        )
        if not place.inner
        else None,
        k=spot(node.name, place.token),
        class_=" ".join([_classes(node, place.token), *([shape] if len(by_rack) > 1 else [])]),
        transform=f"translate({x:.1f} {y:.1f})",
        role="button",
        tabindex="0" if first else "-1",
        aria_label=words if node.up else f"{words}, down",
        aria_pressed="false",
        data_roving=True,
        data_spot=node.name,
        data_of=node.name,
    )


def _classes(node: NodeRow, token: int | None = None) -> str:
    """Whether a token of a node comes or goes; without one, whether anything of the node does."""
    moving = {"joining": "joining", "replacing": "joining", "leaving": "leaving"}
    kinds = ["spot", moving.get(node.status, ""), "" if node.up else "down"]
    if node.status == "moving":
        kinds.append("leaving" if token in node.going else "joining")
    return " ".join(kind for kind in kinds if kind)


def _body(shape: str, size: float) -> Frag:
    if shape == "circle":
        return h("circle", r=size, class_="body")
    return h("polygon", points=" ".join(_corners(shape, size * 1.25)), class_="body")


def _corners(shape: str, size: float) -> Iterator[str]:
    sides = SIDES[shape]
    for i in range(sides):
        angle = 2 * math.pi * i / sides + TURN.get(shape, 0.0)
        yield f"{size * math.sin(angle):.1f},{-size * math.cos(angle):.1f}"


def _arcs(space: TokenSpace, locks: list[LockRow]) -> list[Frag]:
    """Draw the locked ranges: each, or where there are very many, what they cover together."""
    if len(locks) <= MOST_ARCS:
        return [_arc(space, lock) for lock in locks]
    radius = RADIUS - 14
    path = ""
    for left, right in covered(space, locks):
        (x1, y1), (x2, y2) = point(left, radius), point(right, radius)
        large = 1 if right - left > 0.5 else 0
        path += f"M{x1:.1f} {y1:.1f}A{radius} {radius} 0 {large} 1 {x2:.1f} {y2:.1f}"
    return [h("path", d=path, k="lock:all", class_="lock")]


def covered(space: TokenSpace, locks: list[LockRow]) -> list[tuple[float, float]]:
    """The parts of the line that are locked, as fine as can be seen."""
    bins: set[int] = set()
    for lock in locks:
        first, last = (int(share(space, end) * MOST_TICKS) for end in (lock.left, lock.right))
        bins.update(range(first, min(last, MOST_TICKS - 1) + 1))
    runs: list[list[int]] = []
    for bin_at in sorted(bins):
        if runs and runs[-1][1] == bin_at:
            runs[-1][1] = bin_at + 1
        else:
            runs.append([bin_at, bin_at + 1])
    return [(left / MOST_TICKS, min(right / MOST_TICKS, 0.9999)) for left, right in runs]


def _arc(space: TokenSpace, lock: LockRow) -> Frag:
    left, right = share(space, lock.left), share(space, lock.right)
    radius = RADIUS - 14
    (x1, y1), (x2, y2) = point(left, radius), point(right, radius)
    large = 1 if right - left > 0.5 else 0
    x, y = point((left + right) / 2, radius - 14)
    return h(
        "g",
        h(
            "path",
            d=f"M{x1:.1f} {y1:.1f}A{radius} {radius} 0 {large} 1 {x2:.1f} {y2:.1f}",
            class_="lock",
        ),
        h(
            "path",
            d=f"M{x - 4:.1f} {y:.1f}h8v6h-8zM{x - 2.5:.1f} {y:.1f}v-2a2.5 2.5 0 0 1 5 0v2",
            class_="lock-glyph",
        )
        if right - left > 0.02
        else None,
        k=f"lock:{lock.left}:{lock.right}",
    )


def ring_text(scene: Scene) -> str:
    """Write a line a node: where it is, what it owns, what it is doing."""
    space = facts.space(scene.model)
    texts = []
    for node in facts.nodes(scene.model, scene.state):
        tokens = ", ".join(space.label(token) for token in node.tokens[:8]) or "none"
        more = f" and {len(node.tokens) - 8} more" if len(node.tokens) > 8 else ""
        down = "" if node.up else ", down"
        texts.append(f"  {node.name} ({node.dc} {node.rack}) {node.status}{down}: {tokens}{more}")
    if token_count(scene) <= MOST_LABELS:
        texts.append(f"  {arrows_words(scene)}")
    return "\n".join(texts)


RING = Panel("ring", "Ring", draw_ring, ring_text, still=True)
