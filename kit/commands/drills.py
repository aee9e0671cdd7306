"""``drill``: a drill on the command line, for keyboards and for files of commands."""

import sys
from collections.abc import Iterator
from itertools import count

from kit.commands.answer import put, wrap
from kit.commands.parsing import Parser
from kit.console.drill import (
    MOST_ENTRIES,
    Drill,
    TypedLine,
    checklist_lines,
    drills,
    grade_lines,
    open_drill,
)
from kit.errors import BadInput

PASSED, FAILED = 0, 1
LONGEST_READ = 100_000  # characters
END = ("exit", "quit")
DROPPED = "(the line is dropped; exit ends the drill)"
ABOUT = """\
Type an operator's commands against a simulated cluster; nothing runs on this machine. The end of
the input, or exit, ends the drill, which is then graded by replay.
Exits with 0 if the drill is passed, and 1 if it is not.
"""


def drill(argv: list[str]) -> int:
    """Play a drill on what stdin holds; 0 when it is passed."""
    parser = Parser(prog="python -m kit drill", description=ABOUT)
    which = "the drill to open (default: list all drills)"
    parser.add_argument("name", metavar="DRILL", nargs="?", help=which)
    parser.add_argument("--checklist", action="store_true", help="show the checklist at the end")
    given = parser.parse_args(argv)
    if given.name is None:
        put("\n".join(drills()))
        return PASSED
    if sys.stdin is None:
        raise BadInput("stdin", "a closed one", "a terminal, a file or a pipe with commands")
    under_way = open_drill(given.name)
    put("\n".join([under_way.kind.title, *wrap(under_way.kind.task), ""]))
    for line in _lines(under_way):
        _show(under_way.enter(line))
    grade = under_way.grade()
    lines = [*checklist_lines(under_way.checklist()), ""] if given.checklist else []
    put("\n".join(["", *lines, *grade_lines(grade)]))
    return PASSED if grade.passed else FAILED


def _show(entry: TypedLine) -> None:
    said = [line for sentence in entry.said for line in wrap(sentence, "# ", "# ")]
    wrong = wrap(entry.error, "error: ", "  ") if entry.error else []
    lines = [f"{entry.place}$ {entry.typed}"] if not sys.stdin.isatty() else []
    if shown := [*lines, *entry.lines, *said, *wrong]:
        put("\n".join(shown).expandtabs())


def _lines(under_way: Drill) -> Iterator[str]:
    """The lines of stdin up to its end or ``exit``; a person has completion and a prompt.

    Ctrl-C drops the line that a person has begun, as in a shell: nothing that was done is lost.
    """
    if person := sys.stdin.isatty():
        _complete_with(under_way)
    elif hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    for read in count():
        try:
            line = input(f"{under_way.place}$ ") if person else _read(read)
        except EOFError:
            return
        except KeyboardInterrupt:
            if not person:
                raise
            put(f"\n{DROPPED}")
            continue
        if line.strip() in END:
            return
        if line.strip():
            yield line


def _read(before: int) -> str:
    if before >= MOST_ENTRIES:
        put(f"(a drill has at most {MOST_ENTRIES:,} lines: the rest is ignored)")
        raise EOFError
    if not (line := sys.stdin.readline(LONGEST_READ)):
        raise EOFError
    if len(line) == LONGEST_READ:
        put(f"(a line has less than {LONGEST_READ:,} characters: nothing more is read)")
        raise EOFError
    return line.rstrip("\n")


def _complete_with(under_way: Drill) -> None:
    try:
        import readline
    except ImportError:
        return

    def option(line: str, number: int) -> str | None:
        lines = under_way.complete(line)
        return lines[number] if number < len(lines) else None

    readline.set_completer_delims("")
    readline.set_completer(option)
    readline.parse_and_bind("tab: complete")
