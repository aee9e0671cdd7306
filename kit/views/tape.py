"""The tape of a log: its newest cards, each with what it says and how far every node is with it.

A node's letter is below a card once it stores it, framed once it knows that it is committed, filled
once it has applied it. Many are counted. A dashed card is not committed; what is on its way to the
log is the dashed card that comes next.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from kit.errors import counted
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import LINE, Box, measured, wrapped
from kit.views.palette import NO_HUES
from kit.views.parts import fresh
from kit.views.wires import Place

TAPE, MARKS = 45.0, 18.0
LEAST_CARDS, MOST_CARDS, FOLD = 2, 3, 38.0
"""Cards that are seen, beside the place of the next one; of the others, the count."""
LEAST_WIDE, MOST_WIDE, NEXT_WIDE, APART = 92.0, 154.0, 84.0, 4.0
"""How wide cards are and the place of the next one, and how far apart."""
MARK_WIDE, ONE_LINE = 17, 100.0
"""How wide a mark is, and words that are not broken into two lines."""
MOST_MARKS = 6
"""Nodes that are marked one by one below a card; more are counted."""

Reach = Literal["stored", "committed", "applied", ""]


class Card(Struct, frozen=True):
    """An entry of a log: what it says in a few words, and how far each node is with it.

    ``marks`` are names with keys and how far they are. ``void``: it takes no effect; ``open``: it
    is not committed yet; ``forced``: nobody agreed to it.
    """

    key: str
    words: str
    marks: tuple[tuple[str, str, Reach], ...] = ()
    void: bool = False
    open: bool = False
    forced: bool = False
    title: str = ""

    @property
    def counted(self) -> str:
        """How many have applied it, of those who store it."""
        done = sum(reach == "applied" for _, _, reach in self.marks)
        has = sum(reach != "" for _, _, reach in self.marks)
        return f"{done} of {has}" if done < has else f"all {done}"


class Tape:
    """A tape that is laid out: ``spots`` are the middles of its parts, where wires end.

    ``coming`` are the words and title of each that is on its way to the log: ``next`` are the keys
    of the cards of these.
    """

    def __init__(
        self,
        cards: Sequence[Card],
        key: str,
        y: float,
        width: float,
        coming: Sequence[tuple[str, str]] = (),
        *,
        has_marks: bool = True,
        hues: Mapping[str, str] = NO_HUES,
    ) -> None:
        self.hues = hues
        self.width, self.room = width, width - FOLD - NEXT_WIDE
        self.cards, self.shown, self.key, self.y = cards, self._newest(cards), key, y
        self.bottom = y + TAPE + MARKS * has_marks
        self.wide = _shared(map(_needed, self.shown), self.room)
        self.lefts = [*accumulate((each + APART for each in self.wide), initial=FOLD)]
        self.spots: dict[str, Place] = {}
        self.names: dict[str, str] = {}
        """The keys of marks, with the names of the nodes that they are of."""
        for card in self.earlier:
            self.spots[card.key] = Place(FOLD / 2, y + TAPE - 2)
        for i, card in enumerate(self.shown):
            middle = self.lefts[i] + self.wide[i] / 2
            seen = [*_seen(card, middle)]
            low = self.bottom - 3 if seen or len(card.marks) > MOST_MARKS else y + TAPE - 2
            self.spots[card.key] = Place(sum(seen) / len(seen) if seen else middle, low)
            for name, mark, x in _marks(card, middle):
                self.spots[mark] = Place(x, y + 52)
                self.names[mark] = name
        self.spots[key] = Place(self.lefts[-1] + NEXT_WIDE / 2, y + TAPE - 2)
        self.dashed = [*self._coming(coming)]
        for card, x, wide in self.dashed:
            self.spots[card.key] = Place(x + wide / 2, y + TAPE - 2)
        same = dict.fromkeys(coming)
        shared = len(self.dashed) < len(same)
        self.next = {said: self.dashed[0 if shared else i][0].key for i, said in enumerate(same)}

    def _newest(self, cards: Sequence[Card]) -> Sequence[Card]:
        most = min(MOST_CARDS, int(self.room / (LEAST_WIDE + APART)))
        is_cut = _over(map(_needed, cards[-most:]), self.room) > 0
        return cards[-max(LEAST_CARDS, most - is_cut) :]

    @property
    def earlier(self) -> Sequence[Card]:
        """The cards that are folded."""
        return self.cards[: len(self.cards) - len(self.shown)]

    def covered(self, key: str) -> tuple[Box, ...]:
        """What a card covers below it: its marks."""
        card = next((each for each in self.shown if each.key == key and each.marks), None)
        if card is None:
            return ()
        x, wide = self.spots[key].real, measured(card.counted)
        if len(card.marks) <= MOST_MARKS:
            seen = [*_seen(card, 0)]
            if not seen:
                return ()
            x, wide = (
                x + (seen[0] + seen[-1]) / 2 - sum(seen) / len(seen),
                MARK_WIDE + seen[-1] - seen[0],
            )
        return (Box(x, self.y + 52, wide, 18),)

    def draw(
        self, letters: Mapping[str, str], before: Sequence[Card] | None, ends: Iterable[str]
    ) -> Frag:
        """Draw it. ``ends`` are the keys of what something travels to or from; marked is what was
        not so ``before``.
        """
        was = {card.key: card for card in before or ()}
        cards = []
        for i, card in enumerate(self.shown):
            is_new = before is not None and card.key not in was
            place = self.lefts[i], self.wide[i]
            cards.append(self._card(card, *place, letters, was.get(card.key), is_new=is_new))
        # What travels to or from a card that is out of sight goes where it is folded, what travels
        # to the log goes to where its next card will be.
        sought = {*ends}
        hidden = [card.key for card in self.earlier if card.key in sought]
        cards += [h("g", k=key, transform=_at(self.spots[key])) for key in (*hidden, self.key)]
        cards += (self._card(*each, letters) for each in self.dashed)
        rail = h("path", d=f"M0 {self.y + 23:.0f}H{self.width:.0f}", class_="rail")
        return h("g", rail, self._fold(), cards, k="tape", class_="tape")

    def _coming(self, coming: Sequence[tuple[str, str]]) -> Iterator[tuple[Card, float, float]]:
        """The dashed cards of what is on its way, where they begin, how wide they are: one for
        each that differs, or one that counts them where there is no room for all.
        """
        piles, room = Counter(coming), self.width - self.lefts[-1]
        if len(piles) * (NEXT_WIDE + APART) > room + APART:
            titles = "; ".join(dict.fromkeys(title for _, title in coming))
            piles = Counter({(f"{len(coming)} on their way", titles): 1})
        x, share = self.lefts[-1], room / max(len(piles), 1) - APART
        for at, ((words, title), count) in enumerate(piles.items()):
            more = f"{count} × " if count > 1 else ""
            key = f"tape:next{at or ''}"
            card = Card(key, f"{more}{words}", open=True, title=title)
            wide = max(NEXT_WIDE, min(_needed(card), share))
            yield card, x, wide
            x += wide + APART

    def _fold(self) -> Frag | None:
        earlier = len(self.earlier)
        if not earlier:
            return None
        return h(
            "g",
            h("title", counted(earlier, "earlier entry", "earlier entries")),
            h("rect", x=1, y=self.y + 6, width=FOLD - 4, height=34, rx=3,
              class_="log-card"),
            h("text", f"+{earlier}" if earlier < 100 else "…", x=FOLD / 2 - 1, y=self.y + 28,
              text_anchor="middle", class_="on soft"),
            k="tape:fold",
        )  # fmt: skip

    def _card(
        self,
        card: Card,
        x: float,
        wide: float,
        letters: Mapping[str, str],
        was: Card | None = None,
        *,
        is_new: bool = False,
    ) -> Frag:
        y, middle = self.y, x + wide / 2
        lines = wrapped(card.words, wide - 4)
        is_new = is_new or (was is not None and (was.words, was.open) != (card.words, card.open))
        look = "".join(
            (" dashed" * card.open, " void" * card.void, " forced" * card.forced, " moved" * is_new)
        )
        first = 27 - LINE * (len(lines) - 1) / 2
        return h(
            "g",
            h("title", card.title or card.words),
            h("rect", x=x, y=y + 4, width=wide, height=37, rx=4, class_=f"log-card{look}"),
            [h("text", line, x=middle, y=y + first + LINE * i, text_anchor="middle",
               class_="on soft") for i, line in enumerate(lines)],
            self._reached(card, middle, letters, was),
            k=card.key,
            class_="void" if card.void else None,
        )  # fmt: skip

    def _reached(
        self, card: Card, middle: float, letters: Mapping[str, str], was: Card | None
    ) -> Kid:
        low = self.y + 52
        if len(card.marks) > MOST_MARKS:
            words = card.counted
            is_new = was is not None and was.counted != words
            return [
                fresh(middle, low, measured(words) + 8) if is_new else None,
                h("text", words, x=middle, y=low + 5, text_anchor="middle", class_="soft"),
            ]
        former = {key: reach for _, key, reach in was.marks} if was else {}
        reached = {key: reach for _, key, reach in card.marks}
        return [
            self._mark(key, f"{name}: {_reach_words(reached[key])}",
                       (letters.get(name, name)[:1], self.hues.get(name, "")),
                       Place(middle, low), reached[key], former.get(key, reached[key]))
            for name, key, middle in _marks(card, middle)
        ]  # fmt: skip

    def _mark(
        self, key: str, title: str, look: tuple[str, str], at: Place, reach: Reach, former: Reach
    ) -> Frag:
        seat = h("rect", x=-8, y=-8, width=16, height=16, rx=3, class_="seat-of")
        words = h("text", look[0], y=5, text_anchor="middle") if reach else None
        return h(
            "g",
            h("title", title),
            fresh(0, 0, 17, 21) if reach != former else None,
            (seat, words) if reach == "applied" else (words, seat),
            k=key,
            class_=" ".join(filter(None, ("reached", reach, look[1]))),
            transform=_at(at),
        )


def _marks(card: Card, middle: float) -> Iterator[tuple[str, str, float]]:
    is_few = len(card.marks) <= MOST_MARKS
    for i, (name, key, _) in enumerate(card.marks):
        aside = MARK_WIDE * (i - (len(card.marks) - 1) / 2) if is_few else 0
        yield name, key, middle + aside


def _seen(card: Card, middle: float) -> Iterator[float]:
    if len(card.marks) <= MOST_MARKS:
        reached = {key: reach for _, key, reach in card.marks}
        yield from (x for _, key, x in _marks(card, middle) if reached[key])


def _needed(card: Card) -> float:
    words, line = card.words.split(), measured(card.words)
    if line > ONE_LINE:
        cuts = ((" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words) + 1))
        line = min(max(map(measured, lines)) for lines in cuts)
    marks = MARK_WIDE * min(len(card.marks), MOST_MARKS)
    return min(max(line + 5, marks, LEAST_WIDE), MOST_WIDE)


def _shared(needed: Iterable[float], room: float) -> list[float]:
    wide = [*needed]
    over = _over(wide, room)
    spare = sum(each - LEAST_WIDE for each in wide)
    return [each - over * (each - LEAST_WIDE) / spare if over > 0 else each for each in wide]


def _over(needed: Iterable[float], room: float) -> float:
    wide = [*needed]
    return sum(wide) + APART * (len(wide) + 1) - room


def _reach_words(reach: str) -> str:
    words = {"stored": "stored", "known": "known", "applied": "applied"}
    return words.get(reach, reach or "not stored")


def _at(place: Place) -> str:
    return f"translate({place.real:.0f} {place.imag:.0f})"
