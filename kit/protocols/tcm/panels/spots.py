"""The ring's nodes: a disc per token with its node's name, ticks where there are very many.

A shape and a colour a rack, dashed while a node comes or goes.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY, spread
from kit.protocols.tcm.facts.moment import AppliedEpochs, NodeRow, memo
from kit.protocols.tcm.tcm import spot
from kit.views.circle import CENTRE, DISC, HEIGHT, RADIUS, SMALL_DISC, point, share
from kit.views.declared import Column, Table
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import LINE, Box, apart, fitting, tags, wide
from kit.views.labels import seated as seated_boxes
from kit.views.palette import hues
from kit.views.panel import Scene
from kit.views.parts import soft, word
from kit.views.replicas import disk

MOST_LABELS = 40
FINEST = 7200
"""Ticks that can be told apart on the ring; more tokens are drawn ``DENSITY`` to the turn."""
LONGEST_TOKEN = 6
SHAPES = ("circle", "square", "diamond", "triangle", "hexagon", "pentagon")
SIDES = {"square": 4, "diamond": 4, "triangle": 3, "hexagon": 6, "pentagon": 5}
TURN = {"square": math.pi / 4}
BADGE_AT, TOKEN_AT = RADIUS + DISC + 11, RADIUS + DISC + 26
BADGE_HIGH = 15
CROSS = f"M{-DISC} {-DISC}L{DISC} {DISC}M{-DISC} {DISC}L{DISC} {-DISC}"
SQUARE = 1.4 * DISC
"""What a disc keeps free of labels; its corners are free."""
DISK_AT, MOST_OUTSIDE = RADIUS - DISC - 16, 3
DISK, DISKS_DEEPER = (24, 20), (0, 22, 44)
"""How large a disk is, and how much deeper inside it may stand."""
EDGE = 7
"""What a ring that shares the board with another picture lacks at each side."""
ASIDE = DISC + SMALL_DISC + 4
"""How far outside of the ring a small disc stands that a named one would hide."""


class TokenPlace(Struct, frozen=True):
    """A token of a node on the picture; ``inner``: it stands inside, before its present owner.

    ``first`` is that of a node's first token, at which its applied epoch stands. ``outer``: it
    stands outside, for another node's disc with its name lies on it.

    ``name``, ``text`` (the token's) and ``epoch`` (applied; ``is_new``: by this step) are labels,
    empty where there is none. ``arrived`` is the share that has arrived of what is streamed there.
    """

    node: NodeRow
    token: int
    share: float
    inner: bool = False
    first: bool = False
    outer: bool = False
    name: str = ""
    text: str = ""
    epoch: str = ""
    is_new: bool = False
    arrived: float | None = None

    @property
    def key(self) -> str:
        """The key of its disc."""
        return spot(self.node.name, self.token)

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of it."""
        return point(self.share, RADIUS - 26 * self.inner + ASIDE * self.outer)

    @property
    def outward(self) -> float:
        """How much further outside its labels stand than those of a disc on the ring."""
        return self.outer * (ASIDE + SMALL_DISC - DISC)


def places(scene: Scene) -> list[TokenPlace]:
    """Return every token with its share of the line, from 0 (its start) to 1 (its end)."""
    space, nodes = facts.space(scene.model), scene.of(facts.nodes)
    owned = Counter(token for node in nodes for token in node.tokens)
    spots = []
    for node in nodes:
        for i, token in enumerate((*node.tokens, *node.coming)):
            inner = owned[token] > 1 and node.status == "replacing"
            spots.append(TokenPlace(node, token, share(space, token), inner, i == 0))
    return spots


def shapes(scene: Scene) -> dict[str, str]:
    """Give every rack a shape; from the seventh rack on shapes repeat."""
    racks = sorted({node.rack for node in scene.of(facts.nodes)})
    return {rack: SHAPES[i % len(SHAPES)] for i, rack in enumerate(racks)}


def labelled(scene: Scene, spots: Sequence[TokenPlace]) -> list[TokenPlace]:
    """The tokens with what stands at each."""
    short, dcs = tags(node.name for node in scene.of(facts.nodes)), datacenter_letters(scene)
    epochs, new, arriving = _epochs(scene), newly_applied(scene), scene.of(facts.arriving)
    texts = []
    for place in spots:
        node, token = place.node, str(place.token)
        words = f"{dcs.get(node.dc, '')} {token if len(token) <= LONGEST_TOKEN else ''}"
        with_name = replace(
            place,
            name=short[node.name],
            text="" if place.inner else words.strip(),
            is_new=node.name in new,
        )
        if place.first:
            epoch, arrived = epochs.get(node.name, ""), arriving.get(node.name)
            with_name = replace(with_name, epoch=epoch, arrived=arrived)
        texts.append(with_name)
    return texts


def _epochs(scene: Scene) -> dict[str, str]:
    return {row.node: epoch_words(row) for row in scene.of(facts.applied)}


def newly_applied(scene: Scene) -> frozenset[str]:
    """The nodes whose applied epoch the step changed."""
    former = scene.former()
    known = _epochs(former) if former else {}
    return frozenset(
        node for node, words in _epochs(scene).items() if known.get(node, words) != words
    )


def epoch_words(row: AppliedEpochs) -> str:
    """The epoch that a node has applied, and how many it holds back above a gap."""
    return f"{row.epoch}" + f"+{len(row.held)}" * bool(row.held)


Wish = tuple[str, tuple[Box, ...]]
"""The key of a label and what it would cover."""


def disc_boxes(spots: Sequence[TokenPlace]) -> Iterator[Wish]:
    """Discs with names, by key, those that stand aside, then applied epochs."""
    for place in spots:
        if not place.outer:
            yield f"name:{place.key}", (_name_box(place),)
    for place in spots:
        if place.outer:
            yield f"aside:{place.key}", (Box(*place.middle, SMALL_DISC, SMALL_DISC),)
    for place in spots:
        if place.epoch:
            yield f"epoch:{place.key}", (badge_box(place),)
    for key, box in disks(spots).items():
        yield f"disk:{key}", (box,)


def _name_box(place: TokenPlace) -> Box:
    return Box(*place.middle, max(SQUARE, wide(place.name)), SQUARE)


def seated(spots: Sequence[TokenPlace]) -> list[TokenPlace]:
    """The tokens with those moved aside that have no room for a name and lie on one."""
    boxes = {place.key: _name_box(place) for place in spots}
    named = fitting((key, (box,)) for key, box in boxes.items())
    side = 2 * SMALL_DISC
    return [
        place
        if place.inner or place.key in named
        else replace(
            place, outer=any(Box(*place.middle, side, side).meets(boxes[key]) for key in named)
        )
        for place in spots
    ]


def token_boxes(spots: Sequence[TokenPlace]) -> Iterator[Wish]:
    """Tokens, by key, as far as they lie within the drawing."""
    for place in spots:
        box = token_box(place)
        if place.text and abs(box.x - CENTRE[0]) + box.width / 2 <= CENTRE[0]:
            yield f"token:{place.key}", (box,)


def badge_box(place: TokenPlace) -> Box:
    """The box of a node's applied epoch: outside its disc; of an inner disc, further inside."""
    width = wide(place.epoch) + 4
    inward = place.inner * (BADGE_AT - RADIUS + 2 * DISC + 24)
    at = BADGE_AT + (1 - 2 * place.inner) * _aside(place) * (width - BADGE_HIGH) / 2
    return Box(*point(place.share, at - inward + place.outward), width, BADGE_HIGH)


def token_box(place: TokenPlace) -> Box:
    """The box of a token: outside, clear of its node's epoch."""
    width = wide(place.text)
    if not place.epoch:
        at = TOKEN_AT - BADGE_HIGH / 2 + _aside(place) * ((width - LINE) / 2 - BADGE_HIGH)
        return Box(*point(place.share, at + place.outward), width)
    badge = badge_box(place)
    along, down = (
        abs(end - middle) for end, middle in zip(point(place.share, 1), CENTRE, strict=True)
    )
    sides = ((width + badge.width) / 2, along), ((LINE + BADGE_HIGH) / 2, down)
    clear = min(room / part for room, part in sides if part > 0.01)
    x, y = point(place.share, clear + 1)
    return Box(badge.x + x - CENTRE[0], badge.y + y - CENTRE[1], width)


def _aside(place: TokenPlace) -> float:
    return abs(point(place.share, 1)[0] - CENTRE[0])


def draw_spots(
    scene: Scene,
    spots: Sequence[TokenPlace],
    shown: frozenset[str],
    guilty: frozenset[str],
    key: str,
) -> Frag:
    """Draw tokens as buttons; only labels that are ``shown`` stand at them."""
    by_rack, at_disk, colours = shapes(scene), disks(spots), hues(scene.model.names)
    drawn = [
        _spot(
            place,
            by_rack,
            shown,
            i == 0,
            place.node.name in guilty,
            at_disk.get(place.key),
            colours.get(place.node.name, ""),
        )
        for i, place in enumerate(spots)
    ]
    return h("g", drawn, k=key)


def concerned(scene: Scene) -> list[TokenPlace]:
    """Of a large ring the few tokens between which something travels in this step."""
    named = {key for flow in scene.flows() for key in (flow.from_key, flow.to_key)}
    if not named:
        return []
    space = facts.space(scene.model)
    spots = [
        TokenPlace(node, token, share(space, token))
        for node in scene.of(facts.nodes)
        if any(key.startswith(spot(node.name, "")) for key in named)
        for token in (*node.tokens, *node.coming)
        if spot(node.name, token) in named
    ]
    return spots[:MOST_LABELS]


def draw_ticks(scene: Scene, count: int) -> Frag:
    """Draw many tokens as ticks, those that rest as one path; one may stand for all near it."""
    bins = FINEST if count <= FINEST else DENSITY

    def tick(at: int) -> str:
        (x1, y1), (x2, y2) = (point((at + 0.5) / bins, RADIUS + by) for by in (-6, 6))
        return f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"

    def resting(taken: Sequence[int]) -> Frag:
        """Ticks of most of the ring would be one black band."""
        if len(taken) <= bins // 3:
            return h("path", d="".join(map(tick, taken)), k="ticks:", class_="tick")
        return h("circle", cx=CENTRE[0], cy=CENTRE[1], r=RADIUS, k="ticks:", class_="owned")

    drawn = [
        resting(taken)
        if node is None
        else h(
            "path",
            d="".join(map(tick, taken)),
            k=f"ticks:{node.name}",
            class_=f"ticks {_classes(node)}",
        )
        for node, taken in spread(scene.model, scene.state, bins)
        if taken
    ]
    return h("g", drawn, k="ring-nodes")


def datacenter_letters(scene: Scene) -> dict[str, str]:
    """Give every datacenter a letter, where there is more than one."""
    dcs = sorted({node.dc for node in scene.of(facts.nodes)})
    return {dc: chr(ord("a") + i % 26) for i, dc in enumerate(dcs)} if len(dcs) > 1 else {}


def _spot(
    place: TokenPlace,
    by_rack: dict[str, str],
    shown: frozenset[str],
    first: bool,
    guilty: bool,
    at_disk: Box | None,
    hue: str,
) -> Frag:
    node, shape, (x, y) = place.node, by_rack[place.node.rack], place.middle
    epoch = f", epoch {place.epoch} applied" if place.epoch else ""
    words = f"{node.name}: token {place.token}, {node.dc}, rack {node.rack}, {node.status}{epoch}"
    words += "" if node.up else ", down"  # the title is the name of the button
    kinds = [_classes(node, place.token), shape * (len(by_rack) > 1), "guilty" * guilty, hue]
    has_name, has_token, has_epoch = (
        f"{label}:{place.key}" in shown for label in ("name", "token", "epoch")
    )
    box = token_box(place)
    at = (f"{box.x - x:.1f}", f"{box.y - y + 4:.1f}")
    return h(
        "g",
        h("title", words),
        _body(shape, DISC if has_name else SMALL_DISC),
        h("text", place.name, text_anchor="middle", dy=4, class_="on") if has_name else None,
        None if node.up else h("path", d=CROSS, class_="cross"),
        h("text", place.text, x=at[0], y=at[1], text_anchor="middle", class_="soft")
        if has_token
        else None,
        _badge(badge_box(place), place.epoch, x, y, is_new=place.is_new) if has_epoch else None,
        _disk(place, at_disk) if at_disk and f"disk:{place.key}" in shown else None,
        k=place.key,
        class_=" ".join(filter(None, kinds)),
        transform=f"translate({x:.1f} {y:.1f})",
        **choosable(node.name, "", first=first),
    )


def disks(spots: Sequence[TokenPlace]) -> Mapping[str, Box]:
    """The disk of each node that receives a stream: inside of the ring, clear of its neighbours."""

    def seats(place: TokenPlace) -> Iterator[Box]:
        for deeper in DISKS_DEEPER:
            at = DISK_AT - deeper - 44 * place.inner
            yield Box(*point(place.share, at), *DISK)

    names = [_name_box(place) for place in spots if not place.outer]
    arriving = [place for place in spots if place.arrived is not None]
    return seated_boxes(((place.key, seats(place)) for place in arriving), names)


def _disk(place: TokenPlace, at: Box) -> Frag:
    (left, top), share = place.middle, place.arrived or 0.0
    words = h("title", f"{share:.0%} of the data for {place.node.name} has arrived")
    moved = f"translate({at.x - left:.0f} {at.y - top:.0f}) scale(.62)"
    return h("g", words, disk(0, 0, share), transform=moved, data_end=True)


def draw_outside(scene: Scene) -> list[Frag]:
    """Draw the nodes without a place on the ring in its lower left corner, with their epochs."""
    rows, edge = scene.of(facts.outside), EDGE * scene.half
    if len(rows) > MOST_OUTSIDE:
        many = f"{counted(len(rows), 'node')} outside"
        return [word(many, 4 + edge, HEIGHT - 6 - edge, "soft", None)]
    drawn, new = [], newly_applied(scene)
    for i, row in enumerate(rows):
        x, y = DISC + 2 + edge, HEIGHT - DISC - 2 - edge - i * (2 * DISC + 4)
        box = Box(x + DISC + 14, y, wide(epoch_words(row)) + 4, BADGE_HIGH)
        drawn.append(
            h(
                "g",
                h("title", f"{row.node}: not part of the ring, epoch {row.epoch} applied"),
                h("circle", r=DISC, class_="body"),
                h("text", row.node, text_anchor="middle", dy=4, class_="on"),
                _badge(box, epoch_words(row), x, y, is_new=row.node in new),
                k=f"outside:{row.node}",
                class_="outside" if row.up else "outside down",
                transform=f"translate({x} {y})",
                data_of=row.node,
            )
        )
    return drawn


def _badge(box: Box, text: str, x: float, y: float, *, is_new: bool) -> Frag:
    kind = "plate moved" if is_new else "plate"
    left, top = -box.width / 2, -BADGE_HIGH / 2
    return h(
        "g",
        h("rect", x=left, y=top, width=box.width, height=BADGE_HIGH, rx=3, class_=kind),
        h("text", text, text_anchor="middle", dy=4, class_="count"),
        transform=f"translate({box.x - x:.1f} {box.y - y:.1f})",
    )


def _classes(node: NodeRow, token: int | None = None) -> str:
    moving = {"joining": "joining", "replacing": "joining", "leaving": "leaving"}
    kinds = ["spot", moving.get(node.status, ""), "" if node.up else "down"]
    if node.status == "moving":
        kinds.append("leaving" if token in node.going else "joining")
    return " ".join(kind for kind in kinds if kind)


def _body(shape: str, size: float) -> Frag:
    if shape == "circle":
        return h("circle", r=size, class_="body", data_end=True)
    sides, wide = SIDES[shape], size * 1.25
    turns = (2 * math.pi * i / sides + TURN.get(shape, 0.0) for i in range(sides))
    corners = (f"{wide * math.sin(turn):.1f},{-wide * math.cos(turn):.1f}" for turn in turns)
    return h("polygon", points=" ".join(corners), class_="body", data_end=True)


def choosable(thing: str, words: str, *, first: bool = False) -> dict[str, Any]:
    """The attributes of a button that chooses a thing; arrow keys reach all but the first."""
    return {
        "role": "button",
        "tabindex": "0" if first else "-1",
        "aria_label": words or None,
        "aria_pressed": "false",
        "data_roving": True,
        "data_spot": thing,
        "data_of": thing,
    }


MOST_NAMES = 128
"""Nodes that can be chosen one by one."""


def draw_names(scene: Scene) -> Frag:
    """Draw the nodes of a large ring as a list; one lights up wherever it is shown."""

    def names(nodes: list[NodeRow], short: Mapping[str, str]) -> Frag:
        chips = [_name(node, short[node.name], i == 0) for i, node in enumerate(nodes)]
        return h("ul", chips, class_="names", data_rove=True)

    return _kept(scene, "ring-names", names)


def draw_nodes(scene: Scene) -> Frag:
    """Draw a row for each node that the list of names has."""

    def rows(nodes: list[NodeRow], short: Mapping[str, str]) -> Kid:
        return Table(
            lambda scene: nodes,
            "rehearsed node:{0.name}",
            (
                Column("node", lambda node: h("span", short[node.name], title=node.name)),
                Column("tokens", lambda node: len(node.tokens)),
                Column("place", _place),
                Column("state", _standing),
            ),
            caption="Nodes: choose one to show in the ring",
            of="{0.name}",
            marked=False,
        ).draw(scene)

    return _kept(scene, "rehearsed nodes", rows)


def _kept(scene: Scene, key: str, draw: Callable[[list[NodeRow], Mapping[str, str]], Kid]) -> Frag:
    state = scene.state

    def work() -> Frag:
        nodes = [node for node in scene.of(facts.nodes) if node.tokens]
        rest = len(nodes) - MOST_NAMES
        drawn = draw(nodes[:MOST_NAMES], apart([node.name for node in nodes]))
        more = soft(f"and {counted(rest, 'more node')}" if rest > 0 else "")
        return h("div", drawn, more, k=key, data_kept=True)

    return memo(scene.model, (key, state.tcm.events, state.tcm.down), work)


def _name(node: NodeRow, short: str, first: bool) -> Frag:
    words = f"{node.name}: {counted(len(node.tokens), 'token')}, {_place(node)}, {_standing(node)}"
    name = h("span", short, class_="chip", title=words, **choosable(node.name, words, first=first))
    return h("li", name, k=f"name:{node.name}")


def _place(node: NodeRow) -> str:
    return f"{node.dc}, rack {node.rack}"


def _standing(node: NodeRow) -> str:
    return node.status if node.up else f"{node.status}, down"
