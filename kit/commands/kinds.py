"""Files given to a command that cannot read them: which kind of file each is, what reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kit.edge.reading import beginning
from kit.engine.family import FileKind, families
from kit.errors import one_line

FLAGS = ("--json", "--symmetry", "--partial-order", "--refines", "--force", "--no-browser")
"""Options that take no value: a file behind one is the command's own."""

TRACE = FileKind("a trace", "engine.trace:is_trace", ("play",))
"""The kit's own kind: one of a cluster names its nodes, as a description of a ring does."""


NOTEBOOK = re.compile(r'\s*\{\s*"cells"\s*:')


def kinds_of(text: str) -> Iterator[FileKind]:
    """Every kind of file that a text is: a trace, or what the families' own recognisers say.

    A notebook is none, whatever its cells speak of.
    """
    if NOTEBOOK.match(text):
        return
    if TRACE.is_one(text):
        yield TRACE
        return
    for family in families():
        for kind in family.importers:
            if kind.is_one(text):
                yield kind


def elsewhere(words: Sequence[str]) -> str:
    """What to say after an error of a command: the first file among its words that others read.

    The file of an option is left out: what reads it is the command that has the option. Empty where
    no word is a file of a known kind, or the command reads that kind itself.
    """
    for before, word in pairwise(("", *words)):
        of_option = before.startswith("-") and before not in FLAGS
        kinds = [] if of_option else list(kinds_of(beginning(word)))
        if kinds and not any(words[0] in kind.commands for kind in kinds):
            kind = kinds[0]
            commands = " or ".join(f"`python -m kit {command}`" for command in kind.commands)
            return f"; {one_line(word)} looks like {kind.title}, which is for {commands}"
    return ""
