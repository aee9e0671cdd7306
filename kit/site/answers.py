"""Exercises of a page: what a learner wrote runs in a worker of the browser, and is judged there.

It is the cell of the notebook, with what it needs of the cells before, so that it stands alone. The
judge is that of the notebook; the worker has nobody else's data, and the page may end it.
"""

from __future__ import annotations

import ast
import builtins
import io
import linecache
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from symtable import SymbolTable, symtable
from typing import Any

import msgspec
from msgspec import Struct

from kit.edge.words import say
from kit.errors import KitError
from kit.lessons.stills import Judgement
from kit.playing.drilling import drilled
from kit.playing.opening import Source
from kit.playing.session import Line, Session
from kit.site.worker import Tell
from kit.views.fragment import Frag, h
from kit.views.parts import prose
from kit.views.static import static_html

FILE = "answer"


class Player(Session):
    """A Player that nobody sees: for answers that are played."""

    def __init__(self, source: Source = None, **_options: Any) -> None:
        super().__init__(source, Line())


GIVEN = {"Player": Player, "DrillBoard": drilled}
"""What notebooks get from widgets, and a page has by itself."""


class Answered(Struct, frozen=True):
    """What came of an answer: whether it passed, and all that is said of it, as HTML."""

    passed: bool
    html: str


def judge(program: str, tell: Tell) -> None:
    """Run and judge an answer; the page hears that this has begun, and what came of it."""
    tell(msgspec.json.encode({"judging": True}).decode())
    tell(msgspec.json.encode({"answered": answered(program)}).decode())


def answered(program: str) -> Answered:
    """Run an answer, whose last expression is what the judge says of it."""
    linecache.cache[FILE] = len(program), None, program.splitlines(keepends=True), FILE
    names: dict[str, Any] = {**GIVEN, "__name__": FILE}
    printed, verdict, wrong = io.StringIO(), None, ""
    try:
        tree = ast.parse(program, FILE)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(printed):
            exec(compile(tree, FILE, "exec"), names)  # the learner's own words
            if isinstance(last, ast.Expr):
                verdict = eval(compile(ast.Expression(last.value), FILE, "eval"), names)
    except KitError as error:
        wrong = str(error)
    except (Exception, SystemExit) as error:
        wrong = f"{_line(error)}{type(error).__name__}: {error}"
    if not wrong and not isinstance(verdict, Judgement):
        wrong = say("The last line has to ask the judge: exercise(…).check(…).")
    parts: list[Frag] = []
    if text := printed.getvalue():
        parts.append(h("pre", text))
    if wrong:
        parts.append(h("p", prose(f"✗ {wrong}"), role="alert"))
    if isinstance(verdict, Judgement):
        parts.append(verdict.draw(spoken=True))
    return Answered(isinstance(verdict, Judgement) and verdict.passed, static_html(*parts))


def _line(error: BaseException) -> str:
    """Where in the answer it went wrong, if it was there."""
    number, trace = getattr(error, "lineno", None), error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            number = trace.tb_lineno
        trace = trace.tb_next
    return say("line {n}: ", n=number) if number else ""


def program_of(cells: Iterable[str], last: str) -> str:
    """A cell as a program that stands alone: before it comes what it needs of the cells before."""
    known = {
        name: text
        for source in cells
        for statement in ast.parse(source).body
        for name, text in _given(statement, source)
    }
    needed: dict[str, None] = {}

    def need(source: str) -> None:
        for name in free_names(source):
            text = known.get(name, "")
            if text and text not in needed and name not in GIVEN:
                need(text)
                needed[text] = None

    need(last)
    imports = sorted(text for text in needed if text.startswith(("from ", "import ")))
    others = [text for text in needed if text not in imports]
    head = "\n".join([*imports, *others])
    return f"{head}\n\n{last}" if head else last


def _given(statement: ast.stmt, source: str) -> Iterator[tuple[str, str]]:
    """The names that a statement gives, each with a statement that gives it."""
    text = ast.get_source_segment(source, statement) or ""
    if isinstance(statement, ast.ImportFrom):
        for each in statement.names:
            renamed = f" as {each.asname}" if each.asname else ""
            own = f"from {statement.module} import {each.name}{renamed}"
            yield each.asname or each.name, own
    elif isinstance(statement, ast.Import):
        for each in statement.names:
            yield (each.asname or each.name).partition(".")[0], text
    elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name, text
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    yield name.id, text


def free_names(source: str) -> set[str]:
    """The names that a source uses and does not give itself."""

    def used(table: SymbolTable) -> Iterator[str]:
        is_module = table.get_type() == "module"
        for each in table.get_symbols():
            if each.is_referenced() if is_module else each.is_global():
                yield each.get_name()
        for inner in table.get_children():
            yield from used(inner)

    whole = symtable(source, FILE, "exec")
    own = {x.get_name() for x in whole.get_symbols() if x.is_assigned() or x.is_imported()}
    return {*used(whole)} - own - {*dir(builtins)}
