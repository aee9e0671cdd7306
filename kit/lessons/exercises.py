"""Exercises at the end of a notebook, and how an answer gets to its judge.

The judge is a fresh process (``kit.lessons.judge``), so that nothing done in the notebook can
change the model that the answer is replayed on. A learner's function runs in yet another process,
which sees the cases but not the answers (``kit.lessons.solo``).
"""

import ast
import inspect
import json
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from kit.edge.limits import ALONE
from kit.edge.reading import read_text
from kit.errors import BadInput, KitError
from kit.lessons.hunting import Hunt
from kit.lessons.judge import HOME, judged
from kit.lessons.progress import keep, solved
from kit.lessons.replays import verbs_to
from kit.lessons.stills import Judgement, Still
from kit.lessons.tasks import SEED, Marks, Task, task_named
from kit.model.timeline import Timeline
from kit.model.trace import Trace
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.views.fragment import Frag, h
from kit.views.parts import prose
from kit.views.static import Shown

MOST_VERBS = 1000
SOLVED = "✓ You have solved it."
BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from kit.lessons.judge import main; main()"


class Exercise(Shown):
    """An exercise as a notebook shows it; ``check`` judges an answer."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def check(self, answer: Any) -> Judgement:
        """Judge an answer in a fresh process.

        ``answer`` is what the exercise asks for: verbs (or a Player, Timeline or Trace that holds
        them), a ring, or a function.

        Raises BadInput when the answer has not the form that was asked for.
        """
        sent = {"task": self.task.name, "answer": ENCODE[self.task.wants](answer)}
        return _verdict(self.task, _judged(sent))

    def key(self) -> Judgement:
        """Right answers, for whoever teaches: a run that was found, or what the kit's own gives."""
        return Judgement(True, "Right answers", right_answers(self.task))

    def draw(self) -> Frag:
        """The exercise's title and text."""
        done = h("p", SOLVED) if self.is_solved else None
        return h("div", h("h4", self._head()), h("p", prose(self.task.text)), done)

    @property
    def is_solved(self) -> bool:
        """Whether this learner has solved it, by their file (unreadable: no)."""
        with suppress(BadInput):
            return self.task.name in solved()
        return False

    def _head(self) -> str:
        return f"Exercise: {self.task.title}"

    def __repr__(self) -> str:
        done = f"\n{SOLVED}" if self.is_solved else ""
        return f"{self._head()}\n{textwrap.fill(self.task.text, 96)}{done}"


def exercise(name: str) -> Exercise:
    """An exercise by name. Raises BadInput for an unknown name, with the nearest ones."""
    return Exercise(task_named(name))


def right_answers(task: Task) -> tuple[str, ...]:
    """The judge's description of right answers; else the hint."""
    return tuple(getattr(task.judge, "answers", tuple)()) or (f"Hint: {task.hint}",)


def _judged(sent: dict[str, Any]) -> Marks:
    if ALONE:
        return judged(sent)
    command = [sys.executable, "-I", "-c", BOOT, HOME]
    answer = json.dumps(sent)
    done = subprocess.run(command, check=False, input=answer, capture_output=True, text=True)
    if done.returncode == 2:
        raise KitError(done.stderr.strip().removeprefix("kit: "))
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it ended without any output"])[-1]
        raise KitError(f"check: the judge failed: {last}")
    return msgspec.json.decode(done.stdout, type=Marks)


def _verdict(task: Task, marks: Marks) -> Judgement:
    counts = counted_in(task, marks)
    if marks.passed:
        return Judgement(True, "Passed.", (counts, *_keeping_errors(task)))
    notes = tuple(case.note for case in marks.public if case.note)
    return Judgement(False, "Not yet.", (counts, *notes, f"Hint: {task.hint}"))


def counted_in(task: Task, marks: Marks) -> str:
    """How many cases passed. Of hidden cases only the counts are told."""
    passed = sum(case.passed for case in marks.public)
    counts = f"Public cases: {passed} of {len(marks.public)} passed."
    if not marks.hidden:
        return counts
    seed = f" (seed {SEED})" if task.seeded else ""
    return f"{counts} Hidden cases: {sum(marks.hidden)} of {len(marks.hidden)} passed{seed}."


def _keeping_errors(task: Task) -> tuple[str, ...]:
    try:
        keep(task.name)
    except BadInput as error:
        return (str(error),)
    return ()


def verbs_of(answer: Any) -> list[str]:
    """The verbs of a list, a Player, a Timeline or a Trace. Raises BadInput for anything else."""
    form = "a list of verbs such as ['bootstrap X --tokens 150', 'apply B'], or a Player or a trace"
    if isinstance(answer, Still):
        raise BadInput("answer", answer, form)
    timeline = getattr(answer, "timeline", answer)
    if isinstance(timeline, Timeline):
        return list(verbs_to(timeline))
    if isinstance(answer, Trace):
        return _along(answer)
    if not isinstance(answer, list | tuple) or not all(isinstance(word, str) for word in answer):
        raise BadInput("answer", answer, form)
    if len(answer) > MOST_VERBS:
        raise BadInput("answer", f"{len(answer)} verbs", f"at most {MOST_VERBS}")
    return list(answer)


def _along(trace: Trace) -> list[str]:
    verbs: list[str] = []
    at = trace.at
    while 0 < at <= len(trace.steps):
        step = trace.steps[at - 1]
        if not 0 <= step.parent < at:
            raise BadInput("answer", step.parent, f"a trace whose step {at} has an earlier parent")
        verbs.append(step.verb)
        at = step.parent
    return verbs[::-1]


def ring_of(answer: Any) -> str:
    """A dictionary, text or file as the text of a ring file. Raises BadInput for anything else."""
    if isinstance(answer, Path):
        return read_text(answer, "answer", LARGEST_FILE)
    if isinstance(answer, str):
        return answer
    if isinstance(answer, dict):
        try:
            return json.dumps(answer)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadInput("answer", answer, f"a value that JSON can hold ({error})") from None
    raise BadInput("answer", answer, "a ring as a dictionary, as JSON text or as a path")


def source_of(answer: Any) -> dict[str, str]:
    """A function's own text and name. Raises BadInput for no ``def``, or where it has no text."""
    form = "your own function, written with def and without a decorator"
    if not inspect.isfunction(answer):
        raise BadInput("answer", answer, form)
    try:
        source = textwrap.dedent(inspect.getsource(answer))
        first = ast.parse(source).body[0]
    except (OSError, SyntaxError, IndexError):
        raise BadInput("answer", answer.__name__, f"{form} in a cell or a file") from None
    if not isinstance(first, ast.FunctionDef):
        raise BadInput("answer", answer.__name__, form)
    return {"name": first.name, "source": source}


def names_of(answer: Any) -> dict[str, Any]:
    """A hunt's seed, its protocol, what was said of each variant. Raises BadInput for no hunt."""
    if not isinstance(answer, Hunt):
        raise BadInput("answer", answer, "a hunt, with your answers about its variants")
    names = {str(n): word for n, word in answer.said.items()}
    return {"seed": answer.seed, "of": answer.of, "names": names}


ENCODE = {"verbs": verbs_of, "ring": ring_of, "function": source_of, "names": names_of}
