"""Small changes to a source, each of which some test should notice.

A mutant replaces one expression or statement. Its other lines keep their numbers, so that what is
known of a line (which tests run it) holds for the mutant, too. What only documents, declares or
makes sure is left alone: docstrings, annotations, decorators, texts, the bases of classes,
assertions, how much a cache keeps, and that columns that are read side by side (``strict=True``)
are equally long.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
DROPPED_CALLS = {"sorted": "list", "reversed": "list", "set": "list", "frozenset": "tuple"}
LEFT_ALONE = (ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Global)

Variants = Iterator[ast.AST]


@dataclass(frozen=True)
class Mutant:
    """One change: where, in words, and the text that takes a place.

    ``lines`` are those of the statement's head that holds it, counted from 1; ``start`` and ``end``
    are offsets into the source in bytes. ``key`` outlives changes elsewhere in the file.
    """

    path: str
    scope: str
    lines: tuple[int, int]
    start: int
    end: int
    text: str
    change: str
    ordinal: int = 0

    @property
    def key(self) -> str:
        """What names this mutant in lists."""
        again = f" #{self.ordinal + 1}" if self.ordinal else ""
        return f"{self.path} {self.scope or 'module'}: {self.change}{again}"

    def applied(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def _compare(node: ast.Compare) -> Variants:
    for place, op in enumerate(node.ops):
        other = copy.deepcopy(node)
        other.ops[place] = COMPARISONS[type(op)]()
        yield other


def _boolean(node: ast.BoolOp) -> Variants:
    other = copy.deepcopy(node)
    other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield other
    for dropped in range(len(node.values)):
        kept = [value for place, value in enumerate(node.values) if place != dropped]
        yield kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)


def _arithmetic(node: ast.BinOp) -> Variants:
    if type(node.op) in ARITHMETIC and not isinstance(node.left, ast.JoinedStr):
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)


def _unary(node: ast.UnaryOp) -> Variants:
    if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand


def _constant(node: ast.Constant) -> Variants:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def _choice(node: ast.IfExp) -> Variants:
    yield ast.IfExp(node.test, node.orelse, node.body)


def _slice(node: ast.Subscript) -> Variants:
    if not isinstance(node.slice, ast.Slice):
        return
    for bound in ("lower", "upper"):
        given = getattr(node.slice, bound)
        if isinstance(given, ast.Constant):  # a constant has variants of its own
            continue
        other = copy.deepcopy(node)
        moved: ast.expr | None = ast.Constant(1 if bound == "lower" else -1)
        if given is not None:
            moved = ast.BinOp(given, ast.Add(), ast.Constant(1))
        setattr(other.slice, bound, moved)
        yield other


def _call(node: ast.Call) -> Variants:
    if isinstance(node.func, ast.Name) and node.func.id in SWAPPED_CALLS:
        yield ast.Call(ast.Name(SWAPPED_CALLS[node.func.id]), node.args, node.keywords)
    if isinstance(node.func, ast.Name) and node.func.id in DROPPED_CALLS and len(node.args) == 1:
        yield ast.Call(ast.Name(DROPPED_CALLS[node.func.id]), node.args, [])


def _comprehension(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Variants:
    for place, generator in enumerate(node.generators):
        for dropped in range(len(generator.ifs)):
            other = copy.deepcopy(node)
            del other.generators[place].ifs[dropped]
            yield other


def _branch(node: ast.If) -> Variants:
    """A condition that always or never holds; only its test is replaced."""
    yield ast.Constant(True)
    yield ast.Constant(False)


def _return(node: ast.Return) -> Variants:
    if not isinstance(node.value, ast.Constant | None):
        yield ast.Return(ast.Constant(None))


def _removed(node: ast.stmt) -> Variants:
    yield ast.Pass()


def _not_raised(node: ast.Raise) -> Variants:
    """Not of a method that is only there to be written: everybody who has it writes it."""
    if node.exc is None or ast.unparse(node.exc) != "NotImplementedError":
        yield ast.Pass()


def _removed_call(node: ast.Expr) -> Variants:
    if isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom):
        yield ast.Expr(ast.Constant(None))


def _removed_change(node: ast.Assign) -> Variants:
    """An assignment to a part of something; a name without its value would only crash."""
    if not any(isinstance(part, ast.Name) for target in node.targets for part in _parts(target)):
        yield ast.Pass()


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _other_way(node: ast.Break | ast.Continue) -> Variants:
    yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()


VARIANTS: dict[type[ast.AST], Callable[[Any], Variants]] = {
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.BinOp: _arithmetic,
    ast.UnaryOp: _unary,
    ast.Constant: _constant,
    ast.IfExp: _choice,
    ast.Subscript: _slice,
    ast.Call: _call,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.If: _branch,
    ast.Return: _return,
    ast.Raise: _not_raised,
    ast.Delete: _removed,
    ast.AugAssign: _removed,
    ast.Expr: _removed_call,
    ast.Assign: _removed_change,
    ast.Break: _other_way,
    ast.Continue: _other_way,
}


def mutants(path: str, source: str) -> list[Mutant]:
    """Every mutant of a file, in the order of the text."""
    lines = source.encode().splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    found: list[Mutant] = []
    for scope, statement, node in _places(ast.parse(source), "", None):
        for variant in VARIANTS.get(type(node), _nothing)(node):
            place = node.test if isinstance(node, ast.If) else node
            start = begins[place.lineno - 1] + place.col_offset
            end = begins[place.end_lineno - 1] + place.end_col_offset
            old, new = ast.unparse(place), ast.unparse(variant)
            fill = "\n" * (place.end_lineno - place.lineno)
            text = new + fill if isinstance(variant, ast.stmt) else f"({new}{fill})"
            change = f"{_shortened(old)} -> {_shortened(new)}"
            found.append(Mutant(path, scope, _head(statement), start, end, text, change))
    return _numbered(found)


def _numbered(found: list[Mutant]) -> list[Mutant]:
    """Those that read the same in one function are told apart by their order."""
    seen: Counter[str] = Counter()
    numbered = []
    for mutant in found:
        numbered.append(replace(mutant, ordinal=seen[mutant.key]))
        seen[mutant.key] += 1
    return numbered


def _nothing(node: ast.AST) -> Variants:
    return iter(())


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else f"{flat[:60]} ... {flat[-35:]}"


def _head(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement without the statements inside it."""
    inner = [s.lineno for name in ("body", "cases") for s in _list(statement, name)]
    last = statement.end_lineno or statement.lineno
    return statement.lineno, max(statement.lineno, min(inner) - 1) if inner else last


def _list(statement: ast.stmt, name: str) -> list[ast.stmt]:
    """The statements inside; a case of a match begins where its body does."""
    items = getattr(statement, name, [])
    return [item if hasattr(item, "lineno") else item.body[0] for item in items]


def _places(
    node: ast.AST, scope: str, statement: ast.stmt | None
) -> Iterator[tuple[str, ast.stmt, Any]]:
    """Every node that may be mutated, with the function and the statement that hold it."""
    for child in _children(node):
        holder = child if isinstance(child, ast.stmt) else statement
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{scope}.{child.name}" if scope else child.name
        if holder is not None:
            yield scope, holder, child
        yield from _places(child, inner, holder)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, LEFT_ALONE):
        return
    names = [name for name in node._fields if name not in ("annotation", "returns", "type_params")]
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        names = ["body", "args"] if isinstance(node, ast.FunctionDef) else ["body"]
    if isinstance(node, ast.Raise):
        names = []  # what an error says is for the tests of texts
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lru_cache":
        names = []
    if isinstance(node, ast.keyword) and node.arg == "strict":
        names = []
    for name in names:
        value = getattr(node, name)
        children = value if isinstance(value, list) else [value]
        yield from (c for c in children if isinstance(c, ast.AST) and not _only_declares(c))


def _only_declares(node: ast.AST) -> bool:
    """Whether only types are checked by it: imports for annotations, and what a module offers."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [ast.unparse(each) for each in targets] == ["__all__"]
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
