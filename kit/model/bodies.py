"""What the body of a class declares twice: the second would silently take the first one's place.

Python keeps the last of a name only, so the text of the class is read, where there is one: in a
file, or in a cell.
"""

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from inspect import currentframe

from kit.errors import BadInput
from kit.model.careful import is_kits_file

DECLARING = frozenset(
    "action parameter budget safeguard always step sometimes goal live judged".split()
)
"""What declares a part of a model, by its name in ``kit.model.declared``."""
Method = ast.FunctionDef | ast.AsyncFunctionDef


def check_once(owner: type) -> None:
    """See that a class declares each name once, where its statement is being executed.

    Raises BadInput naming what it declares twice, and both lines.
    """
    frame = currentframe()
    while frame and frame.f_code.co_name in (check_once.__name__, "__init_subclass__"):
        frame = frame.f_back
    if frame is None or is_kits_file(frame.f_code.co_filename):  # a linter has looked at these
        return
    linecache.checkcache(frame.f_code.co_filename)
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    for body in _classes(text):
        is_here = body.lineno <= frame.f_lineno <= (body.end_lineno or 0)
        if body.name == owner.__name__ and is_here:
            for name, first, second in _declared_twice(body):
                allowed = "each name once: the second would take the first one's place"
                lines = f"two of that name, in lines {first} and {second}"
                raise BadInput(f"{name} of {owner.__name__}", lines, allowed)


@lru_cache(4)  # a file has several classes
def _classes(text: str) -> tuple[ast.ClassDef, ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # of a cell with magics, or of another text than was run
        return ()
    return tuple(each for each in ast.walk(tree) if isinstance(each, ast.ClassDef))


def _declared_twice(body: ast.ClassDef) -> Iterator[tuple[str, int, int]]:
    """Each name that is lost, with its line and the one that takes its place.

    Nothing is lost where that mentions it, or where one of the two only says the type.
    """
    former: dict[str, ast.stmt] = {}
    for each in body.body:
        for name in _bound(each):
            known = former.get(name)
            if known and (_declares(known) or _declares(each)) and not _mentions(each, name):
                is_field = isinstance(known, ast.AnnAssign) and isinstance(each, ast.AnnAssign)
                if is_field or not (_only_types(known) or _only_types(each)):
                    yield name, known.lineno, each.lineno
            former[name] = each


def _bound(said: ast.stmt) -> list[str]:
    if isinstance(said, Method):
        return [said.name]
    targets = said.targets if isinstance(said, ast.Assign) else [getattr(said, "target", None)]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _declares(said: ast.stmt) -> bool:
    calls = said.decorator_list if isinstance(said, Method) else [getattr(said, "value", None)]
    functions = (each.func for each in calls if isinstance(each, ast.Call))
    names = (getattr(each, "attr", getattr(each, "id", "")) for each in functions)
    return isinstance(said, ast.AnnAssign) or not DECLARING.isdisjoint(names)


def _only_types(said: ast.stmt) -> bool:
    return isinstance(said, ast.AnnAssign) and said.value is None


def _mentions(said: ast.stmt, name: str) -> bool:
    made = said.decorator_list if isinstance(said, Method) else [getattr(said, "value", None)]
    nodes = (node for each in made if each for node in ast.walk(each))
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)
