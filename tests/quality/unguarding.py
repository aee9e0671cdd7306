"""A function of a model without its refusals: each ``return`` of one is passed over.

One function says of an action what it comes to, and why it may not happen; so its guards are cut
out of its text. Every ``return value`` becomes *return it, unless it is a refusal*, and goes on
with what is behind it. Of ``a or b`` and of ``a if c else b`` the other value is taken then, and a
function that gave the refusal is asked again, without refusals of its own: where it is returned,
and where it is given a name (``if why := guard(s): return why``). Where one kind of refusal alone
is passed over (``reason_of``), all others are returned as before: those of the same guard, too, but
where the cut is ``wide``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from functools import cache, partial
from textwrap import dedent
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

from kit.errors import Refusal
from kit.model.source import KIT

ENGINE = (f"{KIT}model/", f"{KIT}search/")
NO_WAY = Refusal("without its refusals the function returns nothing")


class Cut(NamedTuple):
    """What is passed over: each refusal, or those for one reason.

    Where that is ``wide``, a guard that gives it is passed over whole, with what it would say next.
    """

    reason: str | None = None
    wide: bool = False


ALL = Cut()


def let_through(function: Callable[..., Any], *given: Any, cut: Cut = ALL) -> Any:
    """What a function returns that is no refusal; a refusal only if it has nothing else."""
    return _through(cut, function, *given)


def reason_of(refusal: Refusal) -> str:
    """A refusal's reason without names and numbers: one text in a model, or several alike."""
    return re.sub(r"\b([A-Z]\d*|\d+)\b", "_", refusal.reason)


def _is_passed(cut: Cut, end: Any) -> bool:
    return end is NO_WAY or (isinstance(end, Refusal) and cut.reason in (None, reason_of(end)))


def _asked(cut: Cut, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a guard says that is not passed over; None: it has no objection."""
    end = _through(cut, function, *given, **named)
    return None if _is_passed(cut, end) else end


def _through(cut: Cut, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    end = function(*given, **named)
    passed = end is not NO_WAY and _is_passed(cut, end)
    return without_refusals(function, cut)(*given, **named) if passed else end


@cache
def without_refusals(function: Callable[..., Any], cut: Cut = ALL) -> Callable[..., Any]:
    """The same function, which passes over refusals that it would return.

    A wrapper (``__wrapped__``) is put around such a function; the engine's own has no refusals.
    """
    if isinstance(function, MethodType):
        return MethodType(without_refusals(function.__func__, cut), function.__self__)
    if not isinstance(function, FunctionType):
        return function
    wrapped = getattr(function, "__wrapped__", None)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    cells = [
        without_refusals(c, cut) if wrapped in (c, getattr(c, "__func__", c)) else c for c in cells
    ]
    if wrapped and function.__code__.co_filename.startswith(ENGINE):
        closure = tuple(map(CellType, cells))
        return FunctionType(function.__code__, function.__globals__, closure=closure)
    lines, first = inspect.getsourcelines(function)
    [own] = ast.parse(dedent("".join(lines))).body
    assert isinstance(own, ast.FunctionDef), function
    (_PassingOver if cut.wide else _PassingGuards)().generic_visit(own)
    own.decorator_list = []
    own.body += ast.parse("return NO_WAY").body
    names = ("let_through", "ASKED", "PASSED", "NO_WAY", *function.__code__.co_freevars)
    [around] = ast.parse(f"def around({', '.join(names)}): return {own.name}").body
    assert isinstance(around, ast.FunctionDef)
    around.body.insert(0, own)
    tree = ast.parse("from __future__ import annotations")
    tree.body.append(ast.increment_lineno(ast.fix_missing_locations(around), first - 1))
    made: dict[str, Any] = {}
    # An error in it shows the line of the model's own file.
    exec(compile(tree, inspect.getfile(function), "exec"), function.__globals__, made)
    given = (*(partial(each, cut) for each in (_through, _asked, _is_passed)), NO_WAY)
    return made["around"](*given, *cells)  # type: ignore[no-any-return]  # it is what we made


class _PassingOver(ast.NodeTransformer):
    """Returns what is no refusal, and goes on behind what is one."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function inside returns to somebody else."""
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        """Return a value, unless it is a refusal."""
        self.generic_visit(node)
        return [node] if node.value is None else _returned(node.value)


class _PassingGuards(_PassingOver):
    """The same of each guard that is asked."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """What a guard says is given a name."""
        node.value = _asking(node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.NamedExpr:
        """The same, where it is looked at."""
        node.value = _asking(node.value)
        return node


def _asking(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.BoolOp):
        value.values = [_asking(each) for each in value.values]
    elif isinstance(value, ast.IfExp):
        value.body, value.orelse = _asking(value.body), _asking(value.orelse)
    elif isinstance(value, ast.Call) and ast.unparse(value.func) != "super":
        asked = [value.func, *value.args]
        return ast.Call(ast.Name("ASKED", ast.Load()), asked, value.keywords)
    return value


def _returned(value: ast.expr, test: str = "not PASSED(END)") -> list[ast.stmt]:
    if isinstance(value, ast.IfExp):
        this, other = _returned(value.body, test), _returned(value.orelse, test)
        return [ast.If(value.test, [*this, *other], [*other, *this])]
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        *guards, last = value.values
        passed = (_returned(each, f"END and {test}") for each in guards)
        return [*(line for lines in passed for line in lines), *_returned(last, test)]
    if isinstance(value, ast.Call):
        value = _let_through(value)
    return [
        ast.Assign([ast.Name("END", ast.Store())], value),
        *ast.parse(f"if {test}: return END").body,
    ]


def _let_through(call: ast.Call) -> ast.Call:
    """The call without refusals of its own, nor of the calls that it is given the answers of."""
    given = [_let_through(each) if isinstance(each, ast.Call) else each for each in call.args]
    return ast.Call(ast.Name("let_through", ast.Load()), [call.func, *given], call.keywords)
