"""Exercises: right answers pass, wrong ones get a hint, nothing of a hidden case is told."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import exercise
from kit.lessons.exercises import verbs_of
from kit.lessons.judge import results_of
from kit.lessons.tasks import task_named, tasks
from kit.model.family import families
from kit.model.timeline import Timeline
from tests.house.source import ROOT
from tests.lessons import answers
from tests.lessons.answers import RIGHT

WORKED = {"A": 100, "B": 200, "C": 300}


def assert_passed(name: str) -> None:
    """Assert that the right answer passes."""
    verdict = exercise(name).check(RIGHT[name]())
    assert verdict.passed, verdict
    assert "Hint" not in repr(verdict)


def first_of_each_form() -> Iterator[str]:
    """For each family, and each form of answer that its exercises want, the first one."""
    for family in families():
        listed = [task for place in family.tasks for task in family.load(place).TASKS]
        yield from {task.wants: task.name for task in reversed(listed)}.values()


@pytest.mark.spec("H-011")
@pytest.mark.usefixtures("judged_here")
@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_right_answer_passes(name: str) -> None:
    """The answer that the exercise asks for passes every public and hidden case."""
    assert_passed(name)


@pytest.mark.sweep(3)
@pytest.mark.spec("H-011")
@pytest.mark.parametrize("name", sorted(first_of_each_form()))
def test_so_it_does_in_a_fresh_process(name: str) -> None:
    """The judge that learners meet says the same of an answer of each form in each family."""
    assert_passed(name)


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(RIGHT))
def test_every_right_answer_passes_in_a_fresh_process(name: str) -> None:
    """And of every answer."""
    assert_passed(name)


def test_every_exercise_has_a_right_answer_here() -> None:
    """No exercise is without an answer that is known to pass."""
    assert sorted(tasks()) == sorted(RIGHT)


def owner_only(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Only the walk's first node."""
    return sorted(tokens, key=lambda name: (tokens[name] < token, tokens[name]))[:1]


def worked_only(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Right for the public cases alone."""
    return {130: ["B", "C"], 350: ["A", "B"]}.get(token, [])


def majority_of_the_new(before: list[str], after: list[str]) -> int:
    """Forgets those who leave."""
    return len(after) // 2 + 1


def touching_is_sharing(one: list[list[int]], other: list[list[int]]) -> bool:
    """Takes ranges to be closed on both sides."""
    return not any(a[0] <= b[1] and b[0] <= a[1] for a in one for b in other)


def cut_before(rights: list[int], cuts: list[int]) -> list[int]:
    """Gives a range that ends at a cut to the part after it."""
    edges = [0, *cuts, rights[-1] + 1]
    return [sum(a <= r < b for r in rights) for a, b in pairwise(edges)]


def some_alive(groups: list[list[str]], racks: dict[str, str], lost: str) -> int:
    """Is content with any replica that is up."""
    return sum(any(racks[name] != lost for name in group) for group in groups)


def prefix(timeline: Timeline, steps: int) -> list[str]:
    """The first verbs of a run."""
    return verbs_of(timeline)[:steps]


WRONG: list[tuple[str, Any]] = [
    (
        "fewest-steps",
        lambda: ["bootstrap X --tokens 150", *(f"apply {n}" for n in "ABCX"), "commit X"],
    ),
    ("fewest-steps", lambda: ["bootstrap X --tokens 150"]),
    ("fewest-steps", lambda: ["bootstrap X --tokens 150", "commit X"]),
    ("fewest-steps", lambda: ["open sesame"]),
    ("light-a-lamp", lambda: prefix(answers.broken_run(), 5)),
    ("light-a-lamp", list),
    ("crash-and-resume", lambda: prefix(answers.scripted_run("crash-and-resume"), 12)),
    ("crash-and-resume", lambda: answers.scripted_run("bootstrap")),
    ("way-back", lambda: answers.scripted_run("rf3")),
    ("way-back", lambda: ["bootstrap X --tokens 150", "cancel X"]),
    ("way-back", lambda: prefix(answers.scripted_run("cancel"), 16)),
    ("any-may-leave", lambda: answers.ring_of_two_datacenters(2)),
    ("any-may-leave", lambda: answers.ring_of_two_datacenters(3)),
    ("any-may-leave", lambda: answers.ring_of_two_datacenters(80)),
    ("replicas", lambda: owner_only),
    ("replicas", lambda: worked_only),
    ("needed", lambda: majority_of_the_new),
    ("may-run-together", lambda: touching_is_sharing),
    ("parts-of-the-line", lambda: cut_before),
    ("surviving", lambda: some_alive),
]


@pytest.mark.spec("H-011")
@pytest.mark.usefixtures("judged_here")
@pytest.mark.parametrize(("name", "answer"), WRONG)
def test_a_wrong_answer_gets_counts_and_a_hint(name: str, answer: Any) -> None:
    """An answer that runs but is wrong is told how many cases passed, and the hint.

    (Judged in this process: that a fresh one says the same is seen with right answers, above.)
    """
    verdict = exercise(name).check(answer())
    assert not verdict.passed
    told = repr(verdict)
    assert "Public cases: " in told
    assert f"Hint: {exercise(name).task.hint}" in told


def test_the_hidden_cases_are_only_counted() -> None:
    """Right for the public cases alone: one learns how many hidden ones fail, and no more."""
    told = repr(exercise("replicas").check(worked_only))
    assert "Public cases: 2 of 2 passed. Hidden cases: " in told
    assert "of 8 passed (seed 2)." in told
    assert "n1" not in told


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("fewest-steps", "bootstrap X"),
        ("fewest-steps", 7),
        ("fewest-steps", ["bootstrap X --tokens 150", 3]),
        ("fewest-steps", ["apply A"] * 5000),
        ("any-may-leave", 7),
        ("any-may-leave", {"nodes": {1, 2}}),
        ("any-may-leave", {}),
        ("any-may-leave", "{"),
        ("replicas", 7),
        ("replicas", len),
        ("replicas", lambda tokens, token, rf: []),
    ],
)
def test_a_malformed_answer_is_one_clear_line(name: str, answer: Any) -> None:
    """An answer of the wrong form is a KitError of one line that says what is asked for."""
    with pytest.raises(KitError) as raised:
        exercise(name).check(answer)
    assert "allowed" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_exercise_names_the_nearest() -> None:
    """A name that no exercise has is BadInput with the nearest names first."""
    with pytest.raises(BadInput, match="one of replicas"):
        exercise("replica")


TASKS = ROOT / "kit" / "lessons" / "tasks.py"
DISGUISED = """
import _imp, os
from importlib.machinery import ModuleSpec
folder = os.path.dirname(os.__file__) + "/lib-dynload/"
for name in ("_posixsubprocess", "_ctypes", "_testcapi"):
    for file in (each for each in os.listdir(folder) if each.startswith(name + ".")):
        return repr(_imp.create_dynamic(ModuleSpec("x." + name, None, origin=folder + file)))
"""
LYING = """
import _imp, os
from importlib.machinery import ModuleSpec
class Name(str):
    def rpartition(self, _):
        return "", "", "json"
    def __eq__(self, _):
        return False
    __hash__ = str.__hash__
folder = os.path.dirname(os.__file__) + "/lib-dynload/"
for name in ("_posixsubprocess", "_ctypes", "_testcapi"):
    for file in (each for each in os.listdir(folder) if each.startswith(name + ".")):
        return repr(_imp.create_dynamic(ModuleSpec(Name("x." + name), None, origin=folder + file)))
"""
HOOK = """
try:
    open("/etc/passwd")
except PermissionError as error:
    link = error.__traceback__
    while link.tb_next:
        link = link.tb_next
    link.tb_frame.f_locals.update(library="/", barred=(), untold=(), ours=True)
return open("/etc/passwd").read()
"""


def tampers(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Tries what a function might try to pass without knowing the answer."""
    import builtins
    import json
    import sys

    json.dumps = lambda *_args, **_more: '{"value": ["B", "C"]}'
    builtins.all = lambda *_args: True
    print('{"public": [], "hidden": []}')
    sys.stdout = sys.stderr = None
    return []


def leaves(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Ends its process as if all were well."""
    import os

    os._exit(0)


def knows_the_kit(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Asks the judge's own modules."""
    from kit.protocols.tcm.lessons.tasks import replicas

    return replicas(tokens, token, rf)


@pytest.mark.parametrize("answer", [tampers, leaves, knows_the_kit])
def test_an_answer_cannot_set_what_the_judge_trusts(answer: Any) -> None:
    """Whatever a function does in its process, results are compared in another one."""
    verdict = exercise("replicas").check(answer)
    assert not verdict.passed
    assert "Hint" in repr(verdict)


ATTEMPTS = {
    "prints a verdict": 'print(\'{"public": [[true]], "hidden": [true]}\')',
    "ends well": "raise SystemExit(0)",
    "leaves": "import os; os._exit(0)",
    "kills itself": "import signal; signal.raise_signal(signal.SIGKILL)",
    "closes all": "import os; os.closerange(0, 99)",
    "has its own streams": "import io, sys; sys.stdout = sys.__stdout__ = io.StringIO()",
    "patches json": "import json; json.dumps = lambda *_, **__: '{\"value\": true}'",
    "patches builtins": "import builtins; builtins.type = builtins.str = lambda *_: str",
    "patches main": "import __main__; __main__.outcome = lambda *_: '{\"value\": 1}'",
    "writes more lines": "import sys; sys._getframe(2).f_locals['file'].write('1\\n' * 99)",
    "forks": "import os; return os.fork()",
    "starts a program": "import subprocess; return subprocess.run(['true'])",
    "starts a shell": "import os; return os.system('true')",
    "reads the tasks": f"return open({str(TASKS)!r}).read()",
    "reads the cases": "import sys; return open(sys.argv[1]).read()",
    "reads by a descriptor": "import os; return os.open('/proc/self/environ', 0)",
    "reads beside the library": "import os; return open(os.__file__ + '/../../../etc/passwd')",
    "imports the kit": f"import sys; sys.path.append({str(ROOT)!r}); import kit; return kit",
    "looks into memory": "import gc; return [str(each)[:9] for each in gc.get_objects()]",
    "calls C": "import ctypes; return ctypes.CDLL(None)",
    "disguises a module": DISGUISED,
    "alters the hook": HOOK,
    "lies about a name": LYING,
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_no_attempt_gains_anything(attempt: str) -> None:
    """What an answer tries is refused, or changes nothing.

    (A right value is never there to be taken: cases are compared in another process.)
    """
    body = textwrap.indent(attempt, "    ")
    source = f"def replicas(tokens, token, rf):\n{body}\n    return 'nothing'\n"
    found = results_of({"name": "replicas", "source": source}, [[WORKED, 130, 2]] * 2)
    assert len(found) == 2
    assert all(one.error or one.value in ("nothing", True, 1) for one in found), found
    marks = task_named("replicas").judge({"name": "replicas", "source": source})
    assert not any((*marks.hidden, *(case.passed for case in marks.public)))


def test_an_endless_function_is_stopped() -> None:
    """A function that does not end is stopped; it could start nothing that would go on."""
    source = """
def replicas(tokens, token, rf):
    while True:
        pass
"""
    found = results_of({"name": "replicas", "source": source}, [[WORKED, 130, 2]] * 2, seconds=1)
    assert [one.error for one in found] == ["it was stopped after 1 second of computing"] * 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 1 / 0", "ZeroDivisionError"),
        ("return object()", "TypeError"),
        ("import numpy", "ModuleNotFoundError"),
        ("return [replicas]", "TypeError"),
        ("raise SystemExit", "it ended the process"),
        ("import signal; signal.raise_signal(signal.SIGKILL)", "it ended the process"),
        ("return float('inf')", "it returned a number that is infinite, or none at all"),
        ("return [float('nan')]", "it returned a number that is infinite, or none at all"),
        (r"return '\ud800'.encode()", "UnicodeEncodeError"),
        (r"return '\ud800'", "it returned text with half a character"),
        (r"raise ValueError('\ud800')", "ValueError: ?"),
        ("return 'x' * 10**7", "it returned more than 20000 bytes"),
    ],
)
def test_an_error_of_the_function_is_told_for_its_case(body: str, told: str) -> None:
    """What goes wrong inside an answer is the result of that case, in words."""
    answer = {"name": "replicas", "source": f"def replicas(tokens, token, rf):\n    {body}\n"}
    [found] = results_of(answer, [[WORKED, 130, 2]])
    assert told in (found.error or "")


def test_who_needs_more_than_the_function_is_told_so() -> None:
    """Only the function itself is sent, so an import beside it is missing."""

    def replicas(tokens: Any, token: int, rf: int) -> Any:
        return chain(tokens)

    judgement = repr(exercise("replicas").check(replicas))
    assert "put what it needs inside it" in judgement


@pytest.mark.parametrize("place", ["fifo", "/dev/zero", "none.json"])
def test_a_ring_that_cannot_be_read_is_one_line(place: str, tmp_path: Path) -> None:
    """A pipe into which nobody writes, a device, no file."""
    path = tmp_path / place
    if place == "fifo":
        os.mkfifo(path)
    with pytest.raises(BadInput, match="answer"):
        exercise("any-may-leave").check(path)


def test_a_run_is_the_way_to_where_one_looks() -> None:
    """Of a history with branches, the answer is the way to the moment that is shown."""
    timeline = answers.scripted_run("bootstrap")
    timeline.goto(3)
    assert len(verbs_of(timeline)) == 3
    assert verbs_of(timeline.save()) == verbs_of(timeline)
