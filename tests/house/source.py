"""The project's files as the house rules see them: which there are, and what each imports."""

from __future__ import annotations

import ast
import gc
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is or could be committed: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = {ROOT / name for name in listed.split("\0") if name}
    return tuple(sorted(path for path in paths if path.is_file()))


def python_files(*folders: str) -> list[Path]:
    """The Python files below the named top folders."""
    return [
        path
        for path in project_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders
    ]


def offenders(paths: Iterable[Path], find: Callable[[Path], Iterable[object]]) -> list[str]:
    """A line for each thing that a rule finds in a file: all of them, in every file."""
    return [f"{path.relative_to(ROOT)}: {offence}" for path in paths for offence in find(path)]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file.

    All trees stay, a million nodes: looking for garbage among them takes longer than reading them.
    """
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a file's syntax tree, from the top down; a dozen rules ask for them."""
    return tuple(ast.walk(tree(path)))


def module_name(path: Path) -> str:
    """``kit/ring/tokens.py`` is ``kit.ring.tokens``; a package is named by its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a file imports anywhere, with ``from a import b`` as ``a`` and ``a.b``."""
    names = set[str]()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(names)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
