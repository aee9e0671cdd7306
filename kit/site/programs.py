"""Cells of a notebook as programs that stand alone: a page judges some, and plays what others make.

Of a model that is no family's a page knows what its cell does, so the worker runs that cell, with
what it needs of the cells before.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from symtable import SymbolTable, symtable
from types import ModuleType
from typing import Any

from msgspec import Struct

from kit.errors import BadInput
from kit.model.declared import Declared, entry
from kit.model.registry import model_names, register
from kit.model.timeline import Timeline
from kit.playing.drilling import drilled
from kit.playing.opening import Source
from kit.playing.session import Line, Session
from kit.playing.stored import foretold

FILE = "answer"


class Player(Session):
    """A Player that nobody sees: for answers that are played."""

    def __init__(self, source: Source = None, **_options: Any) -> None:
        super().__init__(source, Line())


class Rehearsal:
    """The future of a cluster, without its picture."""

    def __init__(self, timeline: Timeline, warnings: Iterable[str], **_options: Any) -> None:
        self.timeline, self.warnings = timeline, tuple(warnings)


GIVEN = {"Player": Player, "DrillBoard": drilled}
"""What notebooks get from widgets, and a page has by itself."""
NAMED = re.compile(r"[\w/-]+\.\w+")
"""What may be the name of a file."""
STAND_INS = {"player": Player, "rehearsing": Rehearsal}
"""Classes of widgets, by their modules, for modules of families that a page loads."""


class Program(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A program whose last expression shows a history; and the files, by name, that it reads."""

    text: str
    files: dict[str, str] = {}

    @classmethod
    def reading(cls, text: str, folder: Path) -> Program:
        """A program, with those files of a folder that it names."""
        named = sorted({name for name in NAMED.findall(text) if (folder / name).is_file()})
        return cls(text, {name: (folder / name).read_text(encoding="utf-8") for name in named})

    def timeline(self) -> Timeline:
        """The history that it shows, told ahead; its model is found by name then, as one of the
        kit's is.

        Raises BadInput for a program that shows no history, and whatever it raises itself.
        """
        if find_spec("ipywidgets") is None:
            for module, own in STAND_INS.items():
                name = f"kit.widgets.{module}"
                sys.modules.setdefault(name, ModuleType(name)).__dict__[own.__name__] = own
        for name, text in self.files.items():
            place = Path(name)
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        timeline = getattr(outcome_of(self.text), "timeline", None)
        if not isinstance(timeline, Timeline):
            raise BadInput("program", self.text, "one that shows a history at its end")
        model = timeline.model
        if isinstance(model, Declared) and model.name not in model_names():
            register(entry(type(model)))
        return foretold(timeline)


_DEFINED: dict[str, Any] = {}
"""Classes that were made here before, by their text: one of two programs is the same."""


def outcome_of(program: str) -> Any:
    """Run a program; returns what its last expression gives, None where it ends with none.

    Raises whatever it raises.
    """
    linecache.cache[FILE] = len(program), None, program.splitlines(keepends=True), FILE
    names: dict[str, Any] = {**GIVEN, "__name__": FILE}
    body = ast.parse(program, FILE).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    for each in body:
        text = ast.get_source_segment(program, each) or ""
        if text in _DEFINED and isinstance(each, ast.ClassDef):
            names[each.name] = _DEFINED[text]
            continue
        exec(compile(ast.Module([each], []), FILE, "exec"), names)  # the learner's own words
        if isinstance(each, ast.ClassDef):
            _DEFINED[text] = names[each.name]
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), FILE, "eval"), names)
    return None


def program_of(cells: Iterable[str], last: str) -> str:
    """A cell as a program that stands alone: before it comes what it needs of the cells before."""
    known = {
        name: text
        for source in cells
        for statement in ast.parse(source).body
        for name, text in _bindings(statement, source)
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


def _bindings(statement: ast.stmt, source: str) -> Iterator[tuple[str, str]]:
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
