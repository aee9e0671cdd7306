"""The mutation run itself: what it notices, and a share of the real."""

from __future__ import annotations

import ast
from itertools import islice
from pathlib import Path

import pytest

from tests.house.source import ROOT, project_files
from tests.quality.judging import Judge
from tests.quality.mutants import Mutant, mutants
from tests.quality.mutation import (
    KNOWN,
    Known,
    Project,
    Report,
    here,
    read_known,
    run,
    sample,
    stale,
)
from tests.spec.mutations import Mutation, noticed

COUNTING = '''\
"""A toy."""
LIMIT = 3


def below(number: int) -> bool:
    """Whether a number is small."""
    return number < LIMIT


def total(most: int) -> int:
    """The sum of the numbers up to one."""
    found, number = 0, 1
    while number <= most:
        found += number
        number += 1
    return found
'''
CHECKS = """\
import importlib
import pytest
import toy.counting
from toy.counting import below, total

@pytest.mark.parametrize("number", [2] if below(9) else [0, 2])
def test_small(number):
    assert below(number)

def test_large():
    assert not below(9)

def test_total():
    assert total(3) == 6

def test_loaded_anew():
    importlib.reload(toy.counting)
"""
NEVER_ENDS = "total: number += 1 -> pass"
KILLED = "below: return number < LIMIT -> return None"  # it also runs while tests are collected
LOADED = "module: 3 -> 2"  # a test loads the module anew, another one notices
SURVIVE = ["below: number < LIMIT -> number <= LIMIT", "module: 3 -> 4"]


@pytest.fixture
def toy(tmp_path: Path) -> Project:
    """A project of one module, whose tests have a hole at the limit."""
    files = {
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "toy/__init__.py": "",
        "toy/counting.py": COUNTING,
        "checks/test_counting.py": CHECKS,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Project(tmp_path, tuple(tmp_path / n for n in files), ("toy/counting.py",), ("checks",))


def test_a_hole_in_the_tests_is_reported(toy: Project) -> None:
    """Mutants that no test notices are reported, one that never ends is ended, one is killed."""
    [(path, made)] = toy.made().items()
    short = {mutant.key.removeprefix(f"{path} "): mutant for mutant in made}
    tried = [short[name] for name in (*SURVIVE, NEVER_ENDS, KILLED, LOADED)]
    outcomes = run(toy, tried, {}, allowance=1.0, say=lambda line: None)
    verdicts = ["survived", "survived", "by time", "killed", "killed"]
    assert [outcomes[mutant] for mutant in tried] == verdicts
    faults = Report(outcomes, {}).faults()
    assert [fault for fault in faults if SURVIVE[0] in fault]
    assert len(faults) == 1 + len(SURVIVE)
    assert (toy.root / path).read_text("utf-8") == COUNTING


@pytest.mark.parametrize(
    ("old", "new", "fails"),
    [
        ("LIMIT = 3", "LIMIT = 99", True),
        ("LIMIT = 3", "LIMIT = 4", False),
        ("def total(", "def totals(", False),  # no test can be loaded, so none has shown anything
    ],
)
def test_what_cannot_be_loaded_fails_no_test(toy: Project, old: str, new: str, fails: bool) -> None:
    """A test that is called and fails is told from one that holds or is not called."""
    mutation = Mutation("toy/counting.py", old, new)
    with Judge(toy.root) as judging:
        assert noticed(judging, mutation, ["checks/test_counting.py::test_large"]) == fails


def test_a_failing_test_stops_the_run(toy: Project) -> None:
    """Where a test fails without any mutant, nothing is said of mutants."""
    (toy.root / "checks" / "test_counting.py").write_text("def test_it():\n    assert False\n")
    with pytest.raises(RuntimeError, match="fail before anything is changed"):
        run(toy, [], {})


def test_what_is_listed_is_held_to_it(toy: Project) -> None:
    """A listed mutant is no fault where it survives; noticed, or no mutant any more, it is."""
    [(_, [hole, killed, *_])] = toy.made().items()
    known = read_known(f"# why\n\n{hole.key}\n  equivalent: no number\n  lies there\n")
    assert known[hole.key] == Known(hole.key, "equivalent", "no number lies there")
    assert not Report({hole: "equivalent", killed: "killed"}, known).faults()
    [noticed] = Report({hole: "killed"}, known).faults()
    assert "noticed" in noticed
    assert stale(["gone", hole.key], toy.made()) == ("gone",)
    [gone] = Report({}, known, ("gone",)).faults()
    assert "no mutant any more" in gone
    for wrong in ("a\nmaybe: it is", "a\nequivalent", "a\nsurvives: x\n\na\nsurvives: x"):
        with pytest.raises(ValueError, match="not an entry"):
            read_known(wrong)


def test_too_few_killed_fail_the_run(toy: Project) -> None:
    """Below 95 of 100 the run fails, though each survivor is listed."""
    [(_, made)] = toy.made().items()
    known = {made[0].key: Known(made[0].key, "survives", "for a reason")}
    for killed, fails in ((18, True), (19, False)):
        others = {Mutant("", "", (1, 1), 0, 0, "", str(i)): "killed" for i in range(killed)}
        assert bool(Report({made[0]: "survived", **others}, known).faults()) is fails


def test_mutants_are_sources_with_the_same_lines() -> None:
    """Every mutant of the kit compiles, is another program, and keeps the lines where they were."""
    for path in ("kit/model/flows.py", "kit/protocols/group0/rules/voters.py"):
        source = (ROOT / path).read_bytes()
        tree = ast.dump(ast.parse(source))
        made = mutants(path, source.decode())
        assert len({mutant.key for mutant in made}) == len(made) > 20
        for mutant in made:
            text = mutant.applied(source)
            assert ast.dump(ast.parse(text)) != tree, mutant.key
            assert text.count(b"\n") == source.count(b"\n")


@pytest.fixture(scope="module")
def made() -> dict[str, list[Mutant]]:
    """Every mutant of the kit, by file."""
    return here().made()


def test_the_sample_is_spread_and_stays(made: dict[str, list[Mutant]]) -> None:
    """One of each file comes before a second one; a seed gives the same, another seed others."""
    first = list(islice(sample(made, 9), 40))
    assert len({mutant.path for mutant in first}) == 40
    assert first == list(islice(sample(made, 9), 40)) != list(islice(sample(made, 10), 40))
    some = {path: found for path, found in made.items() if path == first[5].path}
    assert next(sample(some, 9)) == first[5]


def test_what_is_listed_can_be_made(made: dict[str, list[Mutant]]) -> None:
    """No entry of the list is out of date."""
    assert not stale(read_known(KNOWN.read_text("utf-8")), made)


def test_a_share_of_the_real_mutants_is_noticed() -> None:
    """Two mutants of ranges and patterns are noticed by their tests, or stand in the list."""
    pairs = [("ring", "ranges", "tokens"), ("console", "patterns", "patterns")]
    files = tuple(
        path
        for path in project_files()
        if path.relative_to(ROOT).parts[0] in ("kit", "tests") or path.name == "pyproject.toml"
    )
    project = Project(
        ROOT,
        files,
        tuple(f"kit/{folder}/{name}.py" for folder, name, _ in pairs),
        tuple(f"tests/{folder}/test_{name}.py" for folder, _, name in pairs),
    )
    known = read_known(KNOWN.read_text("utf-8"))
    outcomes = run(project, islice(sample(project.made(), 9), 2), known)
    assert len(outcomes) == 2
    assert not Report(outcomes, known).faults()
