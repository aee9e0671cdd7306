"""Reads the statements and the markers, without importing a test: what is shown by what."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
REQUIREMENTS = Path(__file__).with_name("requirements.toml")


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
    """One id on one test: `where` is `file::name` below tests/."""

    id: str
    where: str


def read_requirements(path: Path = REQUIREMENTS) -> Requirements:
    """Read the statements file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return Requirements(content["statements"], frozenset(content["later"]))


def marks(tests: Path = TESTS) -> list[Mark]:
    """Collect every `@pytest.mark.spec(...)` on test functions and classes below `tests`."""
    found = []
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                where = f"{path.relative_to(tests).as_posix()}::{node.name}"
                found += [Mark(name, where) for name in _ids(node)]
    return found


def _ids(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    return [
        str(argument.value) if isinstance(argument, ast.Constant) else ast.unparse(argument)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.spec"
        for argument in decorator.args
    ]


def unknown(requirements: Requirements, found: list[Mark]) -> list[Mark]:
    """The marks whose id no statement has."""
    return [mark for mark in found if mark.id not in requirements.statements]


def missing(requirements: Requirements, found: list[Mark]) -> list[str]:
    """The ids that are due and that no test shows."""
    shown = {mark.id for mark in found}
    return [name for name in requirements.due if name not in shown]


def report(requirements: Requirements, found: list[Mark]) -> str:
    """The table: id, statement, the tests that show it; then what is missing and what is later."""
    lines = []
    for name, statement in requirements.statements.items():
        tests = [mark.where for mark in found if mark.id == name]
        told = "" if tests else "  (later)" if name in requirements.later else "  *** no test ***"
        lines.append(f"{name}  {statement}{told}")
        lines += [f"       {test}" for test in tests]
    absent = missing(requirements, found)
    due = len(requirements.due)
    lines += ["", f"{due - len(absent)} of {due} due requirements have a test that shows them"]
    if absent:
        lines.append(f"missing: {' '.join(absent)}")
    lines += [f"unknown id {mark.id} on {mark.where}" for mark in unknown(requirements, found)]
    return "\n".join(lines)
