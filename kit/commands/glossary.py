"""``glossary``: what a word means, where its picture is, and the lesson that explains it."""

from argparse import Namespace

from msgspec import to_builtins

from kit.commands.answer import Answer, Rows, wrap
from kit.commands.parsing import Command, Word
from kit.engine.glossary import lesson_file, words
from kit.lessons.glossary import Explained, glossary


def _answer(given: Namespace) -> Answer:
    if given.word is None:
        rows = sorted(((name, one.means) for name, one in words().items()), key=_sorted)
        return Answer({name: to_builtins(one) for name, one in words().items()}, (), [Rows(rows)])
    found = glossary(given.word)
    assert isinstance(found, Explained)
    file = lesson_file(found.entry.lesson)
    data = {"word": found.word, **to_builtins(found.entry), "file": file and file.name}
    head, *lines = repr(found).splitlines()
    return Answer(data, [head], [part for line in lines for part in wrap(line, "  ")])


def _sorted(row: tuple[str, str]) -> str:
    return row[0].casefold()


COMMAND = Command(
    "glossary",
    _answer,
    (Word("word", "WORD", "such as fence, or 'read group': all words", number="?"),),
    "What a word of the kit means, with its picture and the lesson that explains it.",
)
