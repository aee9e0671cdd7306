"""The edge of all public functions: they are found, their annotations are read, misuse is told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy
import pytest

import kit.lessons
import kit.spark
from kit.edge.arguments import checked, hint_of
from kit.errors import BadInput, BadType
from kit.model.family import families, public_places
from kit.model.trace import read
from kit.search.check import check
from tests.hostile import calls
from tests.hostile.calls import Lies
from tests.hostile.published import published
from tests.saying import like


def test_what_every_family_makes_public_is_called() -> None:
    """The harness finds it by scanning; every name of the packages, too."""
    found = set(published())
    for family in families():
        for package in family.public:
            full = ".".join(filter(None, ("kit", package)))
            for name in (name for name, owner, _ in public_places(package) if owner is family):
                below = {each for each in found if each.startswith(f"{full}.{name}.")}
                assert below or f"{full}.{name}" in found


@pytest.mark.parametrize("name", sorted(published()))
def test_every_annotation_can_be_read(name: str) -> None:
    """Also one whose class a module imports for type checkers only."""
    value = published()[name]
    bare = inspect.unwrap(value.__init__ if isinstance(value, type) else value)
    for each, written in getattr(bare, "__annotations__", {}).items():
        if each != "return" and written not in ("Any", "object", Any, object):
            assert hint_of(bare, each) is not Any, f"{each}: {written}"


@checked
def taken(
    numbers: Iterable[int], by_name: Mapping[str, float] | None = None, place: str | Path = "x"
) -> tuple[int, ...]:
    """What came."""
    return tuple(numbers)


@checked
def either(names: int | str | Iterable[str]) -> tuple[str, ...]:
    """What came, of one or of several."""
    return tuple(names) if isinstance(names, Iterable) else (str(names),)


@checked
def grouped(groups: Mapping[str, Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """What came, group by group."""
    return tuple(tuple(names) for names in groups.values())


class Yields:
    """What can be gone through again and again, but has no length: a table and its columns."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: kit.lessons.senders(3), "job | 3 | a Pipeline"),
        (lambda: kit.lessons.late(None), "reports | None | a Reports"),
        (lambda: kit.spark.charts.ownership(3), "job | 3 | a Pipeline"),
        (lambda: kit.spark.pipeline("x", 3), "spark | 'x' | a SparkSession or None"),
        (lambda: kit.spark.convergence_of(3), "frame | 3 | a table of balancing"),
        (lambda: kit.spark.size_histogram(3), "cluster | 3 | a TabletCluster"),
        (lambda: kit.spark.availability([{}], 3), "losses | a table of losses"),
        (lambda: taken([1, "x"]), "numbers[1] | 'x' | a whole number"),
        (lambda: taken({1, None}), "numbers | None | a list or tuple"),
        (lambda: taken(iter(["x"])), "numbers[0] | 'x' | a whole number"),
        (lambda: taken(Yields("x")), "numbers[0] | 'x' | a whole number"),
        (lambda: either(iter([1])), "names[0] | 1 | a string"),
        (lambda: kit.spark.adding(".", [], -1).__enter__(), "pause | -1 | seconds from 0"),
        (lambda: grouped({"x": iter(["a", 1])}), "groups[x][1] | 1 | a string"),
        (lambda: taken(count()), "numbers | more than 2000000 | at most 2000000"),
        (lambda: taken([], {"a": float("nan")}), "by_name[a] | nan | a finite number"),
        (lambda: taken([], place="\0"), "place | a file or folder"),
        (lambda: taken([numpy.array([1])]), "numbers[0] | array([1]) | a whole number"),
        (lambda: taken(numpy.array(1)), "numbers | array(1) | a list or tuple"),
        (lambda: kit.spark.drawn(numpy.array([1, 2])), "seed | a whole number"),
        (lambda: check(kit.build("twophase"), max_states=Lies()), "max_states | a whole number"),
        (lambda: read(Lies()), "path | a file or folder, as text or a path"),
        (lambda: taken(by_name={}), "taken() | missing a required argument: 'numbers'"),
    ],
)
def test_misuse_is_one_line(call: Callable[[], Any], said: str) -> None:
    """It names the field, as deep as can be told, the value, and what is allowed."""
    with pytest.raises(BadInput, match=like(said)):
        call()


def test_numbers_of_other_libraries_become_our_own() -> None:
    """They would be no seeds, and run over."""
    assert type(single(numpy.int8(3))) is int
    assert single(numpy.uint64(2**63)) + 2**63 == 2**64
    for numbers in ([numpy.int8(1), 2], (numpy.int8(1), 2), numpy.array([1, 2])):
        assert [type(number) for number in taken(numbers)] == [int, int]
    seed = kit.spark.drawn(numpy.int64(3), most=3).save()
    assert seed == kit.spark.drawn(3, most=3).save()


@checked
def single(number: int | None) -> Any:
    """What came."""
    return number


def test_what_fits_comes_through() -> None:
    """An iterator is not used up by looking, and a range of any length is taken at once."""
    assert taken(iter([1, 2])) == taken(range(1, 3)) == taken(Yields(1, 2)) == (1, 2)
    assert grouped({"x": iter("ab"), "y": ["c"]}) == (("a", "b"), ("c",))
    assert either(iter("ab")) == either("ab") == ("a", "b")
    with pytest.raises(BadType, match=like("seeds | a list or tuple")):
        kit.spark.clusters(None, 3)
    with pytest.raises(BadInput, match=like("seeds | range(0, 1000000000000)")):
        kit.spark.clusters(None, range(10**12))


@pytest.mark.parametrize("module", calls.MODULES, ids=lambda module: module.__name__)
def test_every_public_function_of_the_engine_checks_its_arguments(module: Any) -> None:
    """What takes any and has a public name is guarded, also if only the kit calls it today."""
    bare = [
        name
        for name, each in vars(module).items()
        if inspect.isfunction(each) and each.__module__ == module.__name__
        if not name.startswith("_") and inspect.signature(each).parameters
        if not hasattr(each, "__wrapped__")
    ]
    assert not bare
