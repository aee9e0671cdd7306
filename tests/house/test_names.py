"""Results are named for what they are."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.source import ROOT, nodes, python_files

KIT = python_files("kit")
NAMELESS = {"found", "one", "told", "asked", "got"}


def _where(path: Path) -> str:
    return str(path.relative_to(ROOT / "kit"))


def test_results_are_named_for_what_they_are() -> None:
    """Nothing is called found, one, told, asked or got, which say nothing of what it is.

    That holds for results, the variables of loops, parameters, functions and classes.
    """
    offenders = [
        f"{_where(path)}:{line}: {name}"
        for path in KIT
        for node in nodes(path)
        for line, name in _given(node)
        if name.lower().lstrip("_") in NAMELESS and not name.isupper()
    ]
    assert not offenders


def _given(node: ast.AST) -> tuple[tuple[int, str], ...]:
    """Line and name where a node gives a name to a value, a function or a class."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return ((node.lineno, node.name),)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return ((node.lineno, node.id),)
    return ((node.lineno, node.arg),) if isinstance(node, ast.arg) else ()
