"""An answer is data; one renderer makes text, JSON and HTML of it."""

from __future__ import annotations

import io
import re
from argparse import Namespace
from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest

from kit.commands.answer import MOST_LINES, Answer, Part, Rows
from kit.commands.parsing import Command, Parser, Word
from kit.errors import BadInput, KitError

NODES = Rows([("n1", "up"), ("n10", "<down>")], "nodes", "2 nodes")


def said(command: Command, *words: str) -> tuple[int, str]:
    """The status of a command, and what it prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        status = command(words)
    return status, out.getvalue()


def never() -> Iterator[Part]:
    """Parts that nobody may ask for."""
    raise AssertionError
    yield ""


def test_a_long_table_is_counted_only_where_it_says_of_what() -> None:
    """With a name for its rows a long table ends with how many more there are, else it has all."""
    cells = [(f"n{at}",) for at in range(MOST_LINES + 5)]
    shown = list(Rows(cells, "nodes").lines())
    assert len(shown) == MOST_LINES
    assert shown[-1] == "  … and 6 more nodes; --json has all"
    assert len(list(Rows(cells).lines())) == len(cells)


def test_html_has_the_same_words_escaped() -> None:
    """Heading, warnings, lines and cells are in the HTML; a broken line is one again."""
    html = Answer({}, ["a cluster", "  of two"], ["", "it is small", NODES], ["old"]).html()
    for words in ("<b>a cluster of two</b>", "<b>! </b> old", "it is small", "2 nodes"):
        assert words in html
    assert "&lt;down&gt;" in html
    assert re.search('<th [^>]*scope="row"[^>]*>n10</th>', html)


def test_a_command_prints_words_or_json_and_gives_its_status() -> None:
    """The option --json chooses between both; the words are not even made for it."""

    def answer(given: Namespace) -> Answer:
        return Answer({"node": given.node}, (), never() if given.json else [given.node], status=1)

    command = Command("look", answer, (Word("--node", "NODE", "a node", several=True),))
    assert said(command, "--node", "n1", "--json") == (1, '{\n "node": [\n  "n1"\n ]\n}\n')
    words = Command("look", lambda given: Answer(1, ["one"]), as_json=False)
    assert said(words) == (0, "one\n")
    with pytest.raises(KitError, match="arguments: got '--json'"):
        words(["--json"])


def test_an_option_stands_once_unless_several_are_taken() -> None:
    """A second value is refused, but where a parser takes several."""
    parser = Parser(prog="look")
    parser.add(Word("--down", "HOST", "one"))
    parser.add(Word("--lost", "HOST", "several", several=True))
    assert parser.parse_args(["--lost", "a", "--lost", "b"]).lost == ["a", "b"]
    assert parser.parse_args([]).lost == []
    with pytest.raises(BadInput, match="each option once"):
        parser.parse_args(["--down", "a", "--down", "b"])
