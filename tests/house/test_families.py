"""What families declare is there: every place loads, every name is given once, the docs agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from kit.model.family import Family, families, public_places
from kit.protocols import SHIPPED
from tests.house.source import ROOT


def places(family: Family) -> Iterator[str]:
    """Every place that a family declares, whatever it is for."""
    yield from family.models.values()
    yield from family.views.values()
    yield from family.trace_tables.values()
    for package in family.public:
        yield from (place for _, owner, place in public_places(package) if owner is family)
    yield from (place for _, place in family.commands.values())
    yield from family.tasks
    yield from family.pipeline_tables
    yield from filter(None, [family.images])


def missing(family: Family) -> Iterator[str]:
    """A line for each place at which nothing is."""
    for place in places(family):
        try:
            family.load(place)
        except (ImportError, AttributeError) as error:
            yield f"{family.name}: {place}: {error}"


def test_every_place_of_every_family_loads() -> None:
    """Each ``module:NAME`` that a family declares is there."""
    assert not [line for family in families() for line in missing(family)]


def test_what_the_kit_brings_along_is_there() -> None:
    """All families in the table of the architecture are the kit's own, but for that of a test."""
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `kit/protocols/(\w+)`", table, re.MULTILINE)) - {"toy"} == {
        *SHIPPED
    }


def test_every_recogniser_loads() -> None:
    """Each kind of file that a family declares says of a text whether it is one."""
    kinds = [kind for family in families() for kind in family.importers]
    assert kinds
    assert all(kind.is_one("") is False for kind in kinds)


def test_a_place_that_is_not_there_is_told() -> None:
    """A wrong module and a wrong name each give a line with the family and the place."""
    [family] = [family for family in families() if family.name == "twophase"]
    wrong = Family(family.name, "", 0, models={"a": "nowhere:ENTRY", "b": "entries:NOTHING"})
    assert [line.split(": ")[:2] for line in missing(wrong)] == [
        ["twophase", "nowhere:ENTRY"],
        ["twophase", "entries:NOTHING"],
    ]


def test_names_are_given_once() -> None:
    """No two families give the same name to a model, a command, an exercise or a public thing."""
    names = Counter(
        (kind, name)
        for family in families()
        for kind, given in {
            "family": [family.name],
            "model": family.models,
            "command": family.commands,
            "task": [task.name for place in family.tasks for task in family.load(place).TASKS],
            **{
                f"public of {package}": [n for n, of, _ in public_places(package) if of is family]
                for package in family.public
            },
        }.items()
        for name in given
    )
    assert not [name for name, count in names.items() if count > 1]


def test_what_a_family_joins_comes_before_it() -> None:
    """``composes`` names families of a lower order, so that no two need one another."""
    order = {family.name: family.order for family in families()}
    for family in families():
        assert all(order.get(name, family.order) < family.order for name in family.composes)


def test_no_public_name_is_that_of_a_module() -> None:
    """A module of a package would hide the public name of the same spelling once it is loaded."""
    hidden = []
    for package in ("", "lessons", "spark"):
        module = import_module(f"kit.{package}" if package else "kit")
        modules = {path.stem for path in Path(str(module.__file__)).parent.iterdir()}
        names = {*module.__all__, *(name for name, _, _ in public_places(package))}
        hidden += [f"{module.__name__}.{name}" for name in sorted(names & modules)]
    assert not hidden
