"""The wire: what the kernel and the page say to each other, as named structs.

The kernel sends the whole history once, as a ``Pack``, and then what is new, as an
``Update``; an exported page holds a pack and hears nothing more. The page sends one of four
messages. Texts of fragments and moments are only ever added, so that two counts say what a page
holds; a new session begins again from none. ``kit.views.rendered`` draws the moments of a timeline
into texts and makes both structs, ``kit.playing.session`` sends them, and
``kit/widgets/browser/wire.js`` is the page's end.
"""

from __future__ import annotations

import gzip
from typing import TypeAlias

import msgspec
from msgspec import Struct

from kit.edge.json_text import fitting
from kit.views.store import order_by_key

# What the kernel sends.


class DrawnMoment(Struct, frozen=True, array_like=True):
    """What the page knows of a moment; sent as an array in this order.

    ``parent`` is the moment before, -1 at the start. ``root`` is the number of the frame's text,
    None while the kernel holds no such text: the page asks for it. ``verb`` and ``milestone`` name
    the step that led here. ``question`` is the text that asks about this step before it is shown,
    None without one. ``inner`` marks a step inside a folded run. ``flows`` is the text that lists
    what travels in the step, None where nothing does. ``broken`` marks the first step to break a
    promise. ``off`` are the safeguards, by their ids, without which it was done. ``start``, where
    this is the first step of a branch with other safeguards, is how the start looks there.
    """

    parent: int
    root: int | None
    verb: str
    milestone: str | None
    question: int | None
    inner: bool
    flows: int | None
    broken: bool
    off: str = ""
    start: int | None = None


class Position(Struct, frozen=True):
    """The moment ``at`` that is shown, on the branch that ends at ``tip``.

    ``sequence`` counts where the kernel has gone by itself. A page that answers with an older one
    had not heard the latest; and a page whose reader has gone on stays there when it hears one that
    it knows.
    """

    at: int
    tip: int
    sequence: int


class Pack(Struct, frozen=True):
    """A whole history: all texts, all moments and the position. ``session`` names the store."""

    session: str
    texts: list[str]
    moments: list[DrawnMoment]
    position: Position

    def ordered(self) -> Pack:
        """The same history with its texts in the order that compresses best: for a last pack."""
        texts, new = order_by_key(self.texts)
        moments = []
        for moment in self.moments:
            numbers = {
                name: getattr(moment, name) for name in ("root", "question", "flows", "start")
            }
            kept = {name: new[text] for name, text in numbers.items() if text is not None}
            moments.append(msgspec.structs.replace(moment, **kept))
        return msgspec.structs.replace(self, texts=texts, moments=moments)

    def compressed(self, level: int = 9) -> bytes:
        """The pack as compressed JSON, equal for equal packs; ``level``: 1 (quick) to 9 (small)."""
        return gzip.compress(msgspec.json.encode(self), compresslevel=level, mtime=0)


class Update(Struct, frozen=True, omit_defaults=True):
    """The texts from number ``base`` on and the moments from number ``first`` on.

    ``position`` is where the page shall go, ``error`` why what it asked for did not happen, and
    ``progress`` how far a search for the cause of a break has come (empty: it has ended);
    ``copied`` is a text for the clipboard.
    """

    session: str
    base: int
    texts: list[str]
    first: int
    moments: list[DrawnMoment]
    position: Position | None = None
    error: str | None = None
    progress: str | None = None
    copied: str | None = None


# What the page says; the field ``message`` tells which of the four it is.


class Act(Struct, frozen=True, forbid_unknown_fields=True, tag_field="message", tag="act"):
    """A control was used at moment ``at`` by a page that holds ``have`` texts.

    ``control`` is ``step``, ``milestone``, ``fork``, ``mermaid``, ``do:`` and an action's mark,
    ``macro:`` and a macro's name, ``break:`` and what is asked of a broken promise, ``off:`` and a
    safeguard with what it holds up, or ``story:`` and the name of another one.
    """

    control: str
    at: int
    have: int


class Sync(Struct, frozen=True, forbid_unknown_fields=True, tag_field="message", tag="sync"):
    """A page says how many texts and moments of a session it holds, and asks for the rest."""

    texts: int
    moments: int
    session: str


class Need(Struct, frozen=True, forbid_unknown_fields=True, tag_field="message", tag="need"):
    """A page asks for the frame of a moment that has none: to show it, or ahead, when idle."""

    moment: int


class Look(Struct, frozen=True, forbid_unknown_fields=True, tag_field="message", tag="look"):
    """The reader went to another moment by themselves."""

    position: Position


Message: TypeAlias = Act | Sync | Need | Look


def read_message(content: object) -> Message:
    """Read what a page says, never evaluated. Raises BadInput for none of the four messages."""
    message: Message = fitting(content, Message, "message", "an act, sync, need or look")
    return message
