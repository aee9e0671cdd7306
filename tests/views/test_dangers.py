"""What a cover says could go wrong goes wrong: in the story's configuration, or where it says.

KIT_REWRITE=1 searches every story, and writes the worst that is found into its family's folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from kit.model.family import Family, families
from kit.model.model import Model
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.views.cover import Story, draw_cover
from kit.views.dangers import PLACE, configuration, dangers, searched, worst
from kit.views.panel import scene_of

SHARE = 4
"""A landing searches one in so many stories of a model; the deep tests the others."""
MOST, MOST_OFF = 2_000, 100_000
"""States of a search for a danger. Where safeguards are off anyhow, there are fewer searches."""


def opened(name: str) -> Iterator[Model[Any, Any]]:
    """The models of the stories of a model."""
    for story in entries()[name].scenarios:
        yield build(name, story.parameters, story.off)


def breaks(model: Model[Any, Any], safeguard: str, invariant: str) -> bool:
    """Whether a search without a safeguard (or those that are off anyhow) finds it broken."""
    most = MOST_OFF if model.off else MOST
    off = model if model.off else again(model, safeguard)
    properties = tuple(each for each in off.properties if each.invariant == invariant)
    monitors = tuple(each for each in off.monitors if each.invariant == invariant)
    result = check(off, properties=properties, monitors=monitors, max_states=most, progress=False)
    return result.violation is not None


def again(model: Model[Any, Any], safeguard: str) -> Model[Any, Any]:
    """The same configuration without a safeguard."""
    entry = entries()[model.name]
    return entry.build(model.parameters, (safeguard,))


def possible(model: Model[Any, Any]) -> Iterator[tuple[str, str, str]]:
    """What could go wrong, the worst first: the safeguard by name and id, and the invariant."""
    gone = [each for each in model.safeguards if each.name in model.off]
    for invariant in dangers():
        for each in gone or model.safeguards:
            if invariant in each.protects:
                yield each.name, each.id, invariant


def rewrite(family: Family) -> None:
    """Search every story of a family again."""
    lines = list[str]()
    for name in family.models:
        known: dict[str, str] = {}
        for model in opened(name):
            key = configuration(model.parameters, model.off)
            if key not in known:
                able = (
                    f"{id_} {invariant}"
                    for safeguard, id_, invariant in possible(model)
                    if breaks(model, safeguard, invariant)
                )
                known[key] = next(able, "")
        rows = [f"'{key}' = \"{value}\"" for key, value in known.items() if value]
        lines += [*[""] * bool(lines and rows), *[f"[{name}]"] * bool(rows), *rows]
    if lines:
        file = family.folder / PLACE
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    searched.cache_clear()


@pytest.mark.parametrize(
    "others", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["some", "others"]
)
@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_a_cover_names_what_can_be_broken(family: Family, others: bool) -> None:
    """A search of a story's own configuration finds it, or the cover says what else it takes."""
    if os.environ.get("KIT_REWRITE") == "1":
        rewrite(family)
    for name in family.models:
        of_stories = set[str]()
        for at, model in enumerate(opened(name)):
            of_stories.add(key := configuration(model.parameters, model.off))
            if (at % SHARE > 0) != others:
                continue
            danger, known = worst(model), searched(name).get(key)
            if danger is None:
                assert not [*possible(model)]
            elif known:
                assert breaks(model, danger.safeguard.name, known.split()[1]), (name, key)
            else:
                assert danger.needs, (name, key)
        assert {*searched(name)} <= of_stories


def covered(name: str, **parameters: Any) -> str:
    """The words of the cover of a model."""
    timeline = Timeline(build(name, parameters))
    return draw_cover(Story("a story"), scene_of(timeline, 0), None).text()


def test_a_cover_threatens_with_nothing_that_its_story_cannot_meet() -> None:
    """No stream of such a story comes late, so that it shows nothing without sessions."""
    assert "What must always hold: " in covered("tablets")
    assert "Without this rule (" in covered("tablets", nodes=2, tablets=("A",), moves=2, late=2)
