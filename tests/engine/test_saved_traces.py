"""Traces that people saved with earlier versions of the kit: each of them still opens."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from kit.engine.family import model_places
from kit.engine.timeline import Timeline
from kit.engine.trace import Trace, dumps, loads, read
from kit.errors import BadInput

SAVED = sorted(Path(__file__).with_name("traces").glob("*.json"))
SEVEN, ORDER = "there is no such action here", "the procedure has another step before this one"
EARLIER_WORDS = {"seed", "code", "cep", "implementation"}
# What a model has refused since on purpose: the step (from 1), its verb, and what is said of it.
REFUSED = {
    # A split waits until the coordinator has polled the replicas.
    "resize-0-table-splits": (7, "finalize", "the coordinator has not polled the replicas"),
    # A replica moves in two steps: until the move has ended, the new one has nothing to divide, …
    "resize-1-faults": (10, "divide 0 C:0", "there is no such action here"),
    # … its sibling is in transition, too, …
    "resize-2-without": (6, "move 0 B:0 C:0", "there is no such action here"),
    # … and no resize is finalized.
    "resize-3-table-merges": (7, "finalize", "tablets are in transition"),
    # By the documents a firewall is no step of the newer recovery, …
    "recovery-0-majority-is-lost": (2, "isolate", SEVEN),
    "recovery-1-faults": (1, "isolate", SEVEN),
    "recovery-2-without": (2, "isolate", SEVEN),
    # … and the older one has an order, unless its safeguard is off.
    "recovery_mode-0-recovery-mode": (1, "history B", ORDER),
    "recovery_mode-1-faults": (2, "id A", ORDER),
    "recovery_mode-2-faults": (4, "id A", ORDER),
    "recovery_mode-3-upgrade-is-stuck": (2, "discovery A", ORDER),
}
NEWER = {
    *("commit", "cms", "schema", "migration"),
    *("raft", "raft_groups", "commit_log", "paxos"),
    "worlds",
}
"""Models that came later: nobody has saved a trace of them with an earlier version."""
WHOLE = [path for path in SAVED if path.stem not in REFUSED]


def replayed(saved: Trace) -> None:
    """Every step is done again, each has a sentence, and what one looked at is looked at again."""
    timeline = Timeline.load(saved)
    moments = timeline.moments
    assert [moment.parent for moment in moments[1:]] == [step.parent for step in saved.steps]
    assert (timeline.at, timeline.tip) == (saved.at, saved.tip)
    assert all(moment.say for moment in moments)
    again = Timeline.load(loads(dumps(timeline.save())))
    assert again.save() == timeline.save()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_a_saved_trace_is_replayed_to_its_end(path: Path) -> None:
    """By its actions alone, whatever the model has learnt since."""
    replayed(read(path))


@pytest.mark.parametrize("stem", REFUSED)
def test_a_step_that_is_refused_today_is_named(stem: str) -> None:
    """With its number, its verb and the reason; all before it is replayed."""
    [path] = (path for path in SAVED if path.stem == stem)
    saved, (step, verb, reason) = read(path), REFUSED[stem]
    with pytest.raises(BadInput) as told:
        Timeline.load(saved)
    assert (told.value.field, told.value.value) == (f"steps[{step - 1}]", verb)
    assert told.value.allowed.startswith(f"an enabled action as step {step}, '{verb}' (")
    assert reason in told.value.allowed
    assert f"saved with an earlier version of {saved.model}" in told.value.allowed
    replayed(replace(saved, steps=saved.steps[: step - 1], at=step - 1, tip=step - 1))


def test_every_family_has_ten_saved_traces() -> None:
    """Ten a family, of every model, in each edition's earlier word, with safeguards off, too."""
    traces = [read(path) for path in SAVED]
    places = {name: place for name, place in model_places().items() if name not in NEWER}
    count = Counter(places[trace.model][0].name for trace in traces)
    assert all(count[family.name] >= 10 for family, _ in places.values())
    assert {trace.model for trace in traces} == set(places)
    assert {json.loads(path.read_text(encoding="utf-8"))["format"] for path in SAVED} == {1}
    assert any(trace.off for trace in traces)
    words = {trace.parameters.get(name) for trace in traces for name in ("edition", "variant")}
    assert words >= EARLIER_WORDS
