"""What a teacher's notebook fills in as a function says what the engine's own function says.

tests/lessons/test_exercises.py sends the text of each to the judge that learners meet. Here it is
called where it stands, on the same cases.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from kit.lessons.judge import FURTHER, HIDDEN, SEED
from kit.lessons.tasks import solution_of, task_named, tasks


@pytest.mark.parametrize(
    "name", [name for name, task in tasks().items() if task.wants == "function"]
)
def test_a_solution_is_right_in_every_case(name: str) -> None:
    """In those that are told, and in all that are drawn; it leaves what it is given as it was."""
    task = task_named(name)
    judge: Any = task.judge
    chance, solution = random.Random(SEED), solution_of(task)
    for case in (*judge.public, *(judge.draw(chance) for _ in range(HIDDEN + FURTHER))):
        given = json.loads(json.dumps(case))
        assert json.dumps(solution(*given)) == json.dumps(judge.truth(*case)), case
        assert given == json.loads(json.dumps(case))
