"""``python -m kit``: models, show, check, play, ring, plan, lab.

Status 0: fine. 1: refused by the protocol, or a violation was found. 2: bad input (one line on
stderr, nothing on stdout) or a bounded search.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from kit.errors import BadInput, KitError

BAD_INPUT = 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise BadInput(self.prog, " ".join(sys.argv[1:]), f"{message}; see --help")


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    words = sys.argv[1:] if argv is None else argv
    try:
        return _run(words)
    except KitError as error:
        print(f"kit: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader went away (| head): nothing is wrong, but stdout may not be flushed again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(words: list[str]) -> int:
    if words[:1] == ["plan"]:
        from kit.commands import rings

        return rings.plan(words[1:])
    if words[:1] == ["lab"]:
        from kit import lab

        return lab.main(words[1:])
    options = _parser().parse_args(words)
    if options.command == "ring":
        from kit.commands import rings

        return rings.ring(options.file, as_text=not options.json)
    from kit.commands import models

    match options.command:
        case "models":
            return models.models(as_json=options.json)
        case "show":
            return models.show(options.model)
        case "play":
            return models.play(options.what, options.html)
        case _:
            return models.checked(
                options.model,
                options.parameter,
                options.off,
                most=options.max_states,
                trace_file=options.trace,
                as_json=options.json,
            )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m kit", description="Cluster metadata, step by step.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    listing = commands.add_parser("models", help="list the models")
    listing.add_argument("--json", action="store_true")
    showing = commands.add_parser("show", help="a model's diagrams, parameters and scenarios")
    showing.add_argument("model")
    playing = commands.add_parser("play", help="run a trace, a scenario file or a scenario")
    playing.add_argument("what", metavar="TRACE|SCENARIO")
    playing.add_argument("--html", metavar="OUT", help="write one HTML page instead")
    checking = commands.add_parser("check", help="search every reachable state of a model")
    checking.add_argument("model")
    checking.add_argument("-p", "--parameter", action="append", default=[], metavar="NAME=VALUE")
    checking.add_argument("--off", action="append", default=[], metavar="SAFEGUARD")
    checking.add_argument("--max-states", type=_count)
    checking.add_argument("--trace", metavar="FILE", help="write the counterexample as a trace")
    checking.add_argument("--json", action="store_true")
    ring = commands.add_parser("ring", help="the placements of a ring at rest")
    ring.add_argument("file", metavar="RINGFILE")
    ring.add_argument("--json", action="store_true")
    commands.add_parser("plan", help="rehearse an operation on a ring (plan --help)")
    commands.add_parser("lab", help="open JupyterLab on the start notebook")
    return parser


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise BadInput("--max-states", text, "a whole number from 1 on")
    return int(text)
