"""A teacher's notebook: a lesson with its folds open and its exercises answered.

A run, typed lines and a ring are filled in as the judge finds them, a function is the one that the
judge compares with, in Python alone. Each answer is judged here, as a learner's is. A hunt has its
key, for a class chooses the seed.
"""

import ast
import json
import re
from pathlib import Path
from pprint import pformat
from typing import Any

from kit.edge.json_text import decoded
from kit.edge.reading import read_text
from kit.edge.writing import check_place
from kit.errors import BadInput, KitError
from kit.lessons.exercises import Exercise, counted_in, exercise, source_of
from kit.lessons.handouts import LARGEST, NOTEBOOK
from kit.lessons.stills import Judgement
from kit.lessons.tasks import Task
from kit.views.static import bundle_of

CHECK = re.compile(r"""\bexercise\(["']([\w-]+)["']\)\.check\(""")
FOLD, OPEN = "<details>", "<details open>"
WIDTH = 88  # of code that is filled in


def teacher_of(notebook: str | Path, folder: str | Path) -> tuple[Path, str]:
    """``NAME-teacher.ipynb``: where it goes, and what is in it, which takes a while to work out.

    Raises BadInput for what is no notebook, or when the folder cannot be written to.
    Raises KitError when an answer of the kit's own does not pass.
    """
    text = read_text(notebook, "notebook", LARGEST)
    path = check_place(Path(folder) / f"{Path(notebook).stem}-teacher.ipynb", "--out")
    try:
        book = decoded(text, dict[str, Any], "notebook")
        for cell in book["cells"]:
            _open(cell)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput("notebook", str(notebook), NOTEBOOK) from None
    return path, json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _open(cell: dict[str, Any]) -> None:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        cell["source"] = source.replace(FOLD, OPEN)
        return
    cell["metadata"].get("jupyter", {}).pop("source_hidden", None)
    if checks := CHECK.search(source):
        cell["source"], shown = answered(exercise(checks[1]))
        result: dict[str, Any] = {"output_type": "execute_result", "execution_count": None}
        cell["outputs"] = [{**result, "metadata": {}, "data": bundle_of(shown)}]


def answered(an_exercise: Exercise) -> tuple[str, Judgement]:
    """The code of a cell that answers an exercise, and what it shows.

    Raises KitError when the kit's own answer is wrong.
    """
    task = an_exercise.task
    call = f'exercise("{task.name}")'
    if (answer := _answer(task)) is None:
        return f"{call}.key()", an_exercise.key()
    code, name, sent = answer
    marks = task.judge(sent)
    if not marks.passed:
        raise KitError(f"teacher: the kit's own answer to {task.name} does not pass")
    judged = Judgement(True, "Passed.", (counted_in(task, marks),))
    return f"{code}\n\n{call}.check({name})", judged


def _answer(task: Task) -> tuple[str, str, Any] | None:
    judge: Any = task.judge
    if task.wants == "verbs":
        verbs = list(judge.solved())
        return f"verbs = {pformat(verbs, WIDTH, compact=True)}", "verbs", verbs
    if task.wants == "ring":
        [ring] = judge.answers()
        written = pformat(json.loads(ring), width=WIDTH, sort_dicts=False)
        return f"ring = {written}", "ring", ring
    if task.wants == "function":
        code = _source_as(judge.name, judge.truth)
        return f"\n{code}\n", judge.name, {"name": judge.name, "source": code}
    return None


def _source_as(name: str, function: Any) -> str:
    tree = ast.parse(source_of(function)["source"]).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.name = name
    return ast.unparse(tree)
