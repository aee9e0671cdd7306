"""What an exercise is, and the list of them. What each one wants is judged by the models."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec import Struct

from kit.errors import BadInput
from kit.model.family import families
from kit.model.registry import one_of

SEED = 2
"""Hidden cases are drawn from this seed: the same ones for everybody, on every machine."""


class Case(Struct, frozen=True):
    """A public case: whether it passed and, when not, what is wrong with it."""

    passed: bool
    note: str = ""


class Marks(Struct, frozen=True):
    """What a judge found: the public cases in full, of hidden ones only whether they passed."""

    public: tuple[Case, ...]
    hidden: tuple[bool, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(case.passed for case in self.public) and all(self.hidden)


class Task(Struct, frozen=True):
    """One exercise.

    ``wants`` is the form of the answer, ``judge`` turns an answer of that form into marks,
    ``hint`` is said with every answer that does not pass. ``seeded`` tells that hidden cases are
    drawn from ``SEED``.
    """

    name: str
    title: str
    text: str
    wants: Literal["verbs", "ring", "function", "names"]
    hint: str
    judge: Callable[[Any], Marks]
    seeded: bool = False


def _declared() -> Iterator[Task]:
    for family in families():
        for place in family.tasks:
            yield from family.load(place).TASKS


def tasks() -> dict[str, Task]:
    """Every exercise, by name."""
    return {task.name: task for task in _declared()}


def task_named(name: str) -> Task:
    """An exercise by name. Raises BadInput for an unknown name, with the nearest ones."""
    if (task := next((task for task in _declared() if task.name == name), None)) is None:
        raise BadInput("exercise", name, one_of(name, list(tasks())))
    return task
