"""Calling the command line in this process, and the files that it reads."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from kit.commands.cli import main

TEN: list[dict[str, Any]] = [{"name": f"n{i}", "tokens": [100 * i]} for i in range(1, 11)]
SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": 2}
SIMPLE_3 = {"class": "SimpleStrategy", "replication_factor": 3}
ABC = [{"name": n, "tokens": [t]} for n, t in (("A", 100), ("B", 200), ("C", 300))]
Group = list[str]
Line = tuple[int | None, int | None, Group]


class Answer(NamedTuple):
    """What a command said, and the status it ended with."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def call(*words: str) -> Answer:
    """Run a command as the shell would."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(list(words))
    return Answer(status, out.getvalue(), err.getvalue())


def bad(*words: str) -> str:
    """Run a command that must be refused as bad input; returns its one line."""
    answer = call(*words)
    assert answer.status == 2, answer
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert answer.err.endswith("\n")
    assert answer.err.startswith("kit: ")
    return answer.err.removeprefix("kit: ").rstrip("\n")


def ring_of(
    nodes: Iterable[dict[str, Any]] = TEN,
    keyspaces: dict[str, dict[str, Any]] | None = None,
    epoch: int = 0,
) -> dict[str, Any]:
    """The content of a ring file."""
    given = {"ks": SIMPLE_3} if keyspaces is None else keyspaces
    return {
        "epoch": epoch,
        "nodes": list(nodes),
        "keyspaces": [{"name": name, "replication": value} for name, value in given.items()],
    }


def written(folder: Path, content: Any, name: str = "ring.json") -> str:
    """The path of a file with this content: a text, bytes, or else JSON."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return str(path)


def table(step: dict[str, Any], side: str, keyspace: str = "ks") -> list[Any]:
    """One table of a step."""
    found = step["keyspaces"][keyspace][side]
    assert isinstance(found, list)
    return found


def plan(*words: str) -> Any:
    """The answer of an accepted plan."""
    answer = call("plan", *words, "--json")
    assert answer.status == 0, answer
    assert answer.err == ""
    return answer.json


def refused(*words: str) -> Any:
    """The answer of a refused plan."""
    answer = call("plan", *words, "--json")
    assert answer.status == 1, answer
    assert answer.err == ""
    assert answer.json["accepted"] is False
    assert answer.json["steps"] == []
    return answer.json


def names(found: Any) -> list[str]:
    """The names of the steps."""
    return [step["name"] for step in found["steps"]]
