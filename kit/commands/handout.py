"""``handout``: a page to hand out for a notebook, and the page with its answers."""

from argparse import Namespace

from kit.commands.answer import Answer
from kit.commands.parsing import Command, Word
from kit.lessons.handouts import write_handout


def _handout(given: Namespace) -> Answer:
    paths = [str(path) for path in write_handout(given.notebook, given.out)]
    return Answer(paths, paths)


WORDS = (
    Word("notebook", "NOTEBOOK", "a notebook (.ipynb); its cells are run"),
    Word("--out", "FOLDER", "where to write both pages", "."),
)
HANDOUT = Command("handout", _handout, words=WORDS, as_json=False)
