"""A notebook as a lesson: its words are read, and what its cells show is made in this process."""

from __future__ import annotations

import ast
import io
import os
import re
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit.edge.reading import read_text
from kit.errors import BadInput, KitError

LARGEST = 1 << 26  # bytes
EXERCISE_CHECK = ").check("
MOST_WORDS = 3  # of a term
LEAST_LISTED = 5  # numbered items that begin with a word: a list of words
EMPHASIS = frozenset(
    "again all before both every first if new not old one original same two until whole older "
    "reads writes replicas shortest at in still try neighbouring".split()
)
"""With what bold letters begin in the notebooks where they stress something and explain no word."""
HEADINGS = ("What you will learn", "What you will learn here", "Time", "Before", "You need")
_BOLD = re.compile(r"\*\*([^*]+?)\*\*")
_ITEM = re.compile(r" (?=\d+\. \*\*|- \*\*)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(*])")
_MARKS = re.compile(r"\*+|`|\[([^\]]*)\]\([^)]*\)")


class NotebookCell(Struct, frozen=True):
    """A cell of a notebook: ``markdown`` or ``code``, and its source."""

    cell_type: str
    source: str | list[str]

    @property
    def text(self) -> str:
        """The source as one text."""
        return self.source if isinstance(self.source, str) else "".join(self.source)


class _Notebook(Struct):
    cells: list[NotebookCell]


class Word(Struct, frozen=True):
    """A word that a lesson explains, and the sentence that does."""

    term: str
    said: str


class LessonText(Struct, frozen=True):
    """What a notebook says: its title, what is learned, how long it takes, words, its cells."""

    title: str
    goals: str
    time: str
    words: tuple[Word, ...]
    cells: tuple[NotebookCell, ...]


def read_lesson(path: str | Path) -> LessonText:
    """A notebook's words.

    Raises:
        BadInput: for a file that cannot be read, or is no notebook.
    """
    text = read_text(path, "notebook", LARGEST)
    try:
        cells = tuple(msgspec.json.decode(text, type=_Notebook).cells)
    except msgspec.MsgspecError:
        raise BadInput("notebook", str(path), "a notebook file (.ipynb)") from None
    prose = [cell.text for cell in cells if cell.cell_type == "markdown"]
    titles = [line[2:] for text in prose for line in text.splitlines() if line.startswith("# ")]
    paragraphs = [" ".join(part.split()) for text in prose for part in re.split(r"\n\s*\n", text)]
    return LessonText(
        titles[0] if titles else Path(path).stem,
        _behind("What you will learn", paragraphs),
        _behind("Time", paragraphs),
        tuple(_words(paragraphs)),
        cells,
    )


def _behind(heading: str, paragraphs: list[str]) -> str:
    """What stands behind a heading in bold letters, up to the next one."""
    for paragraph in paragraphs:
        head = re.search(rf"\*\*{heading}[^*]*\.\*\* (.*?)(?=\*\*[A-Z][^*]*\.\*\*|$)", paragraph)
        if head:
            return plain(head[1].strip())
    return ""


def _words(paragraphs: list[str]) -> Iterator[Word]:
    """The words of the paragraph or the list that explains them; else those in bold letters."""
    own = next((text for text in paragraphs if text.startswith("**Words.**")), None)
    known = set()
    if own is not None:
        for sentence in _SENTENCE.split(own.removeprefix("**Words.**").strip()):
            for term in re.findall(r"\*([^*]+)\*", sentence):
                yield Word(term, plain(sentence))
        return
    items = [item for text in paragraphs for item in _ITEM.split(text)]
    listed = [item for item in items if re.match(r"\d+\. \*\*", item)]
    for item in listed if len(listed) >= LEAST_LISTED else items:
        words = _explained(item) if len(listed) < LEAST_LISTED else [_of_the_list(item)]
        for word in words:
            if word.term.lower() not in known:
                known.add(word.term.lower())
                yield word


def _of_the_list(item: str) -> Word:
    """The word of an item of a numbered list, and the first sentence behind it."""
    _, term, rest = item.split("**", 2)
    bare = term.rstrip(".")
    behind = rest.strip() if bare != term else term + rest
    return Word(bare, plain(_SENTENCE.split(behind)[0]))


def _explained(item: str) -> Iterator[Word]:
    """The words in bold letters of a paragraph or of an item of a list.

    One with a full stop is a heading, and what stands behind it explains it.
    """
    for sentence in _SENTENCE.split(item):
        for term in _BOLD.findall(sentence):
            bare = term.rstrip(".:")
            short = len(bare.split()) <= MOST_WORDS and any(letter.isalpha() for letter in bare)
            if short and bare not in HEADINGS and bare.lower().split()[0] not in EMPHASIS:
                said = sentence if bare == term else sentence.partition(f"**{term}**")[2]
                yield Word(bare, plain(said.removeprefix("- ").strip()))


def plain(text: str) -> str:
    """Markdown without its marks."""
    return _MARKS.sub(lambda mark: mark[1] or "", text)


def shown_by(lesson: LessonText, folder: str | Path) -> Iterator[tuple[int, Any]]:
    """What the code cells show, in order, each with its cell's number from 1 on; cells that check
    exercises are passed over.

    The cells run in this process and in ``folder``; what they print goes nowhere.

    Raises:
        KitError: naming the first cell that fails.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    sources = [cell.text for cell in lesson.cells if cell.cell_type == "code"]
    for number, source in enumerate(sources, start=1):
        if EXERCISE_CHECK in source:
            continue
        try:
            quiet = io.StringIO()
            with chdir(os.fspath(folder)), redirect_stdout(quiet), redirect_stderr(quiet):
                value = _run(source, names)
        except (Exception, SystemExit) as error:
            raise failed(number, error) from error
        if value is not None:
            yield number, value


def failed(number: int, error: BaseException) -> KitError:
    """The error that names a cell and what it failed with."""
    kind = type(error).__name__
    said = f"{kind} {error}" if isinstance(error, SystemExit) else str(error) or kind
    return KitError(f"code cell {number} fails: {said}")


def _run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
