"""The words of the interface, in the language of the person who looks at it.

What models say (verbs, sentences, titles) is content and stays with them. All else on the screen is
``say("close")``, here and in the browser's modules alike: the English is its own key, with named
places for values. To add words, write ``say`` around them and run
``KIT_REWRITE=1 python -m pytest -n 0 tests/house/test_words.py``, which adds them to
``languages/en.json``. Where a number ``n`` changes them, give them their forms there::

    "{n} steps": ["{n} step", "{n} steps"]

``KIT_LANGUAGE`` names the language: that of a file beside ``en.json``, or the path of one. Words
are said when they are drawn, never as a module is loaded; a declaration marks them ``later``.
"""

import json
import os
import re
from collections.abc import Callable
from functools import cache
from gettext import c2py
from pathlib import Path
from typing import Any

import msgspec

from kit.edge.json_text import decoded
from kit.edge.reading import read_text
from kit.errors import BadInput

VARIABLE = "KIT_LANGUAGE"
FOLDER = Path(__file__).resolve().parent / "languages"
ENGLISH = FOLDER / "en.json"
LARGEST = 1 << 20  # bytes

_PLACE = re.compile(r"\{(\w+)(:,)?\}")
_SAID = re.compile(r'(?<![\w.])say\(\s*"([^"]*)"')


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of a language: by the English, where that is not empty, its own text or forms.

    ``plural`` says which form goes with a number ``n``, from 0, as gettext writes it.
    """

    plural: str
    words: dict[str, str | list[str]]


def said_in(path: Path, known: Catalogue | None = None) -> Catalogue:
    """Read the catalogue in a file.

    Raises BadInput for one that is malformed, and for words that are not among the ``known`` ones
    or have other places than those.
    """
    try:
        read: Catalogue = decoded(read_text(path, VARIABLE, LARGEST), Catalogue, VARIABLE)
        c2py(read.plural)
    except ValueError as error:
        raise BadInput(VARIABLE, str(path), f"a catalogue like en.json ({error})") from None
    for text, own in read.words.items():
        if known is not None and text not in known.words:
            raise BadInput(VARIABLE, text, "words of en.json")
        for form in _forms(own):
            places, wanted = (set(_PLACE.findall(each)) for each in (form, text))
            if form and not places <= wanted:
                raise BadInput(f"{VARIABLE}: {text}", form, f"only the places of {text!r}")
    return read


@cache
def catalogue() -> Catalogue:
    """The words of the chosen language, else English ones. Raises BadInput for an unknown one."""
    english = said_in(ENGLISH)
    chosen = os.environ.get(VARIABLE) or ENGLISH.stem
    own = {path.stem: path for path in FOLDER.glob("*.json")}
    path = own.get(chosen, Path(chosen))
    if path == ENGLISH:
        return english
    if not path.is_file():
        raise BadInput(VARIABLE, chosen, f"one of {', '.join(sorted(own))}, or a file like en.json")
    return said_in(path, english)


def say(text: str, /, **values: Any) -> str:
    """Say something in the language of the reader, with the values in their places."""
    forms = _forms(catalogue().words.get(text) or text)
    at = _rule()(values["n"]) if len(forms) > 1 else 0
    return _PLACE.sub(lambda place: format(values[place[1]], "," if place[2] else ""), forms[at])


@cache
def _rule() -> Callable[[int], int]:
    return c2py(catalogue().plural)


def later(text: str) -> str:
    """Words that are declared as a module is loaded, and said when they are drawn."""
    return text


def translated(module: str) -> str:
    """A module of the browser with its words in the language of the reader."""
    own = catalogue()

    def words(call: re.Match[str]) -> str:
        forms = json.dumps(own.words.get(call[1]) or call[1], ensure_ascii=False)
        return call[0].replace(f'"{call[1]}"', forms.replace('\\"', "\\u0022"))

    return _SAID.sub(words, module).replace("n !== 1", own.plural)


def _forms(own: str | list[str]) -> list[str]:
    return own if isinstance(own, list) else [own]
