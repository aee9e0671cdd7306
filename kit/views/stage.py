"""The stage: one picture for every family, in which nodes are characters.

A family only declares a ``Stage`` of its facts, and ``stage_panel`` draws it. From top to bottom:

- the *strip* of the state machine (``standing``): the way taken, what follows;
- the *tape* (``tape``): the newest cards of a log; below each, how far every node is with it;
- the *characters*, each in a place of its own that no step changes (``names`` are all there can
  ever be, ``sides`` are clients and operators, at the left): a letter, a sign, a tag, a disk;
- on their wires the *messages* in flight, *trails* of what travelled in this step (from the model's
  flows, without a word of the family), torn envelopes of what was *lost*, *walls* between groups;
- the *gate* (``kit.views.gate``): who is missing, large, and who has come.

Of a model on ``kit.engine.network`` messages, losses and walls need no declaration. Colour and
filling say how a node is, never who it is; *dashed* is what is planned or not yet so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.words import later, say
from kit.engine import network
from kit.engine.actors import NetworkModel
from kit.engine.network import DropMessage
from kit.views.actions import mark
from kit.views.busts import HEAD, Kind, bust, head_of, letter_of
from kit.views.diagrams import END, START, Standing
from kit.views.fragment import Frag, Kid, h
from kit.views.gate import HIGH, Declared, Gate, awaited_gates, gate_below, gates_of
from kit.views.heat import MOST_NODES, Aspect, draw_heat, heat_lines
from kit.views.labels import Box, measured, seated, shortened, tags, wrapped
from kit.views.panel import Panel, Scene, alternative

WIDTH, HEIGHT = 460.0, 330.0
"""The picture at 840 × 560, a pixel each."""
STRIP, TAPE, MARKS = 26.0, 45.0, 18.0
LINE = 15.0
SIDE = 132.0
"""How wide the column of clients is."""
SIDEWAYS = 0.7
"""From which share of its way on a wire leads to the side, rather than up or down."""
MOST_CARDS, FOLD = 3, 30.0
"""Cards that are seen, beside the place of the next one; of the others, the count."""
MOST_MARKS = 6
"""Nodes of whom each is marked below a card; of more they are counted."""
MOST_SAID = 4
"""Lines beside a client, of which the first names what it is at."""
MOST_PARKED, MOST_TRAILS = 24, 12
LONGEST, SHORT = 104.0, 56.0
"""How wide a label may be, and one for which there is little room."""

Place: TypeAlias = complex
Health = Literal["up", "down", "gone", "joining"]
HEALTH = (later("up"), later("down"), later("gone"), later("joining"))
"""The words for it."""
Reach = Literal["stored", "committed", "applied", ""]
Sign = Literal["lock", "key", "ban", "joining", "gone", ""]


class Character(Struct, frozen=True):
    """Somebody on the stage: the same letter and shape in every picture.

    ``tag`` says what it goes by (a version, a term, a word of state), ``holds`` are one or two
    short lines on its disk, ``fill`` how full that is, from 0 to 1. A ``sign`` stands at its
    shoulder: who holds a lock or a key, who is banned. ``title`` is all of it in words. ``press``
    is the action that its switch does.
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


class Card(Struct, frozen=True):
    """An entry of a log: what it says in a few words, and how far each node is with it.

    ``marks`` are names with keys and how far they are. ``void``: it takes no effect; ``open``: it
    is not committed yet.
    """

    key: str
    words: str
    marks: tuple[tuple[str, str, Reach], ...] = ()
    void: bool = False
    open: bool = False
    title: str = ""


class Message(Struct, frozen=True):
    """Something on its way between two characters, or other keyed parts of the stage (the tape).

    Without a ``target`` nobody knows yet where it arrives. ``thing`` is what actions call it.
    """

    source: str
    target: str
    words: str
    key: str = ""
    held: bool = False
    title: str = ""
    thing: str = ""


class Wall(Struct, frozen=True):
    """What parts a group of nodes from all others: a cut, a firewall. ``words`` names it.

    ``one_way``: the group still reaches the others, who do not reach it. ``beyond``: only from
    this one are they parted, by a bar across the wire between them.
    """

    group: tuple[str, ...]
    words: str = later("cut")
    one_way: bool = False
    beyond: str = ""


class Stage(Struct, frozen=True):
    """All that is on the stage at one moment; see the module. ``lines``: the most on a disk."""

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


class Looks(Struct, frozen=True):
    """How large a character is: the radius of its head, the room in breadth, lines of its disk.

    Without a ``tag`` the letter stands alone.
    """

    head: float
    wide: float
    lines: int
    tag: bool = True

    @property
    def above(self) -> float:
        """How far it reaches over the middle of its head."""
        return self.head * 1.75 if self.tag else self.head

    @property
    def below(self) -> float:
        """And how far below."""
        disk = LINE * self.lines + 10 if self.lines else 0
        return self.head + (LINE + 3 if self.tag else 0) + disk


SIZES = (
    Looks(22, 104, 2),
    Looks(18, 98, 2),
    Looks(15, 92, 1),
    Looks(14, 74, 1),
    Looks(15, 72, 0),
    Looks(13, 32, 0, tag=False),
)
WORDY = ((22, 104), (18, 92), (15, 80))
WIDEST = 150.0


# -- places ----------------------------------------------------------------------------------------


@lru_cache(256)
def places(
    count: int, left: float, top: float, bottom: float, lines: int = 2
) -> tuple[tuple[Place, ...], Looks]:
    """Where so many characters stand, in rows, clockwise where there are two; how large they are.

    The first looks for which there is room are taken; where disks have more than two ``lines``,
    these come before breadth, and where they have fewer, others get the room. A place depends on
    the number alone.
    """
    width, height = WIDTH - left, bottom - top
    wordy = [Looks(head, wide, lines) for head, wide in WORDY] if lines > 2 else []
    for looks in (*wordy, *(each for each in SIZES if each.lines <= lines)):
        high = looks.above + looks.below
        rows = max(1, int(height // high))
        least = 1 if count < 3 else 2
        for number in (*range(least, rows + 1), 1):
            in_row = ceil(count / number)
            if number <= rows and in_row * looks.wide <= width:
                wider = replace(looks, wide=min(width / max(in_row, 1), WIDEST))
                return _in_rows(count, number, left, top, bottom, wider), wider
    columns = max(1, ceil((count * width / height) ** 0.5))
    rows = ceil(count / columns)
    small = min(width / columns, height / rows, 2 * looks.head + 2)
    looks = Looks(small / 2 - 1, small, 0, tag=False)
    return _in_rows(count, rows, left, top, bottom, looks), looks


def _in_rows(
    count: int, rows: int, left: float, top: float, bottom: float, looks: Looks
) -> tuple[Place, ...]:
    at: list[Place] = []
    taken = 0
    for row in range(rows):
        here = ceil((count - taken) / (rows - row))
        taken += here
        room = (bottom - top - rows * (looks.above + looks.below)) / rows
        y = top + (bottom - top) * row / rows + room * (row if rows > 1 else 0.5) / max(rows - 1, 1)
        step = (WIDTH - left) / here
        line = [complex(left + step * (i + 0.5), y + looks.above) for i in range(here)]
        at += reversed(line) if row % 2 else line
    return tuple(at)


class _Set:
    """A stage that is laid out: the middle of every part by name and by key, what is covered."""

    def __init__(self, stage: Stage, gated: bool) -> None:
        self.stage = stage
        tape = 0.0 if stage.tape is None else TAPE + MARKS * stage.has_marks
        self.top = STRIP * stage.has_strip + tape
        self.bottom = HEIGHT - HIGH * gated
        left = SIDE if stage.sides else 0.0
        spots, self.looks = places(
            len(stage.names), left, self.top + 4, self.bottom - 4, stage.lines
        )
        self.left = left
        self.reach: dict[str, float] = {}
        self.at: dict[str, Place] = dict(zip(stage.names, spots, strict=True))
        self.there = {each.name: each for each in stage.characters}
        room = (self.bottom - self.top) / max(len(stage.sides), 1)
        self.words: dict[str, float] = {}
        for i, side in enumerate(stage.sides):
            self.at[side.name] = complex(HEAD + 4, self.top + room * (i + 0.5))
            beside = min(measured(side.tag, bold=True), SIDE - 2 * HEAD - 16) + 4
            self.words |= dict.fromkeys((side.name, side.key), beside)
        self.side_room = room
        self.at |= {each.key: self.at[each.name] for each in (*stage.characters, *stage.sides)}
        shown = self.cards()
        first = FOLD if len(shown) < len(stage.tape or ()) else 0.0
        y = STRIP * stage.has_strip
        self.card_wide = (WIDTH - FOLD) / (MOST_CARDS + 1) - 4
        for i, card in enumerate(shown):
            x = FOLD + (self.card_wide + 4) * i
            self.put(card.key, complex(x + self.card_wide / 2, self.top - 3), 2)
            for name, key, x_mark in self.marks(card, x):
                self.at[key] = self.at.get(name, complex(x_mark, y + 52))
        if stage.tape is not None:
            x = FOLD + (self.card_wide + 4) * len(shown) + self.card_wide / 2
            self.put(stage.tape_key, complex(x, y + TAPE - 2), 2)
            for card in stage.tape[: len(stage.tape) - len(shown)]:
                self.put(card.key, complex(first / 2, y + TAPE - 2), 2)

    def put(self, key: str, place: Place, reach: float) -> None:
        """Say where a part is, and how far from there a wire ends."""
        self.at[key] = place
        self.reach[key] = reach

    def cards(self) -> tuple[Card, ...]:
        """The cards that are seen: the newest."""
        return (self.stage.tape or ())[-MOST_CARDS:]

    def marks(self, card: Card, x: float) -> Iterator[tuple[str, str, float]]:
        """Each mark below a card: its name, its key, where its middle is."""
        if len(card.marks) <= MOST_MARKS:
            start = x + (self.card_wide - 17 * len(card.marks)) / 2 + 8.5
            for i, (name, key, _) in enumerate(card.marks):
                yield name, key, start + 17 * i
        else:
            for name, key, _ in card.marks:
                yield name, key, x + self.card_wide / 2

    def taken(self) -> Iterator[Box]:
        """What characters cover."""
        for name in self.stage.names:
            at, looks = self.at[name], self.looks
            yield Box(at.real, at.imag - 2, 2 * looks.head + 4, looks.above + looks.head)
            each = self.there.get(name)
            if each is not None:
                lines = [measured(each.tag, bold=True), *(measured(x) + 16 for x in each.holds)]
                wide = min(looks.wide - 8, max([72.0, *lines]))
                y = at.imag + (looks.head + looks.below) / 2
                yield Box(at.real, y, wide, looks.below - looks.head)
                switch = [(-1, "")] if each.press is not None else []
                for right, _ in (*_signs(each), *switch):
                    x = at.real + right * (looks.head * 0.8 + 10)
                    yield Box(x, at.imag - looks.head * 0.7, 20, 18)
        for side in self.stage.sides:
            at = self.at[side.name]
            yield Box(SIDE / 2, at.imag, SIDE, min(self.side_room, MOST_SAID * LINE + 4))

    def holds(self, box: Box) -> bool:
        """Whether there is room for all of a box among the characters."""
        x, y = box.width / 2, box.height / 2
        inside = box.x >= x and box.x + x <= WIDTH
        return inside and self.top <= box.y - y and box.y + y <= self.bottom

    def way(self, source: str, target: str) -> tuple[Place, Place, Place] | None:
        """The wire between two parts: both ends and the point that it bends to; None: no such."""
        tape = self.stage.tape
        if tape and source == self.stage.tape_key:  # what comes from the log is its newest
            source = tape[-1].key
        start, end = self.at.get(source), self.at.get(target)
        if not target:  # nobody knows yet where it will arrive
            end = complex((self.left + WIDTH) / 2, (self.top + self.bottom) / 2)
        if start is None or end is None or start == end:
            return None
        along = (end - start) / abs(end - start)
        middle = complex((self.left + WIDTH) / 2, (self.top + self.bottom) / 2)
        side = 1j * along
        # Characters of one row: the wire bends into the room between the rows.
        flat = (
            abs(start.imag - end.imag) < HEAD and abs(start.real - end.real) > 1.5 * self.looks.wide
        )
        half = (start + end) / 2
        to_middle = middle - half
        towards = 1 if (to_middle * side.conjugate()).real >= 0 else -1
        down = (towards * side).imag > 0
        far = 2 * ((self.looks.below if down else self.looks.above) + 8) * towards if flat else 22.0
        bend = half + side * far
        ahead, back = self._edge(source, along), self._edge(target, -along)
        return start + ahead * along, bend, end - (back + 2) * along

    def _edge(self, key: str, along: Place) -> float:
        """How far from the middle of a part a wire begins: of who stands aside, after the words."""
        words = self.words.get(key, 0) if along.real > SIDEWAYS else 0
        return self.reach.get(key, self.looks.head) + words


def _on(way: tuple[Place, Place, Place], share: float) -> Place:
    start, bend, end = way
    back = 1 - share
    return back * back * start + 2 * back * share * bend + share * share * end


def _path(way: tuple[Place, Place, Place]) -> str:
    start, bend, end = way
    return (
        f"M{start.real:.0f} {start.imag:.0f}Q{bend.real:.0f} {bend.imag:.0f} "
        f"{end.real:.0f} {end.imag:.0f}"
    )


def _at(place: Place) -> str:
    return f"translate({place.real:.0f} {place.imag:.0f})"


# -- what a model on a network needs not declare ---------------------------------------------------


def on_network(scene: Scene, stage: Stage) -> Stage:
    """The stage with messages in flight and held, with what this step lost, and with the split."""
    m, carried = scene.model, scene.state.network

    def message(sent: Any, held: bool = False) -> Message:
        short, full = m.in_short(sent.message), m.in_full(sent.message)
        thing = network.line(sent)
        return Message(sent.source, sent.target, short, held=held, title=full, thing=thing)

    flying = [message(sent) for sent in carried.in_flight]
    held = [message(sent, held=True) for sent in carried.held]
    lost = [message(scene.action.envelope)] if isinstance(scene.action, DropMessage) else []
    apart = m.carrier.apart(carried)
    walls = [Wall(apart)] if apart else []
    return replace(
        stage,
        messages=(*stage.messages, *flying, *held),
        lost=(*stage.lost, *lost),
        walls=(*stage.walls, *walls),
    )


# -- drawing ---------------------------------------------------------------------------------------


def draw_stage(scene: Scene, stage: Stage, gates: Sequence[Gate] | None, said: str) -> Frag:
    """Draw the stage of a scene; ``gates`` is None where its family never has any."""
    laid = _Set(stage, gates is not None)
    labels = _Labels(laid)
    pinned = list(laid.taken())
    parked = [*_envelopes(laid, labels, pinned)]
    trails = [*_trails(laid, scene, labels, pinned)]
    behind = [_wall(laid, wall, labels) for wall in stage.walls]
    words = [*labels.draw(pinned)]
    letters = tags(stage.names)
    return h(
        "svg",
        _strip(stage) if stage.has_strip else None,
        _tape(scene, laid, letters) if stage.tape is not None else None,
        behind,
        [_empty(laid, name) for name in stage.names if name not in laid.there],
        [wire for wire, _ in parked],
        trails,
        [_character(scene, laid, each, letters[each.name])
         for each in stage.characters],
        [_side(laid, each) for each in stage.sides],
        [envelope for _, envelope in parked],
        h("g", words, k="labels"),
        gate_below(scene, gates, letters, WIDTH, HEIGHT) if gates is not None else None,
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        role="img" if gates is None else "group",
        aria_label=said,
        class_="stage",
        data_arrows=True,
    )  # fmt: skip


def _empty(laid: _Set, name: str) -> Frag:
    letter = tags(laid.stage.names)[name]
    return h(
        "g",
        h("circle", r=4, class_="place-of"),
        h("text", letter, y=20, text_anchor="middle", class_="soft") if laid.looks.tag else None,
        k=f"place:{name}",
        transform=_at(laid.at[name]),
    )


SIGNS: Mapping[str, str] = {
    "lock": "M-6-1h12v9h-12zM-4-1v-3a4 4 0 0 1 8 0v3",
    "key": "M-2 0a4 4 0 1 1-.01-.1zM-2 0h10v4M4 0v3",
    "ban": "M6 0a6 6 0 1 1-.01-.1zM-4-4l8 8",
    "joining": "M0-6v12M-6 0h12",
    "gone": "M-5-5L5 5M-5 5L5-5",
}
"""What stands at a shoulder; colour says none of it."""
SWITCH = "M-3.5-3.5a5 5 0 1 0 7 0M0-6v5"


def _signs(each: Character) -> Iterator[tuple[int, str]]:
    """What stands at the shoulders: 1 is the right one; how it is comes second."""
    signs = (sign for sign in (each.sign, each.health) if sign in SIGNS)
    yield from zip((1, -1), signs, strict=False)


def _switch(scene: Scene, action: Any, head: float) -> Frag:
    """What a press on it does, at the left shoulder; the menu of the character says it in words."""
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


def _character(scene: Scene, laid: _Set, each: Character, letter: str) -> Frag:
    looks = laid.looks
    head, wide = looks.head, looks.wide - 10
    tag = shortened(each.tag, wide, bold=True) if looks.tag else ""
    signs = [*_signs(each)]
    return h(
        "g",
        h("title", each.title or each.name),
        *bust(letter, head, each.kind, leads=each.leads and looks.tag),
        [
            h("path", d=SIGNS[sign], class_=f"sign {sign}",
              transform=f"translate({side * (head * 0.8 + 10):.0f} {-head * 0.7:.0f})")
            for side, sign in signs
        ],
        _switch(scene, each.press, head) if each.press is not None else None,
        h("text", tag, y=head + LINE, text_anchor="middle", class_="strong") if tag else None,
        _disk(each, head, wide, looks.lines) if looks.lines else None,
        k=each.key,
        class_=f"character {each.health}",
        transform=_at(laid.at[each.name]),
        data_of=each.name,
    )  # fmt: skip


def _disk(each: Character, head: float, wide: float, lines: int) -> Frag | None:
    """What a character holds, on a drum below it."""
    if not each.holds and each.fill is None:
        return None
    words = [shortened(line, wide - 6) for line in each.holds[:lines]]
    wide = min(wide, max([70.0, *(measured(line) + 12 for line in words)]))
    high = LINE * max(len(words), 1) + 4
    top, half = head + LINE + 7, wide / 2

    def drum(over: float) -> str:
        return (
            f"M{-half:.0f} {top + over:.0f}a{half:.0f} 4 0 0 1 {wide:.0f} 0"
            f"V{top + high:.0f}a{half:.0f} 4 0 0 1 {-wide:.0f} 0z"
        )

    full = None if not each.fill else h("path", d=drum(high * (1 - each.fill)), class_="fill")
    lid = f"M{-half:.0f} {top:.0f}a{half:.0f} 4 0 0 0 {wide:.0f} 0"
    return h(
        "g",
        h("path", d=drum(0), class_="drum"),
        full,
        h("path", d=lid, class_="lid"),
        [h("text", line, y=top + LINE * (i + 1), text_anchor="middle", class_="on soft")
         for i, line in enumerate(words)],
    )  # fmt: skip


def _side(laid: _Set, each: Character) -> Frag:
    """A client or operator: a square with a letter, and beside it what it asks and was told."""
    room, most = SIDE - 2 * HEAD - 16, max(1, min(MOST_SAID, int(laid.side_room // LINE)))
    fits = most < 3 or measured(each.tag, bold=True) <= room
    tag = [shortened(each.tag, room, bold=True)] if fits else wrapped(each.tag, 0.9 * room)
    what = wrapped(" ".join(each.holds), room, most - len(tag)) if most > len(tag) else ()
    shown = [*tag, *what]
    top = 5 - LINE * (len(shown) - 1) / 2
    return h(
        "g",
        h("title", each.title or each.name),
        head_of(each.kind, min(HEAD, laid.side_room / 2)),
        letter_of(tags([each.name])[each.name][:2], HEAD),
        [h("text", line, x=HEAD + 4, y=top + LINE * i, class_="soft" if i >= len(tag) else "strong")
         for i, line in enumerate(shown)],
        k=each.key,
        class_=f"character {each.health}",
        transform=_at(laid.at[each.name]),
        data_of=each.name,
    )  # fmt: skip


AROUND = (
    *((1, 0), (-1, 0), (0, -1), (0, 1), (0.7, -1), (-0.7, -1), (0.7, 1), (-0.7, 1)),
    *((0, -2), (0, 2), (1, -2), (-1, -2), (1, 2), (-1, 2), (0.4, -2), (-0.4, -2)),
    *((0.4, 2), (-0.4, 2), (0, -3), (0, 3), (1, -3), (-1, -3), (1, 3), (-1, 3)),
)
"""Where a label may stand: so far to the right, and so far down."""


class _Labels:
    """The words that stand beside things, the more important first."""

    def __init__(self, laid: _Set) -> None:
        self.laid = laid
        self.asked: dict[str, tuple[str, tuple[Place, ...], float]] = {}

    def ask(self, key: str, words: str, around: Iterable[Place], gap: float = 12) -> None:
        """Ask for a place beside one of these points, over it or below it; the same words are
        said of one trail only.
        """
        again = key.startswith("trail:") and any(words == each[0] for each in self.asked.values())
        if words and not again:
            self.asked[key] = words, tuple(around), gap

    def draw(self, pinned: list[Box]) -> Iterator[Frag]:
        """Draw each where there is room for it, as a whole or, failing that, its beginning."""
        left = self.asked
        for longest in (LONGEST, SHORT) if left else ():
            texts = {key: shortened(words, longest) for key, (words, _, _) in left.items()}
            seats = seated(((key, self._seats(key, text)) for key, text in texts.items()), pinned)
            pinned += seats.values()
            left = {key: each for key, each in left.items() if key not in seats}
            for key, seat in seats.items():
                x, y = round(seat.x), round(seat.y + 4)
                yield h("text", texts[key], x=x, y=y, text_anchor="middle", k=f"label:{key}",
                        class_="said")  # fmt: skip

    def _seats(self, key: str, text: str) -> tuple[Box, ...]:
        _, around, gap = self.asked[key]
        wide = measured(text) + 4
        boxes = (
            Box(at.real + right * (gap + wide / 2), at.imag + down * (gap + 1), wide, LINE)
            for at in around
            for right, down in AROUND
        )
        return tuple(filter(self.laid.holds, boxes))


def _envelopes(laid: _Set, labels: _Labels, pinned: list[Box]) -> Iterator[tuple[Frag, Frag]]:
    """Each wire with messages, and the envelope that is parked on it: equal ones are counted."""
    alike: dict[tuple[str, str, str, str], list[Message]] = {}
    for kind, sent in (("", laid.stage.messages), ("torn", laid.stage.lost)):
        for each in sent:
            look = kind or ("held" if each.held else "")
            alike.setdefault((each.source, each.target, each.words, look), []).append(each)
    on_wire: dict[tuple[str, str], int] = {}
    for (source, target, said, look), group in list(alike.items())[:MOST_PARKED]:
        way = laid.way(source, target)
        if way is None:
            continue
        nth = on_wire[source, target] = on_wire.get((source, target), 0) + 1
        shares = PARKED[nth - 1 :] + PARKED[: nth - 1]
        place = _free(laid, way, shares, pinned, BESIDE)
        if place is None:
            place = _on(way, shares[0])
            pinned.append(_around(place))
        key = group[0].key or f"sent:{source}:{target}:{said}{':' + look if look else ''}"
        more = f" ×{len(group)}" if len(group) > 1 else ""
        laid.put(key, place, 11)
        if target != laid.stage.tape_key:  # else the card that is to come says it
            labels.ask(key, f"{said}{more}", (place,))
        title = f"{source} → {target or '?'}: {group[0].title or said}{more}"
        wire = h("path", d=f"{_path(way)}{_tip(way, pinned)}", k=f"wire:{key}",
                 class_=f"wire thin {look}".rstrip())  # fmt: skip
        yield wire, _envelope(key, place, look or ("many" if more else ""), title, group[0].thing)


def _fate(title: str, look: str) -> str:
    if look == "held":
        return say("{what} (held)", what=title)
    return say("{what} (lost)", what=title) if look == "torn" else title


def _tip(way: tuple[Place, Place, Place], pinned: list[Box]) -> str:
    """The head of an arrow on a wire, towards who shall get it, where nothing covers it."""
    for share in HEADED:
        at, before = _on(way, share), _on(way, share - 0.05)
        box = Box(at.real, at.imag, 10, 10)
        if not any(box.meets(other) for other in pinned):
            pinned.append(box)
            out = 5 * (at - before) / (abs(at - before) or 1)
            left, right = at - out * (1 + 0.8j), at - out * (1 - 0.8j)
            return (
                f"M{left.real:.0f} {left.imag:.0f}L{at.real:.0f} {at.imag:.0f}"
                f"L{right.real:.0f} {right.imag:.0f}"
            )
    return ""


def _envelope(key: str, place: Place, look: str, title: str, thing: str) -> Frag:
    """A closed envelope; a held one has two bars, a torn one a rift, many are a pile."""
    return h(
        "g",
        h("title", _fate(title, look)),
        h("rect", x=-7, y=-9, width=20, height=14, class_="box") if look == "many" else None,
        h("rect", x=-10, y=-7, width=20, height=14, rx=1.5, class_="box"),
        h("path", d="M-10-6L0 2L10-6", class_="flap"),
        h("path", d="M-3-10l5 6l-5 4l5 8", class_="rift") if look == "torn" else None,
        h("path", d="M-3-11v22M3-11v22", class_="bars") if look == "held" else None,
        k=key,
        class_=f"envelope {look}".rstrip(),
        transform=_at(place),
        data_of=thing or None,
    )


PARKED, ENDING = (0.4, 0.58, 0.24, 0.74, 0.5, 0.32, 0.66, 0.16, 0.84), (0.85, 0.7, 0.55, 0.4)
"""Where on its wire an envelope stands."""
HEADED = (0.9, 0.8, 0.7, 0.6, 0.5, 0.3)
"""Where the head of the arrow is."""
BESIDE = (0.0, 24.0, -24.0, 44.0, -44.0)
"""How far beside it, where the wire itself is covered."""


def _free(
    laid: _Set,
    way: tuple[Place, Place, Place],
    shares: Sequence[float],
    pinned: list[Box],
    beside: Sequence[float] = (0.0,),
) -> Place | None:
    """The first of these places on a wire, or beside it, that nothing covers; it is covered from
    then on.
    """
    out = 1j * (way[2] - way[0]) / (abs(way[2] - way[0]) or 1)
    for place in (_on(way, share) + far * out for far in beside for share in shares):
        box = _around(place)
        if laid.holds(box) and not any(box.meets(other) for other in pinned):
            pinned.append(box)
            return place
    return None


def _around(place: Place) -> Box:
    return Box(place.real, place.imag, 24, 20)


OPEN = "M-8-2v8h16v-8L0-9zM-8-2L0 3L8-2"


def _trails(laid: _Set, scene: Scene, labels: _Labels, pinned: list[Box]) -> Iterator[Frag]:
    """What travelled in this step: a line that fades, and an open envelope at its end."""
    seen: set[tuple[str, str]] = set()
    for flow in scene.flows()[:MOST_TRAILS]:
        way = laid.way(flow.from_key, flow.to_key)
        if way is None or (flow.from_key, flow.to_key) in seen:
            continue
        seen.add((flow.from_key, flow.to_key))
        key = f"trail:{flow.from_key}>{flow.to_key}"
        place = _free(laid, way, ENDING, pinned)
        labels.ask(key, flow.label, [_on(way, share) for share in (0.5, 0.7, 0.3)])
        yield h(
            "g",
            h("title", flow.text),
            h("path", d=_path(way), class_="way"),
            h("path", d=OPEN, transform=_at(place), class_="opened") if place else None,
            k=key,
            class_=f"trail {flow.kind}",
        )


def _wall(laid: _Set, wall: Wall, labels: _Labels) -> Frag:
    """A thick line around a group: between all its places and those of others."""
    key = f"wall:{','.join((*wall.group, wall.beyond))}:{wall.words}"
    values = {"what": say(wall.words), "group": ", ".join(wall.group), "beyond": wall.beyond}
    title = say("{what}: {group} and {beyond}" if wall.beyond else "{what}: {group}", **values)
    if wall.one_way:
        title = say("{what} reach the others", what=title)
    edges = _across(laid, wall) if wall.beyond else _between(laid, {*wall.group})
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
    labels.ask(key, say(wall.words), around, gap=6)
    wire = laid.way(wall.group[0], wall.beyond) if wall.beyond else None
    return h(
        "g",
        h("title", title),
        h("path", d=_path(wire), class_="wire thin") if wire else None,
        h("path", d=way, class_="wall"),
        tip,
        k=key,
        class_="walls",
    )


def _across(laid: _Set, wall: Wall) -> Iterator[tuple[Place, Place, Place]]:
    """A bar in the middle of the wire between two characters."""
    if way := laid.way(wall.group[0], wall.beyond):
        middle, out = _on(way, 0.5), (way[2] - way[0]) / abs(way[2] - way[0])
        yield middle - 8j * out, middle + 8j * out, out


def _between(laid: _Set, group: set[str]) -> Iterator[tuple[Place, Place, Place]]:
    """Each edge between a place of the group and another one: its ends, the way out of the group.

    A row of places is cut where two of them meet, and rows are cut half-way between them.
    """
    rows: dict[float, list[tuple[float, bool]]] = {}
    for name in laid.stage.names:
        at = laid.at[name]
        rows.setdefault(at.imag, []).append((at.real, name in group))
    heights = sorted(rows)
    cuts = [
        (upper + laid.looks.below + lower - laid.looks.above) / 2
        for upper, lower in pairwise(heights)
    ]
    above: list[tuple[float, float, bool]] = []
    for y, top, bottom in zip(
        heights, [laid.top + 4, *cuts], [*cuts, laid.bottom - 4], strict=True
    ):
        half = (WIDTH - laid.left) / len(rows[y]) / 2
        cells = [(x - half, x + half, inside) for x, inside in sorted(rows[y])]
        for (_, x, inside), (_, _, other) in pairwise(cells):
            if inside != other:
                yield complex(x, top), complex(x, bottom), complex(1 if inside else -1)
        for upper in above:
            for cell in cells:
                left, right = max(upper[0], cell[0]), min(upper[1], cell[1])
                if upper[2] != cell[2] and right - left > 1:
                    yield complex(left, top), complex(right, top), 1j if upper[2] else -1j
        above = cells


# -- the tape --------------------------------------------------------------------------------------


def _tape(scene: Scene, laid: _Set, letters: Mapping[str, str]) -> Frag:
    tape, shown = laid.stage.tape or (), laid.cards()
    y = STRIP * laid.stage.has_strip
    earlier = len(tape) - len(shown)
    fold = h(
        "g",
        h("title", say("{n} earlier entries", n=earlier)),
        h("rect", x=2, y=y + 6, width=FOLD - 8, height=34, rx=3, class_="log-card"),
        h("text", f"+{earlier}" if earlier < 100 else "…", x=FOLD / 2 - 2, y=y + 28,
          text_anchor="middle", class_="on soft"),
        k="tape:fold",
    ) if earlier else None  # fmt: skip
    line = h("path", d=f"M0 {y + 23:.0f}H{WIDTH:.0f}", class_="rail")
    cards = [_card(laid, card, y, letters) for card in shown]
    # What travels to or from a card that is out of sight goes where it is folded.
    ends = {key for flow in scene.flows() for key in (flow.from_key, flow.to_key)}
    old = [card.key for card in tape[: len(tape) - len(shown)] if card.key in ends]
    cards += [h("g", k=key, transform=_at(laid.at[key])) for key in old]
    # What travels to the log goes to where its next card will be.
    key = laid.stage.tape_key
    cards.append(h("g", k=key, transform=_at(laid.at[key])))
    sent = [message for message in laid.stage.messages if message.target == key]
    if sent:
        more = f"{len(sent)} × " if len(sent) > 1 else ""
        coming = Card("tape:next", f"{more}{sent[0].words}", open=True, title=sent[0].title)
        laid.put(coming.key, laid.at[key], 2)
        cards.append(_card(laid, coming, y, letters))
    return h("g", line, fold, cards, k="tape", class_="tape")


def _card(laid: _Set, card: Card, y: float, letters: Mapping[str, str]) -> Frag:
    middle, wide = laid.at[card.key], laid.card_wide
    x = middle.real - wide / 2
    lines = wrapped(card.words, wide - 4)
    look = "".join((" dashed" * card.open, " void" * card.void))
    first = 27 - LINE * (len(lines) - 1) / 2
    return h(
        "g",
        h("title", card.title or card.words),
        h("rect", x=x, y=y + 4, width=wide, height=37, rx=4, class_=f"log-card{look}"),
        [h("text", line, x=middle.real, y=y + first + LINE * i, text_anchor="middle",
           class_="on soft") for i, line in enumerate(lines)],
        _marks(laid, card, x, y, letters),
        k=card.key,
        class_="void" if card.void else None,
    )  # fmt: skip


def _reach_words(reach: str) -> str:
    words = {"stored": say("stored"), "known": say("known"), "applied": say("applied")}
    return words.get(reach, reach or say("not stored"))


def _marks(laid: _Set, card: Card, x: float, y: float, letters: Mapping[str, str]) -> Kid:
    """How far each node is: its letter is there once it stores the card, framed once it knows that
    it is committed, filled once it has applied it. Many are counted.
    """
    if len(card.marks) > MOST_MARKS:
        done = sum(reach == "applied" for _, _, reach in card.marks)
        has = sum(reach != "" for _, _, reach in card.marks)
        words = say("{n} of {all}", n=done, all=has) if done < has else say("all {n}", n=done)
        return h("text", words, x=x + laid.card_wide / 2, y=y + 57, text_anchor="middle",
                 class_="soft")  # fmt: skip
    reached = {key: reach for _, key, reach in card.marks}
    return [
        h(
            "g",
            h("title", f"{name}: {_reach_words(reached[key])}"),
            h("rect", x=-8, y=-8, width=16, height=16, rx=3, class_="seat-of"),
            h("text", letters.get(name, name)[:1], y=5, text_anchor="middle"),
            k=key,
            class_=f"reached {reached[key]}".rstrip(),
            transform=f"translate({at:.0f} {y + 52:.0f})",
        )
        for name, key, at in laid.marks(card, x)
    ]


# -- the strip of states ---------------------------------------------------------------------------

GAP, PAD, COUNT = 14.0, 12.0, 58.0
BACK = "↩"


def _strip(stage: Stage) -> Frag:
    """The way through the state machine on one line: what was passed, now, what may follow."""
    standing = stage.standing
    if standing is None:
        return h("g", k="strip", class_="state-strip")
    now = standing.state
    following = dict.fromkeys(
        (after, event in standing.diagram.rollbacks) for _, event, after in standing.ways
    )
    ahead = sorted(following, key=lambda way: way[1])
    chips: list[tuple[str, str, str]] = [(_called(now), "now", now)]
    # Beside the state of now there is room for what usually follows, and for a count of the rest.
    room = WIDTH - _chip_wide(chips[0][0]) - 2 - COUNT * (len(standing.path) > 1)
    for name, back in ahead:
        words = f"{BACK} {_called(name)}" if back else _called(name)
        if _chip_wide(words) + GAP > room - COUNT * (name != ahead[-1][0]):
            break
        room -= _chip_wide(words) + GAP
        chips.append((words, "next", name))
    if untold := len(ahead) + 1 - len(chips):
        chips.append((f"+{untold}", "next", "more"))
        room -= COUNT
    room += COUNT * (len(standing.path) > 1)
    past = list(standing.path[:-1])
    folded = 0
    before: list[tuple[str, str, str]] = []
    for i, name in enumerate(reversed(past)):
        wide = _chip_wide(_called(name)) + GAP
        if wide > room - COUNT * (i + 1 < len(past)):
            folded = len(past) - i
            break
        room -= wide
        before.insert(0, (_called(name), "passed", f"{len(past) - 1 - i}:{name}"))
    if folded:
        before.insert(0, (str(folded), "passed", "folded"))
    drawn, x = [], 2.0
    for words, kind, name in (*before, *chips):
        wide = _chip_wide(words)
        drawn.append(
            h(
                "g",
                h("rect", x=x, y=2, width=wide, height=20, rx=10, class_=f"state-of {kind}"),
                h("text", words, x=x + wide / 2, y=17, text_anchor="middle",
                  class_=f"word-of {kind}"),
                None if name == chips[-1][2] else
                h("path", d=f"M{x + wide + 3:.0f} 12h{GAP - 6:.0f}m-4-3l4 3l-4 3", class_="wire"),
                k=f"strip:{kind}:{words if kind == 'next' else name}",
                data_of=f"state:{now}" if kind == "now" else None,
            )
        )  # fmt: skip
        x += wide + GAP
    title = say("{what}; now: {state}", what=standing.diagram.label, state=now)
    return h("g", h("title", title), drawn, k="strip", class_="state-strip")


def _called(state: str) -> str:
    return {START: "●", END: "◉"}.get(state, state)


def _chip_wide(words: str) -> float:
    return measured(words, bold=True) + PAD


# -- words, and the panel --------------------------------------------------------------------------


def stage_lines(stage: Stage, gates: Sequence[Gate]) -> Iterator[str]:
    """The same in words, a line each."""
    for each in (*stage.sides, *stage.characters):
        yield each.title or ", ".join((f"{each.name}: {say(each.health)}", each.tag, *each.holds))
    for card in stage.tape or ():
        yield card.title or card.words
    for message in stage.messages:
        said = f"{message.source} → {message.target}: {message.title or message.words}"
        yield say("on its way: {what}", what=_fate(said, "held" if message.held else ""))
    for message in stage.lost:
        said = f"{message.source} → {message.target}: {message.title or message.words}"
        yield say("lost: {what}", what=said)
    for wall in stage.walls:
        group = ", ".join(wall.group)
        beyond = wall.beyond or say("the others")
        where = say("between {group} and {others}", group=group, others=beyond)
        if wall.one_way:
            where = say("nobody reaches {group}, who still reach the others", group=group)
        yield f"{say(wall.words)}: {where}"
    for gate in gates:
        yield gate.sentence


def _unsaid(stage: Stage) -> Iterator[str]:
    """What stands at a character and on its disk, where its title does not say that."""
    for each in (*stage.sides, *stage.characters):
        if each.title:
            rest = [words for words in (each.tag, *each.holds) if words and words not in each.title]
            yield from (f"{each.name}: {words}" for words in rest)


MEANINGS = {
    "crown": later("crown: leads"),
    "lock": later("lock: its change is under way"),
    "key": later("key: session open"),
    "ban": later("ban: banned"),
    "+": later("+: joining"),
    "✗": later("✗: dead"),
    "hollow": later("hollow: down"),
    "square": later("square: client"),
    "diamond": later("diamond: operator"),
    "dashed card": later("dashed card: not committed"),
    "struck": later("struck: no effect"),
    "letters": later("letters: stored, framed committed, black applied"),
    "counts": later("counts: nodes that have applied it"),
    "envelope": later("envelope: on its way"),
    "with bars": later("with bars: held back"),
    "torn": later("torn: lost"),
    "open envelope": later("open envelope: arrived"),
    "dot": later("dot: nobody there"),
}
"""What the marks mean, unless a family says better."""


def _marks_seen(scene: Scene, stage: Stage) -> Iterator[str]:
    """The marks of a stage at this moment; what a family says of tags and disks is always there."""
    yield from ("below a node", "on a disk")
    looks = (*stage.characters, *stage.sides)
    tape = (stage.tape or ())[-MOST_CARDS:]
    marked = [card.marks for card in tape]
    yield from ("blue",) * any(each.fill for each in looks)
    yield from ("crown",) * any(each.leads for each in looks)
    called = {"joining": "+", "gone": "✗", "": ""}
    for sign in ("lock", "key", "ban", "joining", "gone"):
        yield from (called.get(sign, sign),) * any(sign in (e.sign, e.health) for e in looks)
    yield from ("hollow",) * any(each.health == "down" for each in looks)
    kinds = {each.kind for each in stage.sides}
    yield from ("square",) * ("client" in kinds) + ("diamond",) * ("operator" in kinds)
    coming = any(each.target == stage.tape_key for each in stage.messages)
    yield from ("dashed card",) * (coming or any(card.open for card in tape))
    yield from ("struck",) * any(card.void for card in tape)
    yield from ("letters",) * any(0 < len(each) <= MOST_MARKS for each in marked)
    yield from ("counts",) * any(len(each) > MOST_MARKS for each in marked)
    yield from ("envelope",) * bool(stage.messages)
    yield from ("with bars",) * any(each.held for each in stage.messages)
    yield from ("torn",) * bool(stage.lost) + ("open envelope",) * bool(scene.flows())
    yield from ("dot",) * (len(stage.names) > len(stage.characters))


def _keys(stage: Stage) -> dict[str, str]:
    """What names each that a heat map shows: the characters, who stands aside, the tape."""
    aside = {each.name: each.key for each in stage.sides}
    tape = {stage.tape[-1].words: stage.tape_key} if stage.tape else {}
    return {each.name: each.key for each in stage.characters} | aside | tape


def _movers(stage: Stage) -> Mapping[tuple[str, str], int]:
    """How many messages are on their way from one to another."""
    return Counter((each.source, each.target) for each in stage.messages)


def _aspects(
    stage: Stage, gates: Sequence[Gate], before: Stage | None, then: Sequence[Gate]
) -> Iterator[Aspect]:
    """What matters of very many characters: how each is, what it goes by, what it holds; who has
    come to the gate.
    """
    values: dict[str, Callable[[Character], str]] = {
        say("state"): lambda each: " ".join(say(sign) for sign in (each.health, each.sign) if sign),
        say("goes by"): lambda each: each.tag,
        say("holds"): lambda each: ", ".join(each.holds),
    }
    former = {each.name: each for each in before.characters} if before else {}
    for title, value in values.items():
        now = {each.name: value(each) or "–" for each in stage.characters}
        changed = (
            each.name
            for each in stage.characters
            if each.name in former and value(former[each.name]) != value(each)
        )
        if len(set(now.values())) > 1 or title == say("state"):
            yield Aspect(title, now, frozenset(changed))
    for gate in gates[:1]:
        standing = dict.fromkeys(gate.there, say("answered"))
        standing |= dict.fromkeys(gate.missing, say("missing"))
        missed = {name for each in then if each.thing == gate.thing for name in each.missing}
        so_far = f"{len(gate.there)}/{gate.needed}"
        yield Aspect(gate.what, standing, frozenset(missed.intersection(gate.there)), so_far)


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
    a disk*, *blue*.
    """
    own = {mark: f"{mark}: {words}" for mark, words in (meanings or {}).items()}
    meant = MEANINGS | own

    def on(scene: Scene) -> Stage:
        def work() -> Stage:
            stage = declare(scene)
            return on_network(scene, stage) if isinstance(scene.model, NetworkModel) else stage

        return scene.once(f"stage:{name}", work)

    def awaited(scene: Scene) -> tuple[Gate, ...]:
        return gates_of(scene, gates) if gates else ()

    def words(scene: Scene) -> str:
        stage, gates = on(scene), awaited(scene)
        many = len(stage.characters) > MOST_NODES
        lines = heat_lines(aspects(scene)) if many else stage_lines(stage, gates)
        return "\n".join(f"  {line}" for line in lines)

    def aspects(scene: Scene) -> list[Aspect]:
        def work() -> list[Aspect]:
            before = scene.former()
            then, waited = (on(before), awaited(before)) if before else (None, ())
            return [*_aspects(on(scene), awaited(scene), then, waited)]

        return scene.once(f"aspects:{name}", work)

    def draw(scene: Scene) -> Frag:
        stage = on(scene)
        if len(stage.characters) > MOST_NODES:
            said = alternative(title, words(scene))
            return draw_heat(_keys(stage), aspects(scene), said, _movers(stage))
        shown = awaited(scene) if gates else None
        said = "\n".join((words(scene), *_unsaid(stage)))
        return draw_stage(scene, stage, shown, alternative(title, said))

    def legend(scene: Scene) -> str:
        stage = on(scene)
        if len(stage.characters) > MOST_NODES:
            return ""
        seen = (mark for mark in _marks_seen(scene, stage) if mark in meant)
        return " · ".join(meant[mark] if mark in own else say(meant[mark]) for mark in seen)

    return Panel(name, title, draw, words, still=True, gates=gates, legend=legend)
