"""Reads the statements and the markers, without importing a test: what is shown by what."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
REQUIREMENTS = Path(__file__).with_name("requirements.toml")
SHOWN, PARTLY, NOT_YET = "shown", "partly", "not yet"


@dataclass(frozen=True)
class Requirements:
    """The statements by id, and the ids that are not due yet."""

    statements: dict[str, str]
    later: frozenset[str]

    @property
    def due(self) -> list[str]:
        """The ids that must have a test now, in order."""
        return [name for name in self.statements if name not in self.later]


@dataclass(frozen=True)
class Mark:
    """One id on one test: ``where`` is ``file::name`` below tests/.

    ``missing`` says which part of the requirement has no test; empty when nothing is missing.
    """

    id: str
    where: str
    missing: str = ""


def read_requirements(path: Path = REQUIREMENTS) -> Requirements:
    """Read the statements file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return Requirements(content["statements"], frozenset(content["later"]))


def marks(tests: Path = TESTS) -> list[Mark]:
    """Collect every ``spec(...)`` and ``partly(...)`` marker of test functions and classes.

    They are written out, so a file in which neither word stands need not be parsed.
    """
    texts = ((path, path.read_text(encoding="utf-8")) for path in sorted(tests.rglob("test_*.py")))
    return [
        mark
        for path, text in texts
        if "pytest.mark.spec" in text or "pytest.mark.partly" in text
        for node in ast.walk(ast.parse(text, filename=str(path)))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for mark in _marks(node, f"{path.relative_to(tests).as_posix()}::{node.name}")
    ]


def _marks(node: ast.FunctionDef | ast.ClassDef, where: str) -> Iterator[Mark]:
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call):
            continue
        texts = [
            str(argument.value) if isinstance(argument, ast.Constant) else ast.unparse(argument)
            for argument in decorator.args
        ]
        match ast.unparse(decorator.func), texts:
            case "pytest.mark.spec", _:
                yield from (Mark(name, where) for name in texts)
            case "pytest.mark.partly", [name, missing]:
                yield Mark(name, where, missing)


def unknown(requirements: Requirements, found: list[Mark]) -> list[Mark]:
    """The marks whose id no statement has."""
    return [mark for mark in found if mark.id not in requirements.statements]


def missing(requirements: Requirements, found: list[Mark]) -> list[str]:
    """The ids that are due and that no test shows, not even in part."""
    marked = {mark.id for mark in found}
    return [name for name in requirements.due if name not in marked]


def status(name: str, found: list[Mark]) -> str:
    """How far an id is shown. One ``partly`` outweighs every ``spec``: something is missing."""
    tests = [mark for mark in found if mark.id == name]
    return NOT_YET if not tests else PARTLY if any(mark.missing for mark in tests) else SHOWN


def report(requirements: Requirements, found: list[Mark]) -> str:
    """The table: status, id, statement, its tests and what is missing; then the totals."""
    statuses = {name: status(name, found) for name in requirements.statements}
    lines = []
    for name, statement in requirements.statements.items():
        lines.append(f"{statuses[name]:<7}  {name}  {statement}")
        tests = [mark for mark in found if mark.id == name]
        lines += [f"         {where}" for where in dict.fromkeys(mark.where for mark in tests)]
        lines += [f"         missing: {mark.missing}" for mark in tests if mark.missing]
    lines.append("")
    for kind in (SHOWN, PARTLY, NOT_YET):
        names = [name for name in statuses if statuses[name] == kind]
        listed = f": {' '.join(names)}" if names and kind != SHOWN else ""
        lines.append(f"{len(names)} {kind}{listed}")
    absent = missing(requirements, found)
    if absent:
        lines.append(f"due, without a test: {' '.join(absent)}")
    lines += [f"unknown id {mark.id} on {mark.where}" for mark in unknown(requirements, found)]
    return "\n".join(lines)
