"""Traces that people saved with earlier versions of the kit: each of them still opens."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kit.engine.family import model_places
from kit.engine.timeline import Timeline
from kit.engine.trace import dumps, loads, read

SAVED = sorted(Path(__file__).with_name("traces").glob("*.json"))
EARLIER_WORDS = {"seed", "code", "cep", "implementation"}


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_saved_trace_is_replayed_to_its_end(path: Path) -> None:
    """Every step is done again, each has a sentence, and what one looked at is looked at again."""
    saved = read(path)
    timeline = Timeline.load(saved)
    moments = timeline.moments
    assert [moment.parent for moment in moments[1:]] == [step.parent for step in saved.steps]
    assert (timeline.at, timeline.tip) == (saved.at, saved.tip)
    assert all(moment.say for moment in moments)
    again = Timeline.load(loads(dumps(timeline.save())))
    assert again.save() == timeline.save()


def test_every_family_has_ten_saved_traces() -> None:
    """Ten a family, of every model, in each edition's earlier word, with safeguards off, too."""
    traces = [read(path) for path in SAVED]
    places = model_places()
    count = Counter(places[trace.model][0].name for trace in traces)
    assert all(count[family.name] >= 10 for family, _ in places.values())
    assert {trace.model for trace in traces} == set(places)
    assert {json.loads(path.read_text(encoding="utf-8"))["format"] for path in SAVED} == {1}
    assert any(trace.off for trace in traces)
    words = {trace.parameters.get(name) for trace in traces for name in ("edition", "variant")}
    assert words >= EARLIER_WORDS
