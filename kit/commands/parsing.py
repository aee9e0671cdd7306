"""Reading the words of a command: errors are one line, options stand once, none is guessed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from msgspec import Struct

from kit.commands.answer import Answer
from kit.errors import BadInput, KitError, nearest

NOTHING = "nothing"
"""What an error says was given, where a word is missing."""


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
    """A parser whose errors are one line of this command's own, with the nearest option.

    ``given`` are the words that it was last asked to parse.
    """

    given = ""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, exit_on_error=False, **options)
        self.register("action", None, StoreOnce)
        self.register("action", "store", StoreOnce)

    def add(self, word: Word) -> None:
        """Add a word of a table."""
        taken: dict[str, Any] = {"default": word.default, "metavar": word.value or None}
        if word.several:
            taken |= {"action": "append", "default": []}
        elif not word.value and not word.choices:
            taken = {"action": "store_true"}
        taken |= {"nargs": word.number} if word.number else {}
        taken |= {"choices": word.choices} if word.choices else {}
        taken |= {"type": word.read} if word.read else {}
        self.add_argument(*word.names.split(), help=word.help, **taken)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """``--with=--`` names a file; argparse takes it for the end of options, and drops it."""
        if not (action.option_strings and arg_strings == ["--"]):
            return super()._get_values(action, arg_strings)
        value = self._get_value(action, "--")
        self._check_value(action, value)
        return value

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = [str(choice) for choice in action.choices or ()]
        if choices and value not in choices:
            allowed = ", ".join(choices) + nearest(str(value), choices)
            raise BadInput(str(action.metavar or action.dest), value, allowed)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage; words that are missing are named."""
        if not (missing := message.partition("required: ")[2]):
            raise KitError(f"{self.prog}: {message}; {self.prog} --help shows what is allowed")
        raise BadInput(missing, self.given or NOTHING, self.wanted(missing.partition(",")[0]))

    def wanted(self, name: str) -> str:
        """The purpose of a word of the command, and where all of them are told."""
        actions = [each for each in self._actions if name in (each.metavar, each.dest)]
        meanings = (each.help or ", ".join(map(str, each.choices or ())) for each in actions)
        return f"{next(filter(None, meanings), 'a value')} ({self.prog} --help)"

    def parse_known_args(  # type: ignore[override]  # narrower than argparse's overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse the words; one that nobody knows is refused here, by the command that it is for."""
        self.given = " ".join(sys.argv[1:] if args is None else args)
        try:
            known_words, rest = super().parse_known_args(args, namespace)
        except argparse.ArgumentError as error:
            raise self.misread(error) from None
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            hint = nearest(rest[0].partition("=")[0], known)
            raise BadInput("arguments", " ".join(rest), f"what {self.prog} --help lists{hint}")
        return known_words, rest

    def misread(self, error: argparse.ArgumentError) -> BadInput:
        """The error for an option without its value, with a wrong one, or with one too many."""
        names = (error.argument_name or "arguments").split("/")
        said, _, given = error.message.partition(" '")
        if given:
            allowed = "a whole number" if said == f"invalid {whole.__name__} value:" else "no value"
            return BadInput(names[-1], given.removesuffix("'"), allowed)
        value = self._option_string_actions[names[0]].metavar or "a value"
        if isinstance(value, tuple):
            return BadInput(names[-1], "too few words", " ".join(value))
        return BadInput(names[-1], NOTHING, f"{value} ({names[-1]}=… if it begins with -)")


DIGITS = 18  # of a number at most
WHOLE = re.compile(f"-?[0-9]{{1,{DIGITS}}}")


def whole(text: str) -> int:
    """A whole number in plain digits, for ``Word.read``: int() also takes ``+3``, ``0_3``, ``٣``.

    Raises ValueError for anything else.
    """
    if not WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


class Word(Struct, frozen=True):
    """A word of a command line: its names, and how help calls its value; without one it has none.

    One that is ``several`` may be given several times. ``number`` says how many values it takes,
    as ``?``, ``*`` or ``+``, and ``read`` makes one of its text; it is one of the ``choices``.
    """

    names: str
    value: str
    help: str
    default: Any = None
    several: bool = False
    number: str = ""
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None


class Command(Struct, frozen=True):
    """A command that answers: called with its words it prints the answer and gives the status.

    ``words`` are its own. The help of its parser is opened by ``about`` and ended by ``after``;
    without ``as_json`` the answer is in words only.
    """

    name: str
    answer: Callable[[argparse.Namespace], Answer]
    words: tuple[Word, ...] = ()
    about: str | None = None
    after: str | None = None
    as_json: bool = True

    def __call__(self, argv: Sequence[str]) -> int:
        """Answer to the words after the command's name."""
        called = f"python -m kit {self.name}"
        parser = Parser(prog=called, description=self.about, epilog=self.after)
        for word in self.words:
            parser.add(word)
        if self.as_json:
            parser.add_argument("--json", action="store_true", help="the same as JSON")
        given = parser.parse_args(argv)
        return self.answer(given).put(as_json=self.as_json and given.json)


RING_WORDS = (
    Word("file", "RINGFILE", "a ring file (JSON), or the output of nodetool ring"),
    Word("--with", "FILE", "another file of the same cluster (repeatable)", several=True),
    Word(
        "--keyspace",
        "KS={...}",
        "a keyspace and its replication, which nodetool does not print (repeatable)",
        several=True,
    ),
)
"""The words that say which ring."""
