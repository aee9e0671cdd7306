"""``glossary``: what a word means, where its picture is, and the lesson that explains it."""

from argparse import Namespace

from msgspec import to_builtins

from kit.commands.answer import Answer, Rows, wrap
from kit.commands.parsing import Command, Word
from kit.engine.glossary import lesson_file, words
from kit.lessons.glossary import Explained, glossary, sorted_words


def _answer(given: Namespace) -> Answer:
    if given.word is None:
        return Answer(to_builtins(words()), (), [Rows(sorted_words())])
    explained = glossary(given.word)
    assert isinstance(explained, Explained)
    file = lesson_file(explained.entry.lesson)
    data = {"word": explained.word, **to_builtins(explained.entry), "file": file and file.name}
    head, *lines = repr(explained).splitlines()
    return Answer(data, [head], [part for line in lines for part in wrap(line, "  ")])


COMMAND = Command(
    "glossary",
    _answer,
    (
        Word(
            "word",
            "WORD",
            "a word, such as fence or 'read group' (default: all words)",
            number="?",
        ),
    ),
    "What a word in the kit means, with its picture and the lesson that explains it.",
)
