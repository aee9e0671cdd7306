"""Names say one thing each, and results are named for what they are."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tests.house.source import ROOT, python_files, tree

KIT = python_files("kit")
NAMELESS = {"found", "one", "told", "asked"}
# Where results are named for what they are already; the rest of the kit follows family by family.
NAMED = (
    "engine",
    "commands",
    "edge",
    "lessons",
    "ring",
    "views",
    "widgets",
    "protocols/twophase",
    "protocols/storage",
    "protocols/dataplane",
    "protocols/tcm/facts",
    "protocols/tcm/panels",
)


def _where(path: Path) -> str:
    return str(path.relative_to(ROOT / "kit"))


def test_no_class_name_stands_twice() -> None:
    """Whoever reads the name of a class knows which one is meant."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in KIT:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(_where(path))
    assert not {name: at for name, at in places.items() if len(at) > 1}


def test_results_are_named_for_what_they_are() -> None:
    """No result is called found, one, told or asked, which say nothing of what it is."""
    offenders = [
        f"{_where(path)}:{node.lineno}: {node.id}"
        for path in KIT
        if _where(path).startswith(NAMED)
        for statement in ast.walk(tree(path))
        for target in _targets(statement)
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and node.id in NAMELESS
    ]
    assert not offenders


def _targets(statement: ast.AST) -> list[ast.expr]:
    """What a statement gives a value to."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign | ast.NamedExpr) else []
