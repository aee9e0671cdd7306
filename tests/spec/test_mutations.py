"""What a requirement rests on fails without it: each id has a change of one line that shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.source import ROOT
from tests.quality.judging import Judge
from tests.spec.mutations import Mutation, judge, listed, noticed, resting
from tests.spec.report import marks, read_requirements

LISTED = listed()
each = pytest.mark.parametrize("name", LISTED)


@pytest.fixture(scope="module")
def judging() -> Iterator[Judge]:
    """One copy for all of them."""
    with judge() as running:
        yield running


def test_each_that_rests_on_one_test_is_listed() -> None:
    """Of such an id nothing else would notice that its test shows nothing."""
    alone = {name for name, tests in resting(marks()).items() if len(tests) == 1}
    assert alone <= set(LISTED) <= set(read_requirements().statements)
    assert [*LISTED] == sorted(LISTED)


@each
def test_the_line_is_there_once(name: str) -> None:
    """What is changed is a part of one line of the kit, and what comes of it can be read."""
    mutation: Mutation = LISTED[name]
    mutant = mutation.mutant()
    assert mutation.file.startswith("kit/")
    assert "\n" not in mutation.old + mutation.new
    assert mutation.old != mutation.new
    if mutation.file.endswith(".py"):
        ast.parse(mutant.applied((ROOT / mutation.file).read_bytes()))


@pytest.mark.deep
@each
def test_its_test_fails_under_it(name: str, judging: Judge) -> None:
    """The tests that are marked with the id run in a copy with the change, and one fails."""
    assert noticed(judging, LISTED[name], resting(marks())[name])
