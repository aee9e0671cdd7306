"""The tape of a log: its newest cards, each in the hue of who wrote the entry, and past a bar what
is on its way to it. A hatched card is not known to be committed, a dashed one is planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from kit.errors import counted
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import LINE, measured, wrapped
from kit.views.palette import NO_HUES
from kit.views.parts import hatched
from kit.views.wires import Place

TOP, HIGH, BOTTOM = 2.0, 36.0, 46.0
"""Where the cards begin, how high they are, and where what is below begins."""
MOST_CARDS, FOLD, APART = 3, 30.0, 5.0
"""Cards that are seen, and how wide the one that counts the others is."""
LEAST_WIDE, MOST_WIDE = 64.0, 150.0
BADGE, NOTCH, SEAT = 16.0, 8.0, 16.0
"""How wide the letter of a maker is, half of a plug, and what stands beside an empty socket."""


class Card(Struct, frozen=True):
    """An entry of a log: what it says in a few words, and ``by`` whom it was written.

    ``void``: it takes no effect; ``open``: it is not known to be committed; ``forced``: nobody
    agreed to it. A piece is ``built`` on a state and ``makes`` another one: it has a socket and a
    plug, and without effect it does not fit.
    """

    key: str
    words: str
    by: str = ""
    void: bool = False
    open: bool = False
    forced: bool = False
    title: str = ""
    built: str = ""
    makes: str = ""

    def follows(self, other: Card) -> bool:
        """Whether its socket is on the other one's plug."""
        return bool(self.built) and not self.void and self.built == other.plug

    @property
    def plug(self) -> str:
        """The state that the next one can be built on."""
        return "" if self.void else self.makes


def tile(
    at: Place,
    size: tuple[float, float],
    lines: Sequence[str],
    by: tuple[str, str] = ("", ""),
    how: str = "",
    piece: tuple[str, str] = ("", ""),
    **more: str | None,
) -> Frag:
    """Draw a tile around a place with the letter and the hue of its maker (``by``).

    It is hatched where it is stored and not known to be chosen (``open``), dashed where it is
    planned, struck out where it is ``void``; ``now`` is what the step changed. A ``piece`` has a
    socket and a plug, and what they are called, unless it ``fits`` another one.
    """
    (wide, high), (letter, hue), (socket, plug) = size, by, piece
    left, top = at.real - wide / 2, at.imag - high / 2
    is_loose = socket and "fits" not in how
    begin = NOTCH * bool(socket) + SEAT * bool(is_loose)
    middle = at.real + (BADGE / 2 if letter else 0) + (begin - NOTCH * bool(plug)) / 2
    room = max(map(measured, lines), default=0)
    first = at.imag + 4.5 - LINE * (len(lines) - 1) / 2
    return h(
        "g",
        h("path", d=_piece(left, top, wide, high, piece), class_="piece") if any(piece) else
        h("rect", x=round(left, 1), y=round(top, 1), width=round(wide, 1), height=high,
          rx=min(6, wide // 4)),
        h("path", d=hatched(left, top, wide, high), class_="stripes") if "open" in how else None,
        h("rect", x=round(middle - room / 2 - 4, 1), y=top + 3, width=round(room + 8, 1),
          height=high - 6, rx=4, class_="plate") if "open" in how else None,
        _badge(left + begin + BADGE / 2 + 4, at.imag, letter) if letter else None,
        [h("text", line, x=round(middle, 1), y=round(first + LINE * i, 1), text_anchor="middle")
         for i, line in enumerate(lines)],
        h("text", plug, x=round(left + wide + NOTCH - 2, 1), y=at.imag + 4.5, text_anchor="end",
          class_="of-piece") if plug else None,
        h("text", socket, x=round(left + NOTCH + 2, 1), y=at.imag + 4.5,
          class_="of-piece") if is_loose else None,
        _cross(left - 9, at.imag) if socket and "void" in how else None,
        class_=" ".join(filter(None, ("tile", how, hue))),
        **more,
    )  # fmt: skip


def _piece(left: float, top: float, wide: float, high: float, piece: tuple[str, str]) -> str:
    """The outline of a piece, clockwise from its upper left corner."""
    side = (high - 2 * NOTCH) / 2 - 6
    plug, socket = (f"v{side}a{NOTCH} {NOTCH} 0 0 1 0 {2 * NOTCH}v{side}",
                    f"v{-side}a{NOTCH} {NOTCH} 0 0 0 0 {-2 * NOTCH}v{-side}")  # fmt: skip
    right = plug if piece[1] else f"v{high - 12}"
    far = socket if piece[0] else f"v{12 - high}"
    return (f"M{left + 6:.1f} {top:.1f}h{wide - 12:.1f}a6 6 0 0 1 6 6{right}a6 6 0 0 1-6 6"
            f"h{12 - wide:.1f}a6 6 0 0 1-6-6{far}a6 6 0 0 1 6-6z")  # fmt: skip


def _cross(x: float, y: float) -> list[Kid]:
    return [
        h("circle", cx=round(x, 1), cy=y, r=7, class_="crown"),
        h("path", d=f"M{x - 3:.1f} {y - 3}l6 6m0-6l-6 6", class_="misfit"),
    ]


def _badge(x: float, y: float, letter: str) -> list[Kid]:
    return [
        h("circle", cx=round(x, 1), cy=y, r=8, class_="badge-of"),
        h("text", letter[:1], x=round(x, 1), y=y + 4.5, text_anchor="middle", class_="maker"),
    ]


class Tape:
    """A tape that is laid out: ``spots`` are the places below its cards, where wires end.

    ``coming`` are what each that is on its way to the log says, and who sends it.
    """

    def __init__(
        self,
        cards: Sequence[Card],
        key: str,
        y: float,
        width: float,
        coming: Sequence[tuple[str, str]] = (),
        letters: Mapping[str, str] = NO_HUES,
        hues: Mapping[str, str] = NO_HUES,
    ) -> None:
        self.key, self.y, self.letters, self.hues = key, y, letters, hues
        self.bottom = y + BOTTOM
        alike = dict.fromkeys(coming)
        planned = [Card(f"tape:next{i or ''}", words, by) for i, (words, by) in enumerate(alike)]
        if len(planned) > 2:
            planned = [Card("tape:next", f"{len(coming)} on their way")]
        most = MOST_CARDS - (len(planned) > 1)
        self.shown, self.earlier = cards[-most:], cards[:-most]
        left = 2 + (FOLD + APART) * bool(self.earlier)
        whole = [*self.shown, *planned]
        needed = [self._needed(card) for card in whole]
        gaps = [2 * NOTCH + 4 if card.void and card.built else 0.0 for card in whole]
        room = width - left - (APART + 4) * (len(whole) + 1) - sum(gaps)
        by = min(1.0, room / (sum(needed) or 1))
        self.places: list[tuple[Card, float, float, bool]] = []
        for i, (card, wide) in enumerate(zip(whole, needed, strict=True)):
            if i == len(self.shown):
                self.bar, left = left + 3, left + 10
            left += gaps[i]
            if i and card.follows(whole[i - 1]):
                left -= APART + NOTCH / 2
            self.places.append((card, left, wide * by, i >= len(self.shown)))
            left += wide * by + APART + NOTCH / 2 * bool(card.plug)
        if not planned:
            self.bar, left = left + 3, left + 10
        self.spots = {card.key: Place(x + wide / 2, y + TOP + HIGH)
                      for card, x, wide, _ in self.places}  # fmt: skip
        self.spots |= {card.key: Place(FOLD / 2, y + TOP + HIGH) for card in self.earlier}
        first = self.places[len(self.shown)][0].key if planned else ""
        self.spots[key] = self.spots.get(first, Place(min(left + 30, width - 20), y + TOP + HIGH))
        keys = [card.key for card in planned]
        self.next = {said: keys[min(i, len(keys) - 1)] for i, said in enumerate(alike)}

    def _needed(self, card: Card) -> float:
        words, line = card.words.split(), measured(card.words, bold=True)
        if line > LEAST_WIDE:
            cuts = ((" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words)))
            halves = (max(measured(line, bold=True) for line in lines) for lines in cuts)
            line = min((line, *halves))
        more = BADGE * (card.by in self.letters)
        more += NOTCH * bool(card.plug) + (NOTCH + SEAT * card.void) * bool(card.built)
        return min(max(line * 1.1 + 12 + more, LEAST_WIDE), MOST_WIDE)

    def draw(self, before: Sequence[Card] | None, ends: Iterable[str]) -> Frag:
        """Draw it. ``ends`` are the keys of what something travels to or from; marked is what was
        not so ``before``.
        """
        was = {card.key: card for card in before or ()}
        cards, last, middle = list[Frag](), Card("", ""), self.y + TOP + HIGH / 2
        for card, x, wide, is_planned in self.places:
            former = was.get(card.key)
            is_new = before is not None and not is_planned and (
                former is None or (former.words, former.open) != (card.words, card.open)
            )  # fmt: skip
            looks = {"dashed": is_planned, "open": card.open, "void": card.void,
                     "forced": card.forced, "now": is_new, "fits": card.follows(last)}  # fmt: skip
            letter = self.letters.get(card.by, "")
            piece = card.built, card.plug
            room = wide - 10 - (BADGE if letter else 0) - NOTCH * sum(map(bool, piece))
            room -= SEAT * (bool(card.built) and not card.follows(last))
            kind = " ".join(look for look, on in looks.items() if on)
            drawn = tile(
                Place(x + wide / 2, middle),
                (wide, HIGH),
                wrapped(card.words, room),
                (letter, self.hues.get(card.by, "")),
                kind,
                piece,
            )
            said = h("title", card.title or card.words)
            cards.append(h("g", said, drawn, k=card.key))
            last = card
        sought, earlier = {*ends}, len(self.earlier)
        hidden = (card.key for card in self.earlier if card.key in sought)
        cards += [h("g", k=key, transform=at_place(self.spots[key])) for key in (*hidden, self.key)]
        fold = tile(Place(2 + FOLD / 2, self.y + TOP + HIGH / 2), (FOLD - 4, HIGH), [f"+{earlier}"])
        said = h("title", counted(earlier, "earlier entry", "earlier entries"))
        bar = h("path", d=f"M{self.bar:.0f} {self.y + TOP:.0f}v{HIGH:.0f}", class_="bar-of")
        return h("g", h("g", said, fold, k="tape:fold") if earlier else None, bar, cards,
                 k="tape", class_="tape")  # fmt: skip


def at_place(place: Place) -> str:
    """Where a part stands, as its transform."""
    return f"translate({place.real:.0f} {place.imag:.0f})"
