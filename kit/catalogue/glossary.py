"""The glossary: each word once, with what it means, its picture and the lesson that explains it.

The words stand in ``data/glossary.toml``, those of a protocol in the folder of its family. From
them ``docs/glossary.md`` is made, and ``kit.glossary`` and the Player answer.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from kit.catalogue.course import COURSE
from kit.errors import BadInput
from kit.model.family import Family, families, model_places

PACKAGE = Path(__file__).resolve().parent.parent
PLACE = Path("data", "glossary.toml")
OWN = ("catalogue", "ring")
"""Storeys whose words belong to every protocol."""


class Absence(Struct, frozen=True, forbid_unknown_fields=True):
    """Of a word for a node that is not there: who says so, who knows it, whether a barrier waits
    for the node, and whether it may come back.
    """

    says: str
    knows: str
    waits: str
    returns: str

    @property
    def answers(self) -> tuple[str, str, str, str]:
        """All four, in this order."""
        return self.says, self.knows, self.waits, self.returns


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """The meaning of a word, and where it stands.

    ``lesson`` is the name of a notebook without its number. ``picture`` is a drawing's file below
    ``images``, or a scenario and a step of it: ``tcm/bootstrap 5``. ``forms`` are other ways to
    write the word. One that is ``common`` has a plain sense as well, so the Player marks it not.
    """

    means: str
    lesson: str = ""
    picture: str = ""
    forms: tuple[str, ...] = ()
    common: bool = False
    absence: Absence | None = None

    @property
    def scene(self) -> tuple[str, int] | None:
        """The scenario and the step that show the word; None: a drawing does, or nothing."""
        source, _, step = self.picture.partition(" ")
        return (source, int(step)) if step else None


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one subject. ``uses`` names families whose words its models speak as well."""

    title: str
    about: str
    words: dict[str, Entry]
    uses: tuple[str, ...] = ()


@cache
def parts() -> dict[str, Part]:
    """The parts by storey or family: the kit's own first. Each word is in one of them."""
    folders = {name: PACKAGE / name for name in OWN}
    folders |= {family.name: family.folder for family in families()}
    files = {name: folder / PLACE for name, folder in folders.items()}
    texts = {name: file.read_bytes() for name, file in files.items() if file.exists()}
    return {name: msgspec.toml.decode(text, type=Part) for name, text in texts.items()}


@cache
def words() -> dict[str, Entry]:
    """Every word with what is known of it."""
    return {word: entry for part in parts().values() for word, entry in part.words.items()}


LIKE = 0.75
"""How much of its letters a word that is offered has in common with the one that was sought."""


def entry(word: str, every: str = "kit.glossary()") -> tuple[str, Entry]:
    """A word as the glossary writes it, and its entry; capitals and other forms do not matter.

    Raises BadInput for a word that is not there, with the words nearest to it and what lists
    ``every`` word.
    """
    sought = word.strip().casefold()
    for name, known in words().items():
        if re.fullmatch(_pattern(name, known), sought, re.IGNORECASE):
            return name, known
    names = {each.casefold(): each for each in words()}
    near = [names[each] for each in get_close_matches(sought, names, cutoff=LIKE)]
    allowed = f"{', '.join(near) or 'a word of the glossary'} ({every} lists all)"
    raise BadInput("word", word, allowed)


def _pattern(word: str, known: Entry) -> str:
    plurals = rf"{re.escape(word)}(?:e?s)?"
    return "|".join([plurals, *map(re.escape, known.forms)])


class Finder:
    """Finds words of the glossary in a text; the longest one wins where several begin."""

    def __init__(self, words: dict[str, Entry]) -> None:
        ordered = sorted(words.items(), key=lambda item: -len(item[0]))
        self.names = [word for word, _ in ordered]
        patterns = (f"({_pattern(*item)})" for item in ordered)
        self.pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(patterns)})(?![\w-])", re.IGNORECASE)

    def find(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Each word that is met, where it begins, and where it ends."""
        for match in self.pattern.finditer(text) if self.names else ():
            assert match.lastindex is not None
            yield self.names[match.lastindex - 1], *match.span()


@cache
def finder(*models: str) -> Finder:
    """A finder of the words that models speak: the kit's, their families', those they build on."""
    places = model_places()
    known = (places[model][0] for model in models if model in places)
    names = [*OWN, *(name for family in known for name in _spoken(family))]
    return Finder({word: known for name in names for word, known in _marked(name)})


def _marked(part: str) -> Iterator[tuple[str, Entry]]:
    words = parts()[part].words if part in parts() else {}
    return ((word, known) for word, known in words.items() if not known.common)


def _spoken(family: Family) -> list[str]:
    known, names = {each.name: each for each in families()}, [family.name]
    for name in names:  # which grows meanwhile
        part = parts().get(name)
        more = (*known[name].composes, *(part.uses if part else ()))
        names += [each for each in dict.fromkeys(more) if each not in names]
    return names


def lesson_file(lesson: str) -> Path | None:
    """The notebook of a lesson, whatever its number is today; None where there is none."""
    places = (PACKAGE.parent, PACKAGE / "shipped")
    paths = (path for place in places for path in place.glob(f"notebooks/[0-9]*-{lesson}.ipynb"))
    return next((path for path in paths if lesson_name(path) == lesson), None)


def lesson_name(path: Path) -> str:
    """The name of a notebook without its number: it stays when lessons change places."""
    return path.stem.lstrip("0123456789-")


def lesson_title(lesson: str) -> str:
    """A lesson as one speaks of it: ``39, When things fail halfway``; empty: there is none."""
    titles = (f"{each.number:02}, {each.title}" for each in COURSE if each.slug == lesson)
    return next(titles, "")


def glossary_anchor(word: str) -> str:
    """The place of a word in ``docs/glossary.md``, as a link names it."""
    return word.casefold().replace(" ", "-")


def drawing_file(name: str) -> Path | None:
    """A committed drawing; None where there is none of that name."""
    places = (PACKAGE.parent / "images" / name, PACKAGE / "shipped" / "images" / name)
    return next((path for path in places if path.is_file()), None)
