"""``glossary``: what a word means, where its picture is, and the lesson that explains it."""

from argparse import Namespace
from typing import Any

from msgspec import to_builtins

from kit.catalogue.glossary import Entry, entry, lesson_file
from kit.commands.answer import Answer, Rows, wrap
from kit.commands.parsing import Command, Word
from kit.lessons.glossary import Explained, sorted_words


def _answer(given: Namespace) -> Answer:
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


COMMAND = Command(
    "glossary",
    _answer,
    (Word("word", "WORD", "a word, such as fence or read group (default: all words)", number="*"),),
    "What a word in the kit means, with its picture and the lesson that explains it.",
)
