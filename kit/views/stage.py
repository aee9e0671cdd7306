"""The stage: one picture for every family, in which nodes are characters.

A family only declares a ``Stage`` of its facts, and ``stage_panel`` draws it. From top to bottom:

- the *strip* of the state machine (``standing``): the way taken, what follows;
- the *tape* (``tape``): the newest cards of a log; below each, how far every node is with it;
- the *characters*, each in a place of its own that no step changes (``names`` are all there can
  ever be, ``sides`` are clients and operators, at the left): a letter, a sign, a tag, a disk;
- on their wires the *messages* in flight, *trails* of what travelled in this step (from the model's
  flows, without a word of the family), torn envelopes of what was *lost*, *walls* between groups.

Of a model on ``kit.model.network`` messages, losses and walls need no declaration. A
hue says who: a node, and who sent a message. *Dashed* is what is planned or not yet so.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import ceil
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.model import network
from kit.model.actors import NetworkModel
from kit.model.flows import Flow
from kit.model.machines import MachineModel
from kit.model.network import DropMessage
from kit.views.actions import mark
from kit.views.busts import HEAD, Health, Kind, bust, head_of, letter_of
from kit.views.diagrams import Standing
from kit.views.fragment import Frag, h
from kit.views.gate import Declared, Gate, awaited_gates, came, former_gates, gates_of
from kit.views.heat import MOST_NODES, Aspect, draw_heat, heat_lines
from kit.views.labels import Box, Sheet, lines_of, measured, shortened, tags, wrapped
from kit.views.palette import hues
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import fresh
from kit.views.replicas import MARK, SIGNS, asked_words, disk, disk_size, envelope_path, eye, pencil
from kit.views.strip import draw_strip
from kit.views.tape import MOST_CARDS, MOST_MARKS, TAPE, Card, Tape
from kit.views.trails import (
    FINER,
    MOST_TRAILS,
    PARKED,
    Labels,
    beads,
    envelope_box,
    fate,
    rift,
    trails,
)
from kit.views.wires import Body, Place, Way, bounds, ground, on, path, tip

WIDTH, HEIGHT = 460.0, 288.0
"""The picture at 840 × 560, a pixel each."""
HALF_WIDTH, HALF_HEIGHT = 380.0, 270.0
"""One of two pictures on a board: as small as leaves its letters their size, in a projector too."""
STRIP, LINE = 26.0, 15.0
SIDE, HALF_SIDE = 132.0, 112.0
"""How wide the column of clients is."""
SPOKEN = HEAD + 7
"""How far right of the middle of who stands aside its words begin."""
MOST_SAID = 6
"""Lines beside a client, of which the first names what it is doing."""
MOST_PARKED, MOST_ALIKE = 24, 4
"""Envelopes that are drawn, and of one sender with the same words; those of more are told once."""
HEALTH = ("up", "down", "gone", "joining")
"""The words for it."""
Sign = Literal["lock", "key", "ban", "joining", "gone", "ballot", ""]


class Character(Struct, frozen=True):
    """Somebody on the stage: the same letter and shape in every picture.

    ``tag`` says what it goes by (a version, a term, a word of state), ``holds`` are one or two
    short lines on its disk, ``fill`` how full that is, from 0 to 1. A ``sign`` stands at its
    shoulder: who holds a lock or a key, who is banned. ``reads`` and ``writes`` say whether it is
    read and written now: an eye, a pencil; None, where nobody can say. ``title`` is all of it in
    words. ``press`` is the action that its switch does, ``asks`` whom a request of its is with now.
    """

    name: str
    key: str
    health: Health = "up"
    leads: bool = False
    sign: Sign = ""
    tag: str = ""
    holds: tuple[str, ...] = ()
    fill: float | None = None
    title: str = ""
    kind: Kind = "node"
    press: Any = None
    reads: bool | None = None
    writes: bool | None = None
    asks: str = ""

    @property
    def failed(self) -> bool:
        """Whether its tag says that something failed."""
        return self.tag.startswith("!")

    @property
    def requests(self) -> str:
        """What requests ask of it, in words."""
        known = self.reads is not None and self.writes is not None
        return asked_words(bool(self.reads), bool(self.writes)) if known else ""


class Message(Struct, frozen=True):
    """Something on its way between two characters, or other keyed parts of the stage (the tape).

    Without a ``target`` nobody knows yet where it arrives. ``thing`` is what actions call it. One
    that ``waits`` has not gone yet: its sender has still to write to its disk. ``why`` is what such
    messages are for.
    """

    source: str
    target: str
    words: str
    key: str = ""
    held: bool = False
    title: str = ""
    thing: str = ""
    waits: bool = False
    why: str = ""

    @property
    def look(self) -> str:
        """How it is drawn."""
        return "held" if self.held else "waits" if self.waits else ""


class Wall(Struct, frozen=True):
    """What parts a group of nodes from all others: a cut, a firewall. ``words`` names it.

    ``one_way``: the group still reaches the others, who do not reach it. ``beyond``: only from
    this one are they parted, by a bar across the wire between them. ``ends`` is the verb of the
    action that takes it away.
    """

    group: tuple[str, ...]
    words: str = "cut"
    one_way: bool = False
    beyond: str = ""
    ends: str = ""


class Stage(Struct, frozen=True):
    """All that is on the stage at one moment; see the module. ``lines``: the most on a disk,
    ``aside``: how wide the column of those is who stand there, if it is the only picture; those
    who are ``plain`` are no nodes and have no hue.
    """

    names: tuple[str, ...]
    characters: tuple[Character, ...]
    sides: tuple[Character, ...] = ()
    tape: tuple[Card, ...] | None = None
    messages: tuple[Message, ...] = ()
    lost: tuple[Message, ...] = ()
    walls: tuple[Wall, ...] = ()
    standing: Standing | None = None
    has_strip: bool = False
    has_marks: bool = True
    tape_key: str = "log"
    lines: int = 2
    aside: float = SIDE
    plain: tuple[str, ...] = ()

    @property
    def hues(self) -> Mapping[str, str]:
        """The class of each node's hue."""
        return hues([name for name in self.names if name not in self.plain])


class Looks(Struct, frozen=True):
    """How large a character is: the radius of its head, the room in breadth, lines of its disk.

    Without a ``tag`` the letter stands alone. All stand in so many ``rows``. Who stands lower than
    others in a row has tag and disk ``beside`` its head: 1 is at the right, -1 at the left.
    """

    head: float
    wide: float
    lines: int
    tag: bool = True
    rows: int = 1
    beside: int = 0

    @property
    def above(self) -> float:
        """How far it reaches over the middle of its head."""
        return self.head * 1.75 if self.tag else self.head

    @property
    def below(self) -> float:
        """And how far below."""
        return self.head + self.block

    @property
    def shoulder(self) -> float:
        """How far from the middle of its head a sign at its shoulder is."""
        return self.head * 0.8 + 10

    @property
    def hand(self) -> float:
        """And an eye or a pencil."""
        return self.head + MARK / 2 + 4

    @property
    def block(self) -> float:
        """How high its tag and its disk are."""
        disk = LINE * self.lines + 10 if self.lines else 0
        return (LINE + 3 if self.tag else 0) + disk

    def tag_at(self, side: int, high: float) -> tuple[float, float]:
        """Where the line of its tag begins, which stands with a disk so ``high`` at a ``side`` of
        its head, or below it.
        """
        if side:
            return side * (self.head + APART), (LINE - high) / 2 - 4
        return 0, self.head + LINE


SIZES = (
    Looks(22, 104, 2),
    Looks(18, 98, 2),
    Looks(15, 92, 1),
    Looks(14, 74, 1),
    Looks(15, 72, 0),
    Looks(13, 32, 0, tag=False),
)
WORDY = ((22, 104), (18, 92), (15, 80))
Edge: TypeAlias = tuple[Place, Place, Place]
"""An end of a piece of a wall, the other one, and the way out of the group."""
WIDEST = 150.0
APART = 26.0
"""From a head to words beside it: there is room for a sign or a pencil between."""
FOOT, LEAST_DROP = 8.0, 24.0
"""The air below the last row; in one row of three or more every second one stands lower, where
there is room for that.
"""


# -- places ----------------------------------------------------------------------------------------


@lru_cache(256)
def places(
    count: int, left: float, top: float, bottom: float, lines: int = 2, right: float = WIDTH
) -> tuple[tuple[Place, ...], Looks]:
    """Where so many characters stand, in rows, clockwise where there are two; how large they are.

    The first looks for which there is room are taken; where disks have more than two ``lines``,
    these come before breadth, and where they have fewer, others get the room. A place depends on
    the number alone.
    """
    width, height = right - left, bottom - top
    wordy = [Looks(head, wide, most) for most in range(lines, 2, -1) for head, wide in WORDY]
    few = (replace(each, lines=min(each.lines, lines)) for each in SIZES if lines or not each.lines)
    for looks in (*wordy, *few):
        high = looks.above + looks.below
        rows = max(1, int(height // high))
        least = 1 if count < 3 else 2
        for number in (*range(least, rows + 1), 1):
            in_row = ceil(count / number)
            if number <= rows and in_row * looks.wide <= width:
                wide = min(width / max(in_row, 1), WIDEST)
                has_air = number == 1 < in_row - 1 and height - high > looks.block > LINE + 3
                beside = (1 if in_row % 2 else -1) if has_air else 0
                wider = replace(looks, wide=wide, rows=number, beside=beside)
                return _in_rows(count, number, (left, right), top, bottom, wider), wider
    columns = max(1, ceil((count * width / height) ** 0.5))
    rows = ceil(count / columns)
    small = min(width / columns, height / rows, 2 * looks.head + 2)
    looks = Looks(small / 2 - 1, small, 0, tag=False, rows=rows)
    return _in_rows(count, rows, (left, right), top, bottom, looks), looks


def _in_rows(
    count: int, rows: int, between: tuple[float, float], top: float, bottom: float, looks: Looks
) -> tuple[Place, ...]:
    left, right = between
    at: list[Place] = []
    for row, here in enumerate(_in_each(count, rows)):
        room = (bottom - top - rows * (looks.above + looks.below)) / rows
        room -= 0 if looks.beside else min(FOOT, room / 3)
        drop = room if rows == 1 and here > 2 and room >= LEAST_DROP else 0.0
        room -= drop
        if looks.beside:
            drop += looks.below - max(looks.head, looks.block / 2)
        y = top + (bottom - top) * row / rows + room * (row if rows > 1 else 0.5) / max(rows - 1, 1)
        edge = looks.wide if 1 < here == ceil(count / rows) else (right - left) / here
        step = (right - left - edge) / max(here - 1, 1)
        line = [
            complex(left + edge / 2 + step * i, y + looks.above + drop * (i % 2))
            for i in range(here)
        ]
        at += reversed(line) if row % 2 else line
    return tuple(at)


def _in_each(count: int, rows: int) -> Iterator[int]:
    for row in range(rows):
        here = ceil(count / (rows - row))
        count -= here
        yield here


class _Set:
    """A stage that is laid out: what stands on it by name and by key, and the ways between."""

    def __init__(self, stage: Stage, half: bool) -> None:
        self.stage = stage
        self.width, height, self.side = WIDTH, HEIGHT, stage.aside
        if half:
            self.width, height, self.side = HALF_WIDTH, HALF_HEIGHT, HALF_SIDE
        y, tape = STRIP * stage.has_strip, stage.tape
        self.tape = None
        if tape is not None:
            key, order = stage.tape_key, {name: i for i, name in enumerate(stage.names)}
            sent = [each for each in stage.messages if each.target == key]
            sent.sort(key=lambda each: order.get(each.source, 0))  # so that fewer wires cross
            coming = [(each.words, each.title) for each in sent]
            self.tape = Tape(
                tape, key, y, self.width, coming, has_marks=stage.has_marks, hues=stage.hues
            )
        self.top = self.tape.bottom if self.tape else y
        self.height = self.bottom = height
        self.left = self.side if stage.sides else 0.0
        spots, self.looks = places(
            len(stage.names), self.left, self.top + 4, self.bottom - 4, stage.lines, self.width
        )
        self.at: dict[str, Place] = dict(zip(stage.names, spots, strict=True))
        self.there = {each.name: each for each in stage.characters}
        self.side_room = (self.bottom - self.top) / max(len(stage.sides), 1)
        for i, side in enumerate(stage.sides):
            self.at[side.name] = Place(HEAD + 4, self.top + self.side_room * (i + 0.5))
        self.tags = {name: self._tag(each) for name, each in self.there.items()}
        self.bodies = {name: self._body(name) for name in stage.names}
        self.bodies |= {side.name: self._side_body(side) for side in stage.sides}
        standing = [*self.bodies.values()]
        for each in (*stage.characters, *stage.sides):
            self.bodies[each.key] = self.bodies[each.name]
        if self.tape:
            cards = {
                key: Body(at, 2, self.tape.covered(key)) for key, at in self.tape.spots.items()
            }
            standing += (body for body in cards.values() if body.boxes)
            of = self.tape.names  # what travels to a mark goes to its node
            self.bodies |= {key: self.bodies.get(of.get(key, ""), cards[key]) for key in cards}
        top = y + TAPE - 4 if self.tape else y
        inside = Box(self.width / 2, (top + self.bottom) / 2, self.width, self.bottom - top)
        self.ground = ground(tuple(standing), inside)
        parting = {wall: [*_between(self, {*wall.group})]
                   for wall in stage.walls if not wall.beyond}  # fmt: skip
        self.apart = [{self.bodies[name] for name in wall.group} for wall in parting]
        bars = (Body(a, 0, (bounds((a - 3 - 3j, b + 3 + 3j)),))
                for edges in parting.values() for a, b, _ in edges)  # fmt: skip
        self.walled = ground((*standing, *bars), inside)
        self.walls = [(wall, parting[wall] if wall in parting else [*_across(self, wall)])
                      for wall in stage.walls]  # fmt: skip

    def _tag(self, each: Character) -> str:
        """What stands below a head; a long one takes the room to the middle between neighbours.

        What these say just now is not asked: else a change of theirs would change this one.
        """
        if not self.looks.tag:
            return ""
        at, own = self.at[each.name], self.looks.wide - 10
        if self.beside(each.name):
            return shortened(each.tag, own, bold=True)
        room = 2 * min(at.real - self.left, self.width - at.real)
        for name, place in self.at.items():
            away = place - at
            if name != each.name and abs(away.imag) < self.looks.above + self.looks.below - 1:
                room = min(room, abs(away.real) - 8)
        room = max(own, room)
        state, _, number = each.tag.rpartition(" ")
        left = room - measured(f" {number}", bold=True)
        if measured(each.tag, bold=True) <= room or left < room / 2:
            return shortened(each.tag, room, bold=True)
        return f"{shortened(state, left, bold=True)} {number}"  # bootstr… v1: the end changes

    def beside(self, name: str) -> int:
        """At which side of its head the words of a character stand; 0: below it."""
        return self.looks.beside * (self.at[name].imag > self.at[self.stage.names[0]].imag)

    def _body(self, name: str) -> Body:
        at, looks, each = self.at[name], self.looks, self.there.get(name)
        side = self.beside(name)
        held = _held(each, looks, side) if each else None
        if each is None:
            letter = (Box(at.real, at.imag + 16, 30, 16),) if looks.tag else ()
            return Body(at, 6, letter)
        boxes = [Box(at.real, at.imag - looks.head * 1.4, 24, looks.head)] * each.leads
        boxes += (Box(at.real + x, at.imag + LOW, GUEST + 1, GUEST + 1)
                  for x in _aside(each, looks, _guests(self.stage, name)))  # fmt: skip
        if tag := self.tags[name]:
            wide = _stepped(measured(tag, bold=True))
            x, y = looks.tag_at(side, held[2] if held else 0)
            boxes.append(Box(at.real + x + side * wide / 2, at.imag + y - 4, wide, LINE - 2))
        if held is not None:
            _, disk_wide, disk_high, x, y = held
            boxes.append(Box(at.real + x, at.imag + y, _stepped(disk_wide), disk_high))
        for right, _ in _signs(each):
            x = at.real + right * looks.shoulder
            boxes.append(Box(x, at.imag - looks.head * SHOULDER, 20, 18))
        if each.press is not None:
            boxes.append(Box(at.real - looks.shoulder, at.imag - looks.head * 0.7, 20, 18))
        if looks.tag and each.requests:
            boxes += (Box(at.real + x, at.imag + LOW, MARK, 14) for x in (-looks.hand, looks.hand))
        return Body(at, looks.head, tuple(boxes))

    def _side_body(self, side: Character) -> Body:
        at = self.at[side.name]
        tag, what = _side_words(side, self.side_room, self.side)
        if not (tag or what):
            return Body(at, HEAD)
        frame = Box(self.side / 2 - 2, at.imag, self.side - 6, _high(tag, what))
        return Body(at, 0, (frame,))  # wires end at the frame, not at the head in it

    def sent(self, message: Message) -> Way | None:
        said, tape = (message.words, message.title), self.tape
        card = tape.next.get(said) if tape and message.target == tape.key else None
        return self.way(message.source, card or message.target)

    def way(self, source: str, target: str) -> Way | None:
        """The wire between two parts; None: there is no such. Without a target nobody knows yet
        where it will arrive.
        """
        tape = self.stage.tape
        if tape and source == self.stage.tape_key:  # what comes from the log is its newest
            source = tape[-1].key
        start, end = self.bodies.get(source), self.bodies.get(target)
        if not target:
            end = Body(Place((self.left + self.width) / 2, (self.top + self.bottom) / 2), 2)
        if start is None or end is None or start.at == end.at:
            return None
        divided = any((start in group) != (end in group) for group in self.apart)
        is_round = not divided and self.walled.is_free(start, end)
        return (self.walled if is_round else self.ground).way(start, end)


def _high(tag: Sequence[str], what: Sequence[str]) -> float:
    return max(2 * HEAD, LINE * (len(tag) + len(what))) + 6


def _stepped(width: float) -> float:
    """A width, rounded up: the words of the next step seldom need another one."""
    return 12 * ceil(width / 12)


def _at(place: Place) -> str:
    return f"translate({place.real:.0f} {place.imag:.0f})"


# -- what a model on a network needs not declare ---------------------------------------------------


def on_network(scene: Scene, stage: Stage) -> Stage:
    """The stage with messages in flight and held, with what this step lost, and with the split."""
    m, carried = scene.model, scene.state.network

    def message(sent: Any, held: bool = False) -> Message:
        short, full = m.in_short(sent.message), m.in_full(sent.message)
        thing = network.line(sent)
        ends, why = (sent.source, sent.target), m.purpose_of(sent.message)
        return Message(*ends, short, held=held, title=full, thing=thing, why=why)

    flying = [message(sent) for sent in carried.in_flight]
    held = [message(sent, held=True) for sent in carried.held]
    lost = [message(scene.action.envelope)] if isinstance(scene.action, DropMessage) else []
    apart = m.carrier.apart(carried)
    walls = [Wall(apart, ends="heal")] if apart else []
    if isinstance(m, MachineModel):
        waiting = (message(sent) for sent in m.not_gone(scene.state))
        flying += (replace(each, waits=True, thing="") for each in waiting)
        walls += _cuts(scene)
        down = m.named(scene.state.down)
        cast = (replace(c, health="down") if c.name in down else c for c in stage.characters)
        stage = replace(stage, characters=tuple(cast))
    return replace(
        stage,
        messages=(*stage.messages, *flying, *held),
        lost=(*stage.lost, *lost),
        walls=(*stage.walls, *walls),
    )


def _cuts(scene: Scene) -> Iterator[Wall]:
    s, links = scene.state, scene.model.links
    for a, b in combinations(scene.model.names, 2):
        there, back = bool(s.cut & links[f"{a}>{b}"]), bool(s.cut & links[f"{b}>{a}"])
        if there or back:
            yield Wall((b if there else a,), one_way=there != back, beyond=a if there else b)


# -- drawing ---------------------------------------------------------------------------------------


def draw_stage(scene: Scene, stage: Stage, said: str, before: Stage | None = None) -> Frag:
    """Draw the stage of a scene; what was not so ``before`` is marked."""
    laid = _Set(stage, scene.half)
    high = laid.bottom - laid.top
    inside = Box(laid.width / 2, laid.top + high / 2, laid.width, high)
    labels = Labels(inside, laid.ground.taken())
    unheard = _unheard(scene, stage, before)
    added = _added(stage, before)
    announced = {stage.tape_key} if added else ()  # the new card says what it is
    flows, route = scene.flows()[:MOST_TRAILS], _route(laid, added)
    for _, edges in laid.walls:
        labels.lines.cover(*(bead for a, b, _ in edges for bead in beads((a, a, b, b))))
    for way in filter(None, map(route, flows)):  # words of envelopes keep clear of them, too
        labels.pass_by(way)
    parked = [*_envelopes(laid, labels, before)]
    letters, colours = tags(stage.names), stage.hues
    senders = {each.key: colours.get(each.name, "") for each in stage.characters}
    trailed = [*trails(flows, route, labels, unheard, announced, senders)]
    behind = [_wall(laid, *wall, labels) for wall in laid.walls]
    words = [*labels.draw()]
    was = {each.key: each for each in (*before.characters, *before.sides)} if before else {}
    ends = (key for flow in scene.flows() for key in (flow.from_key, flow.to_key))
    former = before.tape if before else None
    acts = _acting(scene, stage)
    return h(
        "svg",
        draw_strip(stage.standing, laid.width) if stage.has_strip else None,
        laid.tape.draw(letters, former, ends) if laid.tape else None,
        behind,
        [_empty(laid, name) for name in stage.names if name not in laid.there],
        [wire for wire, _ in parked],
        trailed,
        [_character(scene, laid, each, (letters[each.name], colours.get(each.name, "")),
                    was.get(each.key), before, acts=each.name == acts)
         for each in stage.characters],
        [_side(laid, each, was.get(each.key), acts=each.name == acts) for each in stage.sides],
        [envelope for _, envelope in parked],
        h("g", words, k="labels"),
        viewBox=f"0 0 {laid.width:.0f} {laid.height:.0f}",
        role="group",
        aria_label=said,
        class_="stage",
    )  # fmt: skip


GUEST, MOST_GUESTS = 17.0, 2
"""How large the square of a client is at who has its request, and how many stand there."""


def _guests(stage: Stage | None, name: str) -> list[Character]:
    return [side for side in stage.sides if side.asks == name][:MOST_GUESTS] if stage else []


def _aside(each: Character, looks: Looks, guests: Sequence[Character]) -> list[float]:
    first = looks.head + 7 + GUEST / 2 + MARK * bool(each.requests)
    return [-first - (GUEST + 3) * i for i in range(len(guests))]


def _draw_guests(
    each: Character, looks: Looks, guests: Sequence[Character], were: Sequence[Character]
) -> Iterator[Frag]:
    known = {side.key for side in were}
    for side, x in zip(guests, _aside(each, looks, guests), strict=True):
        yield h(
            "g",
            h("title", f"{each.name} has the request of {side.name}"),
            None if side.key in known else fresh(0, 0, GUEST + 4, GUEST + 4),
            head_of("client", GUEST / 2 / 0.85),
            letter_of(tags([side.name])[side.name][:2], GUEST / 2),
            k=f"asks:{side.key}",
            transform=_at(Place(x, LOW)),
            data_of=side.name,
        )


def _acting(scene: Scene, stage: Stage) -> str:
    return acting(scene, {each.key: each.name for each in (*stage.sides, *stage.characters)})


def acting(scene: Scene, there: Mapping[str, str]) -> str:
    """The name of who acts in this step, of those who are ``there`` by key: who asks first, whose
    step it is, or, where no fault does it, who alone sends. Empty: nobody of them.
    """
    if scene.action is None:
        return ""
    model, flows = scene.model, scene.flows()
    asks = [flow.from_key for flow in flows[:1] if flow.kind == "request"]
    sole = {flow.from_key for flow in flows if model.kind(scene.action) not in model.faults}
    own = model.actor_of(scene.before, scene.action)
    alone = map(there.get, sole if len(sole) == 1 else ())
    names = (*map(there.get, asks), own, *alone)
    return next((name for name in names if name and name in there.values()), "")


def _empty(laid: _Set, name: str) -> Frag:
    letter = tags(laid.stage.names)[name]
    return h(
        "g",
        h("circle", r=4, class_="place-of"),
        h("text", letter, y=20, text_anchor="middle", class_="soft") if laid.looks.tag else None,
        k=f"place:{name}",
        transform=_at(laid.at[name]),
    )


SWITCH = "M-3.5-3.5a5 5 0 1 0 7 0M0-6v5"


def _signs(each: Character) -> Iterator[tuple[int, str]]:
    signs = (sign for sign in (each.sign, each.health) if sign in SIGNS)
    yield from zip((1, -1), signs, strict=False)


def _switch(scene: Scene, action: Any, head: float) -> Frag:
    return h(
        "g",
        h("title", scene.model.label(scene.state, action)),
        h("circle", r=11, class_="box"),
        h("path", d=SWITCH, class_="sign on"),
        class_="switch",
        transform=f"translate({-head * 0.8 - 12:.0f} {-head * 0.7:.0f})",
        data_act=f"do:{mark(scene.model, action)}",
        data_refused=scene.closed,
    )


def _lines(holds: Sequence[str], wide: float, most: int) -> list[str]:
    spare, lines = most - len(holds), list[str]()
    for words in holds:
        parts = wrapped(words, wide, spare + 1)
        lines += parts
        spare -= len(parts) - 1
    return lines


def _held(
    each: Character, looks: Looks, side: int
) -> tuple[list[str], float, float, float, float] | None:
    """The lines on a character's disk, how wide and high that is, how far to the right of the
    head's middle and below it; None: there is no disk.
    """
    if not looks.lines or (not each.holds and each.fill is None):
        return None
    wide = looks.wide - 10
    lines = _lines(each.holds[: looks.lines], wide - 2, looks.lines)
    disk_wide, high = disk_size(lines, wide, 70)
    x, y = looks.tag_at(side, high)
    return lines, disk_wide, high, x + side * disk_wide / 2, y + 3 + high / 2


def ring(reach: float) -> Frag:
    """What is around the head of who acts, or is otherwise than a step ago."""
    return h("circle", r=reach + 5, class_="moved")


def _character(
    scene: Scene,
    laid: _Set,
    each: Character,
    look: tuple[str, str],
    was: Character | None,
    before: Stage | None,
    *,
    acts: bool,
) -> Frag:
    looks, was, side = laid.looks, was or each, laid.beside(each.name)
    reach = looks.head
    tag = laid.tags[each.name]
    signs, had = [*_signs(each)], [sign for _, sign in _signs(was)]
    held, former = _held(each, looks, side), _held(was, looks, side)
    anchor = ("middle", None, "end")[side]
    stored = {*former[0]} if former else set()
    return h(
        "g",
        h("title", each.title or each.name),
        _halo(each.kind, reach + 2) if acts or each.health != was.health else None,
        fresh(0, -reach - 7, 34, 18) if each.leads > was.leads and looks.tag else None,
        *bust(look[0], reach, each.kind, leads=each.leads and looks.tag),
        [
            h("g", fresh(0, 0, 20, 20) if sign not in had else None,
              h("path", d=SIGNS[sign], class_=f"sign {sign}"),
              transform=f"translate({right * looks.shoulder:.0f} {-reach * SHOULDER:.0f})")
            for right, sign in signs
        ],
        _switch(scene, each.press, reach) if each.press is not None else None,
        _eye_and_pencil(each, was, looks.hand) if looks.tag and each.requests else None,
        [*_draw_guests(each, looks, *(_guests(at, each.name) for at in (laid.stage, before)))],
        _words(tag, *looks.tag_at(side, held[2] if held else 0), "strong", anchor,
               is_new=each.tag != was.tag, failed=each.failed) if tag else None,
        disk(held[3], held[4], each.fill or 0, held[0], held[1],
             news={*held[0]} - stored, refilled=each.fill != was.fill or {*held[0]} < stored)
        if held else None,
        k=each.key,
        class_=f"character {each.health} {look[1]}".rstrip(),
        transform=_at(laid.at[each.name]),
        data_of=each.name,
    )  # fmt: skip


LOW, SHOULDER = 7.0, 0.9
"""How far below the middle of a head its eye and its pencil are, and above it a sign, in heads."""


def _eye_and_pencil(each: Character, was: Character, aside: float) -> Frag:
    return h(
        "g",
        h("title", f"{each.name}: {each.requests}"),
        fresh(-aside, LOW, MARK, 16) if each.reads != was.reads else None,
        eye(-aside, LOW, filled=bool(each.reads)),
        fresh(aside, LOW, MARK, 16) if each.writes != was.writes else None,
        pencil(aside, LOW, filled=bool(each.writes)),
    )


def _words(
    words: str,
    x: float,
    y: float,
    kind: str,
    anchor: str | None = "middle",
    *,
    is_new: bool,
    failed: bool = False,
) -> list[Frag | None]:
    wide = measured(words, bold=kind == "strong")
    middle = x + {None: 1, "end": -1}.get(anchor, 0) * wide / 2
    text = h("text", words, x=x or None, y=y, text_anchor=anchor, class_=kind)
    if not failed:
        return [fresh(middle, y - 5, wide + 8) if is_new else None, text]
    plate = h("rect", x=middle - wide / 2 - 2, y=y - 12, width=wide + 4, height=15, rx=3,
              class_="failed")  # fmt: skip
    return [fresh(middle, y - 4.5, wide + 12, 17) if is_new else None, plate, text]


def _side_words(
    each: Character, room_high: float, wide: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    room, most = wide - 2 * HEAD - 16, max(1, min(MOST_SAID, int(room_high // LINE)))
    tag = lines_of(each.tag, room, 2 if most > 2 else 1)
    what = wrapped(" ".join(each.holds), room, most - len(tag)) if most > len(tag) else ()
    return tuple(filter(None, tag)), what


def _halo(kind: Kind, reach: float) -> Frag:
    return fresh(0, 0, 2 * reach + 6, 1.4 * reach + 8) if kind == "part" else ring(reach - 2)


def _side(laid: _Set, each: Character, was: Character | None, *, acts: bool) -> Frag:
    was = was or each
    tag, what = _side_words(each, laid.side_room, laid.side)
    had, former = _side_words(was, laid.side_room, laid.side)
    changed = [line not in had for line in tag] + [line not in former for line in what]
    top, high = 5 - LINE * (len(changed) - 1) / 2, _high(tag, what)
    reach = min(HEAD, laid.side_room / 2)
    return h(
        "g",
        h("title", each.title or each.name),
        h("rect", x=-HEAD - 3, y=-high / 2, width=laid.side - 6, height=high, rx=8, class_="rail")
        if changed else None,
        _halo(each.kind, reach) if acts else None,
        head_of(each.kind, reach),
        letter_of(tags([each.name])[each.name][:2], HEAD),
        [_words(line, SPOKEN, top + LINE * i, "soft" if i >= len(tag) else "strong", None,
                is_new=changed[i], failed=each.failed and i < len(tag))
         for i, line in enumerate((*tag, *what))],
        k=each.key,
        class_=f"character {each.health} aside",
        transform=_at(laid.at[each.name]),
        data_of=each.name,
    )  # fmt: skip


def _key(sent: Message, look: str) -> str:
    said = f"sent:{sent.source}:{sent.target}:{sent.words}{':' + look if look else ''}"
    return sent.key or said


def _piles(stage: Stage) -> dict[tuple[str, str, str, str], list[Message]]:
    alike: dict[tuple[str, str, str, str], list[Message]] = {}
    for kind, sent in (("", stage.messages), ("torn", stage.lost)):
        for each in sent:
            look = kind or each.look
            alike.setdefault((each.source, each.target, each.words, look), []).append(each)
    return alike


def _envelopes(laid: _Set, labels: Labels, before: Stage | None) -> Iterator[tuple[Frag, Frag]]:
    was = None if before is None else _piles(before)
    on_wire: dict[tuple[str, str], int] = {}
    shown = list(_piles(laid.stage).items())[:MOST_PARKED]
    said_of: set[tuple[str, ...]] = set()
    alike = Counter((source, said) for (source, _, said, _), _ in shown)
    ways = [laid.sent(group[0]) for _, group in shown]
    colours = laid.stage.hues
    for each in dict.fromkeys(filter(None, ways)):
        labels.wires.cover(*beads(each))
    for (pile, group), way in zip(shown, ways, strict=True):
        source, target, said, look = pile
        if way is None:
            continue
        nth = on_wire[source, target] = on_wire.get((source, target), 0) + 1
        shares = (UNGONE,) * (look == "waits") + PARKED[nth - 1 :] + PARKED[: nth - 1] + FINER
        key = _key(group[0], look)
        more = f" ×{len(group)}" if len(group) > 1 else ""
        is_said = alike[source, said] <= MOST_ALIKE or (source, said) not in said_of
        said_of.add((source, said))
        if target == laid.stage.tape_key or not said:  # the card that is to come says it
            is_said = False
        place = labels.with_words(key, f"{said}{more}", way, shares, BESIDE) if is_said else None
        if place is None:
            place = labels.free(way, shares, (*BESIDE, 2 * BESIDE[1], 2 * BESIDE[2]))
            if place is None:
                place = on(way, shares[0])
                labels.pinned.cover(envelope_box(place))
            if is_said:
                labels.ask(key, f"{said}{more}", (place,), about=[on(way, x) for x in PARKED])
        laid.bodies[key] = Body(place, 11)
        title = fate(f"{source} → {target or '?'}: {group[0].title or said}{more}", look)
        title = ". ".join(filter(None, (title, group[0].why)))
        wire = h("path", d=f"{path(way)}{_tip(way, labels.pinned)}", k=f"wire:{key}",
                 class_=f"wire thin {look}".rstrip())  # fmt: skip
        look = look or ("many" if more else "")
        is_new = was is not None and len(was.get(pile, ())) < len(group)
        looks = look, colours.get(source, "")
        yield wire, _envelope(key, place, looks, title, group[0].thing, is_new=is_new)


def _tip(way: Way, pinned: Sheet) -> str:
    for share in HEADED:
        at = on(way, share)
        box = Box(at.real, at.imag, 10, 10)
        if pinned.is_free(box):
            pinned.cover(box)
            return tip(way, share)
    return ""


def _envelope(
    key: str, place: Place, looks: tuple[str, str], title: str, thing: str, *, is_new: bool
) -> Frag:
    look = looks[0]
    return h(
        "g",
        h("title", title),
        fresh(0, 0, 26, 20) if is_new else None,
        h("rect", x=-7, y=-9, width=20, height=14, class_="box") if look == "many" else None,
        h("path", d=envelope_path(10), class_="box"),
        rift() if look == "torn" else None,
        h("path", d="M-3-11v22M3-11v22", class_="bars") if look == "held" else None,
        k=key,
        class_=" ".join(filter(None, ("envelope", *looks))),
        transform=_at(place),
        data_of=thing or None,
    )


UNGONE = 0.08
"""Where on its wire an envelope stands that has not gone yet: beside its sender."""
HEADED = (0.9, 0.8, 0.7, 0.6, 0.5, 0.3)
"""Where the head of the arrow is."""
BESIDE = (0.0, 18.0, -18.0)
"""How far beside it, where the wire itself is covered."""


def _added(stage: Stage, before: Stage | None) -> str:
    tape, was = stage.tape or (), (before and before.tape) or ()
    return tape[-1].key if tape and tape[-1].key not in {card.key for card in was} else ""


def _route(laid: _Set, added: str) -> Callable[[Flow], Way | None]:
    def route(flow: Flow) -> Way | None:
        is_added = flow.to_key == laid.stage.tape_key and added
        return laid.way(flow.from_key, added if is_added else flow.to_key)

    return route


def _unheard(scene: Scene, stage: Stage, before: Stage | None) -> set[str]:
    """The keys of those who were down and are: what a model without a network sends them is lost.
    A network says itself who hears of what.
    """

    def down(stage: Stage | None) -> set[str]:
        cast = stage.characters if stage else ()
        return {each.key for each in cast if each.health in ("down", "gone")}

    return set() if isinstance(scene.model, NetworkModel) else down(stage) & down(before)


def _wall(laid: _Set, wall: Wall, edges: Sequence[Edge], labels: Labels) -> Frag:
    key = f"wall:{','.join((*wall.group, wall.beyond))}:{wall.words}"
    title = f"{wall.words}: {', '.join(wall.group)}"
    if wall.one_way and wall.beyond:
        title = f"{title} still reaches {wall.beyond}"
    elif wall.one_way:
        title = f"{title} can still reach the others"
    elif wall.beyond:
        title = f"{title} and {wall.beyond}"
    lines = sorted(edges, key=lambda line: -abs(line[1] - line[0]))
    way = "".join(f"M{a.real:.0f} {a.imag:.0f}L{b.real:.0f} {b.imag:.0f}" for a, b, _ in lines)
    tip = None
    if wall.one_way and lines:
        start, end, out = lines[0]
        tail, end = (start + end) / 2 - 12 * out, (start + end) / 2 + 14 * out
        side = 5j * out
        corners = (end, end - 9 * out + side, end - 9 * out - side)
        tip = h(
            "g",
            h("path", d=f"M{tail.real:.0f} {tail.imag:.0f}L{end.real:.0f} {end.imag:.0f}",
              class_="wire"),
            h("polygon", points=" ".join(f"{c.real:.0f},{c.imag:.0f}" for c in corners),
              class_="tip"),
        )  # fmt: skip
    around = [a * s + b * (1 - s) for a, b, _ in lines for s in (0.5, 0.3, 0.7, 0.1, 0.9)]
    labels.ask(key, wall.words, around)
    wire = laid.way(wall.group[0], wall.beyond) if wall.beyond else None
    return h(
        "g",
        h("title", title),
        h("path", d=path(wire), class_="wire thin") if wire else None,
        h("path", d=way, class_="wall"),
        tip,
        k=key,
        class_="walls",
        data_of=f"wall:{wall.ends}" if wall.ends else None,
    )


def _across(laid: _Set, wall: Wall) -> Iterator[Edge]:
    if way := laid.way(wall.group[0], wall.beyond):
        middle, out = on(way, 0.5), (way[3] - way[0]) / abs(way[3] - way[0])
        yield middle - 8j * out, middle + 8j * out, out


def _between(laid: _Set, group: set[str]) -> Iterator[Edge]:
    """Each edge between a place of the group and another one: its ends, the way out of the group.

    A row of places is cut where two of them meet, and rows half-way between what they cover.
    """
    rows = defaultdict[float, list[str]](list)
    is_one = laid.looks.rows == 1 and not laid.looks.beside
    for name in laid.stage.names:
        rows[0.0 if is_one else laid.at[name].imag].append(name)
    covered = {
        high: Body(laid.at[row[0]], 0, tuple(laid.bodies[name].around for name in row)).around
        for high, row in rows.items()
    }
    heights = sorted(rows)
    cuts = [
        (upper.y + upper.height / 2 + lower.y - lower.height / 2) / 2
        for upper, lower in pairwise(covered[y] for y in heights)
    ]
    above: list[tuple[float, float, bool]] = []
    for y, top, bottom in zip(
        heights, [laid.top + 4, *cuts], [*cuts, laid.bottom - 4], strict=True
    ):
        row = sorted(rows[y], key=lambda name: laid.at[name].real)
        middles = [(laid.at[a].real + laid.at[b].real) / 2 for a, b in pairwise(row)]
        ends = pairwise((laid.left, *middles, laid.width))
        cells = [(*both, name in group) for name, both in zip(row, ends, strict=True)]
        for (_, x, inside), (_, _, other) in pairwise(cells):
            if inside != other:
                yield complex(x, top), complex(x, bottom), complex(1 if inside else -1)
        for upper in above:
            for cell in cells:
                left, right = max(upper[0], cell[0]), min(upper[1], cell[1])
                if upper[2] != cell[2] and right - left > 1:
                    yield complex(left, top), complex(right, top), 1j if upper[2] else -1j
        above = cells


# -- words, and the panel --------------------------------------------------------------------------


def stage_lines(stage: Stage, gates: Sequence[Gate]) -> Iterator[str]:
    """The same in words, a line each."""
    for each in (*stage.sides, *stage.characters):
        yield each.title or ", ".join((f"{each.name}: {each.health}", each.tag, *each.holds))
    for card in stage.tape or ():
        yield card.title or card.words
    for message in stage.messages:
        said = f"{message.source} → {message.target}: {message.title or message.words}"
        yield f"on its way: {fate(said, message.look)}"
    for message in stage.lost:
        said = f"{message.source} → {message.target}: {message.title or message.words}"
        yield f"lost: {said}"
    for wall in stage.walls:
        group = ", ".join(wall.group)
        beyond = wall.beyond or "the others"
        where = f"between {group} and {beyond}"
        if wall.one_way:
            where = f"no node reaches {group}, but {group} can reach the others"
        if wall.one_way and wall.beyond:
            where = f"nothing passes from {wall.beyond} to {group}"
        yield f"{wall.words}: {where}"
    for gate in gates:
        yield gate.sentence


def _unsaid(stage: Stage) -> Iterator[str]:
    for each in (*stage.sides, *stage.characters):
        if each.title:
            rest = [words for words in (each.tag, *each.holds) if words and words not in each.title]
            yield from (f"{each.name}: {words}" for words in rest)
        yield from (f"{each.name}: {each.requests}",) * bool(each.requests)


MEANINGS = {
    "crown": "crown: leads",
    "lock": "lock: its change is in progress",
    "key": "key: session open",
    "ban": "ban: banned",
    "+": "+: joining",
    "✗": "✗: dead",
    "hollow": "hollow: down",
    "square": "square: client",
    "diamond": "diamond: operator",
    "guest": "small square: whose request it has",
    "eye": "eye: read; pencil: written; filled: asked now",
    "dashed card": "dashed card: not committed",
    "struck": "struck out: no effect",
    "letters": "letters: stored; framed: committed; filled: applied",
    "counts": "counts: nodes that have applied it",
    "envelope": "envelope: on its way",
    "with bars": "with bars: held back",
    "dashed envelope": "dashed envelope: leaves once its sender has written",
    "torn": "torn: lost",
    "open envelope": "open envelope: arrived",
    "dot": "dot: no node here",
    "ring": "ring: acts in this step",
    "outline": "ink outline: new in this step",
}
"""What the marks mean, unless a family says better."""
ALWAYS = ("below a node", "on a disk")


def _marks_seen(scene: Scene, stage: Stage, before: Stage | None) -> Iterator[str]:
    yield from ALWAYS
    looks = (*stage.characters, *stage.sides)
    tape = (stage.tape or ())[-MOST_CARDS:]
    marked = [card.marks for card in tape]
    yield from ("fill",) * any(each.fill for each in looks)
    yield from ("crown",) * any(each.leads for each in looks)
    called = {"joining": "+", "gone": "✗", "": ""}
    for sign in ("lock", "key", "ban", "joining", "gone", "ballot"):
        yield from (called.get(sign, sign),) * any(sign in (e.sign, e.health) for e in looks)
    yield from ("hollow",) * any(each.health == "down" for each in looks)
    kinds = {each.kind for each in stage.sides}
    yield from ("square",) * ("client" in kinds) + ("diamond",) * ("operator" in kinds)
    yield from ("guest",) * any(side.asks for side in stage.sides)
    yield from ("eye",) * any(each.requests for each in looks)
    coming = any(each.target == stage.tape_key for each in stage.messages)
    yield from ("dashed card",) * (coming or any(card.open for card in tape))
    yield from ("struck",) * any(card.void for card in tape)
    yield from ("letters",) * any(0 < len(each) <= MOST_MARKS for each in marked)
    yield from ("counts",) * any(len(each) > MOST_MARKS for each in marked)
    yield from ("envelope",) * bool(stage.messages)
    yield from ("with bars",) * any(each.held for each in stage.messages)
    yield from ("dashed envelope",) * any(each.waits for each in stage.messages)
    lost = [flow.to_key in _unheard(scene, stage, before) for flow in scene.flows()]
    yield from ("torn",) * (bool(stage.lost) or any(lost))
    yield from ("open envelope",) * (not all(lost))
    yield from ("dot",) * (len(stage.names) > len(stage.characters))
    yield from ("ring",) * bool(_acting(scene, stage))
    yield from ("outline",) * (scene.action is not None)


def _keys(stage: Stage) -> dict[str, str]:
    aside = {each.name: each.key for each in stage.sides}
    tape = {stage.tape[-1].words: stage.tape_key} if stage.tape else {}
    return {each.name: each.key for each in stage.characters} | aside | tape


def _aspects(
    stage: Stage, gates: Sequence[Gate], before: Stage | None, then: Sequence[Gate]
) -> Iterator[Aspect]:
    """What matters of very many characters: how each is, what it goes by, what it holds; who has
    come to the gate.
    """
    values: dict[str, Callable[[Character], str]] = {
        "state": lambda each: " ".join(sign for sign in (each.health, each.sign) if sign),
        "works with": lambda each: each.tag,
        "holds": lambda each: ", ".join(each.holds),
    }
    former = {each.name: each for each in before.characters} if before else {}
    for title, value in values.items():
        now = {each.name: value(each) or "–" for each in stage.characters}
        changed = (
            each.name
            for each in stage.characters
            if each.name in former and value(former[each.name]) != value(each)
        )
        if len(set(now.values())) > 1 or title == "state":
            yield Aspect(title, now, frozenset(changed))
    for gate in gates[:1]:
        standing = dict.fromkeys(gate.there, "answered")
        standing |= dict.fromkeys(gate.awaited, "missing")
        standing |= dict.fromkeys(gate.against, "refused")
        so_far = f"{len(gate.there)}/{gate.needed}"
        yield Aspect(gate.title, standing, frozenset(came(gate, then)), so_far)


def stage_panel(
    name: str,
    title: str,
    declare: Callable[[Scene], Stage],
    *,
    gates: Declared | None = awaited_gates,
    meanings: Mapping[str, str] | None = None,
) -> Panel:
    """Make the panel of a family's stage; ``gates`` says what is waited for (None: never),
    ``meanings`` what its marks mean where that is more than ``MEANINGS`` says: *below a node*, *on
    a disk*, *fill*, *ballot*; the first of them are beside the title. Any other key is an example
    of what stands there.
    """
    own = {mark: f"{mark}: {words}" for mark, words in (meanings or {}).items()}
    meant = MEANINGS | own
    examples = [mark for mark in own if mark not in (*MEANINGS, *ALWAYS, "fill", "ballot")]

    def on(scene: Scene) -> Stage:
        def work() -> Stage:
            stage = declare(scene)
            return on_network(scene, stage) if isinstance(scene.model, NetworkModel) else stage

        return scene.once(f"stage:{name}", work)

    def was(scene: Scene) -> Stage | None:
        former = scene.former()
        return on(former) if former else None

    def awaited(scene: Scene) -> tuple[Gate, ...]:
        return gates_of(scene, gates) if gates else ()

    def words(scene: Scene) -> str:
        stage, gates = on(scene), awaited(scene)
        many = len(stage.characters) > MOST_NODES
        lines = heat_lines(aspects(scene)) if many else stage_lines(stage, gates)
        return "\n".join(f"  {line}" for line in lines)

    def aspects(scene: Scene) -> list[Aspect]:
        def work() -> list[Aspect]:
            then = former_gates(scene, gates) if gates else ()
            return [*_aspects(on(scene), awaited(scene), was(scene), then)]

        return scene.once(f"aspects:{name}", work)

    def draw(scene: Scene) -> Frag:
        stage = on(scene)
        if len(stage.characters) > MOST_NODES:
            said = alternative(title, words(scene))
            moving = Counter((each.source, each.target) for each in stage.messages)
            return draw_heat(_keys(stage), aspects(scene), said, moving)
        said = "\n".join((words(scene), *_unsaid(stage)))
        return draw_stage(scene, stage, alternative(title, said), was(scene))

    def legend(scene: Scene) -> str:
        stage = on(scene)
        if len(stage.characters) > MOST_NODES:
            return ""
        there = (*_marks_seen(scene, stage, was(scene)), *examples)
        seen = dict.fromkeys((*(mark for mark in own if mark in there), *there))
        return " · ".join(meant[mark] for mark in seen if mark in meant)

    return Panel(name, title, draw, words, still=True, gates=gates, legend=legend)
