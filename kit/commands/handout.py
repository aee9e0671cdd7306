"""``handout``: a page to hand out for a notebook, and the page with its answers; or the reader."""

import sys
from argparse import Namespace
from pathlib import Path

from kit.catalogue.course import COURSE
from kit.commands.answer import Answer
from kit.commands.lab import serving_root
from kit.commands.parsing import Command, Word
from kit.edge.writing import write_all
from kit.errors import BadInput
from kit.lessons.handouts import pages_of, write_reader
from kit.lessons.teachers import teacher_of


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
