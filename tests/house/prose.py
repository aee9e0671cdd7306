"""How a text reads, in numbers: long sentences, semicolons, and how often it speaks to its reader.

Only prose is measured. Code, tables, lists, headings, comments and quoted runs do not count, and a
sentence ends at ``.``, ``!`` or ``?`` before a space or the end of its paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONG = 26  # words; a longer sentence has to be read twice
LIST = re.compile(r"\s*([-*+]|\d+\.)\s")
NO_PROSE = re.compile(r"\s*(#|\||<|!\[|\[[^\]]+\]:)")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][)\"”*_])|(?<=[.!?][)\"”*_]{2}))\s+(?=[\"“(*_]*[A-Z0-9`])"
)
WORD = re.compile(r"[\w'’-]*\w[\w'’-]*")


class Measures(NamedTuple):
    """What is said of a text: its words of prose, and what ``limits`` of a page name."""

    words: int
    long: float
    """Share of sentences with more than 26 words."""
    high: int
    """Words of the 90th percentile's sentence."""
    semicolons: float
    """Per 100 words."""
    you: float
    """How often it says "you", per 100 words."""


def paragraphs(text: str) -> Iterator[str]:
    """The prose of a Markdown text, a paragraph each; a word stands for code and for a link."""
    text = COMMENT.sub("", FENCE.sub("", text))
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").splitlines()
        if lines and not LIST.match(lines[0]) and not lines[0].startswith(("    ", "\t")):
            prose = " ".join(line.strip() for line in lines if not NO_PROSE.match(line))
            if prose:
                yield LINK.sub(r"\1", CODE.sub("`code`", prose))


def sentences(text: str) -> list[str]:
    """The sentences of a Markdown text."""
    return [one for paragraph in paragraphs(text) for one in END.split(paragraph)]


def count(text: str) -> int:
    """How many words there are, whatever else stands between them."""
    return len(WORD.findall(text))


def measures(text: str) -> Measures:
    """The measures of a Markdown text."""
    found = sentences(text)
    lengths = sorted(map(count, found)) or [0]
    words, prose = max(sum(lengths), 1), " ".join(found)
    return Measures(
        words,
        sum(length > LONG for length in lengths) / len(lengths),
        lengths[min(len(lengths) - 1, len(lengths) * 9 // 10)],
        100 * prose.count(";") / words,
        100 * len(re.findall(r"\byou(?:r|rs|rself)?\b", prose, re.IGNORECASE)) / words,
    )
