"""The stage: one picture for every family, in which nodes are characters.

A family only declares a ``Stage`` of its facts, and ``stage_panel`` draws it. From top to bottom:

- the *strip* of the state machine (``standing``): the way taken, what follows;
- the *tape* (``tape``): the newest cards of a log, each in the hue of its maker;
- the *characters*, each in a place of its own that no step changes (``names`` are all there can
  ever be): a disc with a letter, below it a pill and lines of what the node knows;
- on their wires the *messages* in flight, what travelled in this step (from the model's flows),
  torn envelopes of what was *lost*, *walls* between groups; from four messages on, what they say
  is told at each receiver;
- the *sides*: clients, operators, what all share.

Of a model on ``kit.model.network`` messages, losses and walls need no declaration. A
hue says who: a node, who sent a message, who made a value. *Dashed* is planned or not yet so.
"""

import re
from cmath import rect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, groupby, product
from math import ceil, tau
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.model import network
from kit.model.actors import NetworkModel
from kit.model.machines import MachineModel
from kit.model.network import DropMessage
from kit.views.busts import Health, Kind, bust, head_of, letter_of
from kit.views.diagrams import Standing
from kit.views.fragment import Frag, h
from kit.views.gate import Declared, Gate, awaited_gates, came, draw_quorums, former_gates, gates_of
from kit.views.heat import MOST_NODES, Aspect, draw_heat, heat_lines
from kit.views.labels import Box, Sheet, measured, seated, shortened, tags, wrapped
from kit.views.palette import hues
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import fresh, hatched_disc
from kit.views.replicas import SIGNS, disk, disk_size, envelope_path
from kit.views.strip import draw_strip
from kit.views.tape import BADGE, Card, Tape, at_place, tile
from kit.views.wires import STRAIGHT, Body, Place, Way, ground, on, path

WIDE, HIGH = 400.0, 280.0
"""The picture, in units of which a letter has 13: about a pixel each on a phone, two on a desk."""
WHOLE = Box(WIDE / 2, HIGH / 2, WIDE, HIGH)
LARGE = 14.6 / 13
"""How much larger letters are on a phone."""
STRIP, WIDTH = 26.0, 460.0
LINE, PILL, APART = 15.0, 18.0, 20.0
"""How high a line below a node is, a pill or a tile, and how far apart these are."""
SIDE_HIGH, IN_ROW, ASIDE = (36.0, 54.0), 2, 13.0
"""How high a card of who stands aside is, alone or not, how many in a row, how large its head."""
QUORUM = 34.0
"""How high the row of quorums is."""
HUB = 74.0
"""How high the room of who stands above the others is."""
MOST_LINES = 2
"""Lines of words below a pill."""
MOST_SAID = 3
"""Messages in flight whose words stand at them; of more, at their receivers."""
MOST_TRAILS, MOST_MESH, MOST_LOW = 12, 5, 14
ASTRAY = (0, 12, -12, 22, -22, 32, -32)
"""How far beside its wire an envelope may stand, where it has no room on it."""
Sign = Literal["key", "ban", ""]


class Tile(Struct, frozen=True):
    """Something that a node holds, with ``by`` whom it was made: in the hue of that one, hatched
    where it is not known to be chosen (``open``).
    """

    words: str
    by: str = ""
    open: bool = False

    def badge(self, holder: str) -> str:
        """Whose letter stands in it: its maker's, unless that holds it or its words say it (1B)."""
        return "" if self.by == holder or self.words.endswith(self.by) else self.by

    def size(self, holder: str) -> tuple[float, float]:
        """How wide and how high it is at one who holds it."""
        badge = BADGE * bool(self.badge(holder))
        return measured(self.words, bold=True) + 14 + badge, PILL

    def __str__(self) -> str:
        return self.words


class Row(Struct, frozen=True):
    """A line with others as discs: whom a node knows, whom it writes to. Those who are ``hatched``
    are written to only.
    """

    words: str
    names: tuple[str, ...]
    hatched: tuple[str, ...] = ()

    def parts(self) -> list[tuple[str, bool]]:
        """Each with its fill."""
        return [(name, name in self.hatched) for name in self.names]

    def size(self, holder: str) -> tuple[float, float]:
        """How wide and how high it is."""
        return self.left + (BADGE + 3) * len(self.names), PILL

    @property
    def left(self) -> float:
        """How wide its words are."""
        return measured(self.words) * LARGE + 2

    def __str__(self) -> str:
        return f"{self.words} {', '.join(self.names)}"


class Paper(Struct, frozen=True):
    """What is checked at a door, a line each (of one that is too long its first word): whether it
    passed (None: nobody has looked yet).
    """

    lines: tuple[tuple[str, bool | None], ...]

    def size(self, holder: str) -> tuple[float, float]:
        """How wide and how high it is."""
        wide = max(measured(words) for words, _ in self.lines)
        return wide * LARGE + 24, LINE * len(self.lines) + 5

    def __str__(self) -> str:
        return ", ".join(f"{words}{SIGN[passed]}" for words, passed in self.lines)


class Steps(Struct, frozen=True):
    """Numbered steps that everybody takes: those that one has ``done``, and those to come."""

    words: str
    done: int
    of: int

    def size(self, holder: str) -> tuple[float, float]:
        """How wide and how high it is."""
        return BADGE * self.of, PILL

    def __str__(self) -> str:
        return f"{self.words}: {self.done} of {self.of}"


Held = str | Tile | Row | Paper | Steps
SIGN = {None: "", True: " ✓", False: " ✗"}


class Character(Struct, frozen=True):
    """Somebody on the stage: the same letter and shape in every picture.

    ``tag`` says what it goes by (a version, a term, a word of state), ``holds`` are short lines and
    tiles below it, ``stored`` are rows that it has on disk. A ``sign`` stands at its shoulder: who
    has a session, who is banned. Who is ``written`` to only is hatched; ``timer`` is how much of a
    timeout has passed, from 0 to 1. ``title`` is all of it in words. ``asks`` is whom a request of
    its is with now.
    """

    name: str
    key: str
    health: Health = "up"
    leads: bool = False
    sign: Sign = ""
    tag: str = ""
    holds: tuple[Held, ...] = ()
    stored: str = ""
    title: str = ""
    kind: Kind = "node"
    written: bool = False
    timer: float | None = None
    asks: str = ""


class Message(Struct, frozen=True):
    """Something on its way between two characters, or other keyed parts of the stage (the tape).

    Without a ``target`` nobody knows yet where it arrives. ``thing`` is what actions call it. One
    that ``waits`` has not gone yet: its sender has still to write to its disk. An ``old`` one is of
    a ballot that its receiver no longer listens to. ``why`` is what such messages are for.
    """

    source: str
    target: str
    words: str
    key: str = ""
    held: bool = False
    title: str = ""
    thing: str = ""
    waits: bool = False
    old: bool = False
    why: str = ""

    @property
    def look(self) -> str:
        """How it is drawn."""
        return "held" if self.held else "waits" if self.waits else "old" if self.old else ""


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
    """All that is on the stage at one moment; see the module. ``lines``: the most below a pill;
    those who are ``plain`` are no nodes and have no hue, the first of them stands above all others.
    ``bodies`` are names and members of what has some, such as the CMS; ``old`` are the things of
    messages that their receivers no longer listen to. ``quorums`` say who decides, and who can.
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
    tape_key: str = "log"
    lines: int = 2
    plain: tuple[str, ...] = ()
    bodies: tuple[tuple[str, tuple[str, ...]], ...] = ()
    old: frozenset[str] = frozenset()
    quorums: tuple[Gate, ...] = ()

    @property
    def hues(self) -> Mapping[str, str]:
        """The class of each node's hue."""
        return hues([name for name in self.names if name not in self.plain])


# -- places ----------------------------------------------------------------------------------------


class Looks(Struct, frozen=True):
    """How large a character is: the radius of its head, the room in breadth, lines below."""

    head: float
    wide: float
    lines: int


@lru_cache(256)
def places(
    count: int, top: float, bottom: float, lines: int = 2
) -> tuple[tuple[Place, ...], tuple[Box, ...], Looks]:
    """Where so many characters stand, in rows, clockwise where there are two; the room of each;
    how large they are. In one row of three or more every second one stands lower, so that each
    sees each. A place depends on the number alone.
    """
    rows = 1 if count <= 4 else 2 if count <= 8 else ceil(count / 5)
    high = (bottom - top) / rows
    across = ceil(count / rows) or 1
    heads = (28 - count, 19, 16, 14, 11, 8)
    small = [r for r in heads if 2 * r + 12 < WIDE / across and 2 * r + 8 + PILL <= high]
    fitting = (r for r in small if r > MOST_LOW - 1 and 2 * r + 41 + LINE * lines <= high)
    head = next(fitting, small[0] if small else heads[-1])
    spare = high - 2 * head - 17
    shown = max(0, min(lines, int((spare - APART - 2) // LINE)))
    looks = Looks(head, 108 if count == 3 else WIDE / across, shown if spare >= PILL else -1)
    air = max(0.0, spare - PILL - LINE * shown)
    drop = min(64.0, air * 0.75) if rows == 1 and count > 2 else 0.0
    rest = min(36.0, (air - drop) * 0.4) if rows == 1 else 0.0
    at: list[Place] = []
    room: list[Box] = []
    for row in range(rows):
        here = ceil((count - len(at)) / (rows - row))
        wide, first = WIDE / max(here, 1), top + high * row
        y = first + head + 13 + rest
        order = range(here)[:: -1 if row % 2 else 1]
        spread = 1.09 if count == 3 else 1  # so that their wires are longer
        middles = (WIDE / 2 + spread * (wide * (i + 0.5) - WIDE / 2) for i in order)
        at += (Place(x, y + drop * (i % 2)) for x, i in zip(middles, order, strict=True))
        room += (Box(wide * (i + 0.5), first + high / 2, wide, high) for i in order)
    return tuple(at), tuple(room), looks


class _Set:
    """A stage that is laid out: what stands on it by name and by key, and the ways between."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.hues = stage, stage.hues
        self.letters = tags(stage.names)
        y = STRIP * stage.has_strip
        self.inboxes: dict[str, list[tuple[Message, int]]] = defaultdict(list)
        self.tape = None
        if stage.tape is not None:
            named = {each.key: each.name for each in stage.characters}
            coming = [(each.words, named.get(each.source, each.source))
                      for each in stage.messages if each.target == stage.tape_key]  # fmt: skip
            self.tape = Tape(stage.tape, stage.tape_key, y, WIDE, coming, self.letters, self.hues)
            y = self.tape.bottom
        self.side_high = SIDE_HIGH[len(stage.sides) > 1]
        floor = HIGH - ceil(len(stage.sides) / IN_ROW) * self.side_high
        self.top, self.bottom = y, floor - QUORUM * bool(stage.quorums)
        hub = stage.plain[:1]
        y += HUB * bool(hub)
        names = [name for name in stage.names if name not in hub]
        spots, cells, self.looks = places(len(names), y, self.bottom, stage.lines)
        self.cells = dict(zip(names, cells, strict=True))
        self.at: dict[str, Place] = dict(zip(names, spots, strict=True))
        for name in hub:
            self.cells[name] = Box(WIDE / 2, y - HUB / 2, WIDE, HUB)
            self.at[name] = Place(WIDE / 2, self.top + self.looks.head + 14)
        self.side_wide = WIDE / min(max(len(stage.sides), 1), IN_ROW) - 6
        for i, side in enumerate(stage.sides):
            row, column = divmod(i, IN_ROW)
            here = min(len(stage.sides) - row * IN_ROW, IN_ROW)
            x = WIDE * (column + 0.5) / here
            self.at[side.name] = Place(x, floor + self.side_high * (row + 0.5))
        for each in (*stage.characters, *stage.sides):
            self.at[each.key] = self.at[each.name]
        self.low = {end for side in stage.sides for end in (side.name, side.key)}
        self.foot: dict[str, Place] = {}
        """Where what comes from below ends: under the words of a node."""
        for each in stage.characters:
            low = max((y + high / 2 for y, _, high in _blocks(each, self.looks)), default=0)
            low = max(low, self.looks.head) + 3
            self.foot[each.name] = self.foot[each.key] = self.at[each.name] + 1j * low
        if self.tape:
            self.at |= self.tape.spots
        self.lines: list[Box] = []
        """Where wires run that something is on."""
        self.stand()

    def fill_inboxes(self) -> None:
        """Let what is in flight be told at its receivers, where there is room for that."""
        for (_, target, _, look), group in _piles(self.stage).items():
            if look != "torn" and target != self.stage.tape_key and self.looks.head > MOST_LOW:
                self.inboxes[self.name(target)].append((group[0], len(group)))
        self.stand()

    def stand(self) -> None:
        """Note what wires go round."""
        self.bodies: dict[str, Body] = {}
        if self.tape:
            self.bodies["tape"] = Body(0j, 0, (Box(WIDE / 2, self.tape.y + 20, WIDE, 40),))
        for what, _, box in self.outlines():
            left, _, top, _ = box.edges
            wide = measured(what)
            self.bodies[f"body:{left}"] = Body(0j, 0, (Box(left + 12 + wide / 2, top, wide, LINE),))
        for side in self.stage.sides:
            at = self.at[side.name]
            card = Box(at.real, at.imag, self.side_wide, self.side_high - 6)
            self.bodies[side.name] = Body(at, 0, (card,))
        there = {each.name: each for each in self.stage.characters}
        for name in self.stage.names:
            at, each = self.at[name], there.get(name)
            boxes = [*self._boxes(each)] if each else [Box(at.real, at.imag + 15, 20)]
            self.bodies[name] = Body(at, self.looks.head if each else 4, tuple(boxes))
        self.ground = ground(tuple(self.bodies.values()), WHOLE, STRAIGHT)

    def _boxes(self, each: Character) -> Iterator[Box]:
        """What stands at a head."""
        at, r = self.at[each.name], self.looks.head
        for y, wide, high in _blocks(each, self.looks):
            yield Box(at.real, at.imag + y, wide, high)
        if each.leads:
            yield Box(at.real, at.imag - r - 7, 24, 14)
        if each.sign:
            yield Box(at.real + r + 8, at.imag - r * 0.8, 20, 14)
        lines, others = self.inbox(each.name)
        if high := LINE * (sum(len(said) for _, said in lines) + (others > 0)):
            low = self.foot[each.name]
            yield Box(low.real, low.imag + high / 2, self.looks.wide - 8, high)

    def outlines(self) -> Iterator[tuple[str, list[str], Box]]:
        """What encloses the members of a body: one line around all who stand side by side."""
        rows = defaultdict[float, list[str]](list)
        for name in sorted(self.cells, key=lambda name: self.cells[name].x):
            rows[self.cells[name].y].append(name)
        below = self.looks.head + 10 + APART + LINE * self.looks.lines
        for (what, members), row in product(self.stage.bodies, rows.values()):
            for inside, group in groupby(row, key=members.__contains__):
                if inside:
                    names = [*group]
                    first, last = self.cells[names[0]].edges, self.cells[names[-1]].edges
                    left, right, top = first[0] + 3, last[1] - 3, first[2] + 6
                    low = max(self.at[name].imag for name in names) + below
                    low = min(first[3] - 1, low)
                    middle = (left + right) / 2, (top + low) / 2
                    yield what, names, Box(*middle, right - left, low - top)

    def inbox(self, name: str) -> tuple[list[tuple[Message, tuple[str, ...]]], int]:
        """What an inbox has room for, each in one line or two, and how many others there are."""
        came, lines = self.inboxes.get(name, []), list[tuple[Message, tuple[str, ...]]]()
        low = self.cells[name].edges[3] if name in self.cells and name in self.foot else 0
        room = int((low - self.foot[name].imag) // LINE) if low else 0
        for sent, count in came:
            said = f"{sent.words}{f' ×{count}' if count > 1 else ''}"
            lines.append((sent, wrapped(said, self.looks.wide - 30)))
        while lines and sum(len(said) for _, said in lines) + (len(lines) < len(came)) > room:
            lines.pop()
        return lines, (len(came) - len(lines)) * (room > 0)

    def name(self, end: str) -> str:
        """Whose end it is: a name for a key."""
        cast = (*self.stage.characters, *self.stage.sides)
        return next((each.name for each in cast if each.key == end), end)

    def way(self, source: str, target: str) -> Way | None:
        """The wire between two parts; None: there is no such. Without a target nobody knows yet
        where it will arrive.
        """
        start, end = self._end(source, target), self._end(target, source)
        if start is None or end is None or abs(start.at - end.at) < 1:
            return None
        return self.ground.way(start, end)

    def _end(self, name: str, other: str) -> Body | None:
        """Where a wire to or from another part ends."""
        at, body = self.at.get(name), self.bodies.get(name)
        if name in self.low and other in self.foot and at and body:
            return replace(body, at=self._up(at, other))
        if other in self.low and name in self.foot:
            return Body(self.foot[name], 0)
        if self.tape and name in self.tape.spots:
            return replace(self.bodies["tape"], at=self.tape.spots[name])
        at = at if name else Place(WIDE / 2, self.bottom - 40)
        return body or (Body(at, 10 * (name in self.at)) if at else None)

    def _up(self, card: Place, node: str) -> Place:
        """Where on the upper edge of a card at the side the way to a node begins."""
        out = self.side_wide / 2 - 20
        is_first = card.imag == self.at[self.stage.sides[0].name].imag  # else between two of these
        x = min(max(self.at[node].real if is_first else WIDE / 2, card.real - out), card.real + out)
        return Place(x, card.imag - self.side_high / 2 + 3)

    @property
    def middle(self) -> float:
        """How low the middle of the characters is."""
        return (self.top + self.bottom) / 2

    def taken(self) -> Iterator[Box]:
        """What all that stands covers."""
        if self.tape:
            yield Box(WIDE / 2, self.tape.y + 20, WIDE, 42)
        if self.bottom < HIGH:
            yield Box(WIDE / 2, (self.bottom + HIGH) / 2, WIDE, HIGH - self.bottom)
        for body in self.bodies.values():
            at, r = body.at, body.reach
            if r:
                yield Box(at.real, at.imag, 2 * r + 2, r)
                yield Box(at.real, at.imag, r, 2 * r + 2)
                yield Box(at.real, at.imag, 1.5 * r, 1.5 * r)
            yield from body.boxes

    def columns(self) -> Iterator[Box]:
        """Where lines run from the characters to those who stand below them."""
        for at in self.at.values():
            yield Box(at.real, (at.imag + HIGH) / 2, 8, HIGH - at.imag)


def _blocks(each: Character, looks: Looks) -> Iterator[tuple[float, float, float]]:
    """What stands below a head: how far below its middle, how wide and how high."""
    y, room = looks.head + 4, looks.wide - 6
    if looks.lines < 0:
        return
    if each.tag:
        yield y + PILL / 2, min(measured(each.tag, bold=True) + 16, room), PILL
        y += APART
    for line in _lines(each, looks):
        wide, high = _size(line) if isinstance(line, tuple) else line.size(each.name)
        yield y + high / 2, min(wide, room), high
        y += high + 2
    if each.stored:
        yield y + 14, min(measured(each.stored) + 14, room), 26


def _size(words: Sequence[str]) -> tuple[float, float]:
    return max(map(measured, words)) + 14, LINE * len(words) + 2 * (len(words) > 1)


def _lines(each: Character, looks: Looks) -> list[Tile | Row | Paper | Steps | tuple[str, ...]]:
    """The lines below a pill as far as there is room, words in one or two; a row that has no room
    is words.
    """
    done, room = list[Any](), looks.lines - 2 * bool(each.stored)
    for held in each.holds:
        is_words = isinstance(held, str) or (isinstance(held, Row) and not _fits(held, looks))
        said = wrapped(str(held), looks.wide - 8, min(2, room)) if is_words else ()
        if room > 0:
            done.append(said or held)
        room -= len(said) or 1
    return done


def _fits(row: Row, looks: Looks) -> bool:
    return row.size("")[0] <= looks.wide - 6 and all(len(name) <= 2 for name in row.names)


# -- what a model on a network needs not declare ---------------------------------------------------


def on_network(scene: Scene, stage: Stage) -> Stage:
    """The stage with messages in flight and held, with what this step lost, and with the split."""
    m, carried = scene.model, scene.state.network

    def message(sent: Any, held: bool = False) -> Message:
        short, full = m.in_short(sent.message), m.in_full(sent.message)
        thing = network.line(sent)
        ends, why = (sent.source, sent.target), m.purpose_of(sent.message)
        is_old = thing in stage.old
        return Message(*ends, short, held=held, title=full, thing=thing, old=is_old, why=why)

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


def in_use(scene: Scene, stage: Stage, before: Stage | None) -> Stage:
    """The stage with no more lines below its nodes than its step changes, or, where it changes
    none of theirs, the rows, papers or first line of who takes part; their titles say all. What
    was sent over a network says itself what is used of its sender.
    """
    was = {each.key: {*each.holds} for each in (before.characters if before else ())}
    there = {each.key: each.name for each in (*stage.sides, *stage.characters)}
    flows = () if isinstance(scene.model, NetworkModel) else scene.flows()
    part = {key for flow in flows for key in (flow.from_key, flow.to_key)}
    actor = acting(scene, there)
    part |= {key for key, name in there.items() if name == actor}

    def shown(each: Character) -> Character:
        lines = [held for held in each.holds if isinstance(held, str | Row | Paper)]
        new = [held for held in lines if held not in was.get(each.key, lines)]
        rows = [held for held in lines if not isinstance(held, str)]
        used = (new or (rows or lines[:1]) * (each.key in part))[:MOST_LINES]
        holds = tuple(held for held in each.holds if held not in lines or held in used)
        said = (held for held in map(str, lines) if held not in each.title)
        return replace(each, holds=holds, title="; ".join((each.title or each.name, *said)))

    return replace(stage, characters=tuple(map(shown, stage.characters)))


def draw_stage(scene: Scene, stage: Stage, said: str, before: Stage | None = None) -> Frag:
    """Draw the stage of a scene; what was not so ``before`` is marked."""
    laid = _Set(stage)
    was = {each.key: each for each in (*before.characters, *before.sides)} if before else {}
    ends = [key for flow in scene.flows() for key in (flow.from_key, flow.to_key)]
    there = {each.name for each in stage.characters}
    acts = acting(scene, {each.key: each.name for each in (*stage.sides, *stage.characters)})
    wires, envelopes = _letters(scene, laid, before)
    cast = [_character(laid, each, was.get(each.key), acts=each.name == acts)
            for each in stage.characters]  # fmt: skip
    return h(
        "svg",
        draw_strip(stage.standing, WIDE) if stage.has_strip else None,
        [*_bodies(laid)],
        [*draw_quorums(scene, stage.quorums, h("g", cast), laid.bottom + QUORUM / 2, WIDE)],
        [*_mesh(laid)] if isinstance(scene.model, NetworkModel) else None,
        [*_asking(laid)],
        wires,
        [_wall(laid, wall) for wall in stage.walls],
        laid.tape.draw(before.tape if before else None, ends) if laid.tape else None,
        [_empty(laid, name) for name in stage.names if name not in there],
        cast,
        [_side(laid, each, was.get(each.key), acts=each.name == acts) for each in stage.sides],
        envelopes,
        viewBox=f"0 0 {WIDE:.0f} {HIGH:.0f}",
        role="group",
        aria_label=said,
        class_="stage",
    )  # fmt: skip


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
    letter = h("text", laid.letters[name], y=20, text_anchor="middle", class_="soft")
    return h("g", h("circle", r=4, class_="place-of"), letter, k=f"place:{name}",
             transform=at_place(laid.at[name]))  # fmt: skip


def _mesh(laid: _Set) -> Iterator[Frag]:
    names = [each.name for each in laid.stage.characters]
    if len(names) <= MOST_MESH:
        for a, b in combinations(names, 2):
            if way := laid.way(a, b):
                yield h("path", d=path(way), class_="wire mesh")


def _asking(laid: _Set) -> Iterator[Frag]:
    for side in laid.stage.sides:
        if side.asks and (way := laid.way(side.name, side.asks)):
            yield h("path", d=path(way), class_="wire asks", k=f"asks:{side.key}")


def _bodies(laid: _Set) -> Iterator[Frag]:
    for what, names, outline in laid.outlines():
        left, _, top, _ = map(round, outline.edges)
        box = h("rect", x=left, y=top, width=round(outline.width), height=round(outline.height),
                rx=14, class_="body-of")  # fmt: skip
        words = h("text", what, x=left + 12, y=top + 4, class_="said soft")
        yield h("g", h("title", f"{what}: {', '.join(names)}"), box, words,
                k=f"body:{what}:{names[0]}")  # fmt: skip


def halo(kind: Kind, reach: float) -> Frag:
    """What is around the head of who acts, or is otherwise than a step ago."""
    return head_of(kind, reach + 4, "moved")


def _arc(reach: float, share: float) -> Frag:
    """A timer: as much of a circle as has passed of a timeout."""
    size, turn = reach + 8, rect(reach + 8, tau * min(share, 0.999) - tau / 4)
    far = f"{size:.0f} {size:.0f} 0 {share > 0.5:d} 1 {turn.real:.1f} {turn.imag:.1f}"
    return h("path", d=f"M0 {-size:.0f}A{far}", class_="timer")


def _character(laid: _Set, each: Character, was: Character | None, *, acts: bool) -> Frag:
    was, looks = was or each, laid.looks
    reach = looks.head
    letter, hue = laid.letters[each.name], laid.hues.get(each.name, "")
    head = bust(letter, reach, each.kind, leads=each.leads)
    if each.written:
        head.insert(-1, h("path", d=hatched_disc(reach), class_="hatch"))
    had, parts = {*map(str, was.holds)}, list[Any]()
    lines = [each.tag] * bool(each.tag), [*_lines(each, looks)], [each.stored] * bool(each.stored)
    whole = [line for group in lines for line in group]
    for line, (y, wide, high) in zip(whole, _blocks(each, looks), strict=False):
        if line is each.stored and each.stored:
            new, rows = {each.stored} - {was.stored}, [each.stored]
            parts.append(disk(0, y, 0, rows, disk_size(rows, wide)[0], news=new))
        elif line is each.tag and not parts:
            how = "pill now" if each.tag != was.tag else "pill"
            parts.append(tile(1j * y, (wide, high), [shortened(each.tag, wide - 8, bold=True)],
                              how=how))  # fmt: skip
        elif isinstance(line, Tile):
            how = f"{'open' * line.open} {'now' * (line.words not in had)}"
            by = laid.letters.get(line.badge(each.name), ""), laid.hues.get(line.by, "")
            said = [shortened(line.words, wide - 6 - BADGE * bool(by[0]), bold=True)]
            parts.append(tile(1j * y, (wide, high), said, by, how))
        elif isinstance(line, Row):
            parts += _row(laid, line, was.holds, y, wide)
        elif isinstance(line, Steps):
            began = next((each.done for each in was.holds if isinstance(each, Steps)), line.done)
            for i in range(line.of):
                how = f"{'dashed' * (i >= line.done)} {'now' * ((i < line.done) != (i < began))}"
                x = BADGE * (i + 0.5) - wide / 2
                parts.append(tile(x + 1j * y, (14, 16), [f"{i + 1}"], ("", hue), how))
        elif isinstance(line, Paper):
            parts += _paper(line, y, wide, high, is_new=str(line) not in had)
        else:
            first = y + 4.5 - (high - LINE) / 2
            look = "soft" if " ".join(line) in had else None
            parts += [None if look else fresh(0, y, wide, high),
                      *(h("text", words, y=first + LINE * i, text_anchor="middle", class_=look)
                        for i, words in enumerate(line))]  # fmt: skip
    return h(
        "g",
        h("title", each.title or each.name),
        _arc(reach, each.timer) if each.timer is not None else None,
        halo(each.kind, reach) if acts or each.health != was.health else None,
        fresh(0, -reach - 7, 34, 18) if each.leads > was.leads else None,
        *head,
        h("g", fresh(0, 0, 22, 20) if was.sign != each.sign else None,
          h("path", d=SIGNS[each.sign], class_=f"sign {each.sign}"),
          transform=f"translate({reach + 8:.0f} {-reach * 0.8:.0f})") if each.sign else None,
        parts,
        [*_inbox(laid, each)],
        k=each.key,
        class_=" ".join(filter(None, ("character", each.health, "hatched" * each.written, hue))),
        transform=at_place(laid.at[each.name]),
        data_of=each.name,
    )  # fmt: skip


def _row(laid: _Set, row: Row, was: Sequence[Held], y: float, wide: float) -> Iterator[Frag]:
    rows = (each for each in was if isinstance(each, Row) and each.words == row.words)
    former, x = [part for each in rows for part in each.parts()], row.left - wide / 2
    if row not in was and all(part in former for part in row.parts()):  # one has gone
        yield fresh(x - row.left / 2, y, row.left)
    yield h("text", row.words, x=round(-wide / 2, 1), y=y + 4.5, class_="soft")
    for part in row.parts():
        name, hatched = part
        kind = f"who {'hatched' * hatched} {'now' * (part not in former)}"
        yield h("g", h("circle", r=8),
                h("path", d=hatched_disc(8), class_="hatch") if hatched else None,
                h("text", laid.letters[name], y=4.5, text_anchor="middle"),
                class_=f"{kind} {laid.hues.get(name, '')}",
                transform=at_place(x + BADGE / 2 + 2 + 1j * y))  # fmt: skip
        x += BADGE + 3


def _paper(
    paper: Paper, y: float, wide: float, high: float, *, is_new: bool
) -> Iterator[Frag | None]:
    yield tile(1j * y, (wide, high), [], how="now" * is_new)
    for i, (words, passed) in enumerate(paper.lines):
        low = y - high / 2 + LINE * (i + 1) - 1
        said = words if measured(words) * LARGE + 23 < wide else words.split()[0]
        yield h("text", said, x=round(5 - wide / 2, 1), y=low, class_="soft")
        yield h("text", SIGN[passed], x=round(wide / 2 - 5, 1), y=low, text_anchor="end",
                class_="strong") if SIGN[passed] else None  # fmt: skip


def _stored(words: str, y: float, wide: float, *, is_new: bool) -> Frag:
    return disk(0, y, 0, [words], disk_size([words], wide)[0], news={words} if is_new else ())


def _inbox(laid: _Set, each: Character) -> Iterator[Frag]:
    """What is on its way to a node, as far as there is room."""
    lines, others = laid.inbox(each.name)
    y, wide = (laid.foot[each.name] - laid.at[each.name]).imag, laid.looks.wide - 8
    left = -min(wide, max((measured(x) for _, said in lines for x in said), default=0) + 22) / 2
    for message, said in lines:
        hue = laid.hues.get(laid.name(message.source), "")
        letter = h("path", d=envelope_path(8), class_="box", transform=at_place(left + 8 + 0j))
        words = [h("text", line, x=round(left + 22, 1), y=4.5 + LINE * i, class_="soft")
                 for i, line in enumerate(said)]  # fmt: skip
        yield h("g", letter, words,
                class_=f"envelope {message.look} {hue}".rstrip(), k=f"in:{_key(message)}",
                transform=at_place(1j * (y + LINE / 2)),
                data_of=message.thing or None)  # fmt: skip
        y += LINE * len(said)
    if others:
        yield h(
            "text", f"+{others} more", y=y + LINE / 2 + 4.5, text_anchor="middle", class_="soft"
        )


def _side(laid: _Set, each: Character, was: Character | None, *, acts: bool) -> Frag:
    was, wide, high = was or each, laid.side_wide, laid.side_high
    left = -wide / 2
    room = wide - 2 * ASIDE - 16
    what = " ".join(map(str, each.holds))
    short = shortened(each.tag, room, bold=True)
    rest = wrapped(what, room, int((high - 8) // 14) - bool(short)) if what else ()
    lines = [*filter(None, (short, *rest))]
    changed = (each.tag, each.holds) != (was.tag, was.holds)
    first = 4 - 6.5 * (len(lines) - 1)
    look = "card-of moved" if changed else "card-of"
    head = h(
        "g",
        halo(each.kind, ASIDE - 3) if acts and not changed else None,
        head_of(each.kind, ASIDE),
        letter_of(tags([each.name])[each.name][:2], ASIDE),
        transform=at_place(left + ASIDE + 5 + 0j),
    )
    return h(
        "g",
        h("title", each.title or each.name),
        h("rect", x=left, y=3 - high / 2, width=wide, height=high - 6, rx=8, class_=look),
        head,
        [h("text", line, x=left + 2 * ASIDE + 12, y=first + 13 * i,
           class_="strong" if line is short else "soft") for i, line in enumerate(lines)],
        k=each.key,
        class_=f"character {each.health} aside",
        transform=at_place(laid.at[each.name]),
        data_of=each.name,
    )  # fmt: skip


# -- letters ---------------------------------------------------------------------------------------


def _key(sent: Message, look: str = "") -> str:
    said = f"sent:{sent.source}:{sent.target}:{sent.words}{':' + look if look else ''}"
    return sent.key or said


class _Letter(Struct, frozen=True):
    """An envelope on a wire: of what message or flow, how it looks, what stands beside it."""

    key: str
    ends: tuple[str, str]
    at: float
    look: str
    words: str
    title: str
    thing: str = ""
    is_new: bool = False


Piles = dict[tuple[str, str, str, str], list[Message]]


def _piles(stage: Stage) -> Piles:
    alike: Piles = {}
    for kind, sent in (("", stage.messages), ("torn", stage.lost)):
        for each in sent:
            look = kind or each.look
            alike.setdefault((each.source, each.target, each.words, look), []).append(each)
    return alike


def _sealed(laid: _Set, before: Stage | None, *, is_short: bool) -> Iterator[_Letter]:
    """What is in flight: a letter for each that differs, or where they are many, for each wire and
    direction.
    """
    was = None if before is None else _piles(before)
    on_wire: dict[tuple[str, str, str], list[tuple[Message, bool]]] = defaultdict(list)
    for pile, group in _piles(laid.stage).items():
        is_new = was is not None and len(was.get(pile, ())) < len(group)
        kind = pile[3] if is_short and pile[3] in ("torn", "held") else ""
        said = kind if is_short else f"{pile[2]}\0{pile[3]}"
        on_wire[pile[0], pile[1], said] += ((each, is_new) for each in group)
    for (source, target, said), sent in on_wire.items():
        first, count = sent[0][0], len(sent)
        look = said.rpartition("\0")[2] if not is_short else said
        if is_short and not said and all(each.look == "old" for each, _ in sent):
            look = "old"
        several = f"{count}" if is_short else f"{first.words} ×{count}"
        words = several if count > 1 else "" if is_short else first.words
        titles = dict.fromkeys(each.title or each.words for each, _ in sent)
        title = fate(f"{source} → {target or '?'}: {'; '.join(titles)}", look)
        end = target
        if target == laid.stage.tape_key and laid.tape:
            words, end = "", laid.tape.next[first.words, laid.name(source)]
        yield _Letter(
            _key(first, look), (source, end), 0.12 if look == "waits" else 0.42, look, words,
            ". ".join(filter(None, (title, first.why))), first.thing,
            any(is_new for _, is_new in sent),
        )  # fmt: skip


def _opened(scene: Scene, laid: _Set, before: Stage | None) -> Iterator[_Letter]:
    """What came in this step, each pair of ends once; lost is what went to those who are down."""
    unheard, stage = _unheard(scene, laid.stage, before), laid.stage
    now, then = stage.tape or (), (before and before.tape) or ()
    added = now[-1].key if now and now[-1].key not in {card.key for card in then} else ""
    seen = set[tuple[str, str]]()
    for flow in scene.flows()[:MOST_TRAILS]:
        ends = flow.from_key, flow.to_key
        if ends in seen:
            continue
        seen.add(ends)
        ends = (
            now[-1].key if now and ends[0] == stage.tape_key else ends[0],
            added if added and ends[1] == stage.tape_key else ends[1],
        )
        is_lost = flow.to_key in unheard
        look = "torn" if is_lost else f"opened {flow.kind}"
        title = fate(flow.text, "torn" if is_lost else "")
        yield _Letter(f"trail:{flow.from_key}>{flow.to_key}", ends, 0.85, look, "", title)


def _letters(scene: Scene, laid: _Set, before: Stage | None) -> tuple[list[Frag], list[Frag]]:
    """The wires and the envelopes on them; what has no room there is told at its receiver."""
    stage = laid.stage
    between = [each for each in stage.messages if each.target != stage.tape_key]
    opened = [*_opened(scene, laid, before)]
    is_short = len(between) > MOST_SAID
    if is_short:
        laid.fill_inboxes()
    wires, envelopes, is_whole = _on_wires(
        laid, [*_sealed(laid, before, is_short=is_short), *opened]
    )
    if not is_whole and not is_short:
        laid.fill_inboxes()
        letters = [*_sealed(laid, before, is_short=True), *opened]
        wires, envelopes, _ = _on_wires(laid, letters)
    return wires, envelopes


def _on_wires(laid: _Set, letters: Sequence[_Letter]) -> tuple[list[Frag], list[Frag], bool]:
    """Draw letters, those of one wire one behind the other, and whether all words had room."""
    pinned, wires, ways = Sheet(laid.taken()), list[Frag](), list[Way]()
    by_wire: dict[frozenset[str], list[tuple[float, _Letter]]] = defaultdict(list)
    order = {name: i for i, name in enumerate(laid.at)}
    for each in letters:
        a, b = (laid.name(end) for end in each.ends)
        if laid.way(a, b):
            forth = order.get(a, 99) <= order.get(b, 99)
            by_wire[frozenset((a, b))].append((each.at if forth else 1 - each.at, each))
        else:  # to what is itself on its way
            wires.append(h("g", h("title", each.title), k=each.key))
    drawn = list[tuple[_Letter, Place]]()
    for ends, those in by_wire.items():
        a, b = sorted(ends, key=lambda name: order.get(name, 99)) if len(ends) > 1 else (*ends, "")
        way = laid.way(a, b)
        if way is None:
            continue
        ways.append(way)
        length = abs(way[3] - way[0]) or 1
        came = any(each.at > 0.5 and each.look != "torn" for _, each in those)
        keys = ":".join((a, b))
        wires.append(h("path", d=path(way), k=f"wire:{keys}",
                       class_="wire taken" if came else "wire"))  # fmt: skip
        shown, across = sorted(those, key=lambda pair: pair[0]), 1j * (way[3] - way[0]) / length
        shares = [i / 20 for i in range(2, 19)]
        free = [share for share in shares if pinned.is_free(_around(on(way, share)))]
        if not free:  # that something came, the wire itself says
            opened = [each for _, each in shown if each.look.startswith("opened")]
            line = h("path", d=path(way), class_="wire taken")
            wires += (h("g", h("title", each.title), line, k=each.key) for each in opened)
            shown, free = [pair for pair in shown if pair[1] not in opened], shares
        for i, (share, each) in enumerate(shown):
            wish = free[int((i + 0.5) * len(free) / len(shown))] if len(shown) > 1 else share
            near = sorted(shares, key=lambda at: abs(at - wish))
            places = (on(way, at) + out * across for out, at in product(ASTRAY, near))
            free_places = (
                at for at in places if pinned.is_free(box := _around(at)) and WHOLE.holds(box)
            )
            place = next(free_places, on(way, wish))
            drawn.append((each, place))
            pinned.cover(_around(place))
            laid.at[each.key] = place
    wishes = [(each.key, _beside(place, each.words)) for each, place in drawn if each.words]
    r = 2 * laid.looks.head
    heads = [Box(laid.at[x].real, laid.at[x].imag, r, r) for x in laid.cells]
    dots = (on(way, i / 32) for way in ways for i in range(33))
    laid.lines = [Box(at.real, at.imag, 3, 3) for at in dots]
    seats = seated(
        ((key, filter(WHOLE.holds, boxes)) for key, boxes in wishes),
        [*pinned.boxes, *laid.lines, *heads],
    )
    labels = [
        h("text", each.words, x=round(seat.x, 1), y=round(seat.y + 4.5, 1), text_anchor="middle",
          class_="said soft" if each.look == "old" else "said", k=f"label:{each.key}")
        for each, _ in drawn if (seat := seats.get(each.key))
    ]  # fmt: skip
    shapes = [_envelope(laid, each, place) for each, place in drawn]
    return wires, [*shapes, *labels], len(seats) == len(wishes)


def _around(at: Place) -> Box:
    return Box(at.real, at.imag - 1, 23, 19)


def _beside(at: Place, words: str) -> Iterator[Box]:
    """Where words may stand at an envelope: beside it, over or below it, then further away."""
    wide = measured(words, bold=True) + 4
    out = 14 + wide / 2
    near = product((out, -out, 0, out - 8, 8 - out, wide / 3, -wide / 3), (0, 18, 9, 26))
    for x, y in sorted(near, key=lambda at: abs(at[0]) / 2 + at[1]):
        if abs(x) >= out or y >= 18:
            yield Box(at.real + x, at.imag - y, wide, 14)
            yield Box(at.real + x, at.imag + y, wide, 14)


def _envelope(laid: _Set, each: _Letter, place: Place) -> Frag:
    is_open = each.look.startswith("opened")
    return h(
        "g",
        h("title", each.title),
        fresh(0, 0, 27, 21) if each.is_new else None,
        h("path", d=envelope_path(10, opened=is_open), class_="box"),
        h("path", d="M-3-10l5 6l-5 4l5 8", class_="rift") if each.look == "torn" else None,
        h("path", d="M-6-6l12 12M6-6l-12 12", class_="rift") if "refusal" in each.look else None,
        h("path", d="M-3-11v22M3-11v22", class_="bars") if each.look == "held" else None,
        k=each.key,
        class_=f"envelope {each.look} {laid.hues.get(laid.name(each.ends[0]), '')}".rstrip(),
        transform=at_place(place),
        data_of=each.thing or None,
    )


def fate(title: str, look: str) -> str:
    """What became of something that was sent, by its look."""
    if look == "held":
        return f"{title} (held)"
    if look == "waits":
        return f"{title} (not sent yet: its sender still has to write)"
    return f"{title} (lost)" if look == "torn" else title


def _unheard(scene: Scene, stage: Stage, before: Stage | None) -> set[str]:
    """The keys of those who were down and are: what a model without a network sends them is lost.
    A network says itself who hears of what.
    """

    def down(stage: Stage | None) -> set[str]:
        cast = stage.characters if stage else ()
        return {each.key for each in cast if each.health in ("down", "gone")}

    return set() if isinstance(scene.model, NetworkModel) else down(stage) & down(before)


# -- walls -----------------------------------------------------------------------------------------


def _wall(laid: _Set, wall: Wall) -> Frag:
    key = f"wall:{','.join((*wall.group, wall.beyond))}:{wall.words}"
    title = f"{wall.words}: {', '.join(wall.group)}"
    if wall.one_way and wall.beyond:
        title = f"{title} still reaches {wall.beyond}"
    elif wall.one_way:
        title = f"{title} can still reach the others"
    elif wall.beyond:
        title = f"{title} and {wall.beyond}"
    edges = [*(_across(laid, wall) if wall.beyond else _between(laid, {*wall.group}))]
    pen = "".join(f"M{a.real:.0f} {a.imag:.0f}L{b.real:.0f} {b.imag:.0f}" for a, b in edges)
    room, sheet = measured(wall.words) + 4, Sheet((*laid.taken(), *laid.columns(), *laid.lines))
    spots = (a + (b - a) * i / 12 for i in (6, 11, 1, 9, 3, 10, 2, 8, 4) for a, b in edges)
    boxes = (
        Box(at.real, at.imag, room, 24) for at in spots if room < 2 * at.real < 2 * WIDE - room
    )
    seat = next(filter(sheet.is_free, boxes), None)
    tip = None
    if wall.one_way and edges:
        middle = (edges[0][0] + edges[0][1]) / 2
        out = laid.at[wall.group[0]] - middle
        out *= -1 / (abs(out) or 1)
        ends = (middle - 14 * out, middle + 14 * out, middle + (7 + 5j) * out,
                middle + 14 * out, middle + (7 - 5j) * out)  # fmt: skip
        tip = h(
            "path", d="M" + "L".join(f"{p.real:.0f} {p.imag:.0f}" for p in ends), class_="now tip"
        )
    return h(
        "g",
        h("title", title),
        h("path", d=pen, class_="wall"),
        h("path", d=pen, class_="wall-in"),
        tip,
        h("text", wall.words, x=round(seat.x), y=round(seat.y + 4.5), text_anchor="middle",
          class_="said soft") if seat and not wall.beyond else None,
        k=key,
        class_="walls",
        data_of=f"wall:{wall.ends}" if wall.ends else None,
    )  # fmt: skip


def _across(laid: _Set, wall: Wall) -> Iterator[tuple[Place, Place]]:
    if way := laid.way(wall.group[0], wall.beyond):
        middle, out = on(way, 0.5), (way[3] - way[0]) / abs(way[3] - way[0])
        yield middle - 14j * out, middle + 14j * out


def _between(laid: _Set, group: set[str]) -> Iterator[tuple[Place, Place]]:
    """Each edge between the room of one of the group and that of another one."""
    for a, b in combinations(laid.stage.names, 2):
        if (a in group) == (b in group):
            continue
        here, there = laid.cells[a], laid.cells[b]
        (left, right, top, low), (start, end, high, bottom) = here.edges, there.edges
        if abs(top - high) < 1 and min(abs(right - start), abs(left - end)) < 1:
            x = right if abs(right - start) < 1 else left
            yield Place(x, top + 4), Place(x, low - 4)
        first, last = max(left, start), min(right, end)
        if last - first > 1 and min(abs(low - high), abs(top - bottom)) < 1:
            y = low if abs(low - high) < 1 else top
            yield Place(first, y), Place(last, y)


# -- words, and the panel --------------------------------------------------------------------------


def stage_lines(stage: Stage, gates: Sequence[Gate]) -> Iterator[str]:
    """The same in words, a line each."""
    for each in (*stage.sides, *stage.characters):
        words = (f"{each.name}: {each.health}", each.tag, *map(str, each.holds))
        yield each.title or ", ".join(words)
    yield from (each.decides for each in stage.quorums)
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
        said = filter(None, (each.tag, *map(str, each.holds), each.stored)) if each.title else ()
        yield from (f"{each.name}: {words}" for words in said if words not in each.title)


MEANINGS = {
    "crown": "crown: leads",
    "key": "key: session open",
    "ban": "crossed out: banned",
    "joining": "dashed ring: joins",
    "gone": "grey: dead",
    "down": "hollow: down",
    "written": "hatched disc: written to only",
    "body": "one outline: members",
    "timer": "arc: time since it last heard",
    "dashed card": "dashed card: planned",
    "open": "hatched: not known to be chosen",
    "struck": "struck out: no effect",
    "hue": "a hue: who made it, who sent it",
    "held": "with bars: held back",
    "waits": "dashed envelope: leaves once its sender has written",
    "old": "pale: an old ballot",
    "torn": "torn: lost",
    "dot": "dot: no node here",
    "stored": "cylinder: rows that a node has stored",
    "above": "above: the log",
    "pill": "pill: how it is",
}
IF_SAID = ("above", "pill")
"""What the marks mean, unless a family says better; some of them only if it says so."""


def _marks_seen(scene: Scene, stage: Stage, before: Stage | None) -> Iterator[str]:
    looks = (*stage.characters, *stage.sides)
    tape, held = stage.tape or (), [line for each in looks for line in each.holds]
    tiles = [line for line in held if isinstance(line, Tile)]
    lost = any(flow.to_key in _unheard(scene, stage, before) for flow in scene.flows())
    yield from sorted({each.sign or "" for each in looks} & {"key", "ban"}, reverse=True)
    kinds = {each.look for each in stage.messages}
    seen = {
        "crown": any(each.leads for each in looks),
        "written": any(each.written for each in looks),
        "body": any(members for _, members in stage.bodies),
        "timer": any(each.timer is not None for each in looks),
        "dashed card": any(each.target == stage.tape_key for each in stage.messages),
        "open": any(card.open for card in tape) or any(line.open for line in tiles),
        "struck": any(card.void for card in tape),
        "hue": any(card.by for card in tape) or any(line.by for line in tiles),
        **{look: look in kinds for look in ("held", "waits", "old")},
        **{how: any(each.health == how for each in looks) for how in ("joining", "gone", "down")},
        "torn": stage.lost or lost,
        "dot": len(stage.names) > len(stage.characters),
        "stored": any(each.stored for each in looks),
        "above": tape,
        "pill": any(each.tag for each in stage.characters),
    }
    yield from (mark for mark, there in seen.items() if there)


def _is_like(example: str, stage: Stage) -> bool:
    """Whether something like it stands on the stage, with whatever numbers and names."""
    looks = (*stage.characters, *stage.sides)
    held = (line for each in looks for line in (each.name, each.tag, *each.holds, each.stored))
    cards = (words for card in stage.tape or () for words in (card.words, card.makes))
    said = "\n".join(map(str, (*held, *cards, *(each.words for each in stage.messages))))
    anybody = f"(?:{'|'.join(map(re.escape, stage.names))})+"
    like = re.sub(r"\d+", r"\\d+", re.escape(example))
    like = re.sub(r"(?<![A-Za-z])[A-C]+(?![A-Za-z])", lambda _: anybody, like)
    return re.search(rf"(?<!\w){like}(?!\w)", said) is not None


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
        "holds": lambda each: ", ".join(map(str, each.holds)),
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
    ``meanings`` what its marks mean where that is more than ``MEANINGS`` says; any other key is an
    example of what may stand there.
    """
    own = {
        mark: f"{MEANINGS[mark].partition(':')[0] if mark in MEANINGS else mark}: {words}"
        for mark, words in (meanings or {}).items()
    }
    meant = {mark: words for mark, words in MEANINGS.items() if mark not in IF_SAID} | own

    def on(scene: Scene) -> Stage:
        def work() -> Stage:
            stage = declare(scene)
            return on_network(scene, stage) if isinstance(scene.model, NetworkModel) else stage

        return scene.once(f"stage:{name}", work)

    def was(scene: Scene) -> Stage | None:
        former = scene.former()
        return on(former) if former else None

    def shown(scene: Scene) -> Stage:
        return scene.once(f"used:{name}", lambda: in_use(scene, on(scene), was(scene)))

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
        return draw_stage(scene, shown(scene), alternative(title, said), was(scene))

    def legend(scene: Scene) -> str:
        stage = shown(scene)
        if len(stage.characters) > MOST_NODES:
            return ""
        there = (*_marks_seen(scene, stage, was(scene)), *(x for x in own if _is_like(x, stage)))
        seen = dict.fromkeys((*(mark for mark in own if mark in there), *there))
        return " · ".join(meant[mark] for mark in seen if mark in meant)

    return Panel(name, title, draw, words, still=True, gates=gates, legend=legend)
