"""Runs a learner's function on given arguments, alone in a process that knows nothing else.

Called as ``python -I -S solo.py ASKED TOLD``: ASKED is JSON with ``source``, ``name``, ``cases`` (a
list of argument lists) and ``seconds`` (of computing, for all); TOLD gets a line of JSON a case. It
imports nothing of the kit, so there is nothing here whose change could change a verdict.
"""

import json
import sys
from resource import RLIMIT_CPU, setrlimit
from typing import Any


def main(calls_file: str, outcomes_file: str) -> None:
    """Run every case; what goes wrong in one is its result."""
    with open(calls_file, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is slow to load
        given = json.load(file)
    setrlimit(RLIMIT_CPU, (given["seconds"], given["seconds"] + 1))
    names: dict[str, Any] = {"__name__": "answer"}
    try:
        exec(compile(given["source"], "answer", "exec"), names)  # the learner's own words
        function = names[given["name"]]
    except Exception as error:
        function = _failing(error)
    with open(outcomes_file, "w", encoding="utf-8") as file:  # noqa: PTH123  # pathlib is slow to load
        for arguments in given["cases"]:
            file.write(outcome(function, arguments) + "\n")
            file.flush()


def outcome(function: Any, arguments: list[Any]) -> str:
    """One line of JSON: the value, or the error in words."""
    try:
        return json.dumps({"value": _plain(function(*arguments))})
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"[:200]})


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value


def _failing(error: Exception) -> Any:
    def fail(*_arguments: Any) -> None:
        raise error

    return fail


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
