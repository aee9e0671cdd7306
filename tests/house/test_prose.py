"""The documents read as a friendly colleague speaks: in short sentences, to the reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.prose import FENCE, Measures, count, measures, paragraphs, sentences
from tests.house.source import ROOT, offenders
from tools.reference import INDEX, documents

SPOKEN = Measures(0, 0.10, 28, 0.3, 1.5)
"""At most so many long sentences, words and semicolons; at least so often "you"."""
EXPLAINED = Measures(0, 0.14, 30, 0.3, 0)
LONGEST = {"README.md": 1_200, "ARCHITECTURE.md": 2_500}  # words, tables and code included
TO_PEOPLE = {"README.md", "TEACHING.md", "OPERATORS.md"}
PAGES = [path for path in documents() if path not in (ROOT / "CHANGELOG.md", INDEX)]
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]

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
    r"\b(?:meta)?data (?:stand|are|were|have)\b": "data is",
    r"\btakes? (?:it|them|this|an event|the event) over\b": "enters in its tables",
    r"\bwhat becomes? of\b": "what happens to",
    r"\bby another way\b": "by a different route",
    r"\bis no (?:tool|more)\b": "is useless, or: no longer exists",
    r"\bis asked of\b": "asks",
    r"\bbe it\b": "whether",
    r"\bhow far it came\b": "how far it got",
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


def test_what_sounds_translated_is_said_in_english() -> None:
    """No document has a turn of phrase that another language left behind."""
    turns = {re.compile(turn, re.MULTILINE): english for turn, english in TRANSLATED.items()}

    def found(path: Path) -> Iterator[str]:
        for line in FENCE.sub("", path.read_text(encoding="utf-8")).splitlines():
            yield from (f"{line}: {turns[one]}" for one in turns if one.search(line))

    assert not offenders(PAGES, found)


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
