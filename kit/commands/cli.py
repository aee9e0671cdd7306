"""``python -m kit``: models, show, check, fuzz, play, ring, plan, survive, handout, drill, lab.

Status 0: fine. 1: refused by the protocol, or a violation was found. 2: bad input (one line on
stderr, nothing on stdout) or a bounded search.
"""

from __future__ import annotations

import argparse
import os
import sys

from kit.commands.kinds import elsewhere
from kit.commands.parsing import Parser, add_ring
from kit.edge.limits import shortage
from kit.engine.family import families
from kit.errors import BadInput, KitError, one_line

FINE, BAD_INPUT, INTERRUPTED = 0, 2, 130
EXAMPLES = """\
Ends with 0 when all is well, 1 when the protocol refuses or a violation is found, 2 on bad input
(or a search that was bounded).

examples
  python -m kit show bootstrap
  python -m kit play bootstrap
  python -m kit check tcm --off S-05
  python -m kit fuzz tcm --seeds 0:1000
  python -m kit ring ring.json --json
  python -m kit plan ring.json bootstrap n5 --tokens 350
  python -m kit survive ring.json --down n3
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    words = sys.argv[1:] if argv is None else argv
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
    return status


def _complain(message: str, status: int) -> int:
    try:
        if sys.stderr is not None:
            print(f"kit: {one_line(message)}", file=sys.stderr, flush=True)
    except OSError:  # nobody can be told; else Python would try again, and end in its own way
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return status


def _run(words: list[str]) -> int:
    for family in families():
        if words[:1] and words[0] in family.commands:
            _, place = family.commands[words[0]]
            status: int = family.load(place)(words[1:])
            return status
    if words[:1] == ["drill"]:
        from kit.commands.drills import drill

        return drill(words[1:])
    if words[:1] == ["lab"]:
        from kit.commands import lab

        return lab.main(words[1:])
    options = _parser().parse_args(words)
    match options.command:
        case "ring":
            from kit.commands import rings

            return rings.ring(
                options.file, options.others, options.keyspace, as_text=not options.json
            )
        case "models":
            from kit.commands import models

            return models.models(as_json=options.json)
        case "show":
            from kit.commands import models

            return models.show(options.model)
        case "play":
            from kit.commands import runs

            return runs.play(options.what, options.html)
        case "handout":
            from kit.commands.handout import handout

            return handout(options.notebook, options.out)
    from kit.commands import searches

    configuration = searches.Configuration(options.model, options.parameter, options.off)
    if options.command == "fuzz":
        return searches.fuzzed(
            configuration,
            seeds=_seeds(options.seeds),
            steps=_count("--steps", options.steps),
            trace_file=options.trace,
            as_json=options.json,
        )
    return searches.checked(
        configuration,
        symmetry=options.symmetry,
        partial_order=options.partial_order,
        refines=options.refines,
        breaks=options.breaks,
        most=None if options.max_states is None else _count("--max-states", options.max_states),
        trace_file=options.trace,
        as_json=options.json,
    )


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    parser = Parser(
        prog="python -m kit",
        description="Cluster metadata, step by step.",
        epilog=EXAMPLES,
        formatter_class=layout,
    )
    commands = parser.add_subparsers(
        dest="command", required=True, parser_class=Parser, metavar="COMMAND"
    )
    listing = commands.add_parser("models", help="list the models")
    listing.add_argument("--json", action="store_true", help="the same as JSON")
    showing = commands.add_parser("show", help="diagrams, parameters, safeguards, scenarios")
    showing.add_argument("model", metavar="MODEL", help="a model, or one of its scenarios")
    playing = commands.add_parser("play", help="run a trace, a scenario file or a scenario")
    playing.add_argument("what", metavar="TRACE|SCENARIO", help="a file, or a scenario by name")
    playing.add_argument("--html", metavar="OUT", help="write one HTML page instead")
    checking = commands.add_parser("check", help="search every reachable state of a model")
    _add_model(checking)
    checking.add_argument(
        "--symmetry", action="store_true", help="visit one of all states that are alike"
    )
    checking.add_argument(
        "--partial-order",
        action="store_true",
        help="take the steps that may wait right before those that look at them",
    )
    checking.add_argument(
        "--max-states",
        metavar="N",
        help="stop there (the search is then bounded)",
    )
    checking.add_argument(
        "--breaks",
        metavar="INVARIANT",
        help="judge only what watches over this invariant, such as INV-NORES; with --off and "
        "without -p in the case that shows it, which may begin after a run",
    )
    checking.add_argument(
        "--refines", action="store_true", help="compare each step with the coarser model's"
    )
    _add_outcome(checking)
    fuzzing = commands.add_parser("fuzz", help="walk a model at random, once for each seed")
    _add_model(fuzzing)
    fuzzing.add_argument(
        "--seeds",
        default="0:50",
        metavar="FIRST:END",
        help="the seeds from FIRST up to END, which is left out (0:50 if not given)",
    )
    fuzzing.add_argument(
        "--steps",
        default="100",
        metavar="N",
        help="so many steps per walk at most (100 if not given)",
    )
    _add_outcome(fuzzing)
    ring = commands.add_parser("ring", help="the placements of a stable ring")
    add_ring(ring)
    paper = commands.add_parser("handout", help="a page to hand out for a notebook, and its key")
    paper.add_argument(
        "notebook", metavar="NOTEBOOK", help="a notebook (.ipynb); its cells are run"
    )
    paper.add_argument("--out", default=".", metavar="FOLDER", help="where to write both pages")
    for family in families():
        for word, (help_text, _) in family.commands.items():
            commands.add_parser(word, help=help_text)
    commands.add_parser("drill", help="type an operator's commands against a simulated cluster")
    commands.add_parser("lab", help="open JupyterLab on the start notebook")
    return parser


def _add_model(command: argparse.ArgumentParser) -> None:
    """The words that say which model, in which configuration."""
    command.add_argument("model", metavar="MODEL", help="a model, or one of its scenarios")
    command.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter, such as nodes=4; may be given several times",
    )
    command.add_argument(
        "--off",
        action="append",
        default=[],
        metavar="SAFEGUARD",
        help="switch a safeguard off, by name or id; without -p in its smallest configuration",
    )


def _add_outcome(command: argparse.ArgumentParser) -> None:
    command.add_argument("--trace", metavar="FILE", help="write the run that fails as a trace")
    command.add_argument("--json", action="store_true", help="the same as JSON")


def _count(option: str, text: str) -> int:
    if not _is_number(text) or int(text) < 1:
        raise BadInput(option, text, "a whole number from 1 on")
    return int(text)


def _seeds(text: str) -> range:
    first, colon, end = text.partition(":")
    if not colon or not _is_number(first) or not _is_number(end) or int(first) >= int(end):
        raise BadInput("--seeds", text, "FIRST:END, whole numbers with FIRST below END, as 0:1000")
    return range(int(first), int(end))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18
