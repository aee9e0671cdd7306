"""Whose code a function is, and which line of it raised an error.

What is the kit's own, tests have looked at. All else is a student's: it is named by its line.
"""

import dataclasses
import linecache
import os
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from sysconfig import get_paths
from traceback import walk_tb
from types import CodeType, MethodType
from typing import Any

from kit.errors import one_line

KIT = f"{Path(__file__).parent.parent}{os.sep}"
PROTOCOLS = f"{KIT}protocols{os.sep}"
LIBRARY = tuple(
    {str(Path(place)) for name, place in get_paths().items() if "lib" in name}
    | {str(Path(dataclasses.__file__).parent)}  # within a page it is an archive
)
"""Where Python's own modules and installed packages are."""


@cache
def is_kits_file(name: str) -> bool:
    """Whether a file is the kit's own, which tests have looked at: not of a family put into it."""
    if not name.startswith(PROTOCOLS):
        return name.startswith(KIT)
    inside = Path(name.removeprefix(PROTOCOLS)).parts
    return len(inside) == 1 or inside[0] in import_module("kit.protocols").SHIPPED


def is_kits(function: Any) -> bool:
    """Whether a function is the kit's own, which tests have looked at."""
    code = _code(function)
    return code is not None and is_kits_file(code.co_filename)


def _code(function: Any) -> CodeType | None:
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            code = getattr(function, "__code__", None)
            return code if isinstance(code, CodeType) else None


def place(what: str, function: Any) -> str:
    """``outcome of up, line 12 of lift.py (def up(s, a):)``."""
    code = _code(function)
    if code is None or is_kits_file(code.co_filename):  # a line of the kit's helps nobody
        return what
    return f"{what}, {line_of(code.co_filename, code.co_firstlineno)}"


def line_of(filename: str, number: int) -> str:
    """``line 12 of lift.py (return s)``; a notebook's cell has no file name worth telling."""
    text = linecache.getline(filename, number).strip()
    cell = "ipykernel" in filename or filename.startswith("<")
    where = f"line {number}" if cell else f"line {number} of {Path(filename).name}"
    return f"{where} ({text})" if text else where


def raised_at(error: BaseException, otherwise: str = "model") -> str:
    """The line that raised an error: the last one that is not the kit's own."""
    where = otherwise
    for frame, number in walk_tb((_loop_ended(error) or error).__traceback__):
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if not is_kits_file(file) and not file.startswith(LIBRARY) and name != "__setattr__":
            where = f"{name}, {line_of(file, number)}"
    return where


def is_within(error: BaseException, function: Any) -> bool:
    """Whether an error was raised in a function, or in what that called."""
    code = _code(function)
    return any(frame.f_code is code for frame, _ in walk_tb(error.__traceback__))


def is_own_error(error: BaseException) -> bool:
    """Whether a model's own code raised an error that means no harm to those who called it.

    An error that is raised within the kit comes of what that was given. What ends a loop or the
    process would be taken for something else on its way.
    """
    if isinstance(error, SystemExit | GeneratorExit) or _loop_ended(error):
        return False
    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    ours = [is_kits_file(f) for f in files if is_kits_file(f) or not f.startswith(LIBRARY)]
    return not (ours and ours[-1])


def _loop_ended(error: BaseException) -> BaseException | None:
    """The StopIteration that an error is, or was when it left a function that yields."""
    return next((e for e in (error, error.__cause__) if isinstance(e, StopIteration)), None)


def error_line(error: BaseException) -> str:
    """An error of a model's own code in one line: what it is, and the line that raised it."""
    return one_line(f"{raised_at(error)}: {type(error).__name__}: {said_by(error)}")


def said_by(error: BaseException) -> str:
    """The text of an error, whatever its class makes of it."""
    try:
        return str(error)
    except Exception:  # its own text is wrong, too
        return "it has no text that can be shown"
