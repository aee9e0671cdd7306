"""``handout``: a page to hand out for a notebook, and the page with its answers."""

from __future__ import annotations

from argparse import Namespace

from kit.commands.answer import Answer
from kit.commands.parsing import Command, Parser
from kit.lessons.handouts import write_handout


def _handout(given: Namespace) -> Answer:
    """Write both pages into a folder and name them."""
    paths = [str(path) for path in write_handout(given.notebook, given.out)]
    return Answer(paths, paths)


def _options(parser: Parser) -> None:
    parser.add_argument(
        "notebook", metavar="NOTEBOOK", help="a notebook (.ipynb); its cells are run"
    )
    parser.add_argument("--out", default=".", metavar="FOLDER", help="where to write both pages")


HANDOUT = Command("handout", _handout, _options, as_json=False)
