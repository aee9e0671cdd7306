"""The library in two drawings: three interfaces around the core, and what the core imports."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource, signature
from typing import Any

from kit.protocols.raft.library import Persistence, RaftServer, Rpc, StateMachine

CORE = "kit.protocols.raft.core"
STYLE = (
    "  rankdir=LR; nodesep=0.2; ranksep=0.5; bgcolor=white;\n"
    '  node [shape=record, fontname="Helvetica", fontsize=14];\n'
    '  edge [fontname="Helvetica", fontsize=12, arrowsize=0.6];'
)


def core_imports(module: str = CORE) -> dict[str, tuple[str, ...]]:
    """Every module of the kit that the core needs, with those that it imports itself."""
    imports: dict[str, tuple[str, ...]] = {}
    ahead = [module]
    while ahead:
        name = ahead.pop()
        if name not in imports:
            tree = ast.walk(ast.parse(getsource(import_module(name))))
            froms = {each.module or "" for each in tree if isinstance(each, ast.ImportFrom)}
            imports[name] = tuple(sorted(each for each in froms if each.startswith("kit.")))
            ahead += imports[name]
    return imports


def _box(kind: type[Any]) -> str:
    methods = [
        f"{name}({', '.join([*signature(method).parameters][1:])})\\l"
        for name, method in vars(kind).items()
        if callable(method) and not name.startswith("_")
    ]
    return f'  {kind.__name__} [label="{kind.__name__}|{"".join(methods)}"];'


def graphs() -> Iterator[tuple[str, str]]:
    """Yield the drawings: (name, DOT text)."""
    interfaces = (Persistence, Rpc, StateMachine)
    boxes = [*map(_box, (RaftServer, *interfaces)), '  core [label="core", style=filled];']
    calls = ("1. stores what was written", "2. sends messages", "3. applies what is committed")
    ends = zip(interfaces, calls, strict=True)
    arrows = [f'  RaftServer -> {each.__name__} [label="{call}"];' for each, call in ends]
    arrows.append('  core -> RaftServer [label="event, Output", dir=both];')
    yield "raft-library", "\n".join(["digraph {", STYLE, *boxes, *arrows, "}", ""])
    edges = [f'  "{a[4:]}" -> "{b[4:]}";' for a, below in core_imports().items() for b in below]
    yield "raft-core-imports", "\n".join(["digraph {", STYLE, *sorted(edges), "}", ""])
