"""Reading the words of a command: errors are one line, options stand once, none is guessed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from msgspec import Struct

from kit.commands.answer import Answer
from kit.errors import BadInput, KitError, nearest


class StoreOnce(argparse.Action):
    """Keeps the value of an option, and refuses a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Set the value, as argparse asks."""
        given = vars(namespace).setdefault("given", set())
        if option_string is not None and self.dest in given:
            raise BadInput(option_string, values, "each option once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line of this command's own, with the nearest option."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)
        self.register("action", None, StoreOnce)
        self.register("action", "store", StoreOnce)

    def add(self, word: Word) -> None:
        """Add a word of a table."""
        names = word.names.split()
        if not word.value:
            self.add_argument(*names, action="store_true", help=word.help)
        elif word.several:
            self.several(*names, metavar=word.value, help=word.help)
        else:
            self.add_argument(*names, default=word.default, metavar=word.value, help=word.help)

    def several(self, *names: str, **options: Any) -> None:
        """Add an option that may be given several times."""
        self.add_argument(*names, action="append", default=[], **options)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """A word that is none of those to choose from is refused, and the nearest named."""
        choices = [str(choice) for choice in action.choices or ()]
        if choices and value not in choices:
            allowed = ", ".join(choices) + nearest(str(value), choices)
            raise BadInput(str(action.metavar or action.dest), value, allowed)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise KitError(f"{self.prog}: {message}; {self.prog} --help tells what is allowed")

    def parse_known_args(  # type: ignore[override]  # narrower than argparse's overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse the words; one that nobody knows is refused here, by the command that it is for."""
        known_words, rest = super().parse_known_args(args, namespace)
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            hint = nearest(rest[0].partition("=")[0], known)
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return known_words, rest


class Word(Struct, frozen=True):
    """A word of a command line: its names, and how help calls its value; without one it has none.

    One that is ``several`` may be given several times.
    """

    names: str
    value: str
    help: str
    default: str | None = None
    several: bool = False


class Command(Struct, frozen=True):
    """A command that answers: called with its words it prints the answer and gives the status.

    ``words`` are its own, ``options`` adds further ones to a parser, whose help ``about`` opens and
    ``after`` ends; without ``as_json`` the answer is in words only.
    """

    name: str
    answer: Callable[[argparse.Namespace], Answer]
    options: Callable[[Parser], None] = lambda parser: None
    about: str | None = None
    after: str | None = None
    as_json: bool = True
    words: tuple[Word, ...] = ()

    def __call__(self, argv: Sequence[str]) -> int:
        """Answer to the words after the command's name."""
        parser = Parser(
            prog=f"python -m kit {self.name}", description=self.about, epilog=self.after
        )
        for word in self.words:
            parser.add(word)
        self.options(parser)
        if self.as_json:
            parser.add_argument("--json", action="store_true", help="the same as JSON")
        given = parser.parse_args(argv)
        return self.answer(given).put(as_json=self.as_json and given.json)


def add_ring(parser: Parser) -> None:
    """Add the words that say which ring: ``file``, ``others``, ``keyspace``."""
    parser.add_argument(
        "file", metavar="RINGFILE", help="a ring file (JSON), or what nodetool ring prints"
    )
    parser.several(
        "--with",
        dest="others",
        metavar="FILE",
        help="another file of the same cluster (repeatable)",
    )
    parser.several(
        "--keyspace",
        metavar="KS={...}",
        help="a keyspace and its replication, which nodetool leaves out (repeatable)",
    )
