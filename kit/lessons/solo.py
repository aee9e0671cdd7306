"""Runs a learner's function on given arguments, alone in a process that knows nothing else.

Called as ``python -I -S solo.py ASKED TOLD``: ASKED is JSON with ``source``, ``name``, ``cases`` (a
list of argument lists) and ``seconds`` (of computing, for all); TOLD gets a line of JSON a case. It
imports nothing of the kit, so there is nothing here whose change could change a verdict. Nor is
there anything to be read: once the function runs, files are opened for Python's own modules only,
and no program is started.
"""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

SOLO = __file__
MOST_MEMORY, MOST_WRITTEN = 1 << 30, 1 << 21  # bytes
LARGEST = 20_000  # bytes of a result


def main(calls_file: str, outcomes_file: str) -> None:
    """Run every case; what goes wrong in one is its result."""
    with open(calls_file, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is slow to load
        given = json.load(file)
    _limit(given["seconds"])
    with open(outcomes_file, "w", encoding="utf-8") as file:  # noqa: PTH123  # pathlib is slow to load
        _shut_in()
        for line in outcomes(given["source"], given["name"], given["cases"]):
            file.write(line + "\n")
            file.flush()


def outcomes(source: str, name: str, cases: list[list[Any]]) -> Iterator[str]:
    """A line of JSON a case, also where the words themselves are wrong."""
    names: dict[str, Any] = {"__name__": "answer"}
    try:
        exec(compile(source, "answer", "exec"), names)  # the learner's own words
        function = names[name]
    except Exception as error:
        function = _failing(error)
    return (outcome(function, arguments) for arguments in cases)


def _limit(seconds: int) -> None:
    import resource as system  # noqa: PLC0415  # a page's Python has none, and no process either

    system.setrlimit(system.RLIMIT_CPU, (seconds, seconds + 1))
    system.setrlimit(system.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    system.setrlimit(system.RLIMIT_FSIZE, (MOST_WRITTEN, MOST_WRITTEN))
    system.setrlimit(system.RLIMIT_NPROC, (0, 0))  # no process beside it, whatever way there were


def _shut_in() -> None:
    """Refuse from now on what an answer does not need, as Python's audit events tell of it.

    Nobody takes such a hook away. All that it uses is its own default, which nobody can reach:
    what a refusal's frame shows of it counts for that call only.
    """
    calls = ("os", "subprocess", "socket", "ctypes", "shutil", "fcntl", "pty", "gc")
    modules = ("_posixsubprocess", "_ctypes", "_testcapi", "_testinternalcapi")
    interpreters = ("_xxsubinterpreters", "_interpreters", "_testmultiphase")  # no hook is there
    library = os.path.dirname(os.__file__) + "/"  # noqa: PTH120  # pathlib is slow to load
    names: Any = (calls, modules + interpreters, library, os.O_WRONLY | os.O_RDWR)
    names += (str, type, PermissionError)

    def alone(event: str, given: tuple[Any, ...], names: Any = names) -> None:
        barred, untold, library, writes, text, kind, refused = names
        if event in ("open", "os.listdir"):
            place = given[0]
            reads = event != "open" or not given[2] & writes
            ours = kind(place) is text and (place + "/").startswith(library)
            if reads and ours and "-packages" not in place and ".." not in place:
                return
        elif event == "import":
            # A module of C is found by the last part of its name, whatever stands before it.
            if kind(given[0]) is text and given[0].rpartition(".")[2] not in untold:
                return
        elif event.split(".", maxsplit=1)[0] not in barred:
            return
        raise refused(f"{event}: an answer only computes; it must not open files or start programs")

    sys.addaudithook(alone)


def outcome(function: Any, arguments: list[Any]) -> str:
    """One line of JSON: the value, or the error in words."""
    try:
        given = function(*arguments)
        value = sorted(given) if isinstance(given, set | frozenset) else given
        line = json.dumps({"value": value})
    except Exception as error:
        return _error(f"{type(error).__name__}: {error}")
    try:
        exact = json.dumps({"value": value}, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return _error("it returned text with half a character")
    except ValueError:
        return _error("it returned a number that is infinite, or none at all")
    return line if len(exact) <= LARGEST else _error(f"it returned more than {LARGEST} bytes")


def _error(said: str) -> str:
    return json.dumps({"error": said.encode("utf-8", "replace").decode()[:200]})


def _failing(error: Exception) -> Any:
    def fail(*_arguments: Any) -> None:
        raise error

    return fail


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
