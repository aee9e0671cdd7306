"""The documents read as a friendly colleague speaks: in short sentences, to the reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import nbformat
import pytest

from kit.catalogue.glossary import lesson_name
from tests.house.prose import FENCE, LINK, Measures, count, measures, paragraphs, sentences
from tests.house.source import ROOT, offenders
from tools.reference import documents

SPOKEN = Measures(0, 0.10, 28, 0.3, 1.5)
"""At most so many long sentences, words and semicolons; at least so often "you"."""
EXPLAINED = Measures(0, 0.14, 30, 0.3, 0)
LONGEST = {"README.md": 1_200, "ARCHITECTURE.md": 2_500}  # words, tables and code included
TO_PEOPLE = {"README.md", "TEACHING.md", "OPERATORS.md"}
PAGES = [path for path in documents() if path != ROOT / "CHANGELOG.md"]
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]

LESSONS = Measures(0, 0.06, 24, 0.5, 1.0)
PART = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.|\|)\s)")  # paragraphs, items, rows
MIDDLE = 70  # words of the text cell in the middle
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXCEPTIONS: dict[str, dict[str, float]] = {
    "bootstrap-epoch-by-epoch": {"you": 0.65},
    "why-the-barrier": {"you": 0.51},
    "raft-by-hand": {"you": 0.67},
    "the-coordinator": {"you": 0.53},
    "when-things-fail-halfway": {"you": 0.48},
    "one-tablet-moves": {"you": 0.55},
    "the-row-that-came-back": {"you": 0.62},
    "balance-split-merge": {"you": 0.75},
    "large-clusters-on-spark": {"you": 0.85},
}
"""Lessons that do not meet a measure yet, by the names of both: these numbers only get better."""

TRANSLATED = {
    r"(?:^|[.:;!?] )Who(?:ever)? (?!\w+s?\b[^.!]*\?)": "say who that is: a node that lags",
    r"\b(?:stands?|stood) (?:in|under|there)\b": "is in",
    r"\ball the same\b": "still",
    r"\b(?:holds?|held) \w+(?: \w+){0,4} against\b": "checks against",
    r"\bpass(?:es|ed)? over\b": "does not wait for, or: skips",
    r"\bof (?:which|whom)\b": "whose, or a sentence of its own",
    r"\b[Ll]et us\b": "let's",
    r"\bshortly\b": "in short",
    r"\bmay wait for long\b": "can afford to wait",
    r"\bfrom time to time\b": "say when",
    r"\bfor who\b": "if you, or: for readers who",
    r", too[.!]": "no comma and too at the end",
    r"\b(?:[Mm]etad|[Dd])ata (?:stand|are|were|have|do|need)\b": "data is",
    r"\btakes? (?:it|them|this|an event|the event) over\b": "enters in its tables",
    r"\b[Ww]hat becomes? of\b": "what happens to",
    r"\bby another way\b": "by a different route",
    r"\bis no (?:tool|more)\b": "is useless, or: no longer exists",
    r"\bis asked of\b": "asks",
    r"\bbe it\b": "whether",
    r"\bhow far it came\b": "how far it got",
    r"\b[Oo]nly (?:then|now) (?:the|an?|you|we|it|they|[A-Z]\w*(?:'s)?)\b": "only then does, or is",
    r"\b[Ll]ook(?:s|ed)? whether\b": "check whether",
    r"\bstop(?:s|ped)? to (?!look|ask|think)": "no longer does, or stops doing",
    r"(?:^|[.:;] )Is (?:that|it|this) \S+, then\b": "if that is",
    r"(?:^|[.:;] )Also (?:an?|the|one|every)\b": "as well",
    r"\bnothing is to spare\b": "with none to spare",
    r"\bcares? for (?:that|it)\b": "takes no account of",
    r"\brow of (?:steps|actions|events)\b": "a sequence",
    r"\bfrom the one \w+ to the other\b": "say which ones",
    r"\bleaves? it so\b": "leaves it at that",
    r"\bin the moment in which\b": "at the moment when",
    r"\bas of old\b": "in the old way",
    r"\bmajority (?:of \w+ )?is both\b": "with two, a majority means both",
    r"\bby lot\b": "at random",
    r"\bthe way on\b(?! to)": "name the stages or the states",
    r"(?:^|[.:] )Of (?:the|an?|any|its) (?:\w+ ){1,3}(?:one|it|you|the|only)\b": "subject first",
    r"\bhow it stands\b": "how it is doing",
    r"\b[Ll]ook (?:who|what|which)\b": "look at",
    r"\b[Tt]here is hurry\b": "it becomes urgent",
    r"\b[Tt]he one who\b": "say who that is",
    r"\binstal?lment\b": "one part of the work",
    r", for (?:it|they|nobody|both|each|data|no|the \w+ (?:is|are|has|was))\b": "because",
    r"\bin the place of\b": "instead of",
    r"\b(?:that|which) stands? here\b": "that are filled in",
    r"\bsee no end\b": "would never finish",
    r"\b(?:which|whom|who) (?:\w+ )+(?:is|are) for[.,?]": "which ones get it",
}
"""What sounds translated, and what one says. Only what a search can find is here."""


@pytest.mark.parametrize("name", NAMES)
def test_a_document_reads_easily(name: str) -> None:
    """Long sentences and semicolons are rare, and what is for people speaks to them."""
    text = (ROOT / name).read_text(encoding="utf-8")
    found, limit = measures(text), SPOKEN if name in TO_PEOPLE else EXPLAINED
    assert found.long <= limit.long, [one for one in sentences(text) if count(one) > 26]
    assert found.high <= limit.high
    assert found.semicolons <= limit.semicolons
    assert found.you >= limit.you


@pytest.mark.parametrize("name", LONGEST)
def test_a_document_is_short(name: str) -> None:
    """The first page and the architecture are read in one sitting."""
    assert len((ROOT / name).read_text(encoding="utf-8").split()) <= LONGEST[name]


def prose_of(path: Path) -> list[str]:
    """The text cells of a notebook, links to the glossary being their words."""
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_reads_easily(path: Path) -> None:
    """As documents do, in shorter sentences; an exception is one, and gets no larger."""
    cells = prose_of(path)
    seen = measures("\n\n".join(cells))
    values = {**seen._asdict(), "middle": median(len(cell.split()) for cell in cells)}
    limits = {**LESSONS._asdict(), "middle": MIDDLE}
    misses = {
        name for name in limits if name != "words" and worse(name, values[name], limits[name])
    }
    own = EXCEPTIONS.get(lesson_name(path), {})
    assert misses == own.keys(), {name: values[name] for name in misses ^ own.keys()}
    assert not {name: values[name] for name in own if worse(name, values[name], own[name])}


def worse(name: str, value: float, limit: float) -> bool:
    """Whether a value misses its limit: most are upper ones."""
    return value < limit if name == "you" else value > limit


def test_what_sounds_translated_is_said_in_english() -> None:
    """No document has a turn of phrase that another language left behind."""
    turns = {re.compile(turn, re.MULTILINE): english for turn, english in TRANSLATED.items()}

    def found(path: Path) -> Iterator[str]:
        for line in FENCE.sub("", path.read_text(encoding="utf-8")).splitlines():
            yield from (f"{line}: {turns[one]}" for one in turns if one.search(line))

    assert not offenders(PAGES, found)


def test_no_lesson_sounds_translated() -> None:
    """Nor does the prose of a notebook, its lists and folded answers included."""
    turns = {re.compile(turn, re.MULTILINE): english for turn, english in TRANSLATED.items()}

    def found(path: Path) -> Iterator[str]:
        text = LINK.sub(r"\1", FENCE.sub("", "\n\n".join(prose_of(path))))
        for line in (" ".join(part.split()) for part in PART.split(text)):
            if not line.startswith("#"):
                yield from (f"{line}: {turns[one]}" for one in turns if one.search(line))

    assert not offenders(NOTEBOOKS, found)


def test_only_prose_is_measured() -> None:
    """Headings, lists, tables, code, comments and pictures are left out; a link is its words."""
    text = (
        "# A heading\n\nYou read [two words](a;b.md). Is it `x; y`? *Yes!* So it is.\n\n"
        "- a list; of things\n- more\n\n1. one; two\n\n| a | b; |\n| --- | --- |\n\n"
        "```sh\nls; ls\n```\n\n<!-- a; comment -->\n\n![alt; text](p.png)\n"
    )
    assert list(paragraphs(text)) == ["You read two words. Is it `code`? *Yes!* So it is."]
    assert sentences(text) == ["You read two words.", "Is it `code`?", "*Yes!*", "So it is."]
    assert measures(text) == Measures(11, 0.0, 4, 0.0, 100 / 11)


def test_the_measures_count() -> None:
    """A sentence of 27 words is long, one of 26 is not; semicolons and you are per 100 words."""
    long, short = f"{'word ' * 26}end.", f"{'word ' * 25}end."
    assert measures(f"{long[0].upper()}{long[1:]} {short[0].upper()}{short[1:]}").long == 0.5
    assert measures("One; two you, your yourself youth.").semicolons == pytest.approx(100 / 6)
    assert measures("One; two you, your yourself youth.").you == pytest.approx(50)
