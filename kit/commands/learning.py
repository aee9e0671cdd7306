"""``glossary``: a word, its picture and lesson. ``handout``: a notebook as pages to hand out."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from kit.catalogue.course import COURSE
from kit.catalogue.glossary import Entry, entry, lesson_file
from kit.commands.answer import Answer, Rows, wrap
from kit.commands.lab import serving_root
from kit.commands.parsing import Command, Word
from kit.edge.writing import write_all
from kit.errors import BadInput
from kit.lessons.glossary import Explained, sorted_words
from kit.lessons.handouts import pages_of, write_reader
from kit.lessons.teachers import teacher_of


def _glossary(given: Namespace) -> Answer:
    if not given.word:
        rows = sorted_words()
        return Answer([_plain(*entry(word)) for word, _ in rows], (), [Rows(rows)])
    explained = Explained(*entry(" ".join(given.word), "python -m kit glossary"))
    head, *lines = repr(explained).splitlines()
    data = _plain(explained.word, explained.entry)
    return Answer(data, [head], [part for line in lines for part in wrap(line, "  ")])


def _plain(word: str, known: Entry) -> dict[str, Any]:
    file = lesson_file(known.lesson)
    return {"word": word, **to_builtins(known), "file": file and file.name}


GLOSSARY = Command(
    "glossary",
    _glossary,
    (Word("word", "WORD", "a word, such as fence or read group (default: all words)", number="*"),),
    "What a word in the kit means, with its picture and the lesson that explains it.",
)


def _handout(given: Namespace) -> Answer:
    if bool(given.notebook) == given.all:
        allowed = "a notebook, or --all and no notebook"
        raise BadInput("arguments", given.notebook or "none", allowed)
    if given.teacher and given.all:
        raise BadInput("--teacher", "--all", "one notebook")
    if given.notebook:
        pages = pages_of(given.notebook, given.out)
        teacher = [teacher_of(given.notebook, given.out)] if given.teacher else []
        written = write_all([*pages, *teacher], "--out")
    else:
        folder = serving_root(Path(__file__).resolve().parent.parent, Path.cwd()) / "notebooks"
        names = [lesson.file for lesson in COURSE]
        written = write_reader([folder / name for name in names], given.out, _report)
    paths = [str(path) for path in written]
    return Answer(paths, paths)


def _report(number: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\rlesson {number} of {of}", end="\n" * (number == of), file=sys.stderr, flush=True)


WORDS = (
    Word("notebook", "NOTEBOOK", "a notebook (.ipynb); its cells are run", number="?"),
    Word("--all", "", "the whole course as one reader: reader.html and reader-key.html"),
    Word("--teacher", "", "also make a notebook with its folds open and its exercises answered"),
    Word("--out", "FOLDER", "where to write all of it (default: the current folder)", "."),
)
ABOUT = "A page to hand out for a notebook, and the page with its answers; or both for the course."
HANDOUT = Command("handout", _handout, WORDS, ABOUT, as_json=False)
