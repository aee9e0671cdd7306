"""One thing is one, two are two: counts and their verbs in all that scenarios say and show."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kit.errors import are, counted
from kit.model.scenario import files
from kit.views.actions import refusal_text
from kit.views.frame import frame_text
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import walk

NOUNS = (
    "action|byte|epoch|lamp|message|move|node|range|replica|request|shard|step|tablet|tick|voter"
)
WRONG = re.compile(
    rf"(?<![\w.:,/-])(?:\b(?:of|all|after|your) 1 [a-z]+s|1 (?:{NOUNS})s|(?<=, )1 (?:are|have)"
    rf"|(?:0|[2-9]|\d\d+) (?:{NOUNS})(?! \d))\b(?!-)",
    re.IGNORECASE,
)


def slips(texts: Iterator[str]) -> list[str]:
    """The lines that count wrongly."""
    return sorted({line for text in texts for line in text.splitlines() if WRONG.search(line)})


def told(name: str) -> Iterator[str]:
    """All that a scenario shows, and why what must wait has to."""
    timeline = walk(name)
    panels = for_model(timeline.model).panels
    while True:
        scene = scene_of(timeline, timeline.at)
        yield frame_text(scene, panels)
        yield from (refusal_text(why) for _, why in scene.options() if why)
        if timeline.forward() is None:
            return


def test_a_noun_and_its_verb_go_by_the_number() -> None:
    """None are many."""
    assert [counted(number, "move") for number in (0, 1, 2, 1024)] == [
        "0 moves", "1 move", "2 moves", "1,024 moves",
    ]  # fmt: skip
    assert [are(number) for number in (0, 1, 2)] == ["are", "is", "are"]


def test_no_scenario_file_counts_wrongly() -> None:
    """What they show is what models say."""
    assert slips(path.read_text(encoding="utf-8") for path in files().values()) == []


@pytest.mark.parametrize(
    "name", ["dataplane/gossip", "tablet/requests-within-a-node", "resize/split-is-revoked"]
)
def test_no_frame_counts_wrongly(name: str) -> None:
    """A barrier that waits for one, a delay of one tick, a shard with one replica."""
    assert slips(told(name)) == []
