"""``python -m kit``: models, show, editions, check, fuzz, play, export and more.

Status 0: fine. 1: refused by the protocol, or a violation was found. 2: bad input (one line on
stderr, nothing on stdout) or a bounded search. 3: a whole search that judged only a part.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

from kit.commands.parsing import Parser
from kit.edge.bundles import beginning
from kit.edge.limits import shortage
from kit.edge.reading import pipes_kept
from kit.errors import KitError, one_line
from kit.model.family import FileKind, families

_FLAGS = "--json --symmetry --partial-order --refines --force --no-browser --open --anonymize"
FLAGS = _FLAGS.split()
"""Options that take no value: a file behind one is the command's own."""

TRACE = FileKind("a trace", "model.trace:is_trace", ("play", "export"))
RUN = FileKind("a trace", "formats.itf:is_itf", TRACE.commands)
"""The kit's own kind, and that of other tools: one of a cluster names its nodes, as a description
of a ring does."""


NOTEBOOK = re.compile(r'\s*\{\s*"cells"\s*:')


def kinds_of(text: str) -> Iterator[FileKind]:
    """The kinds of file that a text is: a trace, or what families recognise. A notebook is none."""
    if NOTEBOOK.match(text):
        return
    if TRACE.is_one(text) or RUN.is_one(text):
        yield TRACE
        return
    for family in families():
        yield from (kind for kind in family.importers if kind.is_one(text))


def elsewhere(words: Sequence[str]) -> str:
    """A hint after an error of a command: the first file among its words that others read.

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


FINE, BAD_INPUT, INTERRUPTED = 0, 2, 130
ANSWERS = {
    "models": ("list the models", "searches:MODELS"),
    "show": ("diagrams, parameters, safeguards, scenarios", "searches:SHOW"),
    "editions": ("where the documents and the servers differ", "editions:COMMAND"),
    "play": ("run a trace, a scenario or a model", "runs:PLAY"),
    "export": ("write a run for other tools: ITF, ShiViz, Mermaid, SVG", "runs:EXPORT"),
    "check": ("search every reachable state of a model", "searches:CHECK"),
    "fuzz": ("walk a model at random, once for each seed", "searches:FUZZ"),
    "explain": ("check whether journals, dumps and snapshots obey the model", "explaining:EXPLAIN"),
    "ring": ("the placements of a stable ring", "rings:RING"),
    "glossary": ("what a word means, with its picture and lesson", "learning:GLOSSARY"),
    "handout": ("a handout page for a notebook, and its answer key", "learning:HANDOUT"),
}
"""The kit's own commands, their help and their places; between these, families add theirs."""

SESSIONS = {
    "drill": ("type an operator's commands against a simulated cluster", "drills:drill"),
    "class": ("let a class play a run: everyone is a node", "serving:classroom"),
    "serve": ("let programs and cqlsh connect to a cluster", "serving:serving"),
    "site": ("serve the static site on this machine", "site:site"),
    "lab": ("open JupyterLab on the start notebook", "lab:main"),
}
EXAMPLES = """\
Exits with 0 if all is well, 1 if the protocol refuses or a violation is found, 2 on bad input (or
after a bounded search), and 3 if a search judged only a part. Any file can come through a pipe: -
is standard input.

examples
  python -m kit show bootstrap
  python -m kit play bootstrap
  python -m kit check tcm --off S-05
  python -m kit fuzz tcm --seeds 0:1000
  python -m kit check lock.py -p limit=2
  python -m kit ring ring.json --json
  python -m kit glossary fence
  python -m kit plan ring.json bootstrap n5 --tokens 350
  python -m kit survive ring.json --down n3
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    with pipes_kept():
        return _main(sys.argv[1:] if argv is None else argv)


def _main(words: list[str]) -> int:
    try:
        status = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as stop:  # argparse, once it has printed its help
        return stop.code if isinstance(stop.code, int) else FINE
    except KitError as error:
        return _complain(f"{error}{elsewhere(words)}", BAD_INPUT)
    except BrokenPipeError:
        # The reader went away (| head): nothing is wrong, but stdout may not be flushed again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except OSError as error:
        return _complain(f"output: {error.strerror or error}", BAD_INPUT)
    except MemoryError:
        return _complain(shortage(), BAD_INPUT)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        from kit.model.source import error_line, is_own_error

        if not is_own_error(error):  # the kit's own fault: all of it helps to find that
            raise
        return _complain(error_line(error), BAD_INPUT)  # of somebody's model
    return status


def _complain(message: str, status: int) -> int:
    try:
        if sys.stderr is not None:
            print(f"kit: {one_line(message)}", file=sys.stderr, flush=True)
    except OSError:  # nobody can be told; else Python would try again, and end in its own way
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return status


def _run(words: list[str]) -> int:
    commands = {word: load for word, _, load in _commands()}
    if not words or words[0] not in commands:
        _parser().parse_args(words)  # shows the help, or says what is wrong
        words = words[1:]  # else it began with "--"
    return commands[words[0]]()(words[1:])


def _commands() -> Iterator[tuple[str, str, Callable[[], Callable[[list[str]], int]]]]:
    of_families = ((family.commands, family.load) for family in families())
    for commands, load in ((ANSWERS, _load), *of_families, (SESSIONS, _load)):
        for word, (about, place) in commands.items():
            yield word, about, partial(load, place)


def _load(place: str) -> Callable[[list[str]], int]:
    module, _, name = place.partition(":")
    command: Callable[[list[str]], int] = getattr(import_module(f"kit.commands.{module}"), name)
    return command


def _parser() -> Parser:
    about = "Cluster metadata, step by step."
    parser = Parser(prog="python -m kit", description=about, epilog=EXAMPLES)
    options: dict[str, Any] = {"dest": "command", "required": True, "metavar": "COMMAND"}
    commands = parser.add_subparsers(parser_class=Parser, **options)
    for word, about, _ in _commands():
        commands.add_parser(word, help=about)
    return parser
