"""A language that nobody speaks: every letter is marked, and every word is 40 % longer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from unittest import mock

from kit.edge.words import ENGLISH, VARIABLE, said_in

LONGER = 0.4
MARKED = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "áƀćđéƒǵħíĵķłḿńóṕɋŕśťúṽŵẋýžÁɃĆĐÉƑǴĦÍĴĶŁḾŃÓṔɊŔŚŤÚṼŴẊÝŽ",
)


def marked(text: str) -> str:
    """A text with marks and longer words; places for values stay."""

    def longer(word: re.Match[str]) -> str:
        letters = word[0]
        more = ceil(LONGER * len(letters))
        doubled = "".join(
            c * (1 + (i < more)) for i, c in enumerate(letters[:more] + letters[more:])
        )
        return doubled.translate(MARKED)

    pieces = re.split(r"(\{[^}]*\})", text)
    return "".join(
        piece if piece.startswith("{") else re.sub("[A-Za-z]+", longer, piece) for piece in pieces
    )


@contextmanager
def spoken(folder: Path) -> Iterator[None]:
    """Let the interface speak it; what was said before is forgotten, and again afterwards."""
    english = said_in(ENGLISH)
    words = {
        text: [marked(form) for form in own] if isinstance(own, list) else marked(own or text)
        for text, own in english.words.items()
    }
    place = folder / "pseudo.json"
    place.write_text(json.dumps({"plural": english.plural, "words": words}), encoding="utf-8")
    with mock.patch.dict("os.environ", {VARIABLE: str(place)}):
        forget()
        yield
    forget()


def forget() -> None:
    """Empty every cache of what the kit works out; the types that it makes stay what they are."""
    for name, module in list(sys.modules.items()):
        if name.startswith("kit."):
            for each in list(vars(module).values()):
                made_by = getattr(each, "__wrapped__", None)
                if hasattr(each, "cache_clear") and is_of_kit(made_by):
                    each.cache_clear()


def is_of_kit(thing: object) -> bool:
    """Whether it is written in the kit."""
    return str(getattr(thing, "__module__", "")).startswith("kit.")
