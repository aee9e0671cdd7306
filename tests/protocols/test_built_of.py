"""What a model can be built of, and how it refuses the rest: at the limits, and just beyond them.

A row of the table has the model, its parameters, and what is said of them.
``python -m tests.protocols.test_built_of`` writes what is said now.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.model.registry import build

TABLE = Path(__file__).with_name("built_of.txt")
ROWS = [row.split(" | ", 2) for row in TABLE.read_text(encoding="utf-8").splitlines()]


def answer(model: str, parameters: str) -> str:
    """What is said of a model's parameters; *accepted* where it is built, and has a first state."""
    try:
        build(model, json.loads(parameters)).start()
    except BadInput as error:
        return str(error)
    return "accepted"


@pytest.mark.parametrize(
    ("model", "parameters", "said"), ROWS, ids=[f"{row[0]} {n}" for n, row in enumerate(ROWS)]
)
def test_parameters_are_accepted_or_refused(model: str, parameters: str, said: str) -> None:
    """As the table says, in these words."""
    assert answer(model, parameters) == said


if __name__ == "__main__":
    TABLE.write_text(
        "".join(f"{model} | {given} | {answer(model, given)}\n" for model, given, _ in ROWS),
        encoding="utf-8",
    )
