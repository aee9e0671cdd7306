"""Who does not see a picture hears what it shows: two that look otherwise have two alternatives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.search.fuzz import Walker
from kit.views.fragment import Frag
from kit.views.panel import is_shown, scene_of
from kit.views.registry import for_model

STEPS = 40
EVERY = 4  # of the steps one is drawn


def pictures(part: Frag) -> Iterator[Frag]:
    """The drawings below a part that are one picture each."""
    if part.tag == "svg" and part.get("role") == "img":
        yield part
    for kid in part.kids:
        if isinstance(kid, Frag):
            yield from pictures(kid)


def words(part: Frag) -> Iterator[str]:
    """What is written in a picture; not what only pointing shows, nor the figures of an axis."""
    for kid in part.kids:
        if isinstance(kid, Frag):
            yield from words(kid)
        elif part.tag != "title" and not kid.isdecimal():
            yield kid


@pytest.mark.parametrize("name", entries())
def test_the_text_alternative_of_a_picture_changes_with_its_words(name: str) -> None:
    """Along a walk of each model."""
    model = build(name)
    panels = for_model(model).panels
    timeline = Timeline(model)
    timeline.run(Walker(model, steps=STEPS, properties=(), monitors=()).walk(0).actions)
    said: dict[tuple[str, int, str], list[str]] = {}
    for number in range(0, len(timeline.moments), EVERY):
        scene = scene_of(timeline, number)
        for panel in panels:
            drawn = pictures(panel.draw(scene)) if is_shown(panel, scene) else ()
            for place, picture in enumerate(drawn):
                alternative = str(picture.get("aria-label"))
                written = sorted(words(picture))
                known = said.setdefault((panel.name, place, alternative), written)
                assert known == written, f"{panel.name}, moment {number}: {alternative}"
